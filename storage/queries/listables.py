"""Lists what can be listed: for each record type its source, its columns, and the orders that its lists know."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, and_, func, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel, col

from contract.criteria import All, Any_, Compare, Condition, Not, Op, Order, Selection
from contract.vocabulary import ActivityType, MeetingState, SortDirection, TaggedKind
from storage import rows as r
from storage import tables as t
from storage.base import Record, now
from storage.columns import SORT, columns_of, is_copy
from storage.expressions import AnyColumn, AnyEntity, AnySelect
from storage.joined_rows import CXContentRow, DomainRow, LinkedContactRow, ToldMergeRow
from storage.statements import INSIDE
from storage.tables import TAGGED


@dataclass(frozen=True, slots=True)
class Key:
    """One term of an order. `descending` is None for the term whose direction the caller chooses."""

    name: str
    descending: bool | None = None
    nullable: bool = False


RowT = TypeVar("RowT", covariant=True)

_CREATED = Key("created_at", descending=True)
_ID = Key("id", descending=False)


_Selected = tuple[frozenset[str], frozenset[tuple[str, frozenset[str]]]]
"""The keys of columns, and links with the keys of theirs."""

_Join = tuple[AnyEntity, ColumnElement[bool], bool]
"""What is joined, under which condition, and whether rows stay that it has nothing for."""


@dataclass(frozen=True, slots=True, eq=False)
class Listable(Generic[RowT]):
    """A source of rows of a class. It equals whatever has its name and selects the same: statements are kept by it.

    `orders` maps each sort field to its terms, the chosen one first and the tie-breaks after it; `links` maps the name
    of a to-one link to the column that holds it and the listable it leads to.
    """

    name: str
    entity: AnyEntity
    columns: tuple[AnyColumn, ...]
    orders: Mapping[str, tuple[Key, ...]]
    default: Order
    links: Mapping[str, tuple[str, "Listable[r.Row]"]] = field(default_factory=dict)
    fixed: tuple[ColumnElement[bool], ...] = ()
    joins: tuple[_Join, ...] = ()
    computed: Mapping[str, Callable[[Op, Any], Condition]] = field(default_factory=dict)  # Any: a value, or values
    """The fields that no column holds, each with the condition that a comparison with it is."""
    tagged: TaggedKind | None = None
    """The kind of records that the tags of these are linked as, where they have some."""
    selected: _Selected | None = None
    """The columns that are wanted of it; everything unless given."""
    called: str | None = None
    """The clients' name for such a record, where that is not the name of its table's class."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listable) and (self.name, self.selected) == (other.name, other.selected)

    def __hash__(self) -> int:
        return hash((self.name, self.selected))

    @property
    def typename(self) -> str:
        """The clients' name for such a record: the name of its GraphQL type."""
        return self.called or str(self.entity.__name__)

    def select(
        self, organization: ColumnElement[str] | str, *columns: AnyColumn, beside: Sequence[AnyColumn] = ()
    ) -> AnySelect:
        """A select of its rows in the organization (a value or a parameter), with these columns alone, or else what
        is selected of it and some beside that.
        """
        columns, joins = (columns, self.joins) if columns else self._wanted()
        statement = select(*columns, *beside).select_from(self.entity)
        for target, condition, optional in joins:
            statement = statement.join(target, condition, isouter=optional)
        return statement.where(self.entity.org_id == organization, *self.fixed)

    def column(self, name: str) -> AnyColumn:
        """The column that a row shows under this name."""
        return next(c for c in self.columns if c.key == name)

    def terms(self, order: Order | None) -> list[tuple[Key, bool]]:
        """The terms of an order, each with whether it descends."""
        order = order or self.default
        chosen = order.direction is SortDirection.DESC
        return [(k, chosen if k.descending is None else k.descending) for k in self.orders[order.field]]

    def selecting(self, selection: Selection | None, order: Order | None = None) -> "Listable[RowT]":
        """The same source with the wanted columns, those of the order among them, and the wanted links joined in."""
        if selection is None:
            return self
        field = (order or self.default).field
        known = selection.sources.get((self.name, field))
        if isinstance(known, Listable):
            return known
        wanted = selection.columns.union(("id",), (key.name for key in self.orders[field]))
        made = selection.sources[self.name, field] = replace(self, selected=(wanted, selection.links))
        return made

    def has_link(self, name: str) -> bool:
        """Whether the row that the link leads to is joined in."""
        return self.selected is not None and any(name == link for link, _ in self.selected[1])

    def _wanted(self) -> tuple[tuple[AnyColumn, ...], tuple[_Join, ...]]:
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


