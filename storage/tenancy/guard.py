"""Isolation layer 4: reads every distinct SQL text once; each tenant table in it must be pinned to the organization.

The ORM criteria (layer 3) do not see text, Core statements, inserts or link tables; this reads what is really sent.
A table is pinned where a condition that always holds for its rows says `table.org_id = <parameter>`, directly or
through another pinned table; the parameter's value is compared with the session's organization at every execution.
What is not understood counts as not pinned: a statement may have to be written more plainly, never less safely.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from contract.limits import STATEMENTS_CHARACTERS_MAX, STATEMENTS_MAX
from storage.bounded_cache import BoundedCache
from storage.logged import read_alone
from storage.tenancy.table_names import FULL_TEXT, table_names

KEY = "org_id"
SHARED_TABLES = frozenset(
    {"analytics_watches", "chat_watches", "credentials", "feedback", "file_leftovers", "idempotency_keys"}
    | {"integration_accounts"}
    | {"job_queue", "media", "memberships", "reminder_watches", "report_watches", "webhook_watches"}
)
"""Directory tables that an organization's session may use too, pinned like its own."""
OF_DIRECTORY = frozenset({"credentials", "feedback", "memberships"})
"""Those of them that stay with the directory wherever the organization lies (decision 1080)."""


class TenantBreach(RuntimeError):
    """A statement that could touch another organization's rows; a programming error, never a client's."""


_WORDS = re.compile(r"[a-z_]+|[()]")
_WRITES = (exp.Insert, exp.Update, exp.Delete)
_FORMS = (exp.Select, exp.SetOperation, exp.Subquery, *_WRITES)
_SKIPPED = r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/"
_PLACEHOLDERS = {
    "sqlite": re.compile(rf"{_SKIPPED}|(\?)", re.DOTALL),
    # An array's brackets may hold a placeholder; its number says which one it is, so nothing need be skipped.
    "postgresql": re.compile(r"\$(\d+)"),
}


@dataclass(frozen=True, slots=True)
class Pins:
    """The needs of a text: the positions of the parameters that must be the organization, and the tables it names."""

    positions: tuple[int, ...] = ()
    tenant_tables: frozenset[str] = frozenset()
    directory_tables: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()
    """Tables among them that are not pinned though they should be, inside an organization."""
    writes: bool = False
    alone: frozenset[str] = frozenset()
    """Tables that are read by more than what names their rows, among those where that matters (decision 1060)."""


def check(
    statement: str,
    parameters: Any,  # Any: a mapping, a sequence, or several of them, as the driver takes them
    *,
    executemany: bool,
    dialect: str,
    organization: str | None,
) -> None:
    """Let the statement through, or raise TenantBreach."""
    positions = pinned(statement, dialect, inside=organization is not None)
    for row in parameters if executemany else (parameters,):
        for position in positions:
            if str(row[position]) != organization:
                raise TenantBreach("a tenant table is pinned to another organization")


def pinned(statement: str, dialect: str, *, inside: bool) -> tuple[int, ...]:
    """The positions of the parameters that must be the organization.

    Raises TenantBreach where a table is on the wrong side, inside an organization or outside of one (the directory's
    sessions, which may name no tenant table at all), or where a tenant table is not pinned.
    """
    pins = read(statement, dialect)
    if not inside:
        if pins.tenant_tables:
            raise TenantBreach(f"tenant tables outside an organization: {sorted(pins.tenant_tables)}")
        return ()
    if not pins.directory_tables <= SHARED_TABLES:
        raise TenantBreach(f"directory tables inside an organization: {sorted(pins.directory_tables)}")
    if pins.loose:
        raise TenantBreach(f"not pinned to the organization: {sorted(pins.loose)}")
    return pins.positions


_read: BoundedCache[tuple[str, str], Pins] = BoundedCache(entries=STATEMENTS_MAX, size=STATEMENTS_CHARACTERS_MAX)


def read(statement: str, dialect: str) -> Pins:
    """Reads one SQL text's needs. Raises TenantBreach where it names a table and is of no form that can be judged."""
    found = _read.get((statement, dialect))
    if found is None:
        found = _parsed(statement, dialect)
        _read.put((statement, dialect), found, len(statement))
    return found


def _parsed(statement: str, dialect: str) -> Pins:
    lower = statement.lower()
    if 'u&"' in lower:
        raise TenantBreach("a name in escaped characters")
    words = set(re.findall(r"[a-z_]+", lower))
    tenant, directory = table_names(words)
    if not words & (tenant | directory):
        return Pins()
    try:
        trees = sqlglot.parse(numbered(statement, dialect), dialect=GRAMMARS[dialect])
    except SqlglotError as error:
        raise TenantBreach("a statement that cannot be read") from error
    reader = _Reader(tenant | (SHARED_TABLES & directory), tenant | directory)
    for tree in trees:
        if not isinstance(tree, _FORMS):
            raise TenantBreach("a statement of no known form")
        reader.walk(tree, None)
    writes = any(tree is not None and tree.find(*_WRITES) is not None for tree in trees)
    for tree in trees:
        _take_apart(tree)
    return Pins(
        tuple(sorted(reader.positions)),
        tenant & reader.named,
        directory & reader.named,
        frozenset(reader.loose),
        writes,
        frozenset(reader.alone),
    )


