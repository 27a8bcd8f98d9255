"""Statements of the synchronisation: items, occurrences, meetings, and the records that they are about.

Whoever writes any of them holds the organization's lock of synchronisation (`lock`), then the meetings, then the rest.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import and_, delete, func, literal, or_, select, update
from sqlmodel import col

from contract.integrations import (
    ITEMS_FORGOTTEN,
    IntegrationItemDecision,
    IntegrationItemOutcome,
    IntegrationProvider,
    IntegrationSkipReason,
    IntegrationStreamKind,
)
from contract.vocabulary import ActivitySource, DealStatus
from storage.base import Record, now
from storage.expressions import AnyColumn
from storage.new_rows import new_row
from storage.queries import tags
from storage.queries.list_conditions import among
from storage.queries.records import insert_missing
from storage.tables import (
    Account,
    Activity,
    Contact,
    Deal,
    DealContact,
    Integration,
    IntegrationPolicy,
    StreamLink,
    SyncedMeeting,
    SyncItem,
    SyncOccurrence,
    SyncStream,
)
from storage.tenancy.sessions import TenantSession

BATCH, SMALL_BATCH = 500, 100


async def lock(session: TenantSession) -> IntegrationPolicy:
    """Let one writer of synchronisation at a time through, and give the policy, which there is from then on."""
    every = [provider.value for provider in IntegrationProvider]
    await insert_missing(session, new_row(IntegrationPolicy, org_id=session.org_id, allowed_providers=every))
    found = await session.find(IntegrationPolicy, lock=True)
    if found is None:
        raise RuntimeError("there is no policy after it was written")
    return found


async def items(session: TenantSession, stream_id: str, external_ids: Collection[str]) -> dict[str, SyncItem]:
    """The items of a stream by what the provider calls them."""
    wanted = select(SyncItem).where(
        col(SyncItem.org_id) == session.org_id,
        col(SyncItem.stream_id) == stream_id,
        among(col(SyncItem.external_id), external_ids),
    )
    return {item.external_id: item for item in await session.find_all(wanted)}


async def items_by_id(session: TenantSession, ids: Collection[str]) -> dict[str, SyncItem]:
    """The items by their identifiers."""
    own = col(SyncItem.org_id) == session.org_id, among(col(SyncItem.id), ids)
    return {item.id: item for item in await session.find_all(select(SyncItem).where(*own))}


async def occurrences(session: TenantSession, column: str, values: Collection[str]) -> Sequence[SyncOccurrence]:
    """The occurrences whose column has one of these values, the oldest first."""
    own = col(SyncOccurrence.org_id) == session.org_id, among(getattr(SyncOccurrence, column), values)
    ordered = select(SyncOccurrence).where(*own).order_by(col(SyncOccurrence.made_at), col(SyncOccurrence.id))
    return await session.find_all(ordered)


async def synced(session: TenantSession, column: str, values: Collection[str]) -> Sequence[SyncedMeeting]:
    """Find the synchronised meetings whose column has one of these values."""
    own = col(SyncedMeeting.org_id) == session.org_id, among(getattr(SyncedMeeting, column), values)
    return await session.find_all(select(SyncedMeeting).where(*own))


async def meetings(session: TenantSession, ids: Collection[str]) -> dict[str, Activity]:
    """The meetings, locked in one order by every caller."""
    own = col(Activity.org_id) == session.org_id, among(col(Activity.id), ids)
    wanted = select(Activity).where(*own).order_by(col(Activity.id)).with_for_update()
    return {meeting.id: meeting for meeting in await session.find_all(wanted)}


async def mails(session: TenantSession, message_ids: Collection[str], keys: Collection[str]) -> Sequence[Activity]:
    """The messages that have one of these Message-IDs, or that were brought under one of these keys; locked."""
    brought = [source.value for source in (ActivitySource.GMAIL, ActivitySource.OUTLOOK)]
    of_key = and_(col(Activity.source).in_(brought), among(col(Activity.external_id), keys))
    of_name = among(col(Activity.message_id), message_ids)
    own = col(Activity.org_id) == session.org_id, or_(of_name, of_key)
    return await session.find_all(select(Activity).where(*own).order_by(col(Activity.id)).with_for_update())


async def connections(session: TenantSession, ids: Collection[str]) -> dict[str, Integration]:
    """The connections by their identifiers."""
    own = col(Integration.org_id) == session.org_id, among(col(Integration.id), ids)
    return {each.id: each for each in await session.find_all(select(Integration).where(*own))}


async def touch(session: TenantSession, ids: Collection[str], generation: int) -> None:
    """The items were met again, as they were."""
    own = col(SyncItem.org_id) == session.org_id, among(col(SyncItem.id), ids)
    await session.execute(update(SyncItem).where(*own).values(generation=generation, seen_at=now()))


async def delete_each(session: TenantSession, model: type[Record], ids: Collection[str]) -> None:
    """Delete rows by their identifiers, in one statement."""
    await session.execute(delete(model).where(col(model.org_id) == session.org_id, among(col(model.id), ids)))


async def delete_meetings(session: TenantSession, ids: Sequence[str]) -> None:
    """Delete meetings with what is known of them; nothing names them any more."""
    own = col(SyncOccurrence.org_id) == session.org_id, among(col(SyncOccurrence.meeting_id), ids)
    await session.execute(update(SyncOccurrence).where(*own).values(meeting_id=None))
    known = col(SyncedMeeting.org_id) == session.org_id, among(col(SyncedMeeting.meeting_id), ids)
    await session.execute(delete(SyncedMeeting).where(*known))
    await tags.unlink(session, ids)
    await delete_each(session, Activity, ids)


def _stale(session: TenantSession, stream_id: str, generation: int, since: datetime) -> list[AnyColumn]:
    """The conditions of items that a full pass did not meet, and of which something starts at or after then.

    What a member left out is no reason: it is kept until it is forgotten (decision 1131).
    What lies before the days that are followed is not swept: the provider need not show it (decision 363).
    """
    near = (
        select(col(SyncOccurrence.id))
        .where(
            col(SyncOccurrence.org_id) == session.org_id,
            col(SyncOccurrence.item_id) == col(SyncItem.id),
            func.coalesce(col(SyncOccurrence.starts_at), since) >= since,
            func.coalesce(col(SyncOccurrence.decision), "") != IntegrationItemDecision.IGNORE.value,
        )
        .exists()
    )
    own = col(SyncItem.org_id) == session.org_id, col(SyncItem.stream_id) == stream_id
    return [*own, col(SyncItem.generation) < generation, near]


async def stale(session: TenantSession, stream_id: str, generation: int, since: datetime) -> list[str]:
    """Up to a batch of the items that a full pass did not meet."""
    wanted = select(col(SyncItem.id)).where(*_stale(session, stream_id, generation, since))
    return [row.id for row in await session.rows(wanted.order_by(col(SyncItem.id)).limit(BATCH))]


async def count_stale(
    session: TenantSession, stream_id: str, generation: int, since: datetime, met_from: int = 0
) -> int:
    """Counts them; with a generation those alone that were met from that one on."""
    conditions = [*_stale(session, stream_id, generation, since), col(SyncItem.generation) >= met_from]
    counted: int = await session.scalar(select(func.count()).select_from(SyncItem).where(*conditions))
    return counted


async def forget_old(session: TenantSession, stream_id: str, generation: int) -> None:
    """Forget items that the provider has not shown for long; their meetings stay."""
    await session.execute(
        delete(SyncItem).where(
            col(SyncItem.org_id) == session.org_id,
            col(SyncItem.stream_id) == stream_id,
            col(SyncItem.generation) < generation,
            col(SyncItem.seen_at) < now() - ITEMS_FORGOTTEN,
        )
    )


async def count_items(session: TenantSession, stream_id: str) -> int:
    """Counts the items of a stream."""
    own = [col(SyncItem.org_id) == session.org_id, col(SyncItem.stream_id) == stream_id]
    counted: int = await session.scalar(select(func.count()).select_from(SyncItem).where(*own))
    return counted


async def streams(session: TenantSession, integration_id: str) -> Sequence[SyncStream]:
    """Find the streams that a connection follows or could follow, in the order in which they were made."""
    own = col(SyncStream.org_id) == session.org_id, col(SyncStream.integration_id) == integration_id
    return await session.find_all(select(SyncStream).where(*own).order_by(col(SyncStream.id)))


async def about(session: TenantSession, stream_id: str) -> tuple[str | None, str | None] | None:
    """The account and the deal that a stream is linked to, the account being the deal's own; None without a link."""
    deal = and_(col(Deal.org_id) == col(StreamLink.org_id), col(Deal.id) == col(StreamLink.deal_id))
    own = col(StreamLink.org_id) == session.org_id, col(StreamLink.stream_id) == stream_id
    account = func.coalesce(col(StreamLink.account_id), col(Deal.account_id)).label("account")
    wanted = select(account, col(StreamLink.deal_id)).select_from(StreamLink).outerjoin(Deal, deal).where(*own)
    rows = await session.rows(wanted)
    return (rows[0].account, rows[0].deal_id) if rows else None


