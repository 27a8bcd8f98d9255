"""Outreach domains: the list, and buying one (specification 4.9; decision 54)."""

from collections.abc import Sequence

from contract.errors import ProviderFailed
from contract.outreach_vocabulary import DomainStatus
from contract.scopes import ScopeGroup
from jobs import outreach_domains as orders
from providers.sequencing import Refused
from resolvers.outreach_inputs import DomainName
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from storage.joined_rows import DomainRow
from storage.queries import listables, outreach_domains, records
from storage.tables import OutreachDomain


@requires(ScopeGroup.OUTREACH_READ, finds=(listables.DOMAINS,))
async def list_domains(ctx: Context) -> Sequence[DomainRow]:
    """The organization's domains, by name."""
    async with ctx.reading() as session:
        return await records.all_of(session, listables.DOMAINS)


@requires(ScopeGroup.OUTREACH_READ)
async def get_domain(ctx: Context, domain_id: str) -> DomainRow | None:
    """The domain, or None."""
    return await by_id(ctx, listables.DOMAINS, domain_id)


@requires(ScopeGroup.OUTREACH_PROVISION, writes=True, needs_key=True)
async def purchase_domain(ctx: Context, input: DomainName) -> DomainRow | None:
    """Buy a domain, or give the one that was bought by this name; one that could not be bought is tried again.

    Raises ProviderFailed where the provider refuses. One that does not answer leaves the domain pending, and a job
    goes on with it.
    """
    async with ctx.writing() as session:
        domain, is_new = await outreach_domains.put_domain(session, input.name)
        orders_it = is_new or domain.status == DomainStatus.FAILED
        if orders_it:
            domain = await session.update(domain, status=DomainStatus.PENDING.value)
            await orders.order_domain(session, domain)
            await orders.log(session, "ordered", domain, actor=ctx.caller.subject, request_id=ctx.request_id)
    if orders_it:
        await ctx.commit()
        await _ask(ctx, domain)
    ctx.forget()
    return await by_id(ctx, listables.DOMAINS, domain.id)


async def _ask(ctx: Context, ordered: OutreachDomain) -> None:
    answer = await orders.ask_for_domain(ctx.services.sequencing, ordered.name, awaited=True)
    async with ctx.writing() as session:
        domain = await records.lock_for_update(session, OutreachDomain, ordered.id)
        if domain is not None and DomainStatus(domain.status) in orders.OPEN_DOMAIN:
            await orders.note(session, domain, answer, actor=ctx.caller.subject, request_id=ctx.request_id)
    await ctx.commit()
    if isinstance(answer.error, Refused):
        raise ProviderFailed(answer.error.words, field=("name",))
