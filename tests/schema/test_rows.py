"""What the functions of rows cover, what they leave to steps, and that the encoder writes what the scalars do."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema, OperationDefinitionNode, parse
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.vocabulary import SearchType
from resolvers.shared.deadline import Deadlines
from resolvers.shared.settling import Settling
from schema.execution import Executor, Request
from schema.execution.outline import Outline
from schema.execution.rows import RowFunction, Unexpected, row_function
from schema.execution.tree import ObjectSelection, tree_of
from schema.scalars import DATE, DATE_TIME, DECIMAL
from tests.support.costs import uncosted
from tests.support.schemas import built

SCHEMA = built().graphql


def selection(kind: str, text: str) -> ObjectSelection:
    """What is selected of an object type, without variables."""
    document = parse(f"{{ root {text} }}")
    [operation] = document.definitions
    target = SCHEMA.type_map[kind]
    assert isinstance(operation, OperationDefinitionNode)
    assert isinstance(target, GraphQLObjectType)
    root = GraphQLObjectType("Root", {"root": GraphQLField(target)})
    schema = GraphQLSchema(root, types=[*SCHEMA.type_map.values()])  # type: ignore[list-item]  # all are named
    [field] = tree_of(schema, Outline(document), operation, {}).fields
    return field.below[kind]


def row(kind: str, text: str) -> RowFunction:
    """The function for a selection."""
    made = row_function(selection(kind, text))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("kind", "text", "rest"),
    [
        ("Meeting", "{ id subject dueAt metadata source state durationMinutes }", []),
        ("Meeting", "{ account { id owner: ownerId } deal { stage { name } champion { email } } }", []),
        ("Meeting", "{ ... on Node { id } ... on Deal { name } ... { __typename } }", []),
        ("Deal", "{ value closeDate competitors status geoScope }", []),
        ("Deal", "{ id contacts { totalCount } stageHistory { at } }", ["contacts", "stageHistory"]),
        ("Deal", "{ id account { id health { score } } stage { id } }", ["account"]),
        ("HealthSnapshot", "{ score trend factors { key } }", ["factors"]),
        ("MeetingConnection", "{ nodes { id } edges { cursor node { id } } pageInfo { hasNextPage endCursor } }", []),
        ("MeetingConnection", "{ totalCount nodes { id } }", ["totalCount"]),
        ("DealContactConnection", "{ edges { role isPrimary linkedAt node { id } } }", []),
        ("DealPayload", "{ deal { id value } userErrors { code field message } }", []),
        ("Viewer", '{ subject credentialKind scopes organization { id } can(operation: "deals") }', ["can"]),
    ],
)
def test_what_is_covered(kind: str, text: str, rest: list[str]) -> None:
    assert [field.key for field in row(kind, text).rest] == rest


def test_a_record_of_any_type_names_its_own() -> None:
    made = row("SearchHit", "{ type node { id ... on Deal { name } ... on Lead { status } } }")
    assert made.rest == ()
    hit = SimpleNamespace(type=SearchType.DEAL, node=SimpleNamespace(typename="Deal", id="x", name="D"))
    assert made.make(hit) == {"type": "DEAL", "node": {"id": "x", "name": "D"}}
    for typename in ("Nothing", None, []):
        hit.node.typename = typename
        with pytest.raises((Unexpected, TypeError)):
            made.make(hit)
    assert [field.key for field in row("SearchHit", "{ node { ... on Deal { contacts { totalCount } } } }").rest] == [
        "node"
    ]


def test_the_answer_keeps_the_order_of_the_selection() -> None:
    made = row("Account", "{ version contacts { totalCount } name __typename n: name }")
    assert list(made.make(SimpleNamespace(name="A", version=3)).items()) == [
        ("version", 3),
        ("contacts", None),
        ("name", "A"),
        ("__typename", "Account"),
        ("n", "A"),
    ]


def test_a_link_that_came_along_and_one_that_did_not() -> None:
    made = row("Meeting", "{ account { name } }")
    assert made.make(SimpleNamespace(account__id="x", account__name="A")) == {"account": {"name": "A"}}
    assert made.make(SimpleNamespace(account__id=None)) == {"account": None}
    with pytest.raises(AttributeError):
        made.make(SimpleNamespace(account_id="x"))
    nested = row("Meeting", "{ deal { account { name } } }")
    deal = SimpleNamespace(account__id="x", account__name="A")
    assert nested.make(SimpleNamespace(deal=deal)) == {"deal": {"account": {"name": "A"}}}
    with pytest.raises(Unexpected):
        nested.make(SimpleNamespace(deal_id="x"))


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("Account", "name", None),
        ("Account", "name", 1),
        ("Account", "name", type("Text", (str,), {})("x")),
        ("Account", "domain", b"x"),
        ("Account", "version", True),
        ("Account", "version", 2**31),
        ("Account", "version", -(2**31) - 1),
        ("Account", "version", 1.0),
        ("Account", "createdAt", datetime(2026, 1, 1)),
        ("Account", "createdAt", datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))),
        ("Account", "createdAt", date(2026, 1, 1)),
        ("Deal", "closeDate", datetime(2026, 1, 1, tzinfo=UTC)),
        ("Deal", "value", 1),
        ("Deal", "status", "open?"),
        ("Deal", "status", []),
        ("Deal", "competitors", ["a", None]),
        ("Deal", "competitors", ("a",)),
        ("HealthFactor", "weight", 1),
        ("HealthFactor", "weight", float("nan")),
        ("HealthFactor", "value", float("inf")),
        ("PageInfo", "hasNextPage", 1),
    ],
)
def test_a_value_that_its_field_does_not_promise(kind: str, field: str, value: Any) -> None:
    made = row(kind, f"{{ {field} }}")
    definition = SCHEMA.type_map[kind].fields[field].extensions["strawberry-definition"]
    with pytest.raises((Unexpected, TypeError)):
        made.make(SimpleNamespace(**{definition.python_name: value}))


def test_nothing_but_the_type_name_still_needs_a_row() -> None:
    made = row("Account", "{ __typename }")
    assert made.make(SimpleNamespace()) == {"__typename": "Account"}
    with pytest.raises(Unexpected):
        made.make(None)


def encoded(value: Any) -> Any:
    """What the endpoint writes for the value, read again as text."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_UTC_Z))


