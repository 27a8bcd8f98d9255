"""Statements on account health: the facts that a score is made from, and the snapshots with their factors."""

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlmodel import UTCDateTime, col

from contract.health_facts import (
    AccountFacts,
    ContactFacts,
    DealFacts,
    MeetingFacts,
    OutreachFacts,
    Windows,
    windows,
)
from contract.outreach_vocabulary import EnrollmentStatus
from storage.expressions import AnySelect, Values
from storage.queries.filtering import id_matches, in_list
from storage.queries.listables import ACCOUNTS, CONTACTS, DEALS, FACTORS, MEETINGS, SNAPSHOTS
from storage.rows import HealthFactorRow, HealthSnapshotRow
from storage.statements import INSIDE, ORG_PARAM
from storage.tables import Account, Activity, Contact, Deal, Enrollment, HealthFactor, HealthSnapshot, StageChange
from storage.tenancy.sessions import TenantSession


async def facts(session: TenantSession, account_ids: Sequence[str], now: datetime) -> dict[str, AccountFacts]:
    """Reads what the formula knows of each account at `now`; unknown accounts are left out.

    One statement for the accounts and one per group of facts, however many accounts; contract/health_facts.py defines
    every number. Raises ValueError for a naive `now`.
    """
    organization, ids, window = session.org_id, list(account_ids), windows(now)
    accounts = await session.rows(_accounts(organization, ids))
    meetings = {
        r.account_id: MeetingFacts(r.held, r.last_held_at, tuple(r[-len(window.weeks) :]), r.due, r.kept)
        for r in await session.rows(_meetings(organization, ids, window))
    }
    contacts = {
        r.account_id: ContactFacts(r.total, r.filled, r.met)
        for r in await session.rows(_contacts(organization, ids, window))
    }
    deals = {
        r.account_id: DealFacts(r.open, r.with_champion, r.moving, r.won, r.lost)
        for r in await session.rows(_deals(organization, ids, window))
    }
    outreach = {
        r.account_id: OutreachFacts(r.enrolled, r.replied)
        for r in await session.rows(_outreach(organization, ids, window))
    }
    return {
        r.id: AccountFacts(
            has_domain=bool(r.has_domain),
            has_industry=bool(r.has_industry),
            has_owner=bool(r.has_owner),
            meetings=meetings.get(r.id, MeetingFacts()),
            contacts=contacts.get(r.id, ContactFacts()),
            deals=deals.get(r.id, DealFacts()),
            outreach=outreach.get(r.id, OutreachFacts()),
        )
        for r in accounts
    }


def _accounts(organization: str, ids: Sequence[str]) -> AnySelect:
    account = Account
    return ACCOUNTS.select(
        organization,
        col(account.id),
        _mark(_filled(account.domain)).label("has_domain"),
        _mark(_filled(account.industry)).label("has_industry"),
        _mark(_filled(account.owner_id)).label("has_owner"),
    ).where(col(account.id).in_(ids))


def _meetings(organization: str, ids: Sequence[str], window: Windows) -> AnySelect:
    """The twelve weeks are the last columns."""
    account_id = col(Activity.account_id)
    meeting = (
        MEETINGS.select(organization, account_id, col(Activity.due_at), _held_at(window).label("held_at"))
        .where(account_id.in_(ids))
        .subquery()
    )
    held_at, due_at = meeting.c.held_at, meeting.c.due_at
    due = and_(due_at > window.due_since, due_at <= window.now)
    return select(
        meeting.c.account_id,
        func.count(held_at).label("held"),
        func.max(held_at).label("last_held_at"),
        func.count().filter(due).label("due"),
        func.count(held_at).filter(due).label("kept"),
        *(func.count().filter(held_at > since, held_at <= until) for since, until in window.weeks),
    ).group_by(meeting.c.account_id)


