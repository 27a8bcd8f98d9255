"""Writes what an event changed in a record, in one statement of PostgreSQL, which may write that too (at_once.py)."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import CTE, JSON, Text, and_, bindparam, case, cast, column, func, literal_column, or_, select, true
from sqlalchemy.dialects.postgresql import JSONB, insert

from contract.limits import CHANGE_TEXT_MAX
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.queries.history import EDITS_APART, Told, draft_of
from storage.statements import ORG_PARAM
from storage.table_statements import columns_of_table
from storage.tables import Event, RecordChange
from storage.tenancy.sessions import TenantSession

_TABLE: AnyEntity = RecordChange.__table__  # type: ignore[attr-defined]  # every table class has one


def alone(told: Sequence[Told]) -> tuple[bool, ...]:
    """The part of a statement's key that says what is told: of each, whether it is told alone."""
    return tuple(each.alone for each in told)


def values_of(event: Event, told: Sequence[Told]) -> Values:
    """The parameters of what is told."""
    values: Values = {}
    for number, each in enumerate(told):
        draft = draft_of(event, each)
        values |= {f"told{number}_{name}": getattr(draft, name) for name in columns_of_table(RecordChange)}
        values[f"told{number}_since"] = event.occurred_at - EDITS_APART
    return values


async def tell(session: TenantSession, event: Event, told: Sequence[Told]) -> None:
    """Write what the event, which need not be written yet, changed in records that its writer has locked."""
    key = ("told at once", alone(told))
    await session.fetch(key, partial(_telling, alone(told)), **values_of(event, told))


def _telling(told: Sequence[bool]) -> AnySelect:
    made = select(literal_column("1").label("id")).cte("made")
    statement: AnySelect = select(made.c.id)
    for number, is_alone in enumerate(told):
        statement = statement.add_cte(telling(made, number, is_alone=is_alone))
    return statement


def telling(made: CTE, number: int, *, is_alone: bool) -> CTE:
    """Tell of a record: in a row of its own, or in the last one where that is extended (decision 232)."""
    name, names = f"told{number}", columns_of_table(RecordChange)
    given: dict[str, AnyColumn] = {n: bindparam(f"{name}_{n}", type_=_TABLE.c[n].type) for n in names}
    origin: AnyColumn = made
    if not is_alone:
        last = _last(made, given)
        since = bindparam(f"{name}_since", type_=_TABLE.c.at.type)
        same = and_(last.c.at > since, *(last.c[n] == given[n] for n in ("actor", "type")))
        longer = case((same, _extended(last.c.fields, given["fields"])), else_=given["fields"])
        given |= {"id": case((same, last.c.id), else_=given["id"]), "fields": longer}
        origin = made.outerjoin(last, true())
    new = select(ORG_PARAM, *given.values()).select_from(origin)
    proposed = insert(_TABLE).from_select(["org_id", *given], new, include_defaults=False)
    changed = {n: proposed.excluded[n] for n in ("at", "fields")}
    put = proposed.on_conflict_do_update(index_elements=["org_id", "id"], set_=changed)
    return put.returning(_TABLE.c.id).cte(name)


def _last(made: CTE, given: dict[str, AnyColumn]) -> AnyColumn:
    """The last change of the record, read once the organization is set."""
    its = (_TABLE.c.org_id == ORG_PARAM, *(_TABLE.c[n] == given[n] for n in ("subject_kind", "subject_id")))
    shown = [_TABLE.c[n] for n in ("id", "at", "actor", "type", "fields")]
    found = select(*shown).where(*its).order_by(_TABLE.c.at.desc(), _TABLE.c.id).limit(literal_column("1"))
    newest = select(found.subquery("newest"))
    return newest.where(made.c.id.is_not(None)).offset(literal_column("0")).lateral("last")


def _extended(told: AnyColumn, more: AnyColumn) -> AnyColumn:
    """The fields of two edits as one, as `contract.timeline.extended` has them."""
    old, new = (
        func.json_each(fields).table_valued(column("key", Text()), column("value", JSON()), name=name)
        for fields, name in ((told, "old"), (more, "new"))
    )
    before = func.coalesce(old.c.value.op("->")(literal_column("0")), new.c.value.op("->")(literal_column("0")))
    after = func.coalesce(new.c.value.op("->")(literal_column("1")), old.c.value.op("->")(literal_column("1")))
    both = old.join(new, old.c.key == new.c.key, full=True)
    may_be_cut = func.length(before.op("#>>")(literal_column("'{}'"))) == literal_column(str(CHANGE_TEXT_MAX))
    is_text = func.json_typeof(before) == literal_column("'string'")
    differs = or_(cast(before, JSONB).is_distinct_from(cast(after, JSONB)), and_(is_text, may_be_cut))
    fields = func.json_object_agg(func.coalesce(old.c.key, new.c.key), func.json_build_array(before, after))
    whole = func.coalesce(fields, literal_column("'{}'::json"))
    return select(whole).select_from(both).where(differs).scalar_subquery()