MOMENTS = [
    datetime(2026, 5, 1, 9, 30, tzinfo=UTC),
    datetime(2026, 5, 1, 9, 30, 0, 1, tzinfo=UTC),
    datetime(2026, 5, 1, 9, 30, 0, 100_000, tzinfo=UTC),
    datetime(2026, 5, 1, 9, 30, 59, 123_456, tzinfo=UTC),
    datetime.min.replace(tzinfo=UTC),
    datetime.max.replace(tzinfo=UTC),
]
AMOUNTS = ["0", "-0", "1.50", "1500", "1E+3", "1E-7", "-12.3400", "123456789012345.6789", "1E+40", "0E-10"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_moments_are_written_as_the_scalar_does(moment: datetime) -> None:
    made = row("Account", "{ createdAt }")
    assert encoded(made.make(SimpleNamespace(created_at=moment))) == {"createdAt": DATE_TIME.serialize(moment)}


@settings(deadline=None)
@given(st.datetimes(timezones=st.just(UTC)), st.dates())
def test_any_moment_and_any_day(moment: datetime, day: date) -> None:
    assert encoded(moment) == DATE_TIME.serialize(moment)
    assert encoded(day) == DATE.serialize(day)


@pytest.mark.parametrize("day", [date.min, date(999, 12, 31), date(2026, 2, 3), date.max])
def test_days_are_written_as_the_scalar_does(day: date) -> None:
    made = row("Deal", "{ closeDate }")
    assert encoded(made.make(SimpleNamespace(close_date=day))) == {"closeDate": DATE.serialize(day)}


@pytest.mark.parametrize("text", AMOUNTS)
def test_amounts_are_written_as_the_scalar_does(text: str) -> None:
    made = row("Deal", "{ value }")
    assert made.make(SimpleNamespace(value=Decimal(text))) == {"value": DECIMAL.serialize(Decimal(text))}


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, -1.5, 1e16, 123456789.123])
def test_numbers_pass_as_they_are(number: float) -> None:
    made = row("HealthFactor", "{ weight }")
    expected = SCHEMA.type_map["Float"].coerce_output_value(number)
    written = made.make(SimpleNamespace(weight=number))["weight"]
    assert orjson.dumps(written) == orjson.dumps(expected)


