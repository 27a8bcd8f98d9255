"""The guard of ad-hoc SQL: no attack gets through, each layer stands for itself, and what is met again is known."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest
from sqlglot import exp

from contract.catalog import ColumnKind
from contract.catalog_tables import SQL_FUNCTIONS, SQL_TABLES
from contract.errors import AnalyticsRefused
from contract.limits import SQL_TEXTS_CHARACTERS_MAX, SQL_TEXTS_MAX
from storage.analytics import guard as guarding
from storage.analytics import sources, syntax
from storage.analytics.guard import guard, known
from storage.analytics.scopes import Names
from tests.analytics.sql_statements import ANSWERED, DIALECTS, FUNCTIONS, OWN, attacks

ALL = frozenset(SQL_TABLES)


def refusal(text: str, dialect: str, tables: frozenset[str] = ALL) -> AnalyticsRefused:
    with pytest.raises(AnalyticsRefused) as raised:
        guard(text, dialect, tables)
    return raised.value


def test_no_attack_gets_through_and_each_is_refused_by_its_layer() -> None:
    assert len(attacks()) > 500
    for layer, dialect, text in attacks():
        error = refusal(text, dialect)
        assert error.layer.value == layer, (dialect, text, str(error))
        assert (error.line or 0) >= 1, text
        assert (error.column or 0) >= 1, text


def test_a_refusal_names_nothing_that_was_not_in_the_text() -> None:
    """But for tables of the catalogue, whose scopes are told."""
    for _, dialect, text in attacks():
        said = str(refusal(text, dialect)).lower()
        for hidden in ("credentials", "memberships", "organizations", "secret_hash", "org_id"):
            assert hidden not in said or hidden in text.lower(), (text, said)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_may_be_asked_is_let_through(dialect: str) -> None:
    for text in (*ANSWERED, *OWN[dialect]):
        found = guard(text, dialect, ALL)
        assert found.sql.count('"org_id"') >= len(found.tables) > 0
        assert text not in found.sql


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_listed_functions_are_those_that_may_be_called(dialect: str) -> None:
    for name, call in FUNCTIONS.items():
        text = f"SELECT {call} AS x FROM deals"
        if name in SQL_FUNCTIONS[dialect]:
            assert guard(text, dialect, ALL).tables == ("deals",)
        else:
            assert refusal(text, dialect).layer is syntax.SYNTAX, (name, dialect)
    assert set(SQL_FUNCTIONS[dialect]) <= FUNCTIONS.keys()


def test_every_column_of_the_catalogue_is_one_of_its_table_and_none_is_hidden() -> None:
    from sqlmodel import SQLModel

    never = {"org_id", "notes", "body", "metadata", "capture_payload", "phone", "steps", "provider_campaign_id"}
    kinds = {"Identifier": "id", "Money": "decimal", "UTCDateTime": "datetime", "Date": "date", "Boolean": "boolean"}
    kinds |= {"Integer": "integer", "Float": "float", "Text": "text", "DomainText": "text"}
    for table in SQL_TABLES.values():
        columns = SQLModel.metadata.tables[table.name].columns
        assert not never & table.columns.keys()
        for name, kind in table.columns.items():
            assert not name.startswith("folded_")
            assert ColumnKind(kinds[type(columns[name].type).__name__]) is kind, (table.name, name)


def test_the_layers_stand_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one layer taken out, what it stopped is stopped by one behind it; SESSION stands in test_sql_session.py."""
    nothing: Any = lambda *_given: None  # noqa: E731
    fake = replace(SQL_TABLES["accounts"], name="organizations")
    with monkeypatch.context() as patch:  # TEXT
        patch.setattr(guarding, "words_of", lambda text: [guarding_word(text)])
        for text in ("SELECT name FROM accounts; SELECT 1", "SELECT name FROM accounts WHERE name = ?"):
            assert refusal(text, "sqlite").layer.value in ("parse", "syntax")
        assert "--" not in guard("SELECT name FROM accounts -- no more", "sqlite", ALL).sql
    with monkeypatch.context() as patch:  # PARSE
        patch.setattr(guarding, "tree_of", lambda text, _words, _dialect: exp.maybe_parse(text, dialect="sqlite"))
        assert refusal("DELETE FROM accounts", "sqlite").layer is syntax.SYNTAX
    with monkeypatch.context() as patch:  # SYNTAX
        patch.setattr(syntax, "check", nothing)
        for text in ("SELECT set_config('a', 'b', true) FROM deals", "SELECT x FROM generate_series(1, 9) AS x"):
            assert refusal(text, "postgresql").layer is syntax.SYNTAX, "the rewriting knows no such form"
    with monkeypatch.context() as patch:  # NAMES
        patch.setattr(Names, "table", lambda _self, _node: fake)
        assert refusal("SELECT id, name FROM organizations", "sqlite").layer.value == "tenant"
    with monkeypatch.context() as patch:  # TENANT: the wall of the tenancy reads what is sent
        patch.setattr(sources, "PLACE", {"sqlite": "'x'", "postgresql": "'x'"})
        for dialect in DIALECTS:
            assert refusal("SELECT domain FROM accounts", dialect).layer.value == "tenant"
    with monkeypatch.context() as patch:  # JOINS: what gets through is bounded by time and cost alone
        patch.setattr(sources.Sources, "_links", lambda *_given: True)
        assert guard("SELECT COUNT(*) AS n FROM accounts a JOIN deals b ON 1 = 1", "sqlite", ALL).parameters == 2