def _take_apart(tree: exp.Expr | None) -> None:
    """Let a tree go at once: megabytes of a long text, whose nodes know their parents, would wait for the collector."""
    for node in [] if tree is None else [*tree.walk()]:
        node.parent = None


GRAMMARS = {"sqlite": "sqlite", "postgresql": "postgres"}
"""The names that the reader of SQL has for the databases."""


def summary(statement: str, *, writes: bool) -> str:
    """Says what a statement does, and to which of the service's tables: `SELECT deals`; words that no caller chose."""
    words = _WORDS.findall(statement.lower())
    tables = frozenset[str]().union(*table_names(words))
    verbs = ("insert", "update", "delete") if writes else ("select",)
    at = next((index for index, word in enumerate(words) if word in verbs), None)
    if at is None:
        return "STATEMENT"
    named = (word for word in words[at:] if word in tables)
    table = next(named, "") if writes else next(_read_from(words, tables), next(named, ""))
    return f"{words[at].upper()} {table}".rstrip()


def _read_from(words: list[str], tables: frozenset[str]) -> Iterator[str]:
    """The tables that a select reads itself, and not by another one within it."""
    depth = 0
    for before, word in pairwise(words):
        depth += (before == "(") - (before == ")")
        if depth == 0 and before == "from" and word in tables:
            yield word


