"""Names the tables of which the change log tells every change: what is read of them may come from a replica.

A replica that has an organization's log up to a number has every change of these tables up to it. Where a change
brings no event, a replica could be behind and nobody would know, so such a table stays with the primary.
`tests/isolation/test_logged.py` decides: it makes every mutation and looks for the events (decision 997). What is only
forgotten after its time brings none: a replica shows it for a moment longer.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from sqlglot import exp

LOGGED: Final = frozenset(
    {"accounts", "activities", "competitors", "contacts", "deal_contacts", "deals", "event_counters", "events"}
    | {"health_factors", "health_snapshots", "merged_ids", "pipeline_stages", "record_changes", "sales_targets"}
    | {"search_entries", "stage_changes", "tag_links", "tags"}
    | {"deal_cells", "deal_cell_deltas", "meeting_cells", "meeting_cell_deltas"}
)

LINKED: Final = {"people": "owner_id"}
"""Tables of which the log tells every change but that a row is there, with the column that names their rows.

A record names one only after that was committed, and its own event tells of it. So what such a record links to may
come from a replica, and a list of them may not: a token of an identity provider may have brought one (decision 1060).
"""


def read_alone(tables: Mapping[str, str], conditions: Iterable[tuple[exp.Expr, str | None]]) -> set[str]:
    """Find the tables of LINKED that a query reads by more than the column that names their rows.

    `tables` are its tables by their names in it, `conditions` what holds for all of their rows.
    """
    wanted = {alias: table for alias, table in tables.items() if table in LINKED}
    if not wanted:
        return set()
    held = [condition for condition, _ in conditions if isinstance(condition, exp.EQ)]
    pairs = [pair for one in held for pair in ((one.this, one.expression), (one.expression, one.this))]
    return {
        table
        for alias, table in wanted.items()
        if not any(
            _is_column(side, "id") and side.table.lower() == alias and _names(other, LINKED[table])
            for side, other in pairs
        )
    }


def _is_column(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Column) and node.name.lower() == name


def _names(node: exp.Expr, column: str) -> bool:
    """Say whether it is the column, or one of the values that a query finds in the column."""
    return any(_is_column(each, column) for each in node.find_all(exp.Column))
