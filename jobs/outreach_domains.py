"""Buys what outreach needs: domains and mailboxes (decision 54).

The order is written down first, in a transaction of its own; then the provider is asked, outside of any; then its
answer is written down. A run that finds the order settled asks for nothing, so that nothing is bought twice.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from contract.vocabulary import SYSTEM_ACTOR, DomainStatus, MailboxStatus
from jobs import queue
from jobs.work import Retry, Run, WorkFailed, work
from providers.sequencing import Refused, Sequencing, SequencingError, Unreachable, patience
from storage.queries import nouns, records
from storage.sessions import TenantSession
from storage.tables import Mailbox, OutreachDomain

PURCHASE: Final = "domain_purchase"
PROVISION: Final = "mailbox_provision"
_ATTEMPTS: Final = 12
_LOOKS_AGAIN: Final = timedelta(minutes=10)
AT_HAND: Final = timedelta(minutes=2)
"""The time after which a job asks the provider: the order's writer does at once, but may be cut off."""

OPEN_DOMAIN: Final = frozenset({DomainStatus.PENDING, DomainStatus.VERIFYING})


async def order_domain(session: TenantSession, domain: OutreachDomain, delay: timedelta = AT_HAND) -> None:
    """Have the domain bought, unless that has come about by then."""
    await queue.enqueue(session, PURCHASE, {"domain_id": domain.id}, key=domain.id, delay=delay)


async def order_mailbox(session: TenantSession, mailbox: Mailbox, delay: timedelta = AT_HAND) -> None:
    """Have the mailbox made, unless that has come about by then."""
    await queue.enqueue(session, PROVISION, {"mailbox_id": mailbox.id}, key=mailbox.id, delay=delay)


@dataclass(frozen=True, slots=True)
class Answer:
    """The provider's answer to an order, as values of its row."""

    values: dict[str, Any]
    error: SequencingError | None = None


async def ask_for_domain(sequencing: Sequencing, name: str, *, awaited: bool = False) -> Answer:
    """Ask the provider, outside of any transaction; what cannot be known yet changes nothing.

    `awaited` by a client, the answer comes in time for its own.
    """
    try:
        async with patience() if awaited else nullcontext():
            state = await sequencing.purchase_domain(name)
    except Refused as error:
        return Answer({"status": DomainStatus.FAILED.value}, error)
    except SequencingError as error:
        return Answer({}, error)
    return Answer({"status": state.status.value, "spf": state.spf, "dkim": state.dkim, "dmarc": state.dmarc})


async def ask_for_mailbox(
    sequencing: Sequencing, address: str, display_name: str | None, *, awaited: bool = False
) -> Answer:
    """The same for a mailbox."""
    try:
        async with patience() if awaited else nullcontext():
            status = await sequencing.provision_mailbox(address, display_name)
    except Refused as error:
        return Answer({"status": MailboxStatus.ERROR.value}, error)
    except SequencingError as error:
        return Answer({}, error)
    return Answer({"status": status.value})


async def note(
    session: TenantSession,
    record: OutreachDomain | Mailbox,
    answer: Answer,
    *,
    actor: str = SYSTEM_ACTOR,
    request_id: str | None = None,
) -> None:
    """Write the answer on the order's row, and in the change log where it says something new (decision 56)."""
    new = {name: value for name, value in answer.values.items() if getattr(record, name) != value}
    for name, value in new.items():
        setattr(record, name, value)
    if new:
        await log(session, "updated", record, actor=actor, request_id=request_id)


async def log(
    session: TenantSession, past: str, record: OutreachDomain | Mailbox, *, actor: str, request_id: str | None
) -> None:
    """Write in the change log what happened to an order: it was `ordered` or `updated`."""
    if isinstance(record, OutreachDomain):
        noun, data = "domain", {"domain_id": record.id, "name": record.name}
    else:
        noun, data = "mailbox", {"mailbox_id": record.id, "email": record.email}
    await records.append_event(
        session,
        type=f"{noun}_{past}",
        area="outreach",
        actor=actor,
        request_id=request_id,
        data={**data, "status": record.status},
    )


@work(PURCHASE, attempts=_ATTEMPTS)
async def purchase_domain(run: Run, *, domain_id: str) -> None:
    """Ask for a domain that is not settled, until it is."""
    async with run.reading() as session:
        row = await records.one(session, nouns.DOMAINS, domain_id)
    if row is None or DomainStatus(row.status) not in OPEN_DOMAIN:
        return
    answer = await ask_for_domain(run.ports.sequencing, row.name)
    async with run.writing() as session:
        domain = await records.to_change(session, OutreachDomain, domain_id)
        if domain is not None and DomainStatus(domain.status) in OPEN_DOMAIN:
            await note(session, domain, answer)
            is_open = DomainStatus(domain.status) in OPEN_DOMAIN
        else:
            return
    _end(run, answer, is_open)


@work(PROVISION, attempts=_ATTEMPTS)
async def provision_mailbox(run: Run, *, mailbox_id: str) -> None:
    """Ask for a mailbox that is not settled, until it is."""
    async with run.reading() as session:
        row = await records.one(session, nouns.MAILBOXES, mailbox_id)
    if row is None or row.status != MailboxStatus.PENDING:
        return
    answer = await ask_for_mailbox(run.ports.sequencing, row.email, row.display_name)
    async with run.writing() as session:
        mailbox = await records.to_change(session, Mailbox, mailbox_id)
        if mailbox is None or mailbox.status != MailboxStatus.PENDING:
            return
        await note(session, mailbox, answer)
        is_open = mailbox.status == MailboxStatus.PENDING
    _end(run, answer, is_open)


def _end(run: Run, answer: Answer, is_open: bool) -> None:
    """Raise what makes the job end as it should: failed, or tried again while the provider is at it."""
    error = answer.error
    if isinstance(error, Refused):
        raise WorkFailed(error.words)
    if error is not None:
        after = error.after if isinstance(error, Unreachable) else None
        raise Retry(error.words, after=None if after is None else timedelta(seconds=after))
    if is_open and not run.is_last:
        raise Retry("The provider is still at it", after=_LOOKS_AGAIN)
