"""The guard of ad-hoc SQL: lets a statement through, written anew, or refuses it with layer, reason and place.

The layers follow one another: TEXT, PARSE (words.py), SYNTAX (syntax.py), NAMES (scopes.py), JOINS and TENANT
(rewriting.py); what is sent is read again by the tenancy's own wall. SESSION are the connections (the runners).
"""

from dataclasses import dataclass

from contract.analytics_results import ResultColumn, label_of
from contract.catalog_tables import SQL_TABLES, SqlTable
from contract.errors import AnalyticsRefused
from contract.guard_layers import GuardLayer
from contract.limits import SQL_TEXTS_CHARACTERS_MAX, SQL_TEXTS_MAX
from storage.analytics import syntax
from storage.analytics.rewriting import Rewriting
from storage.analytics.scopes import Names
from storage.analytics.sources import Written
from storage.analytics.typed import KIND_OF, Held
from storage.analytics.words import tree_of, words_of
from storage.bounded_cache import BoundedCache
from storage.tenancy import guard as tenancy
from storage.tenancy.guard import TenantBreach


@dataclass(frozen=True, slots=True)
class Guarded:
    """A statement that may be run: its text, how often the organization is a parameter, its columns and tables."""

    sql: str
    parameters: int
    columns: tuple[ResultColumn, ...]
    tables: tuple[str, ...]
    groups: bool
    """Whether its rows are groups."""


_texts: BoundedCache[tuple[str, str, frozenset[str]], Guarded | AnalyticsRefused] = BoundedCache(
    entries=SQL_TEXTS_MAX, size=SQL_TEXTS_CHARACTERS_MAX
)


def known(text: str, dialect: str, tables: frozenset[str]) -> Guarded | None:
    """Return what the guard said of a text that it has met; None where it has not. Raises AnalyticsRefused."""
    found = _texts.get((text, dialect, tables))
    if isinstance(found, AnalyticsRefused):
        raise AnalyticsRefused(found.layer, found.reason, found.line, found.column)
    return found


def guard(text: str, dialect: str, tables: frozenset[str]) -> Guarded:
    """The statement as it may be run by who may read these tables. Raises AnalyticsRefused."""
    found: Guarded | AnalyticsRefused
    try:
        found = _guarded(text, dialect, {name: SQL_TABLES[name] for name in sorted(tables)})
        size = len(text) + len(found.sql)
    except AnalyticsRefused as refusal:
        found, size = refusal.with_traceback(None), len(text)
    _texts.put((text, dialect, tables), found, 4 * size)
    if isinstance(found, AnalyticsRefused):
        raise AnalyticsRefused(found.layer, found.reason, found.line, found.column)
    return found


def _guarded(text: str, dialect: str, tables: dict[str, SqlTable]) -> Guarded:
    words = words_of(text)
    tree = tree_of(text, words, dialect)
    syntax.check(tree, text, dialect, words)
    rewriting = Rewriting(Names(text, tables), dialect)
    try:
        written = rewriting.whole(tree)
        positions = tenancy.pinned(written.sql, dialect, inside=True)
    except (RecursionError, TenantBreach):
        raise AnalyticsRefused(GuardLayer.TENANT, "it cannot be walled to the organization", 1, 1) from None
    if positions != tuple(range(len(positions))) or (rewriting.sources.read and not positions):
        raise AnalyticsRefused(GuardLayer.TENANT, "it cannot be walled to the organization", 1, 1)
    number = len(positions)
    return Guarded(written.sql, number, _shown(written), tuple(rewriting.sources.read), written.groups)


def _shown(written: Written) -> tuple[ResultColumn, ...]:
    """The columns as answers show them; an amount with its currency, where exactly one column is that."""
    currencies = [name for name, value in written.columns if value.origin == ("deals", "currency")]
    of_money = currencies[0] if len(currencies) == 1 else None
    found = []
    for name, value in written.columns:
        money = value.is_money and value.held in (Held.AMOUNT, Held.DECIMAL)
        found.append(
            ResultColumn(
                name, label_of(name), KIND_OF[value.held], "money" if money else None, of_money if money else None
            )
        )
    return tuple(found)
