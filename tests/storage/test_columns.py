from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import MetaData
from sqlalchemy.orm import registry
from sqlmodel import Field

from contract.vocabulary import GeoScope
from storage import tables
from storage.base import PlainText, Record, folded_copies, folded_copy
from storage.columns import (
    FILTER,
    FLAG,
    LINE,
    MOMENT,
    NAMES,
    NUMBER,
    SORT,
    TEXT,
    UPDATE,
    WRITE,
    Kind,
    column,
    column_of,
    columns_of,
)


def table(name: str, annotation: Any, field: Any) -> type[Record]:
    """A table of its own metadata with one column, named by the test."""

    class Apart(Record, registry=registry(metadata=MetaData())):
        pass

    return type(
        "Planet", (Apart,), {"__annotations__": {name: annotation}, name: field, "__module__": __name__}, table=True
    )


@pytest.mark.parametrize(
    ("annotation", "field", "words"),
    [
        (
            str,
            Field(sa_type=PlainText),
            "Planet.rings does not say what it is: write rings: ... = column(KIND, text, uses)",
        ),
        (str | None, column(LINE, "Its rings."), "Planet.rings may be null but has no default: write default=None"),
        (int, column(TEXT, "Its rings."), "Planet.rings is a TEXT, so annotate it with str"),
        (int, column(GeoScope, "Its rings."), "Planet.rings is a GeoScope, so annotate it with str"),
        (str, column(TEXT, "Its rings.", SORT), "Planet.rings is a TEXT, which no list can be ordered by"),
        (
            list[Any],
            column(NAMES, "Its rings.", FILTER, default_factory=list),
            "Planet.rings is filtered by, so add its copy: folded_rings = folds_each(...)",
        ),
        (bool, column(FLAG, "Its rings.", FILTER), "Planet.rings is a FLAG, for which there is no filter"),
        (float, column(NUMBER, "Its rings.", FILTER), "Planet.rings is a NUMBER, for which there is no filter"),
    ],
)
def test_a_column_that_contradicts_itself_is_refused_by_name(annotation: Any, field: Any, words: str) -> None:
    with pytest.raises(TypeError) as refused:
        columns_of(table("rings", annotation, field))
    assert str(refused.value) == words


def test_a_misspelt_column_is_told_with_those_that_there_are() -> None:
    with pytest.raises(TypeError) as refused:
        column_of(table("rings", str, column(LINE, "Its rings.")), "ring")
    assert str(refused.value) == "Planet has no column ring; it has org_id, id, rings"


def test_a_table_with_secrets_says_nothing_of_itself() -> None:
    for model in (tables.Credential, tables.Webhook, tables.IdempotencyKey):
        with pytest.raises(TypeError, match="does not say what it is"):
            columns_of(model)


RECORDS: set[type[Record]] = {model for model in map(tables.load, tables.TABLES) if issubclass(model, Record)}
BARE: set[type[Record]] = {
    *(tables.AnalyticsConversation, tables.AnalyticsRun, tables.Artifact, tables.CXReport, tables.CXReportRevision),
    *(tables.ChatApproval, tables.ChatMessage, tables.ChatRun, tables.ChatThread),
    *(tables.Event, tables.FileUpload, tables.OutreachMessage, tables.RecordChange, tables.StageChange),
    *(tables.Webhook, tables.WebhookDelivery),
    *(tables.Integration, tables.SyncItem, tables.SyncOccurrence, tables.SyncRun, tables.SyncStream),
    *(tables.StreamWatch, tables.SyncedMeeting),
}
DERIVED = RECORDS - BARE


def test_the_tables_that_nothing_is_derived_from() -> None:
    """Of every other record all columns are shown unless its surface hides them, so secrets are in these alone."""
    bare = set()
    for model in RECORDS:
        try:
            columns_of(model)
        except TypeError:
            bare.add(model)
    assert bare == BARE


UNCHECKED = {(tables.HealthFactor, "key")}
"""Written by the formula alone, which has nine of them."""


@pytest.mark.parametrize("model", sorted(DERIVED, key=lambda model: model.__name__), ids=lambda model: model.__name__)
def test_every_vocabulary_has_its_check_in_the_database(model: Any) -> None:
    checks = {str(c.sqltext) for c in model.__table__.constraints if hasattr(c, "sqltext")}
    for each in columns_of(model):
        if not isinstance(each.kind, Kind) and (model, each.name) not in UNCHECKED:
            assert f"{each.name} IN ({', '.join(repr(value.value) for value in each.kind)})" in checks


def test_what_is_derived_of_a_column() -> None:
    declared = column_of(tables.Deal, "close_date")
    assert (declared.text, declared.short) == ("When it is expected to close, or closed.", "the closing day")
    assert declared.uses == WRITE | FILTER | SORT
    assert declared.nullable
    assert not declared.required_on_create
    assert column_of(tables.Activity, "metadata").text.startswith("Free-form")
    assert column_of(tables.Lead, "tags").uses == UPDATE
    assert column_of(tables.Deal, "created_at").kind is MOMENT
    assert tables.Deal.model_fields["created_at"].annotation is datetime


def test_each_copy_of_a_default_is_the_default_folded() -> None:
    for model in DERIVED:
        for name, copy in folded_copies(model).items():
            default = model.model_fields[name].get_default(call_default_factory=True)
            if isinstance(default, str | list):
                assert model.model_fields[copy].get_default(call_default_factory=True) == folded_copy(default)