def _contacts(organization: str, ids: Sequence[str], window: Windows) -> AnySelect:
    contact, account_id = Contact, col(Contact.account_id)
    marks = (
        or_(_filled(contact.first_name), _filled(contact.last_name)),
        _filled(contact.email),
        _filled(contact.phone),
        _filled(contact.title),
    )
    met = (
        MEETINGS.select(organization, col(Activity.id))
        .where(
            col(Activity.account_id) == account_id,
            col(Activity.contact_id) == col(contact.id),
            _held_at(window) > window.met_since,
        )
        .exists()
    )
    person = (
        CONTACTS.select(
            organization,
            account_id,
            sum(map(_mark, marks[1:]), _mark(marks[0])).label("marks"),
            _mark(met).label("met"),
        )
        .where(account_id.in_(ids))
        .subquery()
    )
    return select(
        person.c.account_id,
        func.count().label("total"),
        func.sum(person.c.marks).label("filled"),
        func.sum(person.c.met).label("met"),
    ).group_by(person.c.account_id)


def _deals(organization: str, ids: Sequence[str], window: Windows) -> AnySelect:
    account_id = col(Deal.account_id)
    last_change = (
        select(func.max(col(StageChange.at)))
        .where(col(StageChange.org_id) == organization, col(StageChange.deal_id) == col(Deal.id))
        .scalar_subquery()
    )
    deal = (
        DEALS.select(
            organization,
            account_id,
            col(Deal.status),
            col(Deal.champion_id),
            col(Deal.close_date),
            func.coalesce(last_change, col(Deal.created_at)).label("moved_at"),
        )
        .where(account_id.in_(ids))
        .subquery()
    )
    status, moved_at, close_date = deal.c.status, deal.c.moved_at, deal.c.close_date
    on_time = or_(close_date.is_(None), close_date >= window.today)
    closed = moved_at > window.closed_since
    return select(
        deal.c.account_id,
        func.count().filter(status == "open").label("open"),
        func.count(deal.c.champion_id).filter(status == "open").label("with_champion"),
        func.count().filter(status == "open", moved_at > window.moved_since, on_time).label("moving"),
        func.count().filter(status == "won", closed).label("won"),
        func.count().filter(status == "lost", closed).label("lost"),
    ).group_by(deal.c.account_id)


def _outreach(organization: str, ids: Sequence[str], window: Windows) -> AnySelect:
    account_id, replied = col(Contact.account_id), EnrollmentStatus.REPLIED.value
    return (
        CONTACTS.select(
            organization,
            account_id,
            func.count().label("enrolled"),
            func.count().filter(col(Enrollment.status) == replied).label("replied"),
        )
        .join(
            Enrollment,
            and_(col(Enrollment.org_id) == col(Contact.org_id), col(Enrollment.contact_id) == col(Contact.id)),
        )
        .where(account_id.in_(ids), col(Enrollment.enrolled_at) > window.enrolled_since)
        .group_by(account_id)
    )


def _held_at(window: Windows) -> ColumnElement[datetime]:
    """Says when the meeting took place; null for one that was not held."""
    due, completed = col(Activity.due_at), col(Activity.completed_at)
    return case((completed <= window.now, case((due < completed, due), else_=completed)))


def _filled(text: str | None) -> ColumnElement[bool]:
    """True for a text that says something; false or null for one that does not."""
    clause: ColumnElement[bool] = func.trim(col(text)) != ""
    return clause


