"""The rows of one organization, but for its activities: pure, in an order that foreign keys accept."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

from sqlalchemy import inspect
from sqlmodel import SQLModel

from contract.vocabulary import GeoScope, StageType
from storage.base import copies_of
from storage.seeding import words
from storage.seeding.leads import LEAD, leads
from storage.seeding.plan import Blueprint, Ids, Row
from storage.tables import Account, Competitor, Contact, Deal, DealContact, Event, Lead, PipelineStage, StageChange


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one table, without `org_id`, in the order of `columns` (the database's names).

    A column that may be empty and that nothing is generated for is null.
    """

    model: type[SQLModel]
    columns: tuple[str, ...]
    rows: Iterable[Row]
    unit: str = ""
    """The plan's word for them, where it has one."""

    def __post_init__(self) -> None:
        stored = inspect(self.model).local_table.columns
        known = {*self.columns, *(copy for _, copy, _ in copies_of(self.model))}  # copies are the loader's business
        known |= {column.name for column in stored if column.computed is not None}  # and these the database's
        empty = tuple(column.name for column in stored if column.nullable and column.name not in known)
        if empty:
            nulls = (None,) * len(empty)
            object.__setattr__(self, "rows", [(*row, *nulls) for row in self.rows])
            object.__setattr__(self, "columns", self.columns + empty)


@dataclass(slots=True)
class Reachable:
    """The records that activities refer to, by index."""

    accounts: list[tuple[str, str]] = field(default_factory=list)
    """Identifier and name."""
    contacts: list[tuple[str, str, str | None, int | None]] = field(default_factory=list)
    """Identifier, name, e-mail, account."""
    deals: list[tuple[str, int | None]] = field(default_factory=list)
    """Identifier, account."""
    people: list[list[int]] = field(default_factory=list)
    """The contacts of each account."""


STAGES: tuple[tuple[str, StageType, int], ...] = (
    ("Qualification", StageType.OPEN, 10),
    ("Discovery", StageType.OPEN, 25),
    ("Proposal", StageType.OPEN, 50),
    ("Negotiation", StageType.OPEN, 75),
    ("Won", StageType.WON, 100),
    ("Lost", StageType.LOST, 0),
)
_WON, _LOST = 4, 5
# The stage that every twentieth deal is in; None is the board's «no stage».
_STAGE_OF = (2, 0, _WON, 1, None, 3, _LOST, 1, _WON, 2, 0, _WON, _LOST, 1, None, 3, 2, _WON, _LOST, 0)
_CURRENCIES = ("USD", "EUR", "USD", "GBP", "USD", "EUR", "CHF", "USD", "JPY")
_GEO = (None, GeoScope.LOCAL.value, GeoScope.REGIONAL.value, None, GeoScope.INTERNATIONAL.value)
_LONGEST = timedelta(days=90)

ACCOUNT = ("id", "name", "domain", "industry", "owner_id", "created_at", "updated_at", "version")
CONTACT = (
    *("id", "first_name", "last_name", "email", "phone", "title", "linkedin"),
    *("account_id", "owner_id", "created_at", "updated_at", "version"),
)
STAGE = ("id", "name", "position", "type", "probability", "created_at")
DEAL = (
    *("id", "name", "account_id", "value", "currency", "stage_id", "status", "close_date", "geo_scope", "source"),
    *("champion_id", "notes", "parent_deal_id", "competitors", "closed_at"),
    *("owner_id", "created_at", "updated_at", "version"),
)
STAGE_CHANGE = ("id", "deal_id", "from_stage_id", "to_stage_id", "at", "by", "account_id")
DEAL_CONTACT = ("deal_id", "contact_id", "role", "is_primary", "linked_at")
COMPETITOR = ("id", "name", "folded_name", "aliases", "domains", "created_at")
EVENT = ("id", "sequence", "type", "area", "actor", "occurred_at", "request_id", "data")


