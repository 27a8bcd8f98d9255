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


NOBODY: Final = "99999999-9999-4999-8999-999999999999"
_LINKS: Final = dict.fromkeys(("accountId", "dealId", "contactId", "leadId"), NOBODY)
_TARGET: Final = {"metric": "WON_VALUE", "period": "MONTH", "startsOn": "2026-01-01", "timeZone": "UTC", "amount": "1"}

TOGETHER: Final[list[tuple[str, dict[str, Any], str]]] = [
    ("contactCreate", {"input": {"title": "x", "accountId": NOBODY}}, "input.email input.accountId"),
    ("campaignCreate", {"input": {"name": "", "mailboxIds": [NOBODY]}}, "input.name input.mailboxIds.0"),
    (
        "salesTargetsPut",
        {"inputs": [_TARGET | {"ownerId": NOBODY}, _TARGET | {"currency": "zzz", "ownerId": NOBODY}]},
        "inputs.1.currency inputs.0.ownerId inputs.1.ownerId",
    ),
    (
        "salesTargetsPut",
        {"inputs": [_TARGET | {"startsOn": "2026-01-02", "ownerId": NOBODY}]},
        "inputs.0.currency inputs.0.startsOn inputs.0.ownerId",
    ),
    (
        "fileUploadCreate",
        {"input": {"name": "", "bytes": 1, "folderId": NOBODY, "attachTo": [NOBODY]}},
        "input.name input.folderId input.attachTo.0",
    ),
    (
        "fileUploadCreate",
        {"input": {"name": "x", "bytes": 1, "folderId": NOBODY, "attachTo": [NOBODY]}},
        "input.folderId input.attachTo.0",
    ),
    ("folderCreate", {"name": "", "parentId": NOBODY}, "name parentId"),
    ("fileUpdate", {"id": NOBODY, "name": "", "folderId": NOBODY}, "name folderId"),
    (
        "enrollmentsCreate",
        {"campaignId": NOBODY, "contacts": [{"email": "x", "contactId": NOBODY}]},
        "contacts.0.email contacts.0.contactId",
    ),
    ("notificationEmit", {"input": {"type": "", "recordId": NOBODY}}, "input.type input.recordId"),
    (
        "dataImportCreate",
        {"input": {"fileId": NOBODY, "kind": "ACCOUNT", "decimalSign": "x"}},
        "input.decimalSign input.fileId",
    ),
    (
        "reportCreate",
        {
            "input": {
                "name": "",
                "kind": "PIPELINE_BY_STAGE",
                "parameters": {"ownerIds": [NOBODY], "stageIds": [NOBODY], "tags": ["x"], "currency": "zzz"},
            }
        },
        "input.name input.parameters.currency "
        "input.parameters.ownerIds.0 input.parameters.stageIds.0 input.parameters.tags.0",
    ),
    (
        "reportUpdate",
        {"id": NOBODY, "input": {"name": None, "ownerId": NOBODY, "parameters": {"accountIds": [NOBODY]}}},
        "input.name input.parameters.accountIds.0 input.ownerId",
    ),
    (
        "meetingUpdate",
        {"id": NOBODY, "input": {"subject": None, "durationMinutes": -1, **_LINKS}},
        "input.durationMinutes input.subject input.accountId input.dealId input.contactId input.leadId",
    ),
    (
        "mailboxProvision",
        {"input": {"domainId": NOBODY, "localPart": ""}, "idempotencyKey": "told-at-once"},
        "input.localPart input.domainId",
    ),
    (
        "mailboxProvision",
        {"input": {"domainId": NOBODY, "localPart": ""}, "idempotencyKey": "a b"},
        "idempotencyKey input.localPart input.domainId",
    ),
    (
        "mailboxProvision",
        {"input": {"domainId": NOBODY, "localPart": "x"}, "idempotencyKey": "a b"},
        "idempotencyKey input.domainId",
    ),
    ("domainPurchase", {"name": "", "idempotencyKey": "x" * 300}, "idempotencyKey name"),
]


@pytest.mark.parametrize(("name", "values", "told"), TOGETHER)
async def test_form_and_references_are_told_together(one: Tenant, name: str, values: dict[str, Any], told: str) -> None:
    """Decision 1110: what has to be looked up does not wait until the rest is right, nor is it told twice."""
    assert SCHEMA.mutation_type is not None
    arguments = SCHEMA.mutation_type.fields[name].args
    variables = ", ".join(f"${each}: {arguments[each].type}" for each in values)
    passed = ", ".join(f"{each}: ${each}" for each in values)
    document = f"mutation({variables}) {{ {name}({passed}) {{ userErrors {{ field }} }} }}"
    errors = (await one.ask(document, one.headers("admin"), **values))["userErrors"]
    assert sorted(".".join(error["field"]) for error in errors) == sorted(told.split())


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("PUT", "/sales-targets", [{"owner_id": NOBODY, "currency": "zzz"}], "body.0.currency body.0.owner_id"),
        ("POST", "/folders", {"name": "", "parent_id": NOBODY}, "body.name body.parent_id"),
        ("POST", "/notifications", {"type": "", "record_id": NOBODY}, "body.type body.record_id"),
        (
            "POST",
            "/reports",
            {"name": "x", "kind": "activity_by_owner", "parameters": {"currency": "EUR", "owner_ids": [NOBODY]}},
            "body.parameters.currency body.parameters.owner_ids.0",
        ),
        ("POST", "/activities", {"type": "note", "body": "", "account_id": NOBODY}, "body.body body.account_id"),
    ],
)
async def test_the_other_surface_tells_them_together_too(
    one: Tenant, method: str, path: str, body: Any, told: str
) -> None:
    """Decision 1110."""
    response = await one.gateway.rest(method, path, one.headers("admin"), body)
    assert response.status_code == 422, response.text
    found = {".".join(map(str, problem["loc"])) for problem in response.json()["detail"]}
    assert set(told.split()) <= found
    assert len(found) == len(response.json()["detail"])


