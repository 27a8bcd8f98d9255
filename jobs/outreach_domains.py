"""Buys what outreach needs: domains and mailboxes (decision 54).

The order is written down first, in a transaction of its own; then the provider is asked, outside of any; then its
answer is written down. A run that finds the order settled asks for nothing, so that nothing is bought twice.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from contract.outreach_vocabulary import DomainStatus, MailboxStatus
from contract.vocabulary import SYSTEM_ACTOR
from jobs import queue
from jobs.sequences import ATTEMPTS, failure_of
from jobs.work import Retry, Run, work
from providers.sequencing import Refused, Sequencing, SequencingError, patience
from storage.base import Stored
from storage.new_rows import model_of
from storage.queries import listables, records
from storage.tables import Mailbox, OutreachDomain
from storage.tenancy.sessions import TenantSession

Order = TypeVar("Order", OutreachDomain, Mailbox)

PURCHASE: Final = "domain_purchase"
PROVISION: Final = "mailbox_provision"
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


@dataclass(slots=True)
class Answer:
    """The provider's answer to an order, as values of its row."""

    values: dict[str, object]
    error: SequencingError | None = None


async def ask_for_domain(sequencing: Sequencing, name: str, *, awaited: bool = False) -> Answer:
    """Ask the provider, outside of any transaction; what cannot be known yet changes nothing.

    `awaited` by a client, the answer comes in time for its own.
    """
    async with _asking(DomainStatus.FAILED, awaited) as answer:
        state = await sequencing.purchase_domain(name)
        answer.values = {"status": state.status.value, "spf": state.spf, "dkim": state.dkim, "dmarc": state.dmarc}
    return answer


async def ask_for_mailbox(
    sequencing: Sequencing, address: str, display_name: str | None, *, awaited: bool = False
) -> Answer:
    """The same for a mailbox."""
    async with _asking(MailboxStatus.ERROR, awaited) as answer:
        answer.values = {"status": (await sequencing.provision_mailbox(address, display_name)).value}
    return answer


@asynccontextmanager
async def _asking(refused: DomainStatus | MailboxStatus, awaited: bool) -> AsyncIterator[Answer]:
    """An answer to be filled in, which says where the provider does not give one; `refused` is the status then."""
    answer = Answer({})
    try:
        async with patience() if awaited else nullcontext():
            yield answer
    except SequencingError as error:
        answer.error = error
        if isinstance(error, Refused):
            answer.values = {"status": refused.value}


async def note(
    session: TenantSession,
    record: Order,
    answer: Answer,
    *,
    actor: str = SYSTEM_ACTOR,
    request_id: str | None = None,
) -> Order:
    """Write the answer on the order's row, and in the change log where it says something new (decision 56)."""
    new = {name: value for name, value in answer.values.items() if getattr(record, name) != value}
    if new:
        record = await session.update(record, **new)
        await log(session, "updated", record, actor=actor, request_id=request_id)
    return record


_NAMED: Mapping[type[Stored], tuple[str, str]] = {OutreachDomain: ("domain", "name"), Mailbox: ("mailbox", "email")}
"""The change log's name for each kind of order, and the column that it is known by."""


async def log(session: TenantSession, past: str, record: Order, *, actor: str, request_id: str | None) -> None:
    """Write in the change log what happened to an order: it was `ordered` or `updated`."""
    kind, named = _NAMED[model_of(record)]
    data = {f"{kind}_id": record.id, named: getattr(record, named)}
    await records.append_event(
        session,
        type=f"{kind}_{past}",
        area="outreach",
        actor=actor,
        request_id=request_id,
        data={**data, "status": record.status},
    )


@work(PURCHASE, attempts=ATTEMPTS)
async def purchase_domain(run: Run, *, domain_id: str) -> None:
    """Ask for a domain that is not settled, until it is."""
    async with run.reading() as session:
        row = await records.one(session, listables.DOMAINS, domain_id)
    if row is None or DomainStatus(row.status) not in OPEN_DOMAIN:
        return
    answer = await ask_for_domain(run.ports.sequencing, row.name)
    async with run.writing() as session:
        domain = await records.lock_for_update(session, OutreachDomain, domain_id)
        if domain is None or DomainStatus(domain.status) not in OPEN_DOMAIN:
            return
        domain = await note(session, domain, answer)
        is_open = DomainStatus(domain.status) in OPEN_DOMAIN
    _end(run, answer, is_open)


@work(PROVISION, attempts=ATTEMPTS)
async def provision_mailbox(run: Run, *, mailbox_id: str) -> None:
    """Ask for a mailbox that is not settled, until it is."""
    async with run.reading() as session:
        row = await records.one(session, listables.MAILBOXES, mailbox_id)
    if row is None or row.status != MailboxStatus.PENDING:
        return
    answer = await ask_for_mailbox(run.ports.sequencing, row.email, row.display_name)
    async with run.writing() as session:
        mailbox = await records.lock_for_update(session, Mailbox, mailbox_id)
        if mailbox is None or mailbox.status != MailboxStatus.PENDING:
            return
        mailbox = await note(session, mailbox, answer)
        is_open = mailbox.status == MailboxStatus.PENDING
    _end(run, answer, is_open)


def _end(run: Run, answer: Answer, is_open: bool) -> None:
    """Raise what makes the job end as it should: failed, or tried again while the provider is at it."""
    if answer.error is not None:
        raise failure_of(answer.error)
    if is_open and not run.is_last:
        raise Retry("The provider is still at it", after=_LOOKS_AGAIN)