def records(plan: Blueprint) -> tuple[list[Rows], Reachable]:
    """Everything but the activities, and what those can refer to."""
    reachable, pools = Reachable(), words.pools(plan.key)
    accounts = _accounts(plan, pools, reachable)
    contacts = _contacts(plan, pools, reachable)
    stage_ids = [Ids(plan.key, "stage")(index) for index in range(len(STAGES))]
    stages = [
        (stage_id, name, position, kind.value, probability, plan.since)
        for position, (stage_id, (name, kind, probability)) in enumerate(zip(stage_ids, STAGES, strict=True))
    ]
    deals = _Deals(plan, reachable, stage_ids)
    return [
        Rows(PipelineStage, STAGE, stages),
        Rows(Account, ACCOUNT, accounts, "accounts"),
        Rows(Contact, CONTACT, contacts, "contacts"),
        Rows(Deal, DEAL, deals.rows, "deals"),
        Rows(Competitor, COMPETITOR, _catalogue(plan) if plan.sizes.deals else []),
        Rows(StageChange, STAGE_CHANGE, deals.changes),
        Rows(DealContact, DEAL_CONTACT, deals.links),
        Rows(Event, EVENT, deals.events if plan.logged else []),
        Rows(Lead, LEAD, leads(plan, pools, reachable.accounts, reachable.contacts)),
    ], reachable


def moments(plan: Blueprint, count: int, random: Random) -> Iterable[datetime]:
    """`count` ascending times of creation, spread over the plan's span."""
    step = plan.span / max(count, 1)
    for index in range(count):
        yield plan.since + step * (index + random.random())


def _accounts(plan: Blueprint, pools: words.Pools, reachable: Reachable) -> list[Row]:
    random, ids, rows, owners = plan.random("account"), Ids(plan.key, "account"), [], plan.owners
    for index, created in enumerate(moments(plan, plan.sizes.accounts, random)):
        lap, at = divmod(index, len(pools.companies))
        name = pools.companies[at] if lap == 0 else f"{pools.companies[at]} {lap + 1}"
        domain = None if index % 10 == 9 else f"{words.slug(name)}.example"
        industry = None if index % 7 == 6 else random.choice(words.INDUSTRIES)
        owner = None if index % 9 == 8 else random.choice(owners)
        rows.append((ids(index), name, domain, industry, owner, created, created, 1))
        reachable.accounts.append((ids(index), name))
        reachable.people.append([])
    return rows


def _contacts(plan: Blueprint, pools: words.Pools, reachable: Reachable) -> list[Row]:
    random, ids, rows, owners = plan.random("contact"), Ids(plan.key, "contact"), [], plan.owners
    for index, created in enumerate(moments(plan, plan.sizes.contacts, random)):
        account = None if index % 12 == 11 or not reachable.accounts else index % len(reachable.accounts)
        first, last = random.choice(pools.first_names), random.choice(pools.last_names)
        handle = f"{words.slug(first)}.{words.slug(last)}"
        place = "mail" if account is None else words.slug(reachable.accounts[account][1])
        email = None if index % 8 == 7 else f"{handle}@{place}.example"
        phone = None if index % 3 == 2 else f"+1-555-{random.randrange(1000):03}-{random.randrange(10_000):04}"
        title = None if index % 6 == 5 else random.choice(words.TITLES)
        linkedin = f"https://linkedin.example/in/{words.slug(handle)}" if index % 4 == 0 else None
        account_id = None if account is None else reachable.accounts[account][0]
        owner = random.choice(owners)
        given = None if index % 25 == 24 else first
        rows.append((ids(index), given, last, email, phone, title, linkedin, account_id, owner, created, created, 1))
        reachable.contacts.append((ids(index), f"{first} {last}", email, account))
        if account is not None:
            reachable.people[account].append(index)
    return rows


def _catalogue(plan: Blueprint) -> list[Row]:
    ids = Ids(plan.key, "competitor")
    return [
        (ids(index), name, name.casefold(), list(aliases), list(domains), plan.since)
        for index, (name, aliases, domains) in enumerate(words.CATALOGUE)
    ]


