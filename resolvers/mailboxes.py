"""Mailboxes: the list, and having one made (decision 54)."""

from collections.abc import Sequence

from contract.errors import InvalidState, Problem, Problems, ProviderFailed
from contract.limits import EMAIL_MAX
from contract.outreach_vocabulary import DomainStatus, MailboxStatus
from contract.scopes import ScopeGroup
from jobs import outreach_domains as orders
from providers.sequencing import Refused
from resolvers.outreach_inputs import MailboxCreate
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from resolvers.shared.sentences import ABSENT
from storage.queries import listables, outreach_domains, records
from storage.rows import MailboxRow
from storage.tables import Mailbox, OutreachDomain
from storage.tenancy.sessions import TenantSession


@requires(ScopeGroup.OUTREACH_READ, finds=(listables.MAILBOXES,))
async def list_mailboxes(ctx: Context) -> Sequence[MailboxRow]:
    """The organization's mailboxes, by address."""
    async with ctx.reading() as session:
        return await records.all_of(session, listables.MAILBOXES)


@requires(ScopeGroup.OUTREACH_PROVISION, writes=True, needs_key=True)
async def provision_mailbox(ctx: Context, input: MailboxCreate) -> MailboxRow | None:
    """Have a mailbox made on a domain, or give the one that has this address; one that went wrong is tried again.

    Raises ProviderFailed where the provider refuses. One that does not answer leaves the mailbox pending, and a job
    goes on with it.
    """
    async with ctx.writing() as session:
        domain = await _domain(session, input.domain_id)
        address = f"{input.local_part}@{domain.name}"
        if len(address) > EMAIL_MAX:
            words = f"makes an address of more than {EMAIL_MAX} characters"
            raise Problems([Problem(("input", "local_part"), words, "string_too_long")])
        wanted = Mailbox(domain_id=domain.id, email=address, display_name=input.display_name)
        mailbox, is_new = await outreach_domains.put_mailbox(session, wanted)
        orders_it = is_new or mailbox.status == MailboxStatus.ERROR
        if orders_it:
            mailbox = await session.update(mailbox, status=MailboxStatus.PENDING.value)
            await orders.order_mailbox(session, mailbox)
            await orders.log(session, "ordered", mailbox, actor=ctx.caller.subject, request_id=ctx.request_id)
    if orders_it:
        await ctx.commit()
        await _ask(ctx, mailbox)
    ctx.forget()
    return await by_id(ctx, listables.MAILBOXES, mailbox.id)


async def _domain(session: TenantSession, domain_id: str) -> OutreachDomain:
    domain = await records.lock_for_update(session, OutreachDomain, domain_id)
    if domain is None:
        words = ABSENT
        raise Problems([Problem(("input", "domain_id"), words, "reference")])
    if domain.status == DomainStatus.FAILED:
        raise InvalidState("The domain could not be bought", field=("input", "domain_id"))
    return domain


async def _ask(ctx: Context, ordered: Mailbox) -> None:
    answer = await orders.ask_for_mailbox(ctx.services.sequencing, ordered.email, ordered.display_name, awaited=True)
    async with ctx.writing() as session:
        mailbox = await records.lock_for_update(session, Mailbox, ordered.id)
        if mailbox is not None and mailbox.status == MailboxStatus.PENDING:
            await orders.note(session, mailbox, answer, actor=ctx.caller.subject, request_id=ctx.request_id)
    await ctx.commit()
    if isinstance(answer.error, Refused):
        raise ProviderFailed(answer.error.words, field=("input", "local_part"))
