"""Lists what can be listed: for each noun its source, its columns, and the orders that its lists know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel, col

from contract.criteria import Order, Selection
from contract.vocabulary import SortDirection
from storage import tables as t
from storage.base import Record
from storage.columns import SORT, facts_of
from storage.prepared import INSIDE


@dataclass(frozen=True, slots=True)
class Key:
    """One term of an order. `descending` is None for the term whose direction the caller chooses."""

    name: str
    descending: bool | None = None
    nullable: bool = False


_CREATED = Key("created_at", descending=True)
_ID = Key("id", descending=False)


_Selected = tuple[frozenset[str], frozenset[tuple[str, frozenset[str]]]]
"""The keys of columns, and links with the keys of theirs."""


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A source of rows. It equals whatever has its name and selects the same: statements are kept by it.

    `orders` maps each sort field to its terms, the chosen one first and the tie-breaks after it; `links` maps the name
    of a to-one link to the column that holds it and the noun it leads to.
    """

    name: str
    entity: Any
    columns: tuple[Any, ...]
    orders: Mapping[str, tuple[Key, ...]]
    default: Order
    links: Mapping[str, tuple[str, "Noun"]] = field(default_factory=dict)
    fixed: tuple[ColumnElement[bool], ...] = ()
    joins: tuple[tuple[Any, ColumnElement[bool], bool], ...] = ()
    selected: _Selected | None = None
    """The columns that are wanted of it; everything unless given."""
    called: str | None = None
    """The clients' name for such a record, where that is not the name of its table's class."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Noun) and (self.name, self.selected) == (other.name, other.selected)

    def __hash__(self) -> int:
        return hash((self.name, self.selected))

    @property
    def typename(self) -> str:
        """The clients' name for such a record: the name of its GraphQL type."""
        return self.called or str(self.entity.__name__)

    def select(self, organization: Any, *columns: Any, beside: Sequence[Any] = ()) -> Select[Any]:
        """A select of the noun's rows in the organization (a value or a parameter), with these columns alone, or else
        with what is selected of it and some beside that.
        """
        columns, joins = (columns, self.joins) if columns else self._wanted()
        statement = select(*columns, *beside).select_from(self.entity)
        for target, condition, optional in joins:
            statement = statement.join(target, condition, isouter=optional)
        return statement.where(self.entity.org_id == organization, *self.fixed)

    def column(self, name: str) -> Any:
        """The column that a row shows under this name."""
        return next(c for c in self.columns if c.key == name)

    def terms(self, order: Order | None) -> list[tuple[Key, bool]]:
        """The terms of an order, each with whether it descends."""
        order = order or self.default
        chosen = order.direction is SortDirection.DESC
        return [(k, chosen if k.descending is None else k.descending) for k in self.orders[order.field]]

    def selecting(self, selection: Selection | None, order: Order | None = None) -> "Noun":
        """The same source with the wanted columns, those of the order among them, and the wanted links joined in."""
        if selection is None:
            return self
        field = (order or self.default).field
        known = selection.sources.get((self.name, field))
        if isinstance(known, Noun):
            return known
        wanted = selection.columns.union(("id",), (key.name for key in self.orders[field]))
        made = selection.sources[self.name, field] = replace(self, selected=(wanted, selection.links))
        return made

    def _wanted(self) -> tuple[tuple[Any, ...], tuple[tuple[Any, ColumnElement[bool], bool], ...]]:
        """The columns of a row, and the joins that they come from."""
        if self.selected is None:
            return self.columns, self.joins
        wanted, links = self.selected
        columns = [c for c in self.columns if c.key in wanted]
        joins = list(self.joins)
        for name, linked in sorted(links, key=lambda link: link[0]):
            local, target = self.links[name]
            other = aliased(target.entity)
            columns += [
                getattr(other, c.key).label(f"{name}{INSIDE}{c.key}")
                for c in target.columns
                if c.key in linked | {"id"}
            ]
            joins.append(_linked(other, self.entity.org_id, self.column(local)))
        return tuple(columns), tuple(joins)


