"""Answers are compared by what they say; the documents are the gateway's, and every input has both forms."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from graphql import build_schema, parse, validate

from benchmarks import report
from benchmarks.asking import FLOOR, GATEWAY, LARGEST, MERCURIUS, NOBODY, Request, Work
from benchmarks.data import ROOT, Known
from benchmarks.works import WORKS

BY_NAME = {work.name: work for work in WORKS}
KNOWN = [Known(f"o{n}", f"admin{n}", ["a1", "a2"], ["s1", "s2"], [f"d{deal}" for deal in range(16)]) for n in range(3)]
REQUESTS = {work.name: work.requests(KNOWN, 4) for work in WORKS}


def said(work: Work, document: Any) -> Any:
    return work.answer(json.dumps(document).encode())


def test_the_three_spellings_of_a_page_are_one() -> None:
    work, moment = BY_NAME["meetings_20"], datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
    connection = {"data": {"meetings": {"nodes": [{"id": "1", "dueAt": "2026-05-01T09:30:00Z"}]}}}
    plain = {"data": {"meetings": [{"id": "1", "dueAt": "2026-05-01T11:30:00+02:00"}]}, "extensions": {"cost": {}}}
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


def test_amounts_are_compared_as_numbers_and_kinds_as_words() -> None:
    board, found = BY_NAME["board"], BY_NAME["search"]
    column = {"stage": {"id": "1"}, "totals": [{"amount": "0000012.5000", "count": 2}], "deals": {"nodes": []}}
    rows = [{"stage": {"id": "1"}, "totals": [{"amount": 12.5, "count": 2}], "deals": []}]
    assert said(board, {"data": {"dealBoard": {"columns": [column]}}}) == said(board, rows)
    hit = {"type": "DEAL", "node": {"id": "1"}}
    assert said(found, {"data": {"search": [hit]}}) == said(found, [{**hit, "type": "deal"}])


def test_a_refused_creation_is_no_deal() -> None:
    work = BY_NAME["deal_create"]
    made = {"data": {"dealCreate": {"deal": {"id": "1", "status": "OPEN"}, "userErrors": []}}}
    refused = {"data": {"dealCreate": {"deal": None, "userErrors": [{"message": "no"}]}}}
    assert said(work, made) == {"status": "open"}
    assert said(work, refused) == {"deal": None, "userErrors": [{"message": "no"}]}


def documents(name: str) -> list[dict[str, Any]]:
    return [request.body for request in REQUESTS[name].get(MERCURIUS, ())]


@pytest.mark.parametrize("file", ["schema/schema.graphql", "benchmarks/mercurius/schema.graphql"])
def test_both_schemas_know_every_document(file: str) -> None:
    schema = build_schema((ROOT / file).read_text(encoding="utf-8"))
    texts = {document["query"] for name in REQUESTS for document in documents(name)}
    assert len(texts) > 12
    assert {text: errors for text in texts if (errors := validate(schema, parse(text)))} == {}


def test_the_gateway_and_mercurius_are_asked_the_same_and_the_floor_as_often() -> None:
    for requests in REQUESTS.values():
        assert requests.get(MERCURIUS, requests[GATEWAY]) == requests[GATEWAY]
        assert {len(each) for each in requests.values()} == {len(requests[GATEWAY])}
        assert [r.organization for r in requests[FLOOR]] == [r.organization for r in requests[GATEWAY]]


def test_whoever_gives_a_whole_input_has_a_form_with_variables_inside_a_literal() -> None:
    whole = {
        name for name in REQUESTS for document in documents(name) if {"input", "filter"} & set(document["variables"])
    }
    assert whole == {"meetings_filtered", "deal_move", "deal_update", "deal_create", "deal_create_staged"}
    for name in whole:
        for one, other in zip(documents(name), documents(f"{name}_literal"), strict=True):
            inside = one["variables"].get("input") or {"before": one["variables"]["filter"]["dueAt"]["lt"]}
            rest = {key: value for key, value in one["variables"].items() if key not in ("input", "filter")}
            assert other["variables"] == inside | rest
            assert all(f": ${key}" in other["query"] for key in inside)


def test_organizations_take_turns() -> None:
    for name, requests in REQUESTS.items():
        organizations = [request.organization for request in requests[GATEWAY]]
        if set(organizations) not in ({LARGEST}, {NOBODY}):
            turns = [known.organization for known in KNOWN]
            assert organizations == turns * (len(organizations) // len(turns)), name
    assert {r.organization for r in REQUESTS["typename"][GATEWAY]} == {NOBODY}


@pytest.mark.parametrize("name", ["deal_move", "deal_update"])
def test_a_deal_is_changed_to_something_else_every_time(name: str) -> None:
    last: dict[Any, Any] = {}
    for request in [*REQUESTS[name][GATEWAY]] * 2:
        key, value = (request.organization, request.body["variables"]["id"]), request.body["variables"]["input"]
        assert last.get(key) != value
        last[key] = value
    assert len(last) == len(REQUESTS[name][GATEWAY]) / 2


def test_a_request_is_on_the_wire_as_it_is_meant() -> None:
    wire = Request("POST", "/x", {"a": 1}).encoded({"X-Organization": "o"})
    head, _, body = wire.partition(b"\r\n\r\n")
    assert body == b'{"a":1}'
    assert b"X-Organization: o\r\n" in head
    assert head.endswith(b"Content-Length: 7")


def test_every_target_is_of_a_work_and_of_somebody_who_takes_part() -> None:
    assert set(report.TARGETS) <= set(BY_NAME)
    for name, target in report.TARGETS.items():
        assert set(target.rate) <= set(REQUESTS[name])