async def follow(session: TenantSession, ids: Collection[str], *, is_followed: bool) -> None:
    """Follow these streams from now on, read in full, or follow them no more."""
    own = col(SyncStream.org_id) == session.org_id, among(col(SyncStream.id), ids)
    values = {"enabled": True, "wants_full": True} if is_followed else {"enabled": False}
    await session.execute(update(SyncStream).where(*own).values(**values))


async def read_anew(session: TenantSession, integration_id: str) -> None:
    """Have all streams of a connection read in full."""
    own = col(SyncStream.org_id) == session.org_id, col(SyncStream.integration_id) == integration_id
    await session.execute(update(SyncStream).where(*own).values(wants_full=True))


async def contacts(session: TenantSession, addresses: Collection[str]) -> dict[str, tuple[str, str | None]]:
    """The contacts of these addresses with their accounts; of two with one address the older."""
    own = col(Contact.org_id) == session.org_id, among(col(Contact.folded_email), addresses)
    columns = (col(Contact.id), col(Contact.account_id), col(Contact.folded_email))
    newest_first = select(*columns).where(*own).order_by(col(Contact.created_at).desc(), col(Contact.id).desc())
    return {row.folded_email: (row.id, row.account_id) for row in await session.rows(newest_first)}


async def accounts(session: TenantSession, domains: Collection[str]) -> dict[str, str]:
    """The accounts of these domains, where one alone has it."""
    own = col(Account.org_id) == session.org_id, among(col(Account.domain), domains)
    rows = await session.rows(select(col(Account.id), col(Account.domain)).where(*own))
    numbers: dict[str, list[str]] = {}
    for row in rows:
        numbers.setdefault(row.domain, []).append(row.id)
    return {domain: ids[0] for domain, ids in numbers.items() if len(ids) == 1}


