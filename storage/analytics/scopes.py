"""The layer NAMES: the tables, columns and aliases of a statement, each found among what the caller may read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from contract.catalog_tables import SQL_TABLES, SqlTable
from contract.guard_layers import GuardLayer
from storage.analytics.refusals import refuse
from storage.analytics.typed import OF_COLUMN, Typed
from storage.tables import TABLES

NAMES = GuardLayer.NAMES
_OF_THE_DATABASE: Final = frozenset(
    {"org_id", "rowid", "oid", "_rowid_", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}
)
_RESERVED: Final = ("crm_", "pg_", "sqlite_", "v_", "_")


@dataclass(slots=True)
class Source:
    """The source that a query reads from: a table of the catalogue, or the columns of a query in its place."""

    alias: str
    columns: Mapping[str, Typed]
    sql: str = ""
    """A query as it is sent; empty for a table."""
    table: SqlTable | None = None
    tables: int = 1
    used: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Scope:
    """A SELECT while it is read: its sources, and the one around it whose columns it may use."""

    outer: "Scope | None"
    sources: list[Source] = field(default_factory=list)
    aggregates: list[exp.Expr] = field(default_factory=list)
    may_aggregate: bool = False
    columns: dict[int, exp.Column] = field(default_factory=dict)
    """The columns that were found here, by the identity of their nodes."""

    def around(self) -> Iterator["Scope"]:
        """Itself and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer


@dataclass(frozen=True, slots=True)
class Names:
    """Looks names up for one statement and one caller."""

    text: str
    tables: Mapping[str, SqlTable]

    def table(self, node: exp.Table) -> SqlTable:
        """The table of the catalogue. Raises AnalyticsRefused."""
        name = node.name.lower()
        found = self.tables.get(name)
        if found is not None:
            return found
        if name in SQL_TABLES:
            scopes = sorted(SQL_TABLES[name].group.value)
            refuse(NAMES, f"the table {name} needs {' or '.join(scopes)}", self.text, node)
        refuse(NAMES, f"there is no table {node.name}", self.text, node)

    def column(self, node: exp.Column, scope: Scope) -> Typed:
        """The column, where exactly one source has it. Raises AnalyticsRefused."""
        name, alias = node.name.lower(), node.table.lower()
        for around in scope.around():
            found = [
                one for one in around.sources if (not alias or one.alias == alias) and (alias or name in one.columns)
            ]
            if len(found) > 1:
                refuse(
                    NAMES, f"{node.name} could be a column of {found[0].alias} or of {found[1].alias}", self.text, node
                )
            if found:
                source = found[0]
                if name not in source.columns:
                    refuse(NAMES, f"{alias} has no column {node.name}", self.text, node)
                source.used.add(name)
                around.columns[id(node)] = node
                return source.columns[name]
        refuse(
            NAMES, f"there is no {'table or alias ' + node.table if alias else 'column ' + node.name}", self.text, node
        )

    def alias(self, node: exp.Expr | None, name: str, own: str = "") -> str:
        """The name that a source is given, where it is like that of nothing else. Raises AnalyticsRefused."""
        lower = name.lower()
        if lower != own and (lower in OTHERS or lower.startswith(_RESERVED)):
            refuse(NAMES, f"{name} cannot be an alias: choose a name that is not a table's", self.text, node)
        return lower

    def label(self, node: exp.Expr, name: str) -> str:
        """The name that a column of an answer is given. Raises AnalyticsRefused."""
        lower = name.lower()
        if lower in _OF_THE_DATABASE or lower.startswith(("crm_", "pg_", "sqlite_")):
            refuse(NAMES, f"a column cannot be named {name}", self.text, node)
        return lower


OTHERS: Final = frozenset({*TABLES, "main", "temp", "public", "information_schema"})
"""Names that no alias may have."""


def of_table(table: SqlTable, alias: str) -> Source:
    """A table of the catalogue as a source."""
    return Source(
        alias,
        {
            name: Typed(
                f'"{alias}"."{name}"',
                OF_COLUMN[kind],
                origin=(table.name, name),
                is_money=OF_COLUMN[kind] == "an amount",
            )
            for name, kind in table.columns.items()
        },
        table=table,
    )