async def test_the_key_of_an_order_is_told_with_the_rest(one: Tenant) -> None:
    """Decision 1110: a key that is missing does not wait until the order is in order."""
    input = f'{{domainId: "{NOBODY}", localPart: ""}}'
    order = f"mutation {{ mailboxProvision(input: {input}) {{ userErrors {{ field message }} }} }}"
    errors = (await one.ask(order, one.headers("admin")))["userErrors"]
    assert [error["field"] and error["field"][-1] for error in errors] == ["localPart", None, "domainId"]
    assert errors[1]["message"].startswith("Idempotency-Key is required here")


async def test_a_malformed_key_is_told_with_the_rest_of_a_body(one: Tenant) -> None:
    """Decision 1110: references too, which are looked up although the body's form is right."""
    headers = one.headers("admin") | {"idempotency-key": "a b"}
    response = await one.gateway.rest("POST", "/folders", headers, {"name": "x", "parent_id": NOBODY})
    assert response.status_code == 422
    assert [problem["loc"][-1] for problem in response.json()["detail"]] == ["Idempotency-Key", "parent_id"]


@pytest.mark.parametrize(
    ("make", "change", "told"),
    [
        ({"type": "task", "subject": "x"}, {"subject": None, "due_at": "soon"}, "subject due_at"),
        ({"type": "call", "subject": "x"}, {"direction": None, "duration_minutes": -1}, "direction duration_minutes"),
        ({"type": "note", "body": "x"}, {"body": None, "subject": None, "deal_id": 5}, "body deal_id"),
    ],
)
async def test_a_null_is_told_with_the_rest_where_the_type_has_it(
    one: Tenant, make: dict[str, Any], change: dict[str, Any], told: str
) -> None:
    """Decision 1110: which fields are never null is a matter of the activity's type, which the path names."""
    headers = one.headers("admin")
    ask = 'mutation { accountCreate(input: {name: "x"}) { account { id } } }'
    account = (await one.ask(ask))["account"]["id"]
    made = (await one.gateway.rest("POST", "/activities", headers, make | {"account_id": account})).json()["id"]
    for activity, status in ((made, 422), (NOBODY, 422)):
        response = await one.gateway.rest("PATCH", f"/activities/{activity}", headers, change)
        assert response.status_code == status
        found = {problem["loc"][-1] for problem in response.json()["detail"]}
        assert found == set(told.split()) if activity == made else found < set(told.split())


async def test_what_a_change_leaves_is_told_with_its_references(one: Tenant) -> None:
    """Decision 1110: what a record would be after the change is looked at, even where a reference is wrong."""
    ask = "mutation($input: %sCreateInput!) { %sCreate(input: $input) { %s { id } } }"
    account = (await one.ask(ask % ("Account", "account", "account"), input={"name": "x"}))["account"]["id"]
    contact = (await one.ask(ask % ("Contact", "contact", "contact"), input={"email": "a@b.example"}))["contact"]["id"]
    note = (await one.ask(ask % ("Note", "note", "note"), input={"body": "x", "accountId": account}))["note"]["id"]
    change = "mutation($id: ID!, $input: %sUpdateInput!) { %sUpdate(id: $id, input: $input) { userErrors { field } } }"
    for kind, identifier, input, told in (
        ("Contact", contact, {"email": None, "accountId": NOBODY}, [["input", "accountId"], ["input", "email"]]),
        ("Note", note, {"accountId": None, "ownerId": NOBODY}, [["input", "ownerId"], ["input"]]),
    ):
        answer = await one.ask(change % (kind, kind.lower()), id=identifier, input=input)
        assert [error["field"] for error in answer["userErrors"]] == told


async def test_a_text_is_counted_in_characters(one: Tenant) -> None:
    """Decision 986: also where the column bounds it."""
    ask = "mutation($input: CallLogInput!) { callLog(input: $input) { userErrors { field message } } }"
    errors = (await one.ask(ask, input={"subject": "x", "outcome": "x" * 201, "phone": "x" * 101}))["userErrors"]
    assert {error["field"][1]: error["message"] for error in errors} == {
        "outcome": "must have at most 200 characters",
        "phone": "must have at most 100 characters",
    }


async def test_a_name_of_a_file_that_is_much_too_long(one: Tenant) -> None:
    """Each character is looked at once: with the square of so many the test would not end."""
    ask = "mutation($input: FileUploadInput!) { fileUploadCreate(input: $input) { userErrors { field message } } }"
    errors = (await one.ask(ask, input={"name": "x" * 700_000, "bytes": 1}))["userErrors"]
    assert errors == [{"field": ["input", "name"], "message": "must have at most 255 characters"}]
