"""Statements on duplicates: groups of records that share a key, and pairs that are known not to be one.

A key is a group where two records or more have it. It is left out where all of them share a surer one, whose group has
them all, and where every pair of them is dismissed. Groups are read in the order of their index, behind the cursor.
The records of a key are those whose own columns say what the key says (decision 1190), so that each sign asks in a
select of its own. What is asked of each group has to be found by an index, whatever the planner knows of tables that an
import has just filled (decision 1156).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlalchemy import (
    Integer,
    and_,
    bindparam,
    case,
    cast,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.bulk_vocabulary import DuplicateReason, MergeableKind
from contract.limits import NAMESAKES_MAX
from contract.mergeable import SIGNS, TABLES
from storage.base import Identifier, PlainText, Record
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.match_triggers import IDENTIFIER, MATCHED, Sign
from storage.new_rows import model_named, new_row
from storage.queries.dialects import literal_number, unseen
from storage.queries.filtering import in_list
from storage.queries.words import word
from storage.statements import ORG_PARAM
from storage.tables import MatchGroup, NotDuplicate
from storage.tenancy.sessions import TenantSession

Pair = tuple[str, str]
"""Two identifiers in order."""

MODELS: Mapping[MergeableKind, type[Record]] = {kind: model_named(table) for kind, table in TABLES.items()}
"""The tables of the kinds."""
_RECORD = "matched"
_NAMESAKES = next(sign for sign, reason in SIGNS.items() if reason is DuplicateReason.SAME_NAME)


@dataclass(frozen=True, slots=True)
class Shared:
    """A key that so many records have."""

    sign: str
    size: int
    key: str


def _signs_of(kind: MergeableKind) -> Sequence[Sign]:
    [matched] = [each for each in MATCHED if each.kind == kind]
    return matched.signs


def _from(text: AnyColumn, first: int, length: int | None = None) -> AnyColumn:
    """Takes the characters of a text from there on, or so many of them."""
    return func.substr(text, literal_number(first), *([] if length is None else [literal_number(length)]))


def _values(sign: Sign, key: AnyColumn) -> dict[str, AnyColumn]:
    """Takes from a key what its records have in the sign's columns: an identifier comes first, then a blank."""
    if len(sign.columns) == 1:
        return {sign.columns[0]: _from(key, 2)}
    [name, identifier] = sign.columns
    return {name: _from(key, 3 + IDENTIFIER), identifier: cast(_from(key, 2, IDENTIFIER), Identifier)}


def _having(record: AnyEntity, sign: Sign, key: AnyColumn) -> AnyColumn:
    """Says whether a record has the key, by the index of the sign's columns."""
    having = [getattr(record, name) == value for name, value in _values(sign, key).items()]
    return and_(record.org_id == ORG_PARAM, *having)


def _by_sign(kind: MergeableKind, asked: Callable[[Sign], AnyColumn]) -> AnyColumn:
    """Asks of a group what is asked of its sign."""
    return case(*((col(MatchGroup.sign) == word(sign.letter), asked(sign)) for sign in _signs_of(kind)))


def _is_shown(kind: MergeableKind) -> tuple[AnyColumn, ...]:
    """Says whether a key is a group to be shown."""
    few = or_(col(MatchGroup.sign) != word(_NAMESAKES), col(MatchGroup.size) <= literal_number(NAMESAKES_MAX))
    own = col(MatchGroup.org_id) == ORG_PARAM, col(MatchGroup.kind) == word(kind)
    pairs = col(MatchGroup.size) * (col(MatchGroup.size) - literal_number(1)) / literal_number(2)
    dismissed = _by_sign(kind, lambda sign: _dismissed(kind, sign))
    # In this order: nothing is looked for where nothing was ever dismissed, as with most organizations.
    is_left = or_(~_are_any_dismissed(kind), dismissed < pairs)
    return (*own, col(MatchGroup.size) > literal_number(1), few, ~_is_within_a_surer_one(kind), is_left)