def _columns(model: type[SQLModel]) -> tuple[Any, ...]:
    """All columns of a table, each under its name in the database."""
    attributes = model.__mapper__.column_attrs  # type: ignore[attr-defined]  # which every table class has
    stored = {a.key: a.columns[0].name for a in attributes}
    return tuple(getattr(model, a).label(n) if a != n else getattr(model, a) for a, n in stored.items())


def _orders_of(model: type[Record]) -> dict[str, tuple[Key, ...]]:
    """The orders of a record type: each column that lists are sorted by, then the newest first, then the id."""
    orders: dict[str, tuple[Key, ...]] = {
        f.name: (Key(f.name, nullable=f.nullable), _CREATED, _ID) for f in facts_of(model) if SORT in f.uses
    }
    orders["created_at"] = (Key("created_at"), _ID)
    return orders


_BY_CREATION: Mapping[str, tuple[Key, ...]] = {"created_at": (Key("created_at"), _ID)}


def _linked(model: Any, org_id: Any, column: Any, *, optional: bool = True) -> tuple[Any, ColumnElement[bool], bool]:
    return model, and_(model.org_id == org_id, model.id == column), optional


def _prefixed(prefix: str, *columns: Any) -> tuple[Any, ...]:
    return tuple(c.label(f"{prefix}_{c.key}") for c in columns)


_NEWEST = Order("created_at")


def record_noun(model: type[Record], **links: Noun) -> Noun:
    """The noun of a record type that is listed as its table says: all columns, its own orders, the newest first.

    Each link is a to-one link by the column `<link>_id`, with the noun that it leads to. A noun that no other one
    leads to may stand beside its resolvers.
    """
    to_one = {name: (f"{name}_id", noun) for name, noun in links.items()}
    return Noun(str(model.__tablename__), model, _columns(model), _orders_of(model), _NEWEST, links=to_one)