@dataclass
class Caller:
    """As much of a context as a query for the caller needs."""

    principal: Any
    request_id: str = "request"
    selections: Any = None
    key: Any = None
    position: int | None = None
    services: Any = field(default_factory=lambda: SimpleNamespace(deadlines=Deadlines(), settling=Settling()))

    def reads(self, _points: int) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def forget(self) -> None:
        """It has read nothing."""

    @property
    def caller(self) -> Any:
        return self.principal


NOBODY = SimpleNamespace(
    subject="s", name="n", email=None, organization=None, organizations=[], scopes=frozenset({"b", "a"})
)


async def run(executor: Executor, query: str, **variables: Any) -> Any:
    return uncosted((await executor.run(Request(query, variables), Caller(NOBODY))).body)  # type: ignore[arg-type]


async def test_two_documents_that_differ_by_an_alias_do_not_share_a_function() -> None:
    executor = Executor(SCHEMA)
    for _ in range(2):
        assert await run(executor, "{ viewer { a: name } }") == {"data": {"viewer": {"a": "n"}}}
        assert await run(executor, "{ viewer { b: name } }") == {"data": {"viewer": {"b": "n"}}}


async def test_the_variants_of_one_document_do_not_share_a_function() -> None:
    executor = Executor(SCHEMA)
    query = "query($x: Boolean!, $y: Boolean = true) { viewer { name @include(if: $x) subject @skip(if: $y) scopes } }"
    scopes = {"scopes": ["a", "b"]}
    for _ in range(2):
        assert await run(executor, query, x=True) == {"data": {"viewer": {"name": "n"} | scopes}}
        assert await run(executor, query, x=False, y=False) == {"data": {"viewer": {"subject": "s"} | scopes}}
        assert await run(executor, query, x=False) == {"data": {"viewer": scopes}}


async def test_a_fragment_under_two_parents_has_a_function_for_each() -> None:
    executor = Executor(SCHEMA)
    query = (
        "{ a: viewer { ...F subject } b: viewer { ...F } c: viewer { x: name ...F } }"
        " fragment F on Viewer { name organization { id } }"
    )
    bare = {"name": "n", "organization": None}
    for _ in range(2):
        assert await run(executor, query) == {"data": {"a": bare | {"subject": "s"}, "b": bare, "c": {"x": "n"} | bare}}


async def test_the_operations_of_one_document_do_not_share_a_function() -> None:
    executor = Executor(SCHEMA)
    query = "query A($x: Boolean!) { viewer { ...F } } query B($x: Boolean!) { viewer { email ...F } }"
    query += " fragment F on Viewer { name @include(if: $x) subject }"
    for name, x, expected in (("A", True, ["name", "subject"]), ("B", False, ["email", "subject"])) * 2:
        answer = await executor.run(Request(query, {"x": x}, name), Caller(NOBODY))  # type: ignore[arg-type]
        assert list(answer.body["data"]["viewer"]) == expected


async def test_a_condition_that_is_null_is_the_librarys_to_refuse() -> None:
    query = "query($x: Boolean = true) { viewer { organizations { id } name @include(if: $x) } }"
    body = await run(Executor(SCHEMA), query, x=None)
    assert body["data"] is None
    assert body["errors"][0]["path"] == ["viewer"]