async def open_deals(
    session: TenantSession, account_ids: Collection[str]
) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """The open deals of these accounts, each with its contacts."""
    own = col(Deal.org_id) == session.org_id, among(col(Deal.account_id), account_ids)
    is_open = col(Deal.status) == DealStatus.OPEN.value
    wanted = (
        select(col(Deal.id), col(Deal.account_id)).where(*own, is_open).order_by(col(Deal.created_at), col(Deal.id))
    )
    deals = await session.rows(wanted)
    people: dict[str, set[str]] = {row.id: set() for row in deals}
    if people:
        linked = col(DealContact.org_id) == session.org_id, among(col(DealContact.deal_id), people)
        for row in await session.rows(select(col(DealContact.deal_id), col(DealContact.contact_id)).where(*linked)):
            people[row.deal_id].add(row.contact_id)
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for row in deals:
        found.setdefault(row.account_id, []).append((row.id, frozenset(people[row.id])))
    return found


async def to_be_held(session: TenantSession, present: datetime) -> Sequence[SyncedMeeting]:
    """A batch of what is known of meetings whose end has passed, and that do not count as held."""
    own = col(SyncedMeeting.org_id) == session.org_id, col(SyncedMeeting.pending_end) <= present
    wanted = select(SyncedMeeting).where(*own).order_by(col(SyncedMeeting.pending_end)).limit(BATCH)
    return await session.find_all(wanted)


async def items_behind(session: TenantSession, stream_id: str, after: str) -> Sequence[SyncItem]:
    """A small batch of a stream's items behind this one, by their identifiers."""
    own = col(SyncItem.org_id) == session.org_id, col(SyncItem.stream_id) == stream_id, col(SyncItem.id) > after
    return await session.find_all(select(SyncItem).where(*own).order_by(col(SyncItem.id)).limit(SMALL_BATCH))


async def new_contacts(session: TenantSession, since: datetime, most: int) -> Sequence[tuple[str, datetime]]:
    """The contacts that were made or changed since then, each with when that was last: so many at the most."""
    own = col(Contact.org_id) == session.org_id, col(Contact.updated_at) >= since
    wanted = select(col(Contact.id), col(Contact.updated_at)).where(*own).order_by(col(Contact.id)).limit(most)
    return [(row.id, row.updated_at) for row in await session.rows(wanted)]


async def without_contact(session: TenantSession, integration_id: str, after: str) -> Sequence[SyncOccurrence]:
    """A batch of the occurrences behind this one that the connection has taken, and whose meetings have no contact.

    What a chat channel shows is about what the channel is linked to.
    """
    meeting = and_(
        col(Activity.org_id) == col(SyncOccurrence.org_id), col(Activity.id) == col(SyncOccurrence.meeting_id)
    )
    own = col(SyncOccurrence.org_id) == session.org_id, col(SyncOccurrence.integration_id) == integration_id
    kinds = (IntegrationStreamKind.CALENDAR.value, IntegrationStreamKind.RECORDINGS.value)
    taken = col(SyncOccurrence.outcome) == IntegrationItemOutcome.TAKEN.value, col(SyncOccurrence.kind).in_(kinds)
    wanted = select(SyncOccurrence).join(Activity, meeting).where(*own, *taken, col(Activity.contact_id).is_(None))
    behind = wanted.where(col(SyncOccurrence.id) > after).order_by(col(SyncOccurrence.id)).limit(BATCH)
    return await session.find_all(behind)


