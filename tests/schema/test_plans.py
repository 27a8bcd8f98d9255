"""Operations that are planned: who runs them, and that a plan that does not hold does nothing twice."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from contract.limits import VARIANTS_MAX
from schema.execution import fallback
from schema.execution.documents import Document, Documents
from schema.execution.rows import Unexpected
from schema.execution.steps import Linked, Steps, Unplanned, WholeValue
from storage.tables import Account, Deal, PipelineStage
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATE = "mutation($input: DealCreateInput!) { dealCreate(input: $input) { deal { name } userErrors { code } } }"


@pytest.fixture
def fallbacks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The documents that the library ran."""
    ran: list[Any] = []
    execute = fallback.execute

    def counting(schema: Any, document: Any, *args: Any, **kwargs: Any) -> Any:
        ran.append(document)
        return execute(schema, document, *args, **kwargs)

    monkeypatch.setattr(fallback, "execute", counting)
    return ran


@pytest.mark.parametrize(
    "query",
    [
        "{ deals { nodes { name account { name } contacts { nodes { lastName } } } totalCount } }",
        "{ a: deals(first: 1) { edges { cursor node { id } } } b: accounts { pageInfo { hasNextPage } } __typename }",
        "query($first: Int, $filter: DealFilter) { deals(first: $first, filter: $filter) { nodes { name } } }",
        "{ dealBoard { columns { stage { name } deals { nodes { name } } } unstaged { totalCount } } }",
        "query($first: Int, $name: String) { deals(first: $first, filter: {name: {eq: $name}}) { nodes { name } } }",
        "query($name: String!) { deals(filter: {and: [{name: {in: [$name]}}, {not: {name: {neq: $name}}}]}) {"
        " nodes { name } } }",
        "query($filter: DealFilter!, $by: SortDirection!) {"
        " deals(filter: {or: [$filter, {id: {in: []}}]}, orderBy: {field: NAME, direction: $by}) { nodes { name } } }",
    ],
)
async def test_a_document_runs_by_its_steps_from_the_first_time_on(
    one: Tenant, fallbacks: list[Any], query: str
) -> None:
    await one.add(Deal(name="planned"), PipelineStage(name="S"))
    known = {"first": 3, "filter": {"name": {"eq": "planned"}}, "name": "planned", "by": "ASC"}
    variables = {name: value for name, value in known.items() if f"${name}:" in query}
    answers = [await one.ask(query, **variables) for _ in range(3)]
    assert fallbacks == []
    assert answers[0] == answers[1] == answers[2]


async def test_a_mutation_with_variables_within_its_input_is_planned(one: Tenant, fallbacks: list[Any]) -> None:
    query = """mutation($name: String!, $value: Decimal, $currency: String) {
      dealCreate(input: {name: $name, value: $value, currency: $currency}) { deal { name value currency } } }"""
    made = await one.ask(query, name="a", value="1.25", currency="EUR")
    assert made == {"deal": {"name": "a", "value": "1.25", "currency": "EUR"}}
    bare = await one.ask(query, name="b")
    assert bare == {"deal": {"name": "b", "value": None, "currency": "USD"}}
    assert fallbacks == []


async def test_another_value_of_a_condition_is_another_plan(one: Tenant) -> None:
    await one.add(Deal(name="conditional"))
    query = "query($brief: Boolean!) { deals { nodes { name status @skip(if: $brief) } } }"
    for brief in (True, True, False, False, True):
        [deal] = (await one.ask(query, brief=brief))["nodes"]
        assert set(deal) == ({"name"} if brief else {"name", "status"})


async def test_an_error_is_told_as_before(one: Tenant) -> None:
    query = "{ deals { nodes { name } } organizationKeys { id } }"
    headers = await one.scoped("deals:read")
    errors = [await one.error(query, headers) for _ in range(3)]
    assert {error["extensions"]["code"] for error in errors} == {"FORBIDDEN"}
    assert [error["path"] for error in errors] == [["organizationKeys"]] * 3


ERRORS = {
    "needed": ("{ deals(first: -1) { totalCount } }", None, [["deals"]]),
    "needed, beside one that is given": (
        '{ deal(id: "x") { name } b: deals(last: 501) { totalCount } __typename }',
        None,
        [["b"]],
    ),
    "below lists": (
        "{ deals { nodes { name contacts(first: -1) { totalCount } } } viewer { name } }",
        None,
        [["deals", "nodes", 0, "contacts"]],
    ),
    "below what may be null": (
        '{ a: account(domain: "error.example") { name contacts { totalCount } deals(first: 501) { totalCount } }'
        ' b: account(domain: "error.example") { name } }',
        {"a": None, "b": {"name": "A"}},
        [["a", "deals"]],
    ),
    "none of them needed": (
        '{ a: account { name } b: account(id: "x", domain: "y") { name } deal(id: "x") { name } }',
        {"a": None, "b": None, "deal": None},
        [["a"], ["b"]],
    ),
    "after a change": (
        'mutation { a: dealCreate(input: {name: "kept"}) { deal { name } }'
        ' b: organizationKeyCreate(input: {name: "k"}) { patKey }'
        ' c: dealCreate(input: {name: "not made"}) { deal { name } } }',
        None,
        [["b"]],
    ),
}


