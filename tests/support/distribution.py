"""What a database that is distributed by organization refuses in a statement, by the rules that Citus publishes."""

from __future__ import annotations

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


_AT_ONCE = "written in the statements of a transaction, as where `can_write_at_once` is false"
_APART = "asked for in two statements, as it is with several servers (`spans_servers`)"
KNOWN = {
    (Refusal.WRITES_WITHIN, "with tenant_scope"): _AT_ONCE,
    (Refusal.VOLATILE, "with tenant_scope"): _AT_ONCE,
    (Refusal.WRITES_WITHIN, "with there"): "deleted with what hangs on it in the statements of a transaction",
    (Refusal.VOLATILE, "with there"): _AT_ONCE,
    (Refusal.WRITES_WITHIN, "with made"): "one statement for each former change that is told",
    (Refusal.WRITES_WITHIN, "with taken"): "folded in two statements of a transaction, under the organization's lock",
    (Refusal.VOLATILE, "insert record_changes"): "the changes of many records get their identifiers from the service",
    (Refusal.MIXED, "select jobs"): "a queue for each server, whose rows lie with their jobs",
    (Refusal.MIXED, "select cx_reports"): "`media` is distributed, with the organization in the public key",
    (Refusal.MIXED, "select credentials"): _APART,
    (Refusal.SEVERAL, "select credentials"): _APART,
}
"""What the suite sends and such a database would refuse, as `written` names it, with what would be done about each.

It may shrink and not grow (tests/storage/test_distributable.py).
"""
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
    if any(_is_volatile(node) for node in judged if isinstance(node, exp.Func)):
        found.add(Refusal.VOLATILE)
    if any(not _names_the_organization(insert) for insert in tree.find_all(exp.Insert)):
        found.add(Refusal.CONFLICT)
    if len(_organizations(tree)) > 1:
        found.add(Refusal.SEVERAL)
    if places != {Placement.DISTRIBUTED} and tree.find(exp.Lock) is not None:
        found.add(Refusal.LOCKS)
    return found


def written(tree: exp.Expr) -> str:
    """The name that the list of exceptions has for such statements.

    What it does first, and to which table; where it writes within WITH, the first expression of that, by which it is
    known whatever it writes to.
    """
    write = next((node for node in tree.walk() if isinstance(node, _WRITES)), None)
    within = tree.find(exp.With)
    if within is not None and within.find(*_WRITES) is not None:
        return f"with {within.expressions[0].alias.lower()}"
    table = (write or tree).find(exp.Table)
    return f"{(write or tree).key} {'' if table is None else table.name.lower()}"


def _is_volatile(node: exp.Func) -> bool:
    """Whether it has such a function's name; to write each out with all that it is called with took half the time."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _VOLATILE
    return not _VOLATILE.isdisjoint(name.lower() for name in type(node).sql_names())


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


def _organizations(tree: exp.Expr) -> list[set[str]]:
    """The parameters that conditions compare with columns of the organization.

    Those that one table is compared with are together: the table is of one organization, or has no row.
    """
    together: list[set[str]] = []
    for condition in tree.find_all(exp.EQ):
        for side, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
            if isinstance(side, exp.Column) and side.name.lower() == "org_id":
                placeholder = other.find(exp.Placeholder) if not isinstance(other, exp.Column) else None
                if placeholder is not None and other.find(exp.Select) is None:
                    new = {placeholder.name, f"of {side.table.lower()}"}
                    apart = [one for one in together if one.isdisjoint(new)]
                    together = [*apart, new.union(*(one for one in together if not one.isdisjoint(new)))]
    return together