def guarding_word(text: str) -> Any:
    from storage.analytics.words import Word

    return Word("name", text.split()[0], 0)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_point_apart_from_its_number_is_refused(dialect: str) -> None:
    text = "SELECT name FROM deals WHERE value BETWEEN . 0.5 AND 9"
    assert refusal(text, dialect).reason == "a number is written in digits, with a point at most"


def test_what_is_met_again_comes_from_the_cache_also_after_eviction() -> None:
    guarding._texts.clear()
    text = "SELECT name FROM accounts"
    first = guard(text, "sqlite", ALL)
    assert known(text, "sqlite", ALL) is first
    assert known(text, "postgresql", ALL) is None
    assert known(text, "sqlite", ALL - {"deals"}) is None
    refusal("SELECT name FROM nothing", "sqlite")
    with pytest.raises(AnalyticsRefused) as raised:
        known("SELECT name FROM nothing", "sqlite", ALL)
    assert (raised.value.line, raised.value.column) == (1, 18)
    for number in range(SQL_TEXTS_MAX + 50):
        guard(f"SELECT {number} AS n FROM accounts", "sqlite", ALL)
    assert len(guarding._texts) <= SQL_TEXTS_MAX
    assert guarding._texts.used <= SQL_TEXTS_CHARACTERS_MAX
    guard(f"SELECT {SQL_TEXTS_MAX + 49} AS n FROM accounts", "sqlite", frozenset({"accounts"}))
    assert known("SELECT 1 AS n FROM accounts", "sqlite", ALL) is None, "the first ones have gone"
    assert guard("SELECT 1 AS n FROM accounts", "sqlite", ALL).tables == ("accounts",)
    guarding._texts.clear()


@pytest.mark.long
def test_how_long_it_takes() -> None:
    """Under 40 ms for a new text, under 0.2 ms for one that it has met."""
    guard("SELECT name FROM accounts", "postgresql", ALL)
    for dialect in DIALECTS:
        new, met = [], []
        for text in (*ANSWERED, *OWN[dialect]):
            guarding._texts.clear()
            began = perf_counter()
            guard(text, dialect, ALL)
            new.append(perf_counter() - began)
            began = perf_counter()
            known(text, dialect, ALL)
            met.append(perf_counter() - began)
        assert sorted(new)[len(new) // 2] < 0.04
        assert sorted(met)[len(met) // 2] < 0.0002