def numbered(statement: str, dialect: str) -> str:
    """Every placeholder as `:p0`, `:p1` …, by its position among the parameters."""
    numbers = count()

    def named(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        return f" :p{next(numbers) if found[1] == '?' else int(found[1]) - 1} "

    return _PLACEHOLDERS[dialect].sub(named, statement)


@dataclass(slots=True)
class _Scope:
    """One SELECT, UPDATE or DELETE: the names of its sources, and which of them are pinned."""

    outer: "_Scope | None"
    sources: list[str]
    tables: dict[str, str]
    pinned: set[str] = field(default_factory=set)

    def is_pinned(self, alias: str) -> bool:
        if alias in self.sources:
            return alias in self.pinned
        return self.outer is not None and self.outer.is_pinned(alias)


class _Reader:
    def __init__(self, guarded: frozenset[str], known: frozenset[str]) -> None:
        self.guarded = guarded
        self.known = known
        self.named: set[str] = set()
        self.loose: set[str] = set()
        self.alone: set[str] = set()
        self.positions: set[int] = set()
        self._seen: set[int] = set()

    def walk(self, node: exp.Expr, scope: _Scope | None) -> None:
        """Judge a tree and everything below it."""
        if isinstance(node, exp.CTE) and _lower(node.alias) in self.known:
            raise TenantBreach("a common table expression named like a table")
        if isinstance(node, exp.Insert):
            self._insert(node, scope)
        elif isinstance(node, exp.Select | exp.Update | exp.Delete):
            scope = self._query(node, scope)
        elif isinstance(node, exp.Table):
            self._name(node, pinned=False)
        for child in node.iter_expressions():
            self.walk(child, scope)

    def _name(self, table: exp.Table, *, pinned: bool) -> None:
        """Note a table the first time that it is met; a query meets its own before their nodes are walked."""
        if id(table) in self._seen:
            return
        self._seen.add(id(table))
        name = _lower(table.name)
        if name in self.known:
            self.named.add(name)
        if name in self.guarded and not (pinned and not table.alias_column_names):
            self.loose.add(name)

    def _query(self, node: exp.Expr, outer: _Scope | None) -> _Scope:
        sources = list(_sources(node))
        tables = {_lower(s.alias_or_name): _lower(s.name) for s in sources if isinstance(s, exp.Table)}
        scope = _Scope(outer, [_lower(source.alias_or_name) for source in sources], tables)
        if len(set(scope.sources)) < len(scope.sources):
            raise TenantBreach("two sources of one name")
        if isinstance(node, exp.Update) and _assigns_key(node.expressions):
            raise TenantBreach("a row cannot change its organization")
        if node.args.get("into") is not None:
            raise TenantBreach("a query into a new table")
        conditions = list(_conditions(node))
        self.alone |= read_alone(tables, conditions)
        before = -1
        while before < len(scope.pinned):
            before = len(scope.pinned)
            for condition, only in conditions:
                self._pin(condition, only, scope)
        for source, alias in zip(sources, scope.sources, strict=True):
            if isinstance(source, exp.Table):
                self._name(source, pinned=alias in scope.pinned)
        return scope

    def _pin(self, condition: exp.Expr, only: str | None, scope: _Scope) -> None:
        if not isinstance(condition, exp.EQ):
            return
        for side, other in ((condition.this, condition.expression), (condition.expression, condition.this)):
            if only is None and _is_entry(side, other, scope):
                scope.pinned.add(_lower(side.table))
            if not _is_key(side):
                continue
            alias = _lower(side.table) or (scope.sources[0] if len(scope.sources) == 1 else "")
            if alias not in scope.sources or (only is not None and alias != only):
                continue
            position = _position(other)
            if position is not None:
                self.positions.add(position)
                scope.pinned.add(alias)
            elif _is_key(other) and scope.is_pinned(_lower(other.table)):
                scope.pinned.add(alias)

    def _insert(self, node: exp.Insert, outer: _Scope | None) -> None:
        target = node.this
        table = target.this if isinstance(target, exp.Schema) else target
        columns = [_lower(c.name) for c in target.expressions] if isinstance(target, exp.Schema) else []
        conflict = node.args.get("conflict")
        updates = conflict.expressions if conflict is not None else []
        if _assigns_key(updates):
            raise TenantBreach("a row cannot change its organization")
        # The row that stands in the way is the organization's own: the keys of tenant tables start with it.
        own = not (updates or node.args.get("alternative")) or _lower(table.name) not in SHARED_TABLES
        pinned = KEY in columns and own and self._inserted(node.expression, columns.index(KEY), outer)
        self._name(table, pinned=pinned)

    def _inserted(self, source: exp.Expr | None, index: int, outer: _Scope | None) -> bool:
        """Says whether all inserted rows have a parameter, or the key of a pinned table, at the index."""
        scope = None
        if isinstance(source, exp.Values):
            rows = [row.expressions for row in source.expressions]
        elif isinstance(source, exp.Select):
            scope = self._query(source, outer)
            rows = [source.expressions]
        else:
            return False
        for row in rows:
            if len(row) <= index or any(value.is_star for value in row):
                return False
            value = row[index].unalias()
            position = _position(value)
            if position is not None:
                self.positions.add(position)
            elif scope is None or not _is_key(value) or not scope.is_pinned(_lower(value.table)):
                return False
        return True


def _origin(node: exp.Expr) -> exp.Expr | None:
    origin = node.args.get("from_")
    return None if origin is None else origin.this


def _joins(node: exp.Expr) -> Iterator[exp.Expr]:
    """Finds a query's joins: of an UPDATE, they hang below its FROM."""
    origin = _origin(node)
    if origin is not None and isinstance(origin, exp.Table):
        yield from origin.args.get("joins") or ()
    yield from node.args.get("joins") or ()


def _sources(node: exp.Expr) -> Iterator[exp.Expr]:
    """Lists the tables and subqueries that a query reads or writes itself, not those that its subqueries do."""
    if isinstance(node, exp.Update | exp.Delete):
        if isinstance(node.this, exp.Table):
            yield node.this
        yield from node.args.get("using") or ()
    origin = _origin(node)
    if origin is not None:
        yield origin
    yield from (join.this for join in _joins(node))


def _conditions(node: exp.Expr) -> Iterator[tuple[exp.Expr, str | None]]:
    """Every conjunct that holds for all rows, and, for an outer join's, the one alias it speaks for."""
    where = node.args.get("where")
    if where is not None:
        yield from ((condition, None) for condition in _conjuncts(where.this))
    for join in _joins(node):
        side = str(join.args.get("side") or "").upper()
        condition = join.args.get("on")
        if condition is None or side not in ("", "LEFT"):
            continue
        only = _lower(join.this.alias_or_name) if side else None
        yield from ((conjunct, only) for conjunct in _conjuncts(condition))


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    elif isinstance(condition, exp.Paren):
        yield from _conjuncts(condition.this)
    else:
        yield condition


def _lower(name: str) -> str:
    """One spelling per name; where quotes would make two of them, the stricter reading is to take them for one."""
    return name.lower()


def _is_entry(side: exp.Expr, other: exp.Expr, scope: _Scope) -> bool:
    """Says whether the two say that a row of a full-text index is that of a pinned entry."""
    if not isinstance(side, exp.Column) or not isinstance(other, exp.Column) or _lower(side.name) != "rowid":
        return False
    entries = FULL_TEXT.get(scope.tables.get(_lower(side.table), ""))
    place = (scope.tables.get(_lower(other.table), ""), _lower(other.name))
    return entries == place and _lower(other.table) in scope.pinned


def _is_key(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and _lower(node.name) == KEY


def _assigns_key(assignments: Iterable[exp.Expr]) -> bool:
    return any(_is_key(column) for a in assignments for column in a.this.find_all(exp.Column))


def _position(node: exp.Expr) -> int | None:
    """The zero-based position of a parameter, or None where the node is something else."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    if isinstance(node, exp.Placeholder) and re.fullmatch(r"p\d+", node.name):
        return int(node.name[1:])
    return None