def _columns(model: type[SQLModel]) -> tuple[AnyColumn, ...]:
    """All columns of a table but folded copies, each under its name in the database."""
    attributes = model.__mapper__.column_attrs  # type: ignore[attr-defined]  # which every table class has
    stored = {a.key: a.columns[0].name for a in attributes if not is_copy(a.columns[0])}
    return tuple(getattr(model, a).label(n) if a != n else getattr(model, a) for a, n in stored.items())


def _orders_of(model: type[Record]) -> dict[str, tuple[Key, ...]]:
    """The orders of a record type: each column that lists are sorted by, then the newest first, then the id."""
    orders: dict[str, tuple[Key, ...]] = {
        f.name: (Key(f.name, nullable=f.nullable), _CREATED, _ID) for f in columns_of(model) if SORT in f.uses
    }
    orders["created_at"] = (Key("created_at"), _ID)
    return orders


_BY_CREATION: Mapping[str, tuple[Key, ...]] = {"created_at": (Key("created_at"), _ID)}


def _linked(model: AnyEntity, org_id: AnyColumn, column: AnyColumn, *, optional: bool = True) -> _Join:
    return model, and_(model.org_id == org_id, model.id == column), optional


def _prefixed(prefix: str, *columns: AnyColumn) -> tuple[AnyColumn, ...]:
    return tuple(c.label(f"{prefix}_{c.key}") for c in columns)


_NEWEST = Order("created_at")


def record_listable(model: type[Record], **links: Listable[r.Row]) -> Listable[RowT]:
    """A record type that is listed as its table says: all columns, its own orders, the newest first.

    Each link is a to-one link by the column `<link>_id`, with what it leads to. One that no other leads to may
    stand beside its resolvers.
    """
    to_one = {name: (f"{name}_id", listable) for name, listable in links.items()}
    name = str(model.__tablename__)
    kind = TaggedKind(TAGGED[name]) if name in TAGGED else None
    return Listable(name, model, _columns(model), _orders_of(model), _NEWEST, links=to_one, tagged=kind)


def _in_order_of(
    field: str, name: str, model: type[SQLModel], *, key: str | None = None, called: str | None = None
) -> Listable[RowT]:
    """All rows of a table in one order, the first of it first unless clients ask for the last; `key` is its column."""
    orders = {field: (Key(key or field), _ID)}
    return Listable(name, model, _columns(model), orders, Order(field, SortDirection.ASC), called=called)


PEOPLE: Listable[r.PersonRow] = _in_order_of("name", "people", t.Person, key="folded_name", called="Member")
"""Members, those who left included: the owners that a record's `owner_id` names."""
ACCOUNTS: Listable[r.AccountRow] = record_listable(t.Account, owner=PEOPLE)
CONTACTS: Listable[r.ContactRow] = record_listable(t.Contact, account=ACCOUNTS, owner=PEOPLE)
COMPETITORS: Listable[r.CompetitorRow] = _in_order_of("name", "competitors", t.Competitor, key="folded_name")
STAGES: Listable[r.PipelineStageRow] = _in_order_of("position", "stages", t.PipelineStage)
DEALS: Listable[r.DealRow] = record_listable(t.Deal, account=ACCOUNTS, stage=STAGES, champion=CONTACTS, owner=PEOPLE)


def _in_state(op: Op, value: Any) -> Condition:  # Any: a state, or several
    """The condition that a comparison with the state of a meeting is, at this moment (decision 240)."""
    present = now()
    done = Compare("completed_at", Op.IS_NULL, False)
    open_ = Compare("completed_at", Op.IS_NULL, True)
    conditions: Mapping[str, Condition] = {
        MeetingState.COMPLETED.value: done,
        MeetingState.UNSCHEDULED.value: All((open_, Compare("due_at", Op.IS_NULL, True))),
        MeetingState.SCHEDULED.value: All((open_, Compare("due_at", Op.GT, present))),
        MeetingState.OVERDUE.value: All((open_, Compare("due_at", Op.LTE, present))),
    }
    states = value if op in (Op.IN, Op.NIN) else (value,)
    wanted = Any_(tuple(conditions[state] for state in states if state is not None))
    return Not(wanted) if op in (Op.NEQ, Op.NIN) else wanted