class _Deals:
    """The deals with their way through the stages, their contacts, and the log of their creation."""

    def __init__(self, plan: Blueprint, reachable: Reachable, stage_ids: list[str]) -> None:
        self.rows: list[Row] = []
        self.changes: list[Row] = []
        self.links: list[Row] = []
        self.events: list[Row] = []
        self._plan, self._reachable, self._stage_ids = plan, reachable, stage_ids
        self._random = plan.random("deal")
        self._change_ids, self._event_ids = Ids(plan.key, "stage_change"), Ids(plan.key, "event")
        self._owners = plan.owners
        ids = Ids(plan.key, "deal")
        for index, created in enumerate(moments(plan, plan.sizes.deals, self._random)):
            self._deal(index, ids(index), created)

    def _deal(self, index: int, deal_id: str, created: datetime) -> None:
        random, reachable = self._random, self._reachable
        parent, account = None, None
        if index % 15 == 14:
            parent, account = reachable.deals[-1]
        elif reachable.accounts and index % 16 != 15:
            account = random.randrange(len(reachable.accounts))
        account_id, company = (None, "New customer") if account is None else reachable.accounts[account]
        people = [] if account is None else reachable.people[account]
        owner, offer = random.choice(self._owners), random.choice(words.OFFERS)
        name, champion = f"{company} – {offer}", random.choice(people) if people and index % 5 < 2 else None
        currency = _CURRENCIES[index % len(_CURRENCIES)]
        value = None if index % 11 == 10 else _amount(random, index, currency)
        path = self._path(index)
        moved = self._walk(deal_id, account_id, created, path, owner)
        stage = path[-1] if path else None
        source = random.choice(words.DEAL_SOURCES) if index % 3 else None
        note = random.choice(words.NOTES) if index % 2 else None
        competitors = sorted(random.sample(words.COMPETITORS, index % 3))
        self.rows.append(
            (
                *(deal_id, name, account_id, value, currency),
                None if stage is None else self._stage_ids[stage],
                StageType.OPEN.value if stage is None else STAGES[stage][1].value,
                self._close_date(index, stage, moved),
                _GEO[index % len(_GEO)],
                source,
                None if champion is None else reachable.contacts[champion][0],
                _notes(note, competitors, index),
                parent,
                competitors,
                moved if stage in (_WON, _LOST) else None,
                *(owner, created, moved, max(len(path), 1)),
            )
        )
        reachable.deals.append((deal_id, account))
        self._link(deal_id, people, champion, created)
        data = {
            "deal_id": deal_id,
            "name": name,
            "value": None if value is None else str(value),
            "currency": currency,
            "account_id": account_id,
            "stage_id": self._stage_ids[path[0]] if path else None,
            "owner_id": owner,
        }
        event_id = self._event_ids(index)
        self.events.append((event_id, index + 1, "deal_created", "crm", owner, created, None, data))

    def _path(self, index: int) -> list[int]:
        """The stages that the deal went through, the last one being where it is."""
        stage = _STAGE_OF[index % len(_STAGE_OF)]
        if stage is None:
            return []
        if stage == _LOST:
            return [*range(self._random.randrange(1, _WON + 1)), _LOST]
        return list(range(stage + 1))

    def _walk(self, deal_id: str, account_id: str | None, created: datetime, path: list[int], by: str) -> datetime:
        """Note the moves; the first is the creation in a stage. Gives the time of the last."""
        time = min(self._plan.present - created, _LONGEST) * self._random.uniform(0.2, 1)
        at = created
        for number, stage in enumerate(path):
            at = created + time * number / max(len(path) - 1, 1)
            before = self._stage_ids[path[number - 1]] if number else None
            change_id = self._change_ids(len(self.changes))
            self.changes.append((change_id, deal_id, before, self._stage_ids[stage], at, by, account_id))
        return at

    def _close_date(self, index: int, stage: int | None, moved: datetime) -> date | None:
        if stage in (_WON, _LOST):
            return moved.date()
        days = self._random.randrange(-20, 120)
        return None if index % 6 == 5 else (self._plan.present + timedelta(days=days)).date()

    def _link(self, deal_id: str, people: list[int], champion: int | None, created: datetime) -> None:
        chosen = self._random.sample(people, min(len(people), self._random.randrange(4)))
        if champion is not None:
            chosen = [champion, *(c for c in chosen if c != champion)]
        for number, contact in enumerate(chosen):
            role = self._random.choice(words.LINK_ROLES) if number < 2 else None
            linked = created + timedelta(minutes=number)
            self.links.append((deal_id, self._reachable.contacts[contact][0], role, number == 0, linked))


def _notes(note: str | None, competitors: list[str], index: int) -> str | None:
    """The note with the sentences that a detection of the deal's competitors finds, and now and then a denial."""
    sentences = [note] if note else []
    sentences += [f"{name} has made an offer, too." for name in competitors]
    if index % 12 == 7:
        sentences.append("Globex is not in the race.")
    return " ".join(sentences) or None


def _amount(random: Random, index: int, currency: str) -> Decimal:
    """An amount: mostly round, sometimes to the cent, once in a while nothing; yen have no cents (decision 902)."""
    if index % 97 == 13:
        return Decimal(0)
    whole = int(1000 * 10 ** random.uniform(0, 3))
    if currency == "JPY" or index % 7 > 3:
        return Decimal(round(whole, -2))
    cents = random.randrange(100)
    return whole + Decimal(cents if cents % 10 else cents + 5).scaleb(-2)  # 0.30 would be shown as 0.3
