"""What a database that is distributed by organization refuses in a statement, by the rules that Citus publishes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import cache

from sqlglot import exp

from storage.placement import Placement, placements


class Refusal(StrEnum):
    """Why a statement would be refused."""

    MIXED = "reads or writes tables of an organization and local ones together"
    WRITES_WITHIN = "writes within WITH"
    VOLATILE = "calls a volatile function in a write or within WITH"
    CONFLICT = "leaves the organization out of ON CONFLICT"
    SEVERAL = "takes its organization from more than one parameter"
    LOCKS = "locks rows of an organization beside others"


_WRITES = (exp.Insert, exp.Update, exp.Delete)
_VOLATILE = frozenset(
    {"random", "gen_random_uuid", "clock_timestamp", "timeofday", "set_config", "nextval", "pg_notify"}
    | {"pg_advisory_xact_lock", "pg_advisory_lock", "pg_try_advisory_xact_lock", "pg_sleep"}
)


@cache
def _places() -> dict[str, Placement]:
    return placements()


def refusals(tree: exp.Expr) -> set[Refusal]:
    """Why the engine would not run the statement that was read as this."""
    tables = {table.name.lower() for table in tree.find_all(exp.Table)} & _places().keys()
    places = {_places()[table] for table in tables}
    found = set()
    if {Placement.DISTRIBUTED, Placement.LOCAL} <= places:
        found.add(Refusal.MIXED)
    if Placement.DISTRIBUTED not in places:
        return found  # one server's own business
    within = [node for cte in tree.find_all(exp.CTE) for node in cte.this.walk()]
    if any(isinstance(node, _WRITES) for node in within):
        found.add(Refusal.WRITES_WITHIN)
    judged = [*tree.walk()] if isinstance(tree, _WRITES) else within
    if any(_name_of(node) in _VOLATILE for node in judged if isinstance(node, exp.Func)):
        found.add(Refusal.VOLATILE)
    if any(not _names_the_organization(insert) for insert in tree.find_all(exp.Insert)):
        found.add(Refusal.CONFLICT)
    if len(set(_organizations(tree))) > 1:
        found.add(Refusal.SEVERAL)
    if places != {Placement.DISTRIBUTED} and tree.find(exp.Lock) is not None:
        found.add(Refusal.LOCKS)
    return found


def written(tree: exp.Expr) -> str:
    """The name that the list of exceptions has for such statements: what it does first, and to which table."""
    write = next((node for node in tree.walk() if isinstance(node, _WRITES)), None)
    table = (write or tree).find(exp.Table)
    return f"{(write or tree).key} {'' if table is None else table.name.lower()}"


def _name_of(node: exp.Func) -> str:
    return node.sql("postgres").partition("(")[0].lower()


def _names_the_organization(insert: exp.Insert) -> bool:
    """Whether a conflict, where it is looked for, is one of rows of the same organization; every unique key has it."""
    conflict = insert.args.get("conflict")
    table = insert.find(exp.Table)
    if conflict is None or table is None or _places().get(table.name.lower()) is not Placement.DISTRIBUTED:
        return True
    keys = conflict.args.get("conflict_keys") or ()
    return not keys or any(
        column.name.lower() == "org_id" for key in keys for column in (key, *key.find_all(exp.Column))
    )


def _organizations(tree: exp.Expr) -> Iterator[str]:
    """The parameters that a condition compares with the column of the organization."""
    for condition in tree.find_all(exp.EQ):
        for side, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
            if isinstance(side, exp.Column) and side.name.lower() == "org_id":
                placeholder = other.find(exp.Placeholder) if not isinstance(other, exp.Column) else None
                if placeholder is not None and other.find(exp.Select) is None:
                    yield placeholder.name
