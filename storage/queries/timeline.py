"""Timelines and histories: a page of what happened to records, newest first, in one statement.

Each kind of item is a bounded select of its own, read from its index behind the cursor; the database merges them. So a
page costs the same wherever it stands, and as much as it has items, times the kinds.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import (
    Text,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.types import Integer
from sqlmodel import UTCDateTime, col

from contract.errors import Problem, Problems
from contract.timeline import ACTIVITIES, SUBJECTS
from contract.vocabulary import SYSTEM_ACTOR, TimelineKind
from storage.base import Document, Identifier, PlainText, as_uuid, now
from storage.event_types import event_name
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.joined_rows import FeedItem
from storage.new_rows import model_named
from storage.queries.dialects import literal_number, unseen
from storage.queries.filtering import id_matches, in_list
from storage.queries.row_size_limit import check_size_limit, with_size_limit_window
from storage.queries.words import word
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tables import Activity, Enrollment, File, FileLink, RecordChange, StageChange
from storage.tenancy.sessions import TenantSession

_MODELS: dict[str, AnyEntity] = {kind: model_named(table) for table, kind in SUBJECTS.items()}
_STORED = frozenset({"campaign"})
"""The kinds of records that say nothing of who made them, so that their creation is kept as a change."""


@dataclass(frozen=True, slots=True)
class Feed:
    """A request to a kind of record: items of these kinds, planned ones too where `is_upcoming`, so many.

    Files that need one of the `withheld` groups are left out.
    """

    subject: str
    kinds: frozenset[TimelineKind]
    size: int
    is_upcoming: bool = False
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A page of a record's items, and whether there are more."""

    rows: Sequence[FeedItem]
    has_next: bool


_LINKED = ("deal_id", "from_stage_id", "to_stage_id", "file_id")
"""The columns for records that an item may lead to, beside what it tells of."""


@dataclass(frozen=True, slots=True)
class _Arm:
    """The items of some kinds: `parent` has the record's identifier, `wanted` picks those of the feed."""

    entity: AnyEntity
    parent: AnyColumn
    kind: AnyColumn
    at: AnyColumn
    actor: AnyColumn
    wanted: tuple[AnyColumn, ...] = ()
    deal_id: AnyColumn = None
    from_stage_id: AnyColumn = None
    to_stage_id: AnyColumn = None
    type: AnyColumn = None
    fields: AnyColumn = None
    file_id: AnyColumn = None

    def select(self, *beside: AnyColumn) -> AnySelect:
        """The rows of the organization."""
        columns = [
            self.entity.id.label("id"),
            self.kind.label("kind"),
            self.at.label("at"),
            self.actor.label("actor"),
            *(_or_null(getattr(self, n), Identifier()).label(n) for n in _LINKED),
            _or_null(self.type, PlainText).label("type"),
            _or_null(self.fields, Document).label("fields"),
        ]
        return select(*columns, *beside).where(self.entity.org_id == ORG_PARAM, *self.wanted)

    @property
    def order(self) -> tuple[AnyColumn, AnyColumn]:
        """The feed's order, which the arm's index has."""
        return self.at.desc(), self.entity.id.asc()

    @property
    def behind(self) -> AnyColumn:
        """Says whether the row is behind the cursor; the first bound is what an index can start from."""
        at, last = unseen(bindparam("c0", type_=UTCDateTime())), unseen(bindparam("c1", type_=Identifier()))
        return and_(self.at <= at, or_(self.at < at, self.entity.id > last))


def _or_null(column: AnyColumn, kind: Any) -> AnyColumn:  # Any: a type or an instance of one
    return cast(null(), kind) if column is None else column