LEADS: Listable[r.LeadRow] = record_listable(t.Lead, account=ACCOUNTS, contact=CONTACTS, deal=DEALS, owner=PEOPLE)
ACTIVITIES: Listable[r.ActivityRow] = replace(
    record_listable(t.Activity, account=ACCOUNTS, deal=DEALS, contact=CONTACTS, lead=LEADS, owner=PEOPLE),
    default=Order("occurred_at"),
    fixed=(col(t.Activity.type).in_([literal_column(f"'{kind}'") for kind in ActivityType]),),
)
"""Activities of every type."""


def _of_type(kind: ActivityType, name: str) -> Listable[r.ActivityRow]:
    own = col(t.Activity.type) == literal_column(f"'{kind}'")  # as the partial indexes have it
    return replace(ACTIVITIES, name=name, called=kind.capitalize(), fixed=(own,))


MEETINGS: Listable[r.ActivityRow] = replace(
    _of_type(ActivityType.MEETING, "meetings"), default=Order("due_at"), computed={"state": _in_state}
)
TASKS = _of_type(ActivityType.TASK, "tasks")
NOTES = _of_type(ActivityType.NOTE, "notes")
CALLS = _of_type(ActivityType.CALL, "calls")
EMAILS = _of_type(ActivityType.EMAIL, "emails")
MEETINGS_WITH_LINKS: Listable[r.ActivityRow] = replace(
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
SNAPSHOTS: Listable[r.HealthSnapshotRow] = Listable(
    "snapshots",
    t.HealthSnapshot,
    _columns(t.HealthSnapshot),
    {"snapshot_at": (Key("snapshot_at"), Key("id"))},
    Order("snapshot_at"),
)
FACTORS: Listable[r.HealthFactorRow] = _in_order_of("position", "factors", t.HealthFactor)

_CONTENT = (
    col(t.CXReportRevision.copy_blobs),
    col(t.CXReportRevision.analysis),
    col(t.CXReportRevision.brand),
    col(t.CXReportRevision.bpo_prefix),
)
RESEARCH_RUNS: Listable[r.ResearchRunRow] = Listable(
    "research_runs", t.ResearchRun, _columns(t.ResearchRun), _BY_CREATION, _NEWEST
)
RESEARCH_RESULTS: Listable[r.ResearchResultRow] = _in_order_of("position", "research_results", t.ResearchResult)
CX_REPORTS: Listable[CXContentRow] = Listable(
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
WEBHOOKS: Listable[r.WebhookRow] = Listable("webhooks", t.Webhook, _columns(t.Webhook), _BY_CREATION, _NEWEST)
JOBS: Listable[r.JobRow] = Listable("jobs", t.Job, _columns(t.Job), _BY_CREATION, _NEWEST)
EVENTS: Listable[r.EventRow] = Listable(
    "events",
    t.Event,
    _columns(t.Event),
    {"sequence": (Key("sequence"),), "occurred_at": (Key("occurred_at"), Key("sequence", descending=False))},
    Order("sequence", SortDirection.ASC),
)

SALES_TARGETS: Listable[r.SalesTargetRow] = Listable(
    "sales_targets",
    t.SalesTarget,
    _columns(t.SalesTarget),
    {"starts_on": (Key("starts_on"), Key("owner_key", descending=False), _ID)},
    Order("starts_on"),
    links={"owner": ("owner_id", PEOPLE)},
)

REPORTS: Listable[r.ReportRow] = replace(
    _in_order_of("name", "reports", t.Report), links={"owner": ("owner_id", PEOPLE)}
)

ANALYTICS_RUNS: Listable[r.AnalyticsRunRow] = Listable(
    "analytics_runs",
    t.AnalyticsRun,
    _columns(t.AnalyticsRun),
    {"created_at": (Key("created_at"), _ID)},
    Order("created_at"),
)
"""Questions: whoever lists them says whose, since they are nobody else's."""

INTEGRATIONS: Listable[r.IntegrationRow] = Listable(
    "integrations", t.Integration, _columns(t.Integration), _BY_CREATION, _NEWEST, called="Integration"
)
"""Connections: whoever lists them says whose."""
INTEGRATION_ITEMS: Listable[r.SyncOccurrenceRow] = Listable(
    "integration_items",
    t.SyncOccurrence,
    _columns(t.SyncOccurrence),
    {"starts_at": (Key("starts_at", nullable=True), _ID)},
    Order("starts_at"),
    called="IntegrationItem",
)
"""What a connection showed: whoever lists it says of which."""
CHAT_THREADS: Listable[r.ChatThreadRow] = Listable(
    "chat_threads", t.ChatThread, _columns(t.ChatThread), {"updated_at": (Key("updated_at"), _ID)}, Order("updated_at")
)
CHAT_MESSAGES: Listable[r.ChatMessageRow] = _in_order_of("position", "chat_messages", t.ChatMessage)
CHAT_RUNS: Listable[r.ChatRunRow] = _in_order_of("created_at", "chat_runs", t.ChatRun)
"""Threads, messages and runs: whoever lists them says whose, since they are nobody else's."""

SAVED_QUERIES: Listable[r.SavedQueryRow] = Listable(
    "saved_queries",
    t.SavedQuery,
    _columns(t.SavedQuery),
    {"name": (Key("name"), _ID)},
    Order("name", SortDirection.ASC),
)
"""Saved queries: whoever lists them says whose."""

MERGES: Listable[ToldMergeRow] = Listable(
    "merges",
    t.Merge,
    tuple(column for column in _columns(t.Merge) if column.key not in ("choice", "moved", "before")),
    {"merged_at": (Key("merged_at"), _ID)},
    Order("merged_at"),
)
"""Merges without what only an undo reads."""

IMPORTS: Listable[r.DataImportRow] = Listable(
    "imports", t.DataImport, _columns(t.DataImport), _BY_CREATION, _NEWEST, called="DataImport"
)
IMPORT_REFUSALS: Listable[r.ImportRefusalRow] = _in_order_of("line", "import_refusals", t.ImportRefusal)

_USES = (
    select(func.count())
    .select_from(t.TagLink)
    .where(col(t.TagLink.org_id) == col(t.Tag.org_id), col(t.TagLink.tag_id) == col(t.Tag.id))
    .scalar_subquery()
)
TAGS: Listable[r.TagRow] = Listable(
    "tags",
    t.Tag,
    (*_columns(t.Tag), _USES.label("uses")),
    {"name": (Key("name"), _ID), "uses": (Key("uses"), _ID), "created_at": (Key("created_at"), _ID)},
    Order("name", SortDirection.ASC),
)

_LINKED = (col(t.DealContact.role), col(t.DealContact.is_primary), col(t.DealContact.linked_at))
CONTACTS_OF_DEALS: Listable[LinkedContactRow] = Listable(
    "contacts_of_deals",
    t.DealContact,
    (*_columns(t.Contact), col(t.DealContact.deal_id), *_LINKED),
    {"linked_at": (Key("linked_at"), _ID)},
    Order("linked_at", SortDirection.ASC),
    links=CONTACTS.links,
    joins=(_linked(t.Contact, col(t.DealContact.org_id), col(t.DealContact.contact_id), optional=False),),
)
DEALS_OF_CONTACTS: Listable[r.DealRow] = Listable(
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
DOMAINS: Listable[DomainRow] = Listable(
    "domains",
    t.OutreachDomain,
    (*_columns(t.OutreachDomain), _MAILBOXES_ON_IT.label("mailbox_count")),
    {"name": (Key("name"), _ID)},
    Order("name", SortDirection.ASC),
)
MAILBOXES: Listable[r.MailboxRow] = _in_order_of("email", "mailboxes", t.Mailbox)
CAMPAIGNS: Listable[r.CampaignRow] = record_listable(t.Campaign)
ENROLLMENTS: Listable[r.EnrollmentRow] = _in_order_of("enrolled_at", "enrollments", t.Enrollment)
MAILBOXES_OF_CAMPAIGNS: Listable[r.MailboxRow] = Listable(
    "mailboxes_of_campaigns",
    t.CampaignMailbox,
    (*_columns(t.Mailbox), col(t.CampaignMailbox.campaign_id)),
    {"email": (Key("email"), _ID)},
    Order("email", SortDirection.ASC),
    joins=(_linked(t.Mailbox, col(t.CampaignMailbox.org_id), col(t.CampaignMailbox.mailbox_id), optional=False),),
)

_FOLDER: Listable[r.FolderRow] = _in_order_of("name", "parent_folders", t.Folder)
FOLDERS = replace(_FOLDER, name="folders", links={"parent": ("parent_id", _FOLDER)})
FILES: Listable[r.FileRow] = record_listable(t.File, folder=FOLDERS)
FILES_OF_RECORDS: Listable[r.FileRow] = Listable(  # without those in the trash
    "files_of_records",
    t.FileLink,
    (*_columns(t.File), col(t.FileLink.record_id)),
    FILES.orders,
    FILES.default,
    links=FILES.links,
    joins=(_linked(t.File, col(t.FileLink.org_id), col(t.FileLink.file_id), optional=False),),
    fixed=(col(t.File.trashed_at).is_(None),),
)
