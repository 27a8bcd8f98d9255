"""The standard operations of a record type, tried on accounts, which have no such paths of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from datetime import datetime
from typing import Annotated, Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from pydantic import Field
from starlette.applications import Starlette

from contract.criteria import Op
from contract.errors import InvalidState
from contract.scopes import ScopeGroup
from resolvers import accounts
from resolvers.shared.access import Rule
from resolvers.shared.context import Context
from rest_compat import serving
from rest_compat.documents import Document
from rest_compat.parameters import Exactly, ListParameters, Moment, Where
from rest_compat.resources import Resource
from storage import tables as t
from tests.support.world import World

KEYS = ("id", "name", "domain", "industry", "owner_id", "created_at", "updated_at", "version")
ACCOUNT = Document("Account", t.Account, "A company.", KEYS)
ACCOUNTS = Resource("/accounts/{account_id}", ACCOUNT)
NOON = datetime.fromisoformat("2026-05-01T12:00:00Z")


class AccountQuery(ListParameters):
    """The parameters of a listing with a filter of each kind."""

    domain: Exactly = Field(default=None, description="Only accounts with this domain.")
    name: Annotated[str | None, Where(Op.CONTAINS)] = Field(default=None, description="Only accounts named like this.")
    created_since: Annotated[Moment | None, Where(Op.GTE, "created_at")] = Field(
        default=None, description="Only accounts made at or after this time."
    )
    unowned: Annotated[bool, Where(Op.IS_NULL, "owner_id")] = Field(
        default=False, description="When true, only accounts without an owner."
    )


async def closed(ctx: Context, account_id: str, *, seen: Collection[int] | None = None) -> str:
    """A deletion that takes versions, and refuses."""
    raise InvalidState(f"seen {sorted(seen or ())}", field=("id",))


async def archive_account(ctx: Context, account_id: str) -> Any:
    """An action."""
    return await accounts.get_account(ctx, account_id)


for resolver in (closed, archive_account):
    resolver.rule = Rule(ScopeGroup.CRM_MANAGE, writes=True)  # type: ignore[attr-defined]  # as `requires` gives it one

LISTING = ACCOUNTS.listing(accounts.list_accounts, AccountQuery)
CREATE = ACCOUNTS.create(accounts.create_account)
DETAIL = ACCOUNTS.detail(accounts.get_account)
CHANGE = ACCOUNTS.change(accounts.update_account)
DELETE = ACCOUNTS.delete(accounts.delete_account)
ARCHIVE = ACCOUNTS.action("archive", archive_account)


@pytest.fixture
async def accounts_client(world: World) -> AsyncIterator[httpx.AsyncClient]:
    """A member's client of these operations."""

    async def readiness() -> list[Any]:
        return []

    made = serving.routes((LISTING, CREATE, DETAIL, CHANGE, DELETE, ARCHIVE), world.services, readiness)
    transport = httpx.ASGITransport(app=Starlette(routes=made))
    headers = world.session("member@one", world.one)
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
        yield client


async def test_create_get_change_and_delete(world: World, accounts_client: httpx.AsyncClient) -> None:
    client = accounts_client
    made = await client.post("/accounts", json={"name": "Acme", "domain": "acme.example", "id": "mine"})
    record = made.json()
    assert made.status_code == 201
    assert list(record) == list(KEYS)
    path = f"/accounts/{record['id']}"
    headers = {name: made.headers[name] for name in ("location", "etag", "x-ignored-fields")}
    assert headers == {"location": path, "etag": '"1"', "x-ignored-fields": "id"}
    assert (record["name"], record["owner_id"]) == ("Acme", "member@one")

    found = await client.get(path)
    assert (found.json(), found.headers["etag"]) == (record, '"1"')
    current = await client.get(path, headers={"If-None-Match": '"1"'})
    assert (current.status_code, current.content, current.headers["etag"]) == (304, b"", '"1"')

    changed = await client.patch(path, json={"industry": "Power", "domain": None, "expected_version": 9})
    assert changed.json() == record | {
        "industry": "Power",
        "domain": None,
        "version": 2,
        "updated_at": changed.json()["updated_at"],
    }
    assert (changed.headers["etag"], changed.headers["x-ignored-fields"]) == ('"2"', "expected_version")
    refused = await client.patch(path, json={"name": None})
    assert (refused.status_code, [p["loc"] for p in refused.json()["detail"]]) == (422, [["body", "name"]])
    assert (await client.post(f"{path}/archive")).json() == changed.json()

    gone = await client.delete(path)
    assert (gone.status_code, gone.content) == (204, b"")
    for method in ("GET", "DELETE"):
        assert (await client.request(method, path)).status_code == 404
    assert (await client.patch(path, json={"name": "B"})).status_code == 404


