"""What is wrong with an input comes at once, in its place, whatever scalar or reference it is of."""

from __future__ import annotations

from typing import Any, Final

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    get_named_type,
    get_nullable_type,
    is_required_argument,
    is_required_input_field,
)

from storage.tables import Deal
from tests.support.schemas import printed
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCHEMA: Final = printed()

ERRORS_OF: Final = {"dealsUpsert": "results { errors { field message } }"}
"""Where a mutation tells of its errors otherwise."""
_NUMBERS = (
    "NaN",
    "ten",
    True,
    "1" * 101,
    "1e999",
    " 1",
    "1\n",
    "1_000",
    "١٢",
    "１",
    "1,5",
    "0x1",
    "1e",
    ".",
    "+",
    "--1",
)
_DAYS = ("2026-02-29", "20260228", "2026-02-28T00:00:00Z", 5)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        *(("value", value, "must be a finite number") for value in (*_NUMBERS, "e5", "", "Infinity", "−1")),
        *(("closeDate", value, "must be a date of the form YYYY-MM-DD") for value in _DAYS),
    ],
)
async def test_numbers_and_days_that_are_none(one: Tenant, field: str, value: Any, words: str) -> None:
    """Decision 987: they stand among everything else that is wrong with the input, references too."""
    query = "mutation($input: DealCreateInput!) { dealCreate(input: $input) { userErrors { field message } } }"
    errors = (await one.ask(query, input={"name": "", "stageId": "nowhere", field: value}))["userErrors"]
    told = {error["field"][1]: error["message"] for error in errors}
    assert told[field].startswith(words)
    assert told | {field: ""} == {
        "name": "must not be empty",
        field: "",
        "stageId": "does not exist in this organization",
    }
    assert await one.rows(Deal.id) == []


async def test_every_date_time_and_number_of_an_input_is_refused_in_its_place(one: Tenant) -> None:
    """Decision 987: whatever input has one, of whatever mutation."""
    tried = set()
    assert SCHEMA.mutation_type is not None
    fields = SCHEMA.mutation_type.fields
    for name, operation in fields.items():
        for argument, declared in operation.args.items():
            kind = get_named_type(declared.type)
            if not isinstance(kind, GraphQLInputObjectType) or not kind.name.endswith("Input"):
                continue
            for inner, field in kind.fields.items():
                if get_named_type(field.type).name in ("Date", "DateTime", "Decimal"):
                    tried.add(f"{name}.{inner}")
                    await _refused_in_its_place(one, name, operation, argument, inner)
    assert len(tried) > 20


async def _refused_in_its_place(one: Tenant, name: str, operation: Any, argument: str, inner: str) -> None:
    needed = {a: declared for a, declared in operation.args.items() if is_required_argument(declared) or a == argument}
    values = {a: _filler(declared.type) for a, declared in needed.items()}
    bad = values[argument][0] if isinstance(values[argument], list) else values[argument]
    bad[inner] = "no such value"
    variables = ", ".join(f"${a}: {declared.type}" for a, declared in needed.items())
    passed = ", ".join(f"{a}: ${a}" for a in needed)
    body = await one.body(
        f"mutation({variables}) {{ {name}({passed}) {{ {ERRORS_OF.get(name, 'userErrors { field message }')} }} }}",
        one.headers("admin"),
        **values,
    )
    assert "errors" not in body, (name, inner, body)
    if name in ERRORS_OF:  # of a row of many
        errors = [{"field": [argument, *e["field"]]} for row in body["data"][name]["results"] for e in row["errors"]]
    else:
        errors = body["data"][name]["userErrors"]
    assert [e for e in errors if e["field"][0] == argument and e["field"][-1] == inner], (name, inner, errors)


def _filler(kind: Any) -> Any:
    """A value that the type takes."""
    bare = get_nullable_type(kind)
    if isinstance(bare, GraphQLList):
        return [_filler(bare.of_type)]
    if isinstance(bare, GraphQLInputObjectType):
        return {n: _filler(field.type) for n, field in bare.fields.items() if is_required_input_field(field)}
    if isinstance(bare, GraphQLEnumType):
        return next(iter(bare.values))
    return {"Int": 1, "Boolean": True, "Date": "2026-02-03", "Decimal": "1"}.get(bare.name, "x")
