"""Answers are compared by what they say, and the report holds exactly the works that targets are set for."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from benchmarks import report
from benchmarks.works import GATEWAY, WORKS, Work

BY_NAME = {work.name: work for work in WORKS}


def said(work: Work, document: Any) -> Any:
    return work.answer(json.dumps(document).encode())


def test_the_three_spellings_of_a_page_are_one() -> None:
    work, moment = BY_NAME["meetings_20"], datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
    connection = {"data": {"meetings": {"nodes": [{"id": "1", "dueAt": "2026-05-01T09:30:00Z"}]}}}
    plain = {"data": {"meetings": [{"id": "1", "dueAt": "2026-05-01T11:30:00+02:00"}]}}
    rows = [{"id": "1", "dueAt": "2026-05-01 09:30:00.000000"}]
    assert said(work, connection) == said(work, plain) == said(work, rows) == [{"id": "1", "dueAt": moment}]


@pytest.mark.parametrize(
    "other",
    [{"id": "2", "value": "12.5"}, {"id": "1", "value": "12.6"}, {"id": "1", "value": None}, {"id": "1"}],
)
def test_what_differs_stays_different(other: dict[str, Any]) -> None:
    work = BY_NAME["deal_detail"]
    assert said(work, {"data": {"deal": {"id": "1", "value": "12.50"}}}) == {"id": "1", "value": Decimal("12.5")}
    assert said(work, other) != said(work, {"id": "1", "value": "12.50"})


def test_a_refused_creation_is_no_deal() -> None:
    work = BY_NAME["deal_create"]
    made = {"data": {"dealCreate": {"deal": {"id": "1", "status": "OPEN"}, "userErrors": []}}}
    refused = {"data": {"dealCreate": {"deal": None, "userErrors": [{"message": "no"}]}}}
    assert said(work, made) == {"status": "open"}
    assert said(work, refused) == {"deal": None, "userErrors": [{"message": "no"}]}


def test_the_report_names_the_works_with_targets() -> None:
    row = {"requests_per_second": 1.0, "vs_idiomatic": 2.0, "vs_floor": 0.5}
    figures = {"postgresql": {work.name: {32: {GATEWAY: row}} for work in WORKS}}
    document = report.document(figures, {})
    assert set(document["works"]) == set(report.TARGETS)
    assert set(document["extra"]) == {"rest_deal_create"}
    assert document["works"]["dashboard"] == {**row, "contestants": {GATEWAY: row}}