async def test_the_listing_and_its_parameters(world: World, accounts_client: httpx.AsyncClient) -> None:
    rows = [
        t.Account(name="Acme", domain="acme.example", created_at=NOON.replace(hour=10)),
        t.Account(name="Acme Cloud", owner_id="o", created_at=NOON),
        t.Account(name="Bolt", owner_id="o", created_at=NOON.replace(hour=14)),
    ]
    await world.add(world.one, *rows)
    await world.add(world.two, t.Account(name="Acme foreign"))
    for query, names in (
        ("", ["Bolt", "Acme Cloud", "Acme"]),
        ("limit=1&offset=1", ["Acme Cloud"]),
        ("limit=0", []),
        ("domain=acme.example", ["Acme"]),
        ("domain=", []),
        ("name=Acme", ["Acme Cloud", "Acme"]),
        ("created_since=2026-05-01T12:00:00Z", ["Bolt", "Acme Cloud"]),
        ("created_since=2026-05-01T12:00:00Z&name=Acme", ["Acme Cloud"]),
        ("unowned=true", ["Acme"]),
        ("unowned=false", ["Bolt", "Acme Cloud", "Acme"]),
    ):
        listed = await accounts_client.get(f"/accounts?{query}")
        assert [record["name"] for record in listed.json()] == names, query
        assert all(list(record) == list(KEYS) for record in listed.json())
    for query, parameter in (("limit=-1", "limit"), ("created_since=x", "created_since")):
        refused = await accounts_client.get(f"/accounts?{query}")
        assert (refused.status_code, [p["loc"] for p in refused.json()["detail"]]) == (422, [["query", parameter]])


async def test_a_listing_reads_only_what_it_shows(world: World) -> None:
    selections = []

    async def listed(ctx: Context, listing: Any, selection: Any) -> Any:
        selections.append(selection)
        return await accounts.list_accounts(ctx, listing, selection)

    listed.rule = Rule(ScopeGroup.CRM_READ)  # type: ignore[attr-defined]  # as `requires` gives it one
    short = Document("AccountName", t.Account, "A company.", ("account_id=id", "name"))
    [route] = serving.routes(
        [Resource("/accounts/{account_id}", short).listing(listed, AccountQuery)], world.services, _ready
    )
    transport = httpx.ASGITransport(app=Starlette(routes=[route]))
    row = t.Account(name="Acme")
    await world.add(world.one, row)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/accounts", headers=world.session("member@one", world.one))
    assert answer.json() == [{"account_id": row.id, "name": "Acme"}]
    assert [selection.columns for selection in selections] == [{"id", "name"}]


async def _ready() -> list[Any]:
    return []


def test_if_match_is_taken_where_the_resolver_takes_versions() -> None:
    for operation in (CHANGE, DELETE):
        assert operation.request_headers == ()
        assert operation.errors == (404,)
    guarded = ACCOUNTS.delete(closed)
    assert guarded.request_headers == ("If-Match",)
    assert guarded.errors == (404, 412)


async def test_the_versions_of_if_match_reach_the_resolver(world: World) -> None:
    transport = httpx.ASGITransport(
        app=Starlette(routes=serving.routes([ACCOUNTS.delete(closed)], world.services, _ready))
    )
    headers = world.session("member@one", world.one) | {"If-Match": '"3", W/"4", "5"'}
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.delete("/accounts/x", headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (409, "seen [3, 5]")


def test_names_follow_from_the_record_type() -> None:
    said = [
        (o.method, o.path, o.summary, o.graphql_field, o.operation_id)
        for o in (LISTING, CREATE, DETAIL, CHANGE, DELETE)
    ]
    assert said == [
        ("GET", "/accounts", "List accounts", "Query.accounts", "accounts_listing"),
        ("POST", "/accounts", "Create an account", "Mutation.accountCreate", "accounts_create"),
        ("GET", "/accounts/{account_id}", "Get an account", "Query.account", "accounts_detail"),
        ("PATCH", "/accounts/{account_id}", "Change an account", "Mutation.accountUpdate", "accounts_change"),
        ("DELETE", "/accounts/{account_id}", "Delete an account", "Mutation.accountDelete", "accounts_delete"),
    ]
    assert (ARCHIVE.path, ARCHIVE.graphql_field) == ("/accounts/{account_id}/archive", "Mutation.accountArchive")


def test_the_body_is_the_resolver_s_input_with_an_example() -> None:
    assert (CREATE.body, CHANGE.body) == (accounts.AccountCreate, accounts.AccountUpdate)
    for operation in (CREATE, CHANGE):
        assert operation.body is not None
        usual = {"name": "Example Industries", "domain": "example.com", "industry": "Logistics"}
        owned = {"owner_id": "user_2mF7"} if operation is CHANGE else {}
        assert operation.example == usual | owned | {"external_key": "erp-10293"}
        operation.body.model_validate(operation.example)


def test_a_new_record_may_be_answered_by_its_identifier_alone() -> None:
    operation = ACCOUNTS.create(accounts.create_account, only_id=True)
    assert isinstance(operation.answer, Document)
    assert operation.response_headers == ("Location", "X-Ignored-Fields")
    schema = operation.answer.components["AccountId"]
    assert (list(schema["properties"]), schema["description"]) == (["id"], "The new account.")
    Draft202012Validator(schema).validate(operation.answer.example)
