"""What can be listed: for each noun its source, its columns, and the orders that its lists know."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, func, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel, col

from contract.criteria import Order, Selection
from contract.vocabulary import SortDirection
from storage import tables as t
from storage.prepared import INSIDE


@dataclass(frozen=True, slots=True)
class Key:
    """One term of an order. `descending` is None for the term whose direction the caller chooses."""

    name: str
    descending: bool | None = None
    nullable: bool = False


_CREATED = Key("created_at", descending=True)
_ID = Key("id", descending=False)


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A source of rows, equal to itself only.

    `orders` maps each sort field to its terms, the chosen one first and the tie-breaks after it; `links` maps the name
    of a to-one link to the column that holds it and the noun it leads to.
    """

    entity: Any
    columns: tuple[Any, ...]
    orders: Mapping[str, tuple[Key, ...]]
    default: Order
    links: Mapping[str, tuple[str, "Noun"]] = field(default_factory=dict)
    fixed: tuple[ColumnElement[bool], ...] = ()
    joins: tuple[tuple[Any, ColumnElement[bool], bool], ...] = ()

    def select(self, organization: Any, *columns: Any) -> Select[Any]:
        """A select of the noun's rows in the organization (a value or a parameter), with all or with these columns."""
        statement = select(*(columns or self.columns)).select_from(self.entity)
        for target, condition, optional in self.joins:
            statement = statement.join(target, condition, isouter=optional)
        return statement.where(self.entity.org_id == organization, *self.fixed)

    def column(self, name: str) -> Any:
        """The column that a row shows under this name."""
        return self._by_name()[name]

    def terms(self, order: Order | None) -> list[tuple[Key, bool]]:
        """The terms of an order, each with whether it descends."""
        order = order or self.default
        chosen = order.direction is SortDirection.DESC
        return [(k, chosen if k.descending is None else k.descending) for k in self.orders[order.field]]

    def selecting(self, selection: Selection | None, order: Order | None = None) -> "Noun":
        """The same source with the wanted columns, those of the order among them, and the wanted links joined in."""
        return self if selection is None else _selecting(self, selection, (order or self.default).field)

    def _by_name(self) -> dict[str, Any]:
        return {c.key: c for c in self.columns}


@lru_cache(maxsize=1_000)
def _selecting(noun: Noun, selection: Selection, order: str) -> Noun:
    wanted = selection.columns | {"id"} | {key.name for key in noun.orders[order]}
    columns = [c for c in noun.columns if c.key in wanted]
    joins = list(noun.joins)
    for name, linked in sorted(selection.links, key=lambda link: link[0]):
        local, target = noun.links[name]
        other = aliased(target.entity)
        columns += [
            getattr(other, c.key).label(f"{name}{INSIDE}{c.key}") for c in target.columns if c.key in linked | {"id"}
        ]
        joins.append(_linked(other, noun.entity.org_id, noun.column(local)))
    return replace(noun, columns=tuple(columns), joins=tuple(joins))


def _columns(model: type[SQLModel], **renamed: str) -> tuple[Any, ...]:
    attributes: dict[str, Column[Any]] = {c.key: c for c in model.__mapper__.column_attrs}  # type: ignore[attr-defined]
    return tuple(
        getattr(model, name).label(renamed[name]) if name in renamed else getattr(model, name) for name in attributes
    )


def _orders(*fields: str, nullable: tuple[str, ...] = ()) -> dict[str, tuple[Key, ...]]:
    """The usual orders: the field, then the newest first, then the id."""
    orders: dict[str, tuple[Key, ...]] = {n: (Key(n, nullable=n in nullable), _CREATED, _ID) for n in fields}
    orders["created_at"] = (Key("created_at"), _ID)
    return orders


def _linked(model: Any, org_id: Any, column: Any, *, optional: bool = True) -> tuple[Any, ColumnElement[bool], bool]:
    return model, and_(model.org_id == org_id, model.id == column), optional


def _prefixed(prefix: str, *columns: Any) -> tuple[Any, ...]:
    return tuple(c.label(f"{prefix}_{c.key}") for c in columns)


_NEWEST = Order("created_at")

