"""Refusals and failures: their codes, what they carry, and what they keep to themselves."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from contract.scopes import ScopeGroup
from resolvers import accounts, deals, meetings
from storage.tables import Account, Deal
from tests.support.costs import uncosted
from tests.support.gateway import Gateway
from tests.support.tenants import GraphQL, Tenant
from tests.support.world import bearer

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEALS = "{ deals { nodes { name } } }"
CREATE = 'mutation { dealCreate(input: {name: "n"}) { deal { id } userErrors { code } } }'
NOWHERE = "00000000-0000-7000-8000-000000000000"


def identified(headers: dict[str, str], request_id: str = "request-1") -> dict[str, str]:
    return headers | {"X-Request-Id": request_id}


def scopes_of(group: ScopeGroup) -> list[str]:
    return sorted(str(scope) for scope in group.value)


async def test_forbidden(one: Tenant, graphql: GraphQL) -> None:
    headers = identified(await one.scoped("leads:read", "outreach:provision"))
    assert uncosted(await graphql(headers, CREATE)) == {
        "data": None,
        "errors": [
            {
                "message": "Insufficient permissions",
                "locations": [{"line": 1, "column": 12}],
                "path": ["dealCreate"],
                "extensions": {
                    "code": "FORBIDDEN",
                    "required_scopes": scopes_of(ScopeGroup.CRM_MANAGE),
                    "granted_scopes": ["leads:read", "outreach:provision"],
                    "request_id": "request-1",
                },
            }
        ],
    }
    assert await one.rows(Deal.id) == []


async def test_forbidden_comes_before_any_look_at_the_arguments(one: Tenant) -> None:
    headers = await one.scoped("api:read")
    for query in (
        "{ meetings(first: -1) { nodes { id } } }",
        '{ meetings(after: "x") { nodes { id } } }',
        '{ meeting(id: "x") { id } }',
        'mutation { dealCreate(input: {name: "", value: -1}) { userErrors { code } } }',
        'mutation { dealUpdate(id: "x", input: {}) { userErrors { code } } }',
        'mutation { accountDelete(id: "x") { userErrors { code } } }',
        "mutation { pipelineStageReorder(ids: []) { userErrors { code } } }",
        'mutation { organizationKeyCreate(input: {name: ""}) { userErrors { code } } }',
    ):
        assert (await one.error(query, headers))["extensions"]["code"] == "FORBIDDEN", query


async def test_a_guarded_field_below_one_that_is_allowed(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    headers = await one.scoped("api:read")
    body = await one.body("query($id: ID!) { account(id: $id) { name health { score } } }", headers, id=account.id)
    assert body["data"] == {"account": {"name": "A", "health": None}}
    [error] = body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["account", "health"], "FORBIDDEN")
    assert error["extensions"]["required_scopes"] == scopes_of(ScopeGroup.MEETINGS_READ)


async def test_no_active_organization(one: Tenant, graphql: GraphQL, gateway: Gateway) -> None:
    token = bearer(await gateway.world.credential(one.subject("admin"), None))
    for query, path in ((DEALS, "deals"), (CREATE, "dealCreate"), ("{ organizationKeys { id } }", "organizationKeys")):
        body = await graphql(identified(token), query)
        [error] = body["errors"]
        assert body["data"] is None
        assert error["message"] == "Active organization required"
        assert error["path"] == [path]
        assert error["extensions"] == {"code": "ORGANIZATION_REQUIRED", "request_id": "request-1"}
    assert await one.ask("{ userTokens { name } }", token) == [{"name": f"made for {one.subject('admin')}"}]


async def test_an_organization_header_that_does_not_fit(one: Tenant, two: Tenant, gateway: Gateway) -> None:
    world = gateway.world
    there = {"X-Service-Org": two.organization.external_id}
    here = {"X-Service-Org": one.organization.external_id}
    key = bearer(await world.credential(one.subject(), one.organization))
    token = bearer(await world.credential(one.subject(), None))
    not_accepted = (400, "ORGANIZATION_NOT_ACCEPTED", "X-Service-Org is not accepted with an organization key")
    mismatch = (403, "ORGANIZATION_MISMATCH", "Organization mismatch")
    for headers, (status, code, message) in [
        (key | here, not_accepted),
        (key | there, not_accepted),
        (token | there, mismatch),
        (token | {"X-Service-Org": "nobody"}, mismatch),
        (one.headers() | there, mismatch),
    ]:
        for query in (DEALS, "{ __typename }", "nonsense"):
            response = await one.post(query, identified(headers))
            assert response.status_code == status
            assert uncosted(response.json()) == {
                "errors": [{"message": message, "extensions": {"code": code, "request_id": "request-1"}}]
            }
    assert await one.ask(DEALS, token | here) == {"nodes": []}
    assert await one.ask(DEALS, one.headers() | here) == {"nodes": []}


BAD = [
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer "},
    {"Authorization": "Bearer x"},
    {"Authorization": "Basic eA=="},
    {"Authorization": "Bearer ak_unknown.secret"},
    {"Authorization": "Bearer pat_unknown.secret"},
    {"Authorization": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."},
    {"Authorization": "Bearer a b"},
    {"Authorization": ""},
]


@pytest.mark.parametrize("headers", BAD)
async def test_a_bad_credential_is_refused_as_a_whole(one: Tenant, headers: dict[str, str]) -> None:
    for query in (DEALS, "{ __typename }", "{ __schema { queryType { name } } }", "nonsense"):
        response = await one.post(query, identified(headers))
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.headers["X-Request-Id"] == "request-1"
        assert uncosted(response.json()) == {
            "errors": [
                {
                    "message": "Valid credential required",
                    "extensions": {"code": "UNAUTHENTICATED", "request_id": "request-1"},
                }
            ]
        }


async def test_credentials_that_ended(one: Tenant, gateway: Gateway) -> None:
    world = gateway.world
    key = bearer(await world.credential(one.subject(), one.organization))
    session = one.headers()
    assert await one.ask(DEALS, key) == {"nodes": []}
    await world.leave(one.subject(), one.organization)
    for headers in (key, session):
        assert (await one.post(DEALS, headers)).status_code == 401


async def test_without_a_credential_the_schema_is_readable(one: Tenant) -> None:
    for query in (
        "{ __typename }",
        "{ __schema { queryType { name } } }",
        '{ __type(name: "Deal") { name fields { name } } }',
        "mutation { __typename }",
    ):
        response = await one.post(query, {})
        assert response.status_code == 200
        assert "errors" not in response.json()


@pytest.mark.parametrize(
    "query",
    [
        "{ viewer { subject } }",
        "{ __typename viewer { subject } }",
        DEALS,
        "{ deals(first: -1) { nodes { name } } }",
        '{ node(id: "x") { id } }',
        "{ nodes(ids: []) { id } }",
        "{ userTokens { id } }",
        CREATE,
        'mutation { dealDelete(id: "x") { deletedId } }',
        'mutation { userTokenCreate(input: {name: ""}) { patKey } }',
    ],
)
async def test_without_a_credential_nothing_else_is(one: Tenant, query: str) -> None:
    response = await one.post(query, identified({}))
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    [error] = response.json()["errors"]
    assert error["message"] == "Valid credential required"
    assert error["extensions"] == {"code": "UNAUTHENTICATED", "request_id": "request-1"}


async def test_documents_that_cannot_run(one: Tenant, graphql: GraphQL) -> None:
    for query, code in [
        ("nonsense", "GRAPHQL_PARSE_FAILED"),
        ("{ deals { nodes { name } }", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("{ deals }", "GRAPHQL_VALIDATION_FAILED"),
        ('{ deals(first: "1") { nodes { name } } }', "GRAPHQL_VALIDATION_FAILED"),
        ("mutation { dealCreate(input: {}) { deal { id } } }", "GRAPHQL_VALIDATION_FAILED"),
        ('{ deals(filter: {value: {gt: "NaN"}}) { nodes { name } } }', "GRAPHQL_VALIDATION_FAILED"),
        ('{ deals(filter: {closeDate: {gt: "2026-02-30"}}) { nodes { name } } }', "GRAPHQL_VALIDATION_FAILED"),
        ('{ deals(filter: {name: {eq: "\\ud800"}}) { nodes { name } } }', "GRAPHQL_PARSE_FAILED"),
    ]:
        body = await graphql(identified(one.headers()), query)
        assert "data" not in body
        [error] = body["errors"]
        error["extensions"].pop("field", None)
        assert error["extensions"] == {"code": code, "request_id": "request-1"}, query
        assert error["locations"]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, ["$input is required"]),
        ({"input": None}, ["$input must not be null"]),
        ({"input": []}, ["$input must be an object"]),
        ({"input": {}}, ["$input.name is required"]),
        ({"input": {"name": 5}}, ["$input.name must be a text"]),
        (
            {"input": {"nmae": "n", "geoScope": "local", "closeDate": "soon", "tags": ["a", 5]}},
            [
                "$input.name is required",
                "$input.closeDate must be a date of the form YYYY-MM-DD",
                "$input.geoScope must be LOCAL, REGIONAL or INTERNATIONAL (GeoScope)",
                "$input.tags.1 must be a text",
                "$input.nmae is no field of DealCreateInput; there is name",
            ],
        ),
    ],
)
async def test_variables_that_do_not_fit(one: Tenant, variables: Any, words: list[str]) -> None:
    """Decision 986."""
    query = "mutation($input: DealCreateInput!) { dealCreate(input: $input) { deal { id } } }"
    body = await one.body(query, identified(one.headers()), **variables)
    assert "data" not in body
    assert sorted(error["message"] for error in body["errors"]) == sorted(words)
    for error in body["errors"]:
        place = error["message"].split(" ")[0].removeprefix("$").split(".")
        assert error["extensions"] == {"code": "BAD_USER_INPUT", "request_id": "request-1", "field": place}
    assert await one.rows(Deal.id) == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ('{ deals(first: "1") { nodes { id } } }', ["first must be a whole number of at most 32 bits"]),
        ("{ deals(first: 1.0) { nodes { id } } }", ["first must be a whole number of at most 32 bits"]),
        ("{ deal(id: 5e0) { id } }", ["id must be an identifier, as a text"]),
        ("{ deal { id } }", ["id is required"]),
        ("{ deal(id: null) { id } }", ["id must not be null"]),
        ("query($n: Int = x) { deals(first: $n) { nodes { id } } }", ["$n must be a whole number of at most 32 bits"]),
        (
            '{ deals(filter: {status: {eq: "OPEN"}}) { nodes { id } } }',
            ["filter.status.eq must be OPEN, WON or LOST (DealStatus), without quotation marks"],
        ),
        (
            'mutation($t: [String!]) { dealCreate(input: {closeDate: "soon", tags: $t, geoScope: ALL, nmae: "x"}) '
            "{ deal { id } } }",
            [
                "input.name is required",
                "input.closeDate must be a date of the form YYYY-MM-DD",
                "input.geoScope must be LOCAL, REGIONAL or INTERNATIONAL (GeoScope)",
                "input.nmae is no field of DealCreateInput; there is name",
            ],
        ),
    ],
)
async def test_values_in_the_text_that_do_not_fit(one: Tenant, document: str, words: list[str]) -> None:
    """Decision 986: each is named by its place, and said as that of a variable is."""
    body = await one.body(document, identified(one.headers()))
    assert "data" not in body
    assert sorted(error["message"] for error in body["errors"]) == sorted(words)
    for error in body["errors"]:
        place = error["message"].split(" ")[0].removeprefix("$").split(".")
        code = "GRAPHQL_VALIDATION_FAILED"
        assert error["extensions"] == {"code": code, "request_id": "request-1", "field": place}


async def test_a_lone_surrogate_is_no_json(one: Tenant, gateway: Gateway) -> None:
    text = (
        '{"query": "query($f: DealFilter) { deals(filter: $f) { totalCount } }", '
        '"variables": {"f": {"name": {"eq": "\\ud800"}}}}'
    )
    headers = identified(one.headers()) | {"Content-Type": "application/json"}
    response = await gateway.http.post("/graphql", content=text, headers=headers)
    assert response.status_code == 400
    [error] = response.json()["errors"]
    assert error["extensions"] == {"code": "BAD_REQUEST", "request_id": "request-1"}


SECRET = "SELECT secret FROM rows WHERE name = 'Acme'"


async def _fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError(SECRET)


async def test_an_unknown_failure_is_masked(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deals, "list_deals", _fail)
    response = await one.post("{ deals { nodes { name } } }", identified(one.headers()))
    assert response.status_code == 200
    assert uncosted(response.json()) == {
        "data": None,
        "errors": [
            {
                "message": "Internal error",
                "locations": [{"line": 1, "column": 3}],
                "path": ["deals"],
                "extensions": {"code": "INTERNAL", "request_id": "request-1"},
            }
        ],
    }
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    line = record.getMessage()
    assert "request_id=request-1" in line
    assert "RuntimeError" in line
    assert "['deals']" in line
    assert "\n" not in line
    assert record.exc_info is None
    assert "secret" not in caplog.text


async def test_a_failure_leaves_the_other_fields_alone(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await one.add(Deal(name="d"))
    monkeypatch.setattr(meetings, "get_meeting", _fail)
    body = await one.body('{ a: deals { totalCount } b: meeting(id: "x") { id } viewer { subject } }')
    assert body["data"] == {"a": {"totalCount": 1}, "b": None, "viewer": {"subject": one.subject()}}
    [error] = body["errors"]
    assert (error["path"], error["extensions"]["code"]) == (["b"], "INTERNAL")
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


async def test_a_mutation_that_fails_is_masked_too(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(accounts, "create_account", _fail)
    error = await one.error('mutation { accountCreate(input: {name: "n"}) { account { id } userErrors { code } } }')
    assert (error["message"], error["extensions"]["code"]) == ("Internal error", "INTERNAL")
    assert "secret" not in caplog.text


async def test_mutations_run_in_order_and_see_what_came_before(one: Tenant) -> None:
    body = await one.body(
        """mutation {
          a: accountCreate(input: {name: "A"}) { account { name } userErrors { code } }
          b: accountCreate(input: {name: ""}) { account { name } userErrors { code field } }
          c: dealCreate(input: {name: "D"}) { deal { name account { name } contacts { totalCount } } }
        }"""
    )
    assert uncosted(body) == {
        "data": {
            "a": {"account": {"name": "A"}, "userErrors": []},
            "b": {"account": None, "userErrors": [{"code": "VALIDATION", "field": ["input", "name"]}]},
            "c": {"deal": {"name": "D", "account": None, "contacts": {"totalCount": 0}}},
        },
    }


async def test_later_fields_of_one_document_see_an_earlier_change(one: Tenant) -> None:
    account, deal = Account(name="before"), Deal(name="d")
    await one.add(account, deal)
    found = await one.ask(
        """mutation($account: ID!, $deal: ID!) {
          a: dealUpdate(id: $deal, input: {accountId: $account}) { deal { account { name } } }
          b: accountUpdate(id: $account, input: {name: "after"}) { account { deals { nodes { account { name } } } } }
          c: dealUpdate(id: $deal, input: {notes: "n"}) { deal { account { name } version } }
          d: accountDelete(id: $account) { deletedId }
          e: dealUpdate(id: $deal, input: {notes: "m"}) { deal { accountId account { name } } }
        }""",
        account=account.id,
        deal=deal.id,
    )
    assert found == {
        "a": {"deal": {"account": {"name": "before"}}},
        "b": {"account": {"deals": {"nodes": [{"account": {"name": "after"}}]}}},
        "c": {"deal": {"account": {"name": "after"}, "version": 3}},
        "d": {"deletedId": account.id},
        "e": {"deal": {"accountId": None, "account": None}},
    }


async def test_a_null_condition_is_the_clients_error(one: Tenant, graphql: GraphQL) -> None:
    """A nullable variable with a default may stand where a boolean has to be, and be sent as null all the same."""
    document = "query($b: Boolean = true) { viewer { subject @include(if: $b) } }"
    body = await graphql(identified(one.headers()), document, {"b": None})
    assert uncosted(body) == {
        "data": None,
        "errors": [
            {
                "message": "Argument 'if' has invalid value: Expected variable '$b' provided to non-null type"
                " 'Boolean!' not to be None.",
                "locations": [{"line": 1, "column": 59}],
                "path": ["viewer"],
                "extensions": {"code": "BAD_USER_INPUT", "request_id": "request-1"},
            }
        ],
    }
    text = 'query($q: String = "x") { search(query: $q) { snippet } }'
    [error] = (await graphql(one.headers(), text, {"q": None}))["errors"]
    assert (error["extensions"]["code"], error["path"]) == ("BAD_USER_INPUT", ["search"])