@pytest.mark.parametrize(("query", "data", "paths"), ERRORS.values(), ids=ERRORS)
async def test_an_error_is_placed_by_the_steps(
    one: Tenant, fallbacks: list[Any], monkeypatch: pytest.MonkeyPatch, query: str, data: Any, paths: list[Any]
) -> None:
    """It is what the library reports, which is asked when the steps are taken away."""
    answers = []
    headers = await one.scoped("deals:manage")
    await one.add(Deal(name="kept"), Account(name="A", domain="error.example"))
    for number in range(3):
        if number == 2:
            monkeypatch.setattr(Steps, "run", _unplanned)
        answer = (await one.post(query, headers)).json()
        for error in answer["errors"]:
            del error["extensions"]["request_id"]
        del answer["extensions"]
        answers.append((answer, len(fallbacks)))
    [(first, _), (second, by_steps), (third, by_library)] = answers
    assert first == second == third
    assert (first["data"], [error["path"] for error in first["errors"]]) == (data, paths)
    assert (by_steps, by_library) == (0, 1)
    assert set(await one.rows(Deal.name)) <= {("kept",)}


async def _unplanned(*_: Any) -> Any:
    raise Unplanned("test")


async def test_a_mutation_whose_steps_do_not_hold_is_done_once(
    one: Tenant, fallbacks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        assert (await one.ask(CREATE, input={"name": f"{number}"}))["deal"] == {"name": f"{number}"}

    def fail(*_: Any) -> None:
        raise Unexpected

    for kind in (Linked, WholeValue):
        monkeypatch.setattr(kind, "finish", fail)
    assert await one.ask(CREATE, input={"name": "2"}) == {"deal": {"name": "2"}, "userErrors": []}
    assert len(fallbacks) == 1
    assert sorted(await one.rows(Deal.name)) == [("0",), ("1",), ("2",)]


async def test_what_is_kept_of_a_document_does_not_grow_with_its_variants(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """24 booleans make 16 million documents of one; what is found out is kept for the first few (decision 126)."""
    await one.add(Deal(name="varied"))
    documents: list[Document] = []
    prepare = Documents.prepare

    def noting(self: Documents, text: str) -> Any:
        found = prepare(self, text)
        if isinstance(found, Document):
            documents.append(found)
        return found

    monkeypatch.setattr(Documents, "prepare", noting)
    names = [f"b{i}" for i in range(24)]
    fields = " ".join(f"c{i}: name @include(if: $b{i}) d{i}: account @include(if: $b{i}) {{ name }}" for i in range(24))
    query = f"query({' '.join(f'${n}: Boolean!' for n in names)}) {{ deals {{ nodes {{ id {fields} }} }} }}"
    kept = []
    for number in range(200):
        values = {name: bool(number >> place & 1) for place, name in enumerate(names)}
        [deal] = (await one.ask(query, **values))["nodes"]
        assert len(deal) == 1 + 2 * sum(values.values())
        assert documents[-1] is documents[0]
        [operation] = documents[0]._operations.values()
        kept.append((documents[0].variants, len(operation._compiled)))
    assert kept[0] < kept[VARIANTS_MAX - 1] == (VARIANTS_MAX, VARIANTS_MAX)
    assert kept[VARIANTS_MAX - 1 :] == [kept[-1]] * (201 - VARIANTS_MAX)


NULLS = {
    "a text": ('query($q: String = "zebra") { search(query: $q) { type } }', "q", "zebra"),
    "a list": ('query($q: [ID!] = ["x"]) { nodes(ids: $q) { id } }', "q", ["x"]),
    "an identifier": ('query($q: ID = "x") { deal(id: $q) { id } }', "q", "x"),
    "a text within an input": (
        'mutation($q: String = "x") { dealCreate(input: {name: $q}) { deal { name } userErrors { code } } }',
        "q",
        "y",
    ),
    "an item of a list": ('query($q: ID = "x") { nodes(ids: ["y", $q]) { id } }', "q", "x"),
    "a field within a list": (
        "query($q: SortDirection = ASC) { deals(orderBy: {field: NAME, direction: $q}) { totalCount } }",
        "q",
        "DESC",
    ),
    "an object": (
        'mutation($q: DealCreateInput = {name: "x"}) { dealCreate(input: $q) { deal { name } userErrors { code } } }',
        "q",
        {"name": "y"},
    ),
}


@pytest.mark.parametrize(("query", "name", "good"), NULLS.values(), ids=NULLS)
async def test_null_where_an_argument_may_not_be_null(one: Tenant, query: str, name: str, good: Any) -> None:
    """A variable with a default may be null, its argument not: the answer is the same before and after a good run."""
    errors = []
    for value in (None, good, good, None):
        body = (await one.post(query, **{name: value})).json()
        if value is None:
            errors.append([(e["message"], e["path"], e["extensions"]["code"]) for e in body["errors"]])
        else:
            assert "errors" not in body
    assert errors[0] == errors[1]
    assert errors[0][0][2] == "BAD_USER_INPUT"


ASKED = {
    "in the text": ('{ deals(first: 5, filter: {name: {eq: "x"}}) { nodes { name } } }', {}),
    "a whole variable": (
        "query($f: DealFilter) { deals(first: 5, filter: $f) { nodes { name } } }",
        {"f": {"name": {"eq": "x"}}},
    ),
    "a variable within": (
        "query($x: String) { deals(first: 5, filter: {name: {eq: $x}}) { nodes { name } } }",
        {"x": "x"},
    ),
}


async def test_a_filter_costs_as_much_wherever_its_variables_stand(one: Tenant) -> None:
    """Counted are calls of Python functions; the library, which would run it otherwise, takes 600 more."""
    counts: dict[str, int] = {}
    for name, (query, variables) in ASKED.items():
        for _ in range(3):
            await one.ask(query, **variables)
        counts[name] = min([await calls_of(one, query, variables) for _ in range(15)])
    assert counts["a whole variable"] - counts["in the text"] < 120
    assert counts["a variable within"] - counts["in the text"] < 80


async def calls_of(one: Tenant, query: str, variables: dict[str, Any]) -> int:
    calls = 0

    def counting(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counting)
    try:
        await one.ask(query, **variables)
    finally:
        sys.setprofile(None)
    return calls