def _arms(feed: Feed) -> Iterator[_Arm]:
    kinds = [kind for kind in ACTIVITIES if kind in feed.kinds]
    if kinds:
        yield _activities(feed, kinds)
    if TimelineKind.STAGE_CHANGE in feed.kinds and feed.subject in ("deal", "account"):
        yield _Arm(
            StageChange,
            getattr(StageChange, f"{feed.subject}_id"),
            word(TimelineKind.STAGE_CHANGE),
            col(StageChange.at),
            col(StageChange.by),
            deal_id=col(StageChange.deal_id),
            from_stage_id=col(StageChange.from_stage_id),
            to_stage_id=col(StageChange.to_stage_id),
        )
    if TimelineKind.CHANGE in feed.kinds:
        shown = cast(col(RecordChange.fields), Text()) != literal_column("'{}'")
        yield _Arm(
            RecordChange,
            col(RecordChange.subject_id),
            word(TimelineKind.CHANGE),
            col(RecordChange.at),
            col(RecordChange.actor),
            (col(RecordChange.subject_kind) == word(feed.subject), shown),
            type=col(RecordChange.type),
            fields=col(RecordChange.fields),
        )
        if feed.subject not in _STORED:
            yield _creation(feed.subject)
    if TimelineKind.FILE in feed.kinds:
        yield _Arm(
            FileLink,
            col(FileLink.record_id),
            word(TimelineKind.FILE),
            col(FileLink.attached_at),
            col(FileLink.attached_by),
            _shown_files(feed),
            file_id=col(FileLink.file_id),
        )
    if TimelineKind.ENROLLMENT in feed.kinds and feed.subject == "contact":
        kind = word(TimelineKind.ENROLLMENT)
        yield _Arm(Enrollment, col(Enrollment.contact_id), kind, col(Enrollment.enrolled_at), cast(null(), PlainText))


def _shown_files(feed: Feed) -> tuple[AnyColumn, ...]:
    """Leave out the links to files that the caller may not read."""
    if not feed.withheld:
        return ()
    its = col(File.org_id) == ORG_PARAM, col(File.id) == col(FileLink.file_id)
    needed = col(File.needs).in_([word(group) for group in feed.withheld])
    return (not_(exists(select(col(File.id)).where(*its, needed))),)


def _activities(feed: Feed, kinds: Sequence[TimelineKind]) -> _Arm:
    wanted: list[AnyColumn] = []
    if len(kinds) < len(ACTIVITIES):
        wanted.append(col(Activity.type).in_([word(kind) for kind in kinds]))
    if not feed.is_upcoming:
        wanted.append(col(Activity.occurred_at) <= unseen(bindparam("present", type_=UTCDateTime())))
    parent = getattr(Activity, f"{feed.subject}_id")
    at, actor = col(Activity.occurred_at), col(Activity.owner_id)
    return _Arm(Activity, parent, col(Activity.type), at, actor, tuple(wanted))


def _creation(subject: str) -> _Arm:
    """The record's creation, by whom it belonged to first (decision 234), told by its own changes (decision 437)."""
    model = _MODELS[subject]
    its = (col(RecordChange.subject_kind) == word(subject), col(RecordChange.subject_id) == col(model.id))
    handed_over = col(RecordChange.former_owner).is_not(None)
    first = (
        select(col(RecordChange.former_owner))
        .where(col(RecordChange.org_id) == ORG_PARAM, *its, handed_over, col(RecordChange.merged_from).is_(None))
        .order_by(col(RecordChange.at))
        .limit(literal_column("1", Integer))
        .correlate(model)
        .scalar_subquery()
    )
    actor = func.coalesce(first, col(model.owner_id), word(SYSTEM_ACTOR))
    created = word(f"{event_name(model)}_created")
    return _Arm(model, col(model.id), word(TimelineKind.CHANGE), col(model.created_at), actor, type=created)


async def pages(
    session: TenantSession, feed: Feed, ids: Sequence[str], *, after: str | None = None
) -> dict[str, FeedPage]:
    """A page of each record's items. Raises Problems for a cursor that is none, ResponseTooLarge."""
    values: Values = {"ids": list(ids), "id": ids[0], "present": now()}
    if after is not None:
        values |= dict(zip(("c0", "c1"), decode(after), strict=True))
    alone, lateral = len(ids) == 1, session.dialect == "postgresql"
    found: dict[str, list[FeedItem]] = {i: [] for i in ids}
    arms = list(_arms(feed))
    if arms and feed.size >= 0:
        is_behind = after is not None

        def build() -> AnySelect:
            if alone:
                return with_size_limit_window(_of_one(arms, feed.size, is_behind=is_behind))
            if lateral:
                return with_size_limit_window(_of_each(feed, arms, is_behind=is_behind))
            return with_size_limit_window(_ranked(arms, feed.size, is_behind=is_behind))

        rows = check_size_limit(await session.fetch(("feed", feed, alone, is_behind), build, **values))
        for row in rows:
            found[ids[0] if alone else row.parent_id].append(row)
    for items in found.values():  # the window may have left them in any order
        items.sort(key=lambda item: item.id)
        items.sort(key=lambda item: item.at, reverse=True)
    return {i: FeedPage(items[: feed.size], len(items) > feed.size) for i, items in found.items()}