ACCOUNTS = Noun(t.Account, _columns(t.Account), _orders("name", "updated_at"), _NEWEST)
CONTACTS = Noun(
    t.Contact,
    _columns(t.Contact),
    _orders("last_name", "updated_at", nullable=("last_name",)),
    _NEWEST,
    links={"account": ("account_id", ACCOUNTS)},
)
COMPETITORS = Noun(
    t.Competitor,
    _columns(t.Competitor),
    {"name": (Key("folded_name"), _ID)},
    Order("name", SortDirection.ASC),
)
STAGES = Noun(
    t.PipelineStage,
    _columns(t.PipelineStage),
    {"position": (Key("position"), _ID)},
    Order("position", SortDirection.ASC),
)
DEALS = Noun(
    t.Deal,
    _columns(t.Deal),
    _orders("name", "value", "close_date", "updated_at", nullable=("value", "close_date")),
    _NEWEST,
    links={
        "account": ("account_id", ACCOUNTS),
        "stage": ("stage_id", STAGES),
        "champion": ("champion_id", CONTACTS),
    },
)
MEETINGS = Noun(
    t.Activity,
    _columns(t.Activity, details="metadata"),
    _orders("due_at", nullable=("due_at",)),
    Order("due_at"),
    links={
        "account": ("account_id", ACCOUNTS),
        "deal": ("deal_id", DEALS),
        "contact": ("contact_id", CONTACTS),
    },
    fixed=(col(t.Activity.type) == literal_column("'meeting'"),),  # as the partial indexes have it
)
MEETINGS_WITH_LINKS = replace(
    MEETINGS,
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
LEADS = Noun(
    t.Lead,
    _columns(t.Lead),
    _orders("name", "updated_at"),
    _NEWEST,
    links={
        "account": ("account_id", ACCOUNTS),
        "contact": ("contact_id", CONTACTS),
        "deal": ("deal_id", DEALS),
    },
)
SNAPSHOTS = Noun(
    t.HealthSnapshot,
    _columns(t.HealthSnapshot),
    {"snapshot_at": (Key("snapshot_at"), Key("id"))},
    Order("snapshot_at"),
)
FACTORS = Noun(
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
RESEARCH_RUNS = Noun(t.ResearchRun, _columns(t.ResearchRun), _orders(), _NEWEST)
RESEARCH_RESULTS = Noun(
    t.ResearchResult,
    _columns(t.ResearchResult),
    {"position": (Key("position"), _ID)},
    Order("position", SortDirection.ASC),
)
CX_REPORTS = Noun(
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
WEBHOOKS = Noun(t.Webhook, _columns(t.Webhook), _orders(), _NEWEST)
JOBS = Noun(t.Job, _columns(t.Job), _orders(), _NEWEST)
EVENTS = Noun(t.Event, _columns(t.Event), {"sequence": (Key("sequence"),)}, Order("sequence", SortDirection.ASC))
_LINKED = (col(t.DealContact.role), col(t.DealContact.is_primary), col(t.DealContact.linked_at))
CONTACTS_OF_DEALS = Noun(
    t.DealContact,
    (*_columns(t.Contact), col(t.DealContact.deal_id), *_LINKED),
    {"linked_at": (Key("linked_at"), _ID)},
    Order("linked_at", SortDirection.ASC),
    links=CONTACTS.links,
    joins=(_linked(t.Contact, col(t.DealContact.org_id), col(t.DealContact.contact_id), optional=False),),
)
DEALS_OF_CONTACTS = Noun(
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
    t.OutreachDomain,
    (*_columns(t.OutreachDomain), _MAILBOXES_ON_IT.label("mailbox_count")),
    {"name": (Key("name"), _ID)},
    Order("name", SortDirection.ASC),
)
MAILBOXES = Noun(
    t.Mailbox,
    _columns(t.Mailbox),
    {"email": (Key("email"), _ID)},
    Order("email", SortDirection.ASC),
)
CAMPAIGNS = Noun(t.Campaign, _columns(t.Campaign), _orders("name", "updated_at"), _NEWEST)
ENROLLMENTS = Noun(
    t.Enrollment,
    _columns(t.Enrollment),
    {"enrolled_at": (Key("enrolled_at"), _ID)},
    Order("enrolled_at", SortDirection.ASC),
)
MAILBOXES_OF_CAMPAIGNS = Noun(
    t.CampaignMailbox,
    (*_columns(t.Mailbox), col(t.CampaignMailbox.campaign_id)),
    {"email": (Key("email"), _ID)},
    Order("email", SortDirection.ASC),
    joins=(_linked(t.Mailbox, col(t.CampaignMailbox.org_id), col(t.CampaignMailbox.mailbox_id), optional=False),),
)