def _is_within_a_surer_one(kind: MergeableKind) -> AnyColumn:
    """Says whether all records of the group share a surer key. It is asked of no group of the surest sign."""
    signs = _signs_of(kind)
    return _by_sign(
        kind,
        lambda sign: or_(false(), *(_share(kind, sign, surer) for surer in signs if surer.letter < sign.letter)),
    )


def _share(kind: MergeableKind, sign: Sign, surer: Sign) -> AnyColumn:
    """Says whether all records of the group have a surer key: none of them differs from one of them.

    What the one has is a value of a select of its own. An expression of a joined record is none: PostgreSQL looks
    nothing up by what a function could leak before the policy was asked.
    """
    one: AnyEntity = aliased(MODELS[kind], name="one")
    each: AnyEntity = aliased(MODELS[kind], name="each")
    key = col(MatchGroup.key)
    told = select(literal_column(surer.key_if_any("one"), PlainText)).select_from(one).where(_having(one, sign, key))
    same = literal_column(surer.key_if_any("each"), PlainText)
    its = told.limit(literal_number(1)).correlate(MatchGroup).scalar_subquery()
    differing: AnySelect = select(literal_column("1")).select_from(each).where(_having(each, sign, key))
    is_another = or_(same.is_(None), same != its, its.is_(None))
    return ~exists(differing.where(is_another).correlate(MatchGroup))


def _are_any_dismissed(kind: MergeableKind) -> AnyColumn:
    own = col(NotDuplicate.org_id) == ORG_PARAM, col(NotDuplicate.kind) == word(kind)
    return exists(select(literal_column("1")).select_from(NotDuplicate).where(*own))


def _dismissed(kind: MergeableKind, sign: Sign) -> AnyColumn:
    """Says how many pairs of the records with the key are known not to be one."""
    low: AnyEntity = aliased(MODELS[kind])
    high: AnyEntity = aliased(MODELS[kind])
    key = col(MatchGroup.key)
    pair = and_(
        col(NotDuplicate.org_id) == ORG_PARAM,
        col(NotDuplicate.kind) == word(kind),
        col(NotDuplicate.low_id) == low.id,
    )
    return (
        select(func.count())
        .select_from(low)
        .join(NotDuplicate, pair)
        .join(high, and_(_having(high, sign, key), high.id == col(NotDuplicate.high_id)))
        .where(_having(low, sign, key))
        .correlate(MatchGroup)
        .scalar_subquery()
    )


async def shared(
    session: TenantSession, kind: MergeableKind, limit: int, *, after: Shared | None = None, offset: int = 0
) -> list[Shared]:
    """The next groups, the surest first, then the largest, then by key."""
    is_behind = after is not None

    def build() -> AnySelect:
        sign, size, key = col(MatchGroup.sign), col(MatchGroup.size), col(MatchGroup.key)
        at: dict[str, AnyColumn] = {
            "sign": unseen(bindparam("c_sign", type_=PlainText)),
            "size": unseen(bindparam("c_size", type_=Integer())),
            "key": unseen(bindparam("c_key", type_=PlainText)),
        }
        smaller = or_(size < at["size"], and_(size == at["size"], key > at["key"]))
        behind = and_(sign >= at["sign"], or_(sign > at["sign"], smaller)) if is_behind else true()
        groups = select(sign, size, key).where(*_is_shown(kind), behind)
        ordered = groups.order_by(sign, size.desc(), key)
        window = {name: unseen(bindparam(name, type_=Integer())) for name in ("limit", "offset")}
        return ordered.limit(window["limit"]).offset(window["offset"])

    values: Values = {"limit": limit, "offset": offset}
    if after is not None:
        values |= {"c_sign": after.sign, "c_size": after.size, "c_key": after.key}
    rows = await session.fetch(("duplicates", kind, is_behind), build, **values)
    return [Shared(row.sign, row.size, row.key) for row in rows]