def _first(arm: _Arm, parent: AnyColumn, size: int, *, is_behind: bool) -> AnySelect:
    """The first items of an arm, and one more."""
    rows = arm.select().where(arm.parent == parent, arm.behind if is_behind else true())
    return rows.order_by(*arm.order).limit(literal_number(size + 1))


def _merged(selects: Sequence[AnySelect], size: int) -> AnySelect:
    each = [select(one.subquery(f"arm_{number}")) for number, one in enumerate(selects)]
    items = union_all(*each).subquery("items") if len(each) > 1 else selects[0].subquery("items")
    return select(items).order_by(items.c.at.desc(), items.c.id.asc()).limit(literal_number(size + 1))


def _of_one(arms: Sequence[_Arm], size: int, *, is_behind: bool) -> AnySelect:
    parent = unseen(bindparam("id", type_=Identifier()))
    return _merged([_first(arm, parent, size, is_behind=is_behind) for arm in arms], size)


def _of_each(feed: Feed, arms: Sequence[_Arm], *, is_behind: bool) -> AnySelect:
    """The same for each of the records, one after the other, as PostgreSQL can."""
    model = _MODELS[feed.subject]
    asked = select(col(model.id)).where(col(model.org_id) == ORG_PARAM, in_list(col(model.id), "ids")).cte("asked")
    its = literal_column("asked.id", Identifier())  # by name: a subquery this deep would select from it anew
    merged = _merged([_first(arm, its, feed.size, is_behind=is_behind) for arm in arms], feed.size)
    page = merged.lateral("page_of_one")
    return select(page, asked.c.id.label("parent_id")).select_from(asked.join(page, true()))


def _ranked(arms: Sequence[_Arm], size: int, *, is_behind: bool) -> AnySelect:
    """The same with all items of the records looked at, as SQLite needs it."""
    firsts = []
    for number, arm in enumerate(arms):
        rank = func.row_number().over(partition_by=arm.parent, order_by=arm.order).label("rank")
        rows = arm.select(arm.parent.label("parent_id"), rank).where(in_list(arm.parent, "ids"))
        ranked = (rows.where(arm.behind) if is_behind else rows).subquery(f"arm_{number}")
        firsts.append(select(ranked).where(ranked.c.rank <= literal_number(size + 1)))
    if len(firsts) == 1:
        return firsts[0]
    return select(union_all(*firsts).subquery("items"))


async def counts(session: TenantSession, subject: str, ids: Sequence[str]) -> dict[str, int]:
    """Says how many changes are kept of each record, its creation included."""
    alone = len(ids) == 1

    def build() -> AnySelect:
        changed = col(RecordChange.subject_id)
        shown = cast(col(RecordChange.fields), Text()) != literal_column("'{}'")
        of_kind = col(RecordChange.subject_kind) == word(subject)
        counted = select(changed, func.count().label("total")).where(col(RecordChange.org_id) == ORG_PARAM)
        return counted.where(of_kind, id_matches(changed, alone), shown).group_by(changed)

    rows = await session.fetch(("changes counted", subject, alone), build, ids=list(ids), id=ids[0])
    made = 0 if subject in _STORED else 1
    return dict.fromkeys(ids, made) | {row.subject_id: row.total + made for row in rows}


def cursor(item: Row) -> str:
    """The opaque cursor of an item."""
    document = orjson.dumps([item.at, item.id], option=orjson.OPT_UTC_Z)  # type: ignore[attr-defined]  # a FeedItem
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def decode(text: str) -> tuple[datetime, str]:
    """The moment and the identifier of the item at the cursor. Raises Problems where it is none of a feed."""
    try:
        at, identifier = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        moment, canonical = datetime.fromisoformat(at), as_uuid(identifier)
        if moment.tzinfo is None or canonical is None:
            raise ValueError(text)
        return moment.astimezone(UTC), canonical
    except (ValueError, TypeError, OverflowError, binascii.Error):
        raise Problems([Problem(("after",), "is not a cursor of this list in this order", "cursor")]) from None