def _mark(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return case((condition, 1), else_=0)


async def latest(
    session: TenantSession, account_ids: Sequence[str], *, until: datetime | None = None
) -> dict[str, HealthSnapshotRow]:
    """The most recent snapshot of each account that has one, by account; with `until`, of those not after it."""
    alone, lateral = len(account_ids) == 1, session.dialect == "postgresql"
    values: Values = {"ids": list(account_ids), "id": next(iter(account_ids), None), "until": until}

    def build() -> AnySelect:
        return select(_latest(alone=alone, lateral=lateral, is_bounded=until is not None))

    return {r.account_id: r for r in await session.fetch(("latest", alone, until is None), build, **values)}


async def latest_with_factors(
    session: TenantSession, account_ids: Sequence[str]
) -> dict[str, tuple[HealthSnapshotRow, list[HealthFactorRow]]]:
    """The most recent snapshot of each account that has one, with its factors, oldest-inserted first, by account."""
    alone, lateral = len(account_ids) == 1, session.dialect == "postgresql"
    values = {"ids": list(account_ids), "id": next(iter(account_ids), None)}

    def build() -> AnySelect:
        newest = _latest(alone=alone, lateral=lateral)
        factors = FACTORS.select(ORG_PARAM, *(c.label(f"factor{INSIDE}{c.key}") for c in FACTORS.columns))
        if not lateral:
            ours = and_(col(HealthFactor.org_id) == ORG_PARAM, col(HealthFactor.health_score_id) == newest.c.id)
            return select(newest).add_columns(*factors.selected_columns).join(HealthFactor, ours, isouter=True)
        fenced = factors.where(col(HealthFactor.health_score_id) == newest.c.id).offset(literal_column("0"))
        of_snapshot = fenced.lateral("factor")
        return select(newest, of_snapshot).join(of_snapshot, true(), isouter=True)

    found: dict[str, tuple[HealthSnapshotRow, list[HealthFactorRow]]] = {}
    for row in await session.fetch(("latest_with_factors", alone), build, **values):
        _, factors = found.setdefault(row.account_id, (row, []))
        if (factor := row.factor) is not None:
            factors.append(factor)
    for _, factors in found.values():
        factors.sort(key=attrgetter("position"))
    return found


def _latest(*, alone: bool, lateral: bool, is_bounded: bool = False) -> FromClause:
    """The newest snapshots as a source of rows: a look into the index for each account, not a reading of its history.

    On PostgreSQL by lateral joins: what is behind a policy is looked up by a value from outside of its own query, but
    not by another table's column beside it.
    """
    newest = (
        SNAPSHOTS.select(ORG_PARAM)
        .order_by(col(HealthSnapshot.snapshot_at).desc(), col(HealthSnapshot.id).desc())
        .limit(literal_column("1", Integer))  # as a parameter it would be unknown to a generic plan
    )
    if is_bounded:
        newest = newest.where(col(HealthSnapshot.snapshot_at) <= bindparam("until", type_=UTCDateTime))
    if alone:
        return newest.where(id_matches(col(HealthSnapshot.account_id), alone)).subquery("newest")
    accounts = select(col(Account.id)).where(col(Account.org_id) == ORG_PARAM, id_matches(col(Account.id), alone))
    if lateral:
        asked = accounts.subquery("asked")
        of_each = newest.where(col(HealthSnapshot.account_id) == asked.c.id).lateral("of_each")
        return select(of_each).select_from(asked.join(of_each, true())).subquery("newest")
    its_newest = newest.with_only_columns(col(HealthSnapshot.id)).where(
        col(HealthSnapshot.account_id) == col(Account.id)
    )
    ids = accounts.with_only_columns(its_newest.correlate(Account).scalar_subquery())
    return SNAPSHOTS.select(ORG_PARAM).where(col(HealthSnapshot.id).in_(ids)).subquery("newest")


async def factors(session: TenantSession, snapshot_ids: Sequence[str]) -> dict[str, list[HealthFactorRow]]:
    """Each snapshot's factors, oldest-inserted first (specification 2.3)."""

    def build() -> AnySelect:
        of_these = FACTORS.select(ORG_PARAM).where(in_list(col(HealthFactor.health_score_id), "ids"))
        return of_these.order_by(col(HealthFactor.position))

    found: dict[str, list[HealthFactorRow]] = {i: [] for i in snapshot_ids}
    for row in await session.fetch("factors", build, ids=list(snapshot_ids)):
        found[row.health_score_id].append(row)
    return found