async def has_items(session: TenantSession, integration_id: str) -> bool:
    """Says whether the connection has kept anything yet."""
    own = col(SyncOccurrence.org_id) == session.org_id, col(SyncOccurrence.integration_id) == integration_id
    return await session.scalar(select(literal(1)).where(*own).limit(1)) is not None


async def kept(
    session: TenantSession, after: str, *, source: str | None = None, owner_id: str | None = None
) -> Sequence[SyncedMeeting]:
    """A small batch of the meetings behind this one that stay though no calendar shows them.

    With a source those alone that came from there, by a connection of this owner where there is one.
    """
    meeting = and_(col(Activity.org_id) == col(SyncedMeeting.org_id), col(Activity.id) == col(SyncedMeeting.meeting_id))
    own = [col(SyncedMeeting.org_id) == session.org_id, col(SyncedMeeting.cancelled_at).is_not(None)]
    if source is not None:
        own.append(col(Activity.source) == source)
    if owner_id is not None:
        own.append(func.coalesce(col(SyncedMeeting.shown_by), col(Activity.owner_id)) == owner_id)
    wanted = select(SyncedMeeting).join(Activity, meeting).where(*own, col(SyncedMeeting.id) > after)
    return await session.find_all(wanted.order_by(col(SyncedMeeting.id)).limit(SMALL_BATCH))


async def forget_subjects(session: TenantSession, item_ids: Collection[str]) -> None:
    """The titles of these items' occurrences are not kept any more."""
    own = col(SyncOccurrence.org_id) == session.org_id, among(col(SyncOccurrence.item_id), item_ids)
    await session.execute(update(SyncOccurrence).where(*own).values(subject=None, folded_subject=None))


async def worked_on(session: TenantSession, meeting_ids: Collection[str]) -> Sequence[SyncedMeeting]:
    """Find those of the synchronised meetings of which a member changed a field."""
    return [each for each in await synced(session, "meeting_id", meeting_ids) if each.overridden]


async def shown_elsewhere(session: TenantSession, integration_id: str, meeting_ids: Collection[str]) -> set[str]:
    """Those of the meetings that other connections show too."""
    own = col(SyncOccurrence.org_id) == session.org_id, among(col(SyncOccurrence.meeting_id), meeting_ids)
    other = col(SyncOccurrence.integration_id) != integration_id
    rows = await session.rows(select(col(SyncOccurrence.meeting_id)).where(*own, other).distinct())
    return {row.meeting_id for row in rows}


async def occurrences_by_id(session: TenantSession, ids: Collection[str]) -> Sequence[SyncOccurrence]:
    """The occurrences by their identifiers."""
    return await occurrences(session, "id", ids)


async def expect_again(session: TenantSession, item_ids: Collection[str]) -> None:
    """Have these items be kept anew when they are shown again, whatever they say then."""
    own = col(SyncItem.org_id) == session.org_id, among(col(SyncItem.id), item_ids)
    await session.execute(update(SyncItem).where(*own).values(hash=""))


async def want_again(session: TenantSession, meeting_id: str) -> None:
    """Have the items of a meeting kept again with the next run, and everything read for it."""
    own = col(SyncOccurrence.org_id) == session.org_id, col(SyncOccurrence.meeting_id) == meeting_id
    showing = select(col(SyncOccurrence.item_id)).where(*own)
    items = col(SyncItem.org_id) == session.org_id, col(SyncItem.id).in_(showing)
    await session.execute(update(SyncItem).where(*items).values(hash=""))
    streams = select(col(SyncOccurrence.stream_id)).where(*own)
    await session.execute(
        update(SyncStream)
        .where(col(SyncStream.org_id) == session.org_id, col(SyncStream.id).in_(streams))
        .values(wants_full=True)
    )


async def forget_meeting(session: TenantSession, meeting_id: str) -> None:
    """A member deletes the meeting or the message here: it does not come back, and its items say why."""
    reason = IntegrationSkipReason.REMOVED_HERE.value
    own = col(SyncOccurrence.org_id) == session.org_id, col(SyncOccurrence.meeting_id) == meeting_id
    await session.execute(
        update(SyncOccurrence)
        .where(*own)
        .values(
            meeting_id=None,
            outcome=IntegrationItemOutcome.SKIPPED.value,
            reason=reason,
            explanation="A member deleted it here.",
            decision=None,
        )
    )
    known = await session.find(SyncedMeeting, meeting_id=meeting_id)
    if known is not None:
        await session.update(
            known, meeting_id=None, participants=[], deal_candidates=[], conference_url=None, pending_end=None
        )