async def count(session: TenantSession, kind: MergeableKind) -> int:
    """Says how many groups there are."""

    def build() -> AnySelect:
        return select(func.count().label("number")).select_from(MatchGroup).where(*_is_shown(kind))

    [row] = await session.fetch(("duplicates counted", kind), build)
    number: int = row.number
    return number


def _ranked(kind: MergeableKind, sign: Sign) -> AnySelect:
    """Selects the records with one of the sign's keys, the oldest of a key first, each with all keys that it has."""
    record: AnyEntity = aliased(MODELS[kind], name=_RECORD)
    key = literal_column(sign.key(_RECORD), PlainText)
    owned = [literal_column(each.key_if_any(_RECORD), PlainText).label(each.letter) for each in _signs_of(kind)]
    rank = func.row_number().over(partition_by=key, order_by=(record.created_at, record.id)).label("rank")
    having = [in_list(getattr(record, name), f"{sign.letter}_{name}") for name in sign.columns]
    if len(sign.columns) > 1:  # of each column one of the values, but not of one key
        having.append(in_list(key, sign.letter))
    return select(key.label("key"), record.id, rank, *owned).where(record.org_id == ORG_PARAM, *having)


def _sought(sign: Sign, keys: Sequence[str]) -> Values:
    """Makes the parameters of that: what these keys say of each column."""
    if len(sign.columns) == 1:
        return {f"{sign.letter}_{sign.columns[0]}": [key[1:] for key in keys]}
    [name, identifier] = sign.columns
    end = 1 + IDENTIFIER
    return {
        sign.letter: list(keys),
        f"{sign.letter}_{name}": [key[end + 1 :] for key in keys],
        f"{sign.letter}_{identifier}": [key[1:end] for key in keys],
    }


async def members(
    session: TenantSession, kind: MergeableKind, keys: Sequence[str], most: int
) -> dict[str, dict[str, frozenset[str]]]:
    """The oldest records that have each of these keys, each with all keys that it has itself."""
    signs = _signs_of(kind)
    asked = {sign: [key for key in keys if key.startswith(sign.letter)] for sign in signs}
    shape = tuple(sign.letter for sign in signs if asked[sign])

    def build() -> AnySelect:
        ranked = union_all(*(_ranked(kind, sign) for sign in signs if asked[sign])).subquery("ranked")
        within = ranked.c.rank <= bindparam("most", type_=Integer())
        return select(*ranked.c).where(within).order_by(ranked.c.key, ranked.c.rank)

    found: dict[str, dict[str, frozenset[str]]] = {key: {} for key in keys}
    values: Values = {"most": most}
    for sign in signs:
        if asked[sign]:
            values |= _sought(sign, asked[sign])
    for row in await session.fetch(("members of duplicates", kind, shape), build, **values):
        found[row.key][row.id] = frozenset(own for own in row[3:] if own is not None)
    return found


async def dismissed_among(session: TenantSession, kind: MergeableKind, ids: Sequence[str]) -> set[Pair]:
    """The pairs of these records that are known not to be one."""

    def build() -> AnySelect:
        low, high = col(NotDuplicate.low_id), col(NotDuplicate.high_id)
        own = col(NotDuplicate.org_id) == ORG_PARAM, col(NotDuplicate.kind) == word(kind)
        return select(low, high).where(*own, in_list(low, "ids"), in_list(high, "ids"))

    rows = await session.fetch(("dismissed pairs", kind), build, ids=list(ids))
    return {(row.low_id, row.high_id) for row in rows}


async def dismiss(session: TenantSession, kind: MergeableKind, ids: Iterable[str]) -> int:
    """Note that no two of these records are one; how many pairs were not known before."""
    pairs = combinations(sorted(set(ids)), 2)
    drafts = [new_row(NotDuplicate, kind=kind.value, low_id=low, high_id=high) for low, high in pairs]
    return len(await session.insert_each_missing(drafts))