ACCOUNTS = record_noun(t.Account)
CONTACTS = record_noun(t.Contact, account=ACCOUNTS)
COMPETITORS = Noun(
    "competitors",
    t.Competitor,
    _columns(t.Competitor),
    {"name": (Key("folded_name"), _ID)},
    Order("name", SortDirection.ASC),
)
STAGES = Noun(
    "stages",
    t.PipelineStage,
    _columns(t.PipelineStage),
    {"position": (Key("position"), _ID)},
    Order("position", SortDirection.ASC),
)
DEALS = record_noun(t.Deal, account=ACCOUNTS, stage=STAGES, champion=CONTACTS)
MEETINGS = replace(
    record_noun(t.Activity, account=ACCOUNTS, deal=DEALS, contact=CONTACTS),
    name="meetings",
    called="Meeting",
    default=Order("due_at"),
    fixed=(col(t.Activity.type) == literal_column("'meeting'"),),  # as the partial indexes have it
)
MEETINGS_WITH_LINKS = replace(
    MEETINGS,
    name="meetings_with_links",
    columns=(
        *MEETINGS.columns,
        *_prefixed("accounts", col(t.Account.id), col(t.Account.name), col(t.Account.domain)),
        *_prefixed("deals", col(t.Deal.id), col(t.Deal.name), col(t.Deal.stage_id)),
        *_prefixed(
            "contacts", col(t.Contact.id), col(t.Contact.first_name), col(t.Contact.last_name), col(t.Contact.email)
        ),
    ),
    joins=tuple(
        _linked(model, col(t.Activity.org_id), column)
        for model, column in (
            (t.Account, col(t.Activity.account_id)),
            (t.Deal, col(t.Activity.deal_id)),
            (t.Contact, col(t.Activity.contact_id)),
        )
    ),
)
"""Meetings with the summaries that the REST listing embeds (specification 2.1), in one statement."""
LEADS = record_noun(t.Lead, account=ACCOUNTS, contact=CONTACTS, deal=DEALS)
SNAPSHOTS = Noun(
    "snapshots",
    t.HealthSnapshot,
    _columns(t.HealthSnapshot),
    {"snapshot_at": (Key("snapshot_at"), Key("id"))},
    Order("snapshot_at"),
)
FACTORS = Noun(
    "factors",
    t.HealthFactor,
    _columns(t.HealthFactor),
    {"position": (Key("position"), _ID)},
    Order("position", SortDirection.ASC),
)
_CONTENT = (
    col(t.CXReportRevision.copy_blobs),
    col(t.CXReportRevision.analysis),
    col(t.CXReportRevision.brand),
    col(t.CXReportRevision.bpo_prefix),
)
RESEARCH_RUNS = Noun("research_runs", t.ResearchRun, _columns(t.ResearchRun), _BY_CREATION, _NEWEST)
RESEARCH_RESULTS = Noun(
    "research_results",
    t.ResearchResult,
    _columns(t.ResearchResult),
    {"position": (Key("position"), _ID)},
    Order("position", SortDirection.ASC),
)
CX_REPORTS = Noun(
    "cx_reports",
    t.CXReport,
    (*_columns(t.CXReport), *_CONTENT),
    {"updated_at": (Key("updated_at"), _ID)},
    Order("updated_at"),
    joins=(
        (
            t.CXReportRevision,
            and_(
                col(t.CXReportRevision.org_id) == col(t.CXReport.org_id),
                col(t.CXReportRevision.report_id) == col(t.CXReport.id),
                col(t.CXReportRevision.revision) == col(t.CXReport.revision),
            ),
            False,
        ),
    ),
)
"""Reports with the content of their newest revision."""
WEBHOOKS = Noun("webhooks", t.Webhook, _columns(t.Webhook), _BY_CREATION, _NEWEST)
JOBS = Noun("jobs", t.Job, _columns(t.Job), _BY_CREATION, _NEWEST)
EVENTS = Noun(
    "events", t.Event, _columns(t.Event), {"sequence": (Key("sequence"),)}, Order("sequence", SortDirection.ASC)
)
_LINKED = (col(t.DealContact.role), col(t.DealContact.is_primary), col(t.DealContact.linked_at))
CONTACTS_OF_DEALS = Noun(
    "contacts_of_deals",
    t.DealContact,
    (*_columns(t.Contact), col(t.DealContact.deal_id), *_LINKED),
    {"linked_at": (Key("linked_at"), _ID)},
    Order("linked_at", SortDirection.ASC),
    links=CONTACTS.links,
    joins=(_linked(t.Contact, col(t.DealContact.org_id), col(t.DealContact.contact_id), optional=False),),
)
DEALS_OF_CONTACTS = Noun(
    "deals_of_contacts",
    t.DealContact,
    (*_columns(t.Deal), col(t.DealContact.contact_id)),
    DEALS.orders,
    DEALS.default,
    links=DEALS.links,
    joins=(_linked(t.Deal, col(t.DealContact.org_id), col(t.DealContact.deal_id), optional=False),),
)
_MAILBOXES_ON_IT = (
    select(func.count())
    .select_from(t.Mailbox)
    .where(col(t.Mailbox.org_id) == col(t.OutreachDomain.org_id), col(t.Mailbox.domain_id) == col(t.OutreachDomain.id))
    .scalar_subquery()
)
DOMAINS = Noun(
    "domains",
    t.OutreachDomain,
    (*_columns(t.OutreachDomain), _MAILBOXES_ON_IT.label("mailbox_count")),
    {"name": (Key("name"), _ID)},
    Order("name", SortDirection.ASC),
)
MAILBOXES = Noun(
    "mailboxes",
    t.Mailbox,
    _columns(t.Mailbox),
    {"email": (Key("email"), _ID)},
    Order("email", SortDirection.ASC),
)
CAMPAIGNS = record_noun(t.Campaign)
ENROLLMENTS = Noun(
    "enrollments",
    t.Enrollment,
    _columns(t.Enrollment),
    {"enrolled_at": (Key("enrolled_at"), _ID)},
    Order("enrolled_at", SortDirection.ASC),
)
MAILBOXES_OF_CAMPAIGNS = Noun(
    "mailboxes_of_campaigns",
    t.CampaignMailbox,
    (*_columns(t.Mailbox), col(t.CampaignMailbox.campaign_id)),
    {"email": (Key("email"), _ID)},
    Order("email", SortDirection.ASC),
    joins=(_linked(t.Mailbox, col(t.CampaignMailbox.org_id), col(t.CampaignMailbox.mailbox_id), optional=False),),
)
