"""What a client sees of idempotency keys, through both surfaces (decisions 110 to 114)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from sqlmodel import col

from contract.vocabulary import CredentialKind
from jobs.upkeep import forget_keys
from resolvers.shared.sentences import ABSENT
from storage.base import new_id, now
from storage.tables import Account, Credential, Deal, Event, IdempotencyKey, OutreachDomain
from tests.support.tenants import Tenant
from tests.support.world import Headers

pytestmark = pytest.mark.asyncio(loop_scope="session")

ERRORS = "userErrors { code message field }"
CREATE = f"mutation($name: String!) {{ dealCreate(input: {{name: $name}}) {{ deal {{ id name }} {ERRORS} }} }}"
REUSED = "Idempotency-Key was used before, with other arguments"
ELSEWHERE = "Idempotency-Key was used before, by another request"
MALFORMED = "Idempotency-Key must be 1 to 255 visible ASCII characters"
REQUIRED = "Idempotency-Key is required here, so that a repeated request never buys twice"
PURCHASE = f"mutation($name: String!) {{ domainPurchase(name: $name) {{ domain {{ name }} {ERRORS} }} }}"
TWINS = '{ a: dealCreate(input: {name: "twin"}) { deal { id } } b: dealCreate(input: {name: "twin"}) { deal { id } } }'


def keyed(headers: Headers, key: str | None = None) -> Headers:
    return headers | {"Idempotency-Key": key or new_id()}


async def post(one: Tenant, headers: Headers, **body: Any) -> httpx.Response:
    return await one.gateway.rest("POST", "/deals", headers, body)


def replayed(response: httpx.Response) -> bool:
    return response.headers.get("idempotency-replayed") == "true"


def data(response: httpx.Response) -> bytes:
    """The answer to the last byte, without what it cost."""
    return response.content.partition(b',"extensions":')[0]


def refused(words: str, type: str) -> dict[str, Any]:
    return {"detail": [{"loc": ["header", "Idempotency-Key"], "msg": words, "type": type}]}


async def test_one_key_is_one_deal_whichever_surface_it_comes_through(one: Tenant) -> None:
    headers = keyed(one.headers())
    first, again = await post(one, headers, name="once"), await post(one, headers, name="once")
    assert (first.status_code, replayed(first)) == (201, False)
    assert (again.status_code, replayed(again)) == (201, True)
    assert data(again) == data(first)
    assert again.headers["location"] == first.headers["location"]
    other_surface = await one.post(CREATE, headers, name="once")
    assert replayed(other_surface)
    assert other_surface.json()["data"]["dealCreate"]["deal"] == {"id": first.json()["id"], "name": "once"}
    assert await one.rows(Deal.name) == [("once",)]
    assert await one.rows(Event.type) == [("deal_created",)]


async def test_without_a_key_the_same_is_done_again(one: Tenant) -> None:
    first, second = await post(one, one.headers(), name="twice"), await post(one, one.headers(), name="twice")
    assert first.json()["id"] != second.json()["id"]
    assert not replayed(second)


async def test_another_body_with_the_same_key_is_refused(one: Tenant) -> None:
    headers = keyed(one.headers())
    assert (await post(one, headers, name="first")).status_code == 201
    other = await post(one, headers, name="second")
    assert (other.status_code, other.json()) == (422, refused(REUSED, "idempotency_key_reused"))
    assert await one.ask(CREATE, headers, name="second") == {
        "deal": None,
        "userErrors": [{"code": "VALIDATION", "message": REUSED, "field": None}],
    }
    assert await one.rows(Deal.name) == [("first",)]
    null = await post(one, headers, name="first", value=None)
    assert null.status_code == 422  # the deal would be the same, but null was not said the first time


async def test_what_means_the_same_is_the_same_body(one: Tenant) -> None:
    """Names in another order, numbers and codes written otherwise, fields that are ignored, and what is the default."""
    default = keyed(one.headers())
    assert (await post(one, default, name="d")).content == (await post(one, default, name="d", currency="usd")).content
    headers = keyed(one.headers())
    first = await post(one, headers, name="ordered", currency="EUR", value=1.50)
    again = await post(one, headers, value=1.5, currency="eur", name="ordered", unknown=1)
    assert replayed(again)
    assert data(again) == data(first)


async def test_a_key_is_its_caller_s_own(one: Tenant, two: Tenant) -> None:
    """Another member, another credential of the same member, another organization, and another operation."""
    world, key = one.gateway.world, new_id()
    callers = [
        one.headers("member"),
        one.headers("admin"),
        await world.headers(one.subject("member"), one.organization, CredentialKind.ORGANIZATION_KEY),
        await world.headers(one.subject("member"), one.organization, CredentialKind.ORGANIZATION_KEY),
        await world.headers(one.subject("member"), one.organization, CredentialKind.USER_TOKEN),
        two.headers("member"),
    ]
    answers = [await post(one, keyed(headers, key), name="own") for headers in callers]
    assert [(a.status_code, replayed(a)) for a in answers] == [(201, False)] * len(callers)
    assert len({a.json()["id"] for a in answers}) == len(callers)
    again = [await post(one, keyed(headers, key), name="own") for headers in callers]
    assert [a.content for a in again] == [a.content for a in answers]
    account = await one.ask(
        'mutation { accountCreate(input: {name: "own"}) { account { name } } }', keyed(one.headers(), key)
    )
    assert account == {"account": {"name": "own"}}
    assert await one.rows(Account.name) == [("own",)]


async def test_a_token_of_several_organizations_has_its_keys_in_each(one: Tenant, two: Tenant) -> None:
    world, key = one.gateway.world, new_id()
    subject = await world.join(f"both of {one.id}", one.organization, scopes=["deals:manage"])
    await world.join(subject, two.organization, scopes=["deals:manage"])
    token = {"Authorization": f"Bearer {await world.credential(subject, None)}"}
    made = [
        await post(one, keyed(token | {"X-Service-Org": tenant.organization.external_id}, key), name="mine")
        for tenant in (one, two)
    ]
    assert [(a.status_code, replayed(a)) for a in made] == [(201, False)] * 2
    assert await one.rows(Deal.name) == await two.rows(Deal.name) == [("mine",)]


async def test_a_failure_gives_the_key_back(one: Tenant) -> None:
    headers = keyed(one.headers())
    for _ in range(2):
        failed = await post(one, headers, name="bad", account_id=new_id())
        assert failed.status_code == 422
        assert failed.json()["detail"][0]["loc"] == ["body", "account_id"]
    missing = f"/deals/{new_id()}"
    assert (await one.gateway.rest("PATCH", missing, headers, {"name": "x"})).status_code == 404
    good = await post(one, headers, name="good")
    assert (good.status_code, replayed(good)) == (201, False)
    assert await one.rows(Deal.name) == [("good",)]


async def test_a_change_that_was_made_is_not_made_again(one: Tenant) -> None:
    made = (await post(one, one.headers(), name="before")).json()["id"]
    headers = keyed(one.headers())
    first = await one.gateway.rest("PATCH", f"/deals/{made}", headers, {"name": "mine"})
    await one.gateway.rest("PATCH", f"/deals/{made}", one.headers(), {"name": "somebody else's"})
    again = await one.gateway.rest("PATCH", f"/deals/{made}", headers, {"name": "mine"})
    assert replayed(again)
    assert data(again) == data(first)
    assert again.headers["etag"] == first.headers["etag"] == '"2"'
    assert await one.rows(Deal.name, Deal.version) == [("somebody else's", 3)]


async def test_what_is_deleted_is_deleted_once(one: Tenant) -> None:
    deal = (await post(one, one.headers(), name="gone")).json()["id"]
    delete = "mutation($id: ID!) { dealDelete(id: $id) { deletedId userErrors { code } } }"
    headers = keyed(one.headers())
    for _ in range(2):
        assert await one.ask(delete, headers, id=deal) == {"deletedId": deal, "userErrors": []}
    assert (await one.ask(delete, keyed(one.headers()), id=deal))["userErrors"] == [{"code": "NOT_FOUND"}]


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "caf\xe9", "tab\tbed"])
async def test_what_is_no_key(one: Tenant, key: str) -> None:
    headers = [(name, value.encode()) for name, value in one.headers().items()]
    headers.append(("Idempotency-Key", key.encode("latin-1")))
    http = one.gateway.http
    rest = await http.post("/deals", headers=headers, json={"name": 1})
    assert rest.status_code == 422
    assert [(d["loc"], d["msg"]) for d in rest.json()["detail"]] == [
        (["header", "Idempotency-Key"], MALFORMED),
        (["body", "name"], "must be a text"),
    ]
    graphql = await http.post("/graphql", headers=headers, json={"query": CREATE, "variables": {"name": "x"}})
    assert graphql.status_code == 400
    assert graphql.json()["errors"][0]["message"] == MALFORMED
    assert graphql.json()["errors"][0]["extensions"]["code"] == "BAD_REQUEST"
    assert (await http.get("/deals", headers=headers)).status_code == 200  # which looks at none


async def test_the_longest_key(one: Tenant) -> None:
    headers = keyed(one.headers(), "~" * 255)
    assert (await post(one, headers, name="long")).content == (await post(one, headers, name="long")).content


@pytest.mark.parametrize("surface", ["rest", "graphql", "both"])
async def test_fifty_at_once_make_one_row(one: Tenant, surface: str) -> None:
    headers = keyed(one.headers())

    def ask(number: int) -> Any:
        if surface == "rest" or (surface == "both" and number % 2):
            return post(one, headers, name="raced")
        return one.post(CREATE, headers, name="raced")

    answers = await asyncio.gather(*(ask(number) for number in range(50)))
    assert {a.status_code for a in answers} <= {200, 201}
    assert len({data(a) for a in answers}) == (2 if surface == "both" else 1)
    assert sorted(map(replayed, answers)) == [False] + [True] * 49
    assert await one.rows(Deal.name) == [("raced",)]
    assert await one.rows(Event.type) == [("deal_created",)]


async def test_fifty_at_once_with_different_bodies_make_one_row(one: Tenant) -> None:
    headers = keyed(one.headers())
    answers = await asyncio.gather(*(post(one, headers, name=f"body {number}") for number in range(50)))
    assert sorted(a.status_code for a in answers) == [201] + [422] * 49
    assert len(await one.rows(Deal.name)) == 1


async def _age(one: Tenant, **values: Any) -> None:
    database = one.gateway.world.database
    async with database.writing(one.id) as session:
        await session.execute(update(IdempotencyKey).where(col(IdempotencyKey.org_id) == one.id).values(**values))


async def _kept(one: Tenant) -> int:
    async with one.gateway.world.database.directory() as session:
        rows = await session.rows(select(col(IdempotencyKey.id)).where(col(IdempotencyKey.org_id) == one.id))
    return len(rows)


async def test_a_key_lasts_for_a_day(one: Tenant) -> None:
    headers, before = keyed(one.headers()), now()
    await post(one, headers, name="today")
    async with one.gateway.world.database.directory() as session:
        statement = select(col(IdempotencyKey.expires_at)).where(col(IdempotencyKey.org_id) == one.id)
        expires = await session.scalar(statement)
    assert before + timedelta(hours=24) <= expires <= now() + timedelta(hours=24)
    await _age(one, expires_at=now() + timedelta(seconds=60))
    assert replayed(await post(one, headers, name="today"))
    await _age(one, expires_at=now() - timedelta(seconds=1))
    tomorrow = await post(one, headers, name="tomorrow")
    assert (tomorrow.status_code, replayed(tomorrow)) == (201, False)
    assert replayed(await post(one, headers, name="tomorrow"))
    assert sorted(await one.rows(Deal.name)) == [("today",), ("tomorrow",)]


async def test_the_worker_forgets_what_has_expired(one: Tenant, two: Tenant) -> None:
    database = one.gateway.world.database
    await post(one, keyed(one.headers()), name="old")
    await post(two, keyed(two.headers()), name="new")
    await _age(one, expires_at=now() - timedelta(seconds=1))
    assert await forget_keys(database) is True
    assert (await _kept(one), await _kept(two)) == (0, 1)
    assert await forget_keys(database) is False


async def test_provisioning_needs_a_key(one: Tenant) -> None:
    headers = one.headers("admin")
    expected = {"domain": None, "userErrors": [{"code": "VALIDATION", "message": REQUIRED, "field": None}]}
    assert await one.ask(PURCHASE, headers, name="bare.example.com") == expected
    mailbox = (
        'mutation($id: ID!) { mailboxProvision(input: {domainId: $id, localPart: "a"}) { userErrors { message } } }'
    )
    told = (await one.ask(mailbox, headers, id=new_id()))["userErrors"]
    assert [each["message"] for each in told] == [REQUIRED, ABSENT]  # all at once (decision 1110)
    assert await one.rows(OutreachDomain.name) == []
    assert (await one.error(PURCHASE, one.headers("viewer"), name="x"))["extensions"]["code"] == "FORBIDDEN"
    bought = await one.ask(PURCHASE, keyed(headers), name="bare.example.com")
    assert bought == {"domain": {"name": "bare.example.com"}, "userErrors": []}


async def test_the_key_of_an_order_may_be_an_argument(one: Tenant) -> None:
    """Where a client has no headers, such as GraphiQL. It takes the place of the header's."""
    buy = (
        "mutation($name: String!, $key: String) { domainPurchase(name: $name, idempotencyKey: $key)"
        f" {{ domain {{ id }} {ERRORS} }} }}"
    )
    make = (
        "mutation($id: ID!, $part: String!, $key: String) { mailboxProvision(input: {domainId: $id, localPart: $part},"
        f" idempotencyKey: $key) {{ mailbox {{ email }} {ERRORS} }} }}"
    )
    headers, key = one.headers("admin"), new_id()
    domains = [
        await one.ask(buy, h, name="argued.example.com", key=key) for h in (headers, headers, keyed(headers, "a"))
    ]
    assert domains[0] == domains[1] == domains[2]
    for other, message in ((key, REUSED), ("", MALFORMED), ("a b", MALFORMED)):
        answer = await one.ask(buy, headers, name="other.example.com", key=other)
        assert answer["userErrors"] == [{"code": "VALIDATION", "message": message, "field": ["idempotencyKey"]}]
    assert (await one.ask(buy, headers, name="x.example.com", key=None))["userErrors"][0]["message"] == REQUIRED
    domain = domains[0]["domain"]["id"]
    for _ in range(2):
        made = await one.ask(make, headers, id=domain, part="a", key=key)  # another operation
        assert made == {"mailbox": {"email": "a@argued.example.com"}, "userErrors": []}
    assert (await one.ask(make, headers, id=domain, part="b", key=key))["userErrors"][0]["message"] == REUSED
    assert await one.rows(OutreachDomain.name) == [("argued.example.com",)]


async def test_what_failed_beside_what_was_made_is_tried_again(one: Tenant) -> None:
    account = new_id()
    document = (
        'mutation($id: ID!) { a: dealCreate(input: {name: "a"}) { deal { id } }'
        f' b: dealCreate(input: {{name: "b", accountId: $id}}) {{ deal {{ name }} {ERRORS} }} }}'
    )
    headers = keyed(one.headers())
    answers = [await one.post(document, headers, id=account) for _ in range(2)]
    await one.add(Account(id=account, name="late"))
    answers += [await one.post(document, headers, id=account) for _ in range(2)]
    told = [answer.json()["data"] for answer in answers]
    assert len({d["a"]["deal"]["id"] for d in told}) == 1
    assert [d["b"]["deal"] for d in told] == [None, None, {"name": "b"}, {"name": "b"}]
    assert [replayed(answer) for answer in answers] == [False, False, False, True]


async def test_the_answer_is_the_first_one_whatever_happened_since(one: Tenant) -> None:
    account = Account(name="then")
    await one.add(account)
    create = (
        'mutation($id: ID!) { dealCreate(input: {name: "with an account", accountId: $id})'
        " { deal { createdAt %s account { name } } } }"
    )
    headers = keyed(one.headers())
    first = await one.post(create % "id", headers, id=account.id)
    rename = 'mutation($id: ID!) { accountUpdate(id: $id, input: {name: "now"}) { account { name } } }'
    await one.ask(rename, id=account.id)
    again = await one.post(create % "id", headers, id=account.id)
    assert data(again) == data(first)
    assert again.json()["data"]["dealCreate"]["deal"]["account"] == {"name": "then"}
    # Who asks for something else of the deal that was made gets it as it was, and what it links to as it is.
    other = (await one.post(create % "name", headers, id=account.id)).json()["data"]["dealCreate"]["deal"]
    assert other["createdAt"] == first.json()["data"]["dealCreate"]["deal"]["createdAt"]
    assert other["account"] == {"name": "now"}


async def test_a_replay_needs_the_scope_as_the_first_did(one: Tenant) -> None:
    world = one.gateway.world
    headers = keyed(await one.scoped("deals:manage", name="demoted"))
    assert (await post(one, headers, name="mine")).status_code == 201
    await world.join(one.subject("demoted"), one.organization, scopes=["deals:read"])
    assert (await post(one, headers, name="mine")).status_code == 403
    answer = await one.body(CREATE, headers, name="mine")
    assert [e["extensions"]["code"] for e in answer["errors"]] == ["FORBIDDEN"]


async def test_each_field_of_a_document_is_a_write_of_its_own(one: Tenant) -> None:
    headers = keyed(one.headers())
    first = await one.post(f"mutation {TWINS}", headers)
    made = [first.json()["data"][name]["deal"]["id"] for name in ("a", "b")]
    assert made[0] != made[1]
    again = await one.post(f"mutation {TWINS}", headers)
    assert data(again) == data(first)
    assert (replayed(first), replayed(again)) == (False, True)
    half = (
        'mutation { a: dealCreate(input: {name: "twin"}) { deal { id } }'
        ' dealCreate(input: {name: "b"}) { userErrors { message } } }'
    )
    answer = (await one.post(half, headers)).json()["data"]
    assert answer == {"a": {"deal": {"id": made[0]}}, "dealCreate": {"userErrors": [{"message": ELSEWHERE}]}}


CREATED = f"{{ deal {{ name }} {ERRORS} }}"
A, B = f'a: dealCreate(input: {{name: "one"}}) %s {CREATED}', f'b: dealCreate(input: {{name: "two"}}) {CREATED}'
BY_VARIABLE = f"mutation($a: Boolean!) {{ {A % '@include(if: $a)'} {B} }}"
SKIPPING = f"mutation($a: Boolean!) {{ ...All {B} }} fragment All on Mutation {{ ... @skip(if: $a) {{ {A % ''} }} }}"
NAMED = f"mutation($a: String!) {{ a: dealCreate(input: {{name: $a}}) {CREATED} {B} }}"
Asked = tuple[str, dict[str, Any]]
TWO = {"deal": {"name": "two"}, "userErrors": []}
OTHERWISE: dict[str, tuple[Asked, Asked]] = {
    "a field that was not included": ((BY_VARIABLE, {"a": False}), (BY_VARIABLE, {"a": True})),
    "a fragment that was skipped": ((SKIPPING, {"a": True}), (SKIPPING, {"a": False})),
    "a field that was wrong, by a variable": ((NAMED, {"a": ""}), (NAMED, {"a": "one"})),
    "a field that was wrong, in the text": (
        (f"mutation {{ {(A % '').replace('one', '')} {B} }}", {}),
        (f"mutation {{ {A % ''} {B} }}", {}),
    ),
}


@pytest.mark.parametrize("change", OTHERWISE)
async def test_another_request_under_a_key_that_has_written_writes_nothing(one: Tenant, change: str) -> None:
    """What the first one made is told again; what it did not make needs a key of its own."""
    headers = keyed(one.headers())
    (document, variables), (other, others) = OTHERWISE[change]
    first = (await one.post(document, headers, **variables)).json()["data"]
    assert first["b"] == TWO
    for _ in range(2):
        answer = (await one.post(other, headers, **others)).json()["data"]
        assert answer["a"] == {
            "deal": None,
            "userErrors": [{"code": "VALIDATION", "message": ELSEWHERE, "field": None}],
        }
        assert answer["b"] == TWO
    again = await one.post(document, headers, **variables)
    assert again.json()["data"] == first
    assert replayed(again)
    assert await one.rows(Deal.name) == [("two",)]


async def test_a_field_more_or_less_under_a_key_that_has_written_writes_nothing(one: Tenant) -> None:
    """The order of the fields does not matter either, nor which request came first, nor the surface."""
    alone, both, turned = (f"mutation {{ {fields} }}" for fields in (B, f"{A % ''} {B}", f"{B} {A % ''}"))
    after = {key: keyed(one.headers()) for key in ("alone", "both")}
    assert await one.ask(alone, after["alone"]) == TWO
    for document in (both, turned):
        answer = await one.ask(document, after["alone"])
        assert {part["userErrors"][0]["message"] for part in answer.values()} == {ELSEWHERE}
    await one.ask(both, after["both"])
    assert list((await one.ask(turned, after["both"])).values()) == [TWO, TWO | {"deal": {"name": "one"}}]
    assert (await one.ask(alone, after["both"]))["userErrors"][0]["message"] == ELSEWHERE
    refusal = await post(one, after["both"], name="two")
    assert (refusal.status_code, refusal.json()) == (422, refused(ELSEWHERE, "idempotency_key_reused"))
    assert sorted(await one.rows(Deal.name)) == [("one",), ("two",), ("two",)]


async def test_a_request_of_several_fields_that_wrote_nothing_gives_the_key_back(one: Tenant) -> None:
    headers = keyed(one.headers())
    wrong = f"mutation {{ {(A % '').replace('one', '')} {B.replace('two', '')} }}"
    assert {part["deal"] for part in (await one.ask(wrong, headers)).values()} == {None}
    assert (await one.ask(f"mutation {{ {A % ''} {B} }}", headers))["b"] == TWO


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "junk", [deep(300), deep(900), 2**70, "\x00", {"a": 1}], ids=["300", "900", "int", "nul", "map"]
)
async def test_a_value_without_a_variable_is_no_part_of_the_question(one: Tenant, junk: Any) -> None:
    headers = keyed(one.headers())
    first = await one.post(CREATE, headers, name="junk", junk=junk)
    assert first.json()["data"]["dealCreate"]["userErrors"] == []
    again = await one.post(CREATE, headers, name="junk")
    assert data(again) == data(first)
    assert (replayed(first), replayed(again)) == (False, True)
    assert await one.rows(Deal.name) == [("junk",)]


async def test_a_key_in_the_extensions(one: Tenant) -> None:
    http, key = one.gateway.http, new_id()
    body = {"query": CREATE, "variables": {"name": "extended"}, "extensions": {"idempotencyKey": key}}
    first = await http.post("/graphql", json=body, headers=one.headers())
    for headers in (one.headers(), keyed(one.headers(), key)):
        again = await http.post("/graphql", json=body, headers=headers)
        assert data(again) == data(first)
        assert replayed(again)
    for extension, message in (
        ("other", "Idempotency-Key and extensions.idempotencyKey differ"),
        (5, "extensions.idempotencyKey must be a text"),
    ):
        body["extensions"] = {"idempotencyKey": extension}
        refusal = await http.post("/graphql", json=body, headers=keyed(one.headers(), key))
        assert (refusal.status_code, refusal.json()["errors"][0]["message"]) == (400, message)
    assert await one.rows(Deal.name) == [("extended",)]


async def test_queries_take_no_notice(one: Tenant) -> None:
    headers = keyed(one.headers())
    for _ in range(2):
        answer = await one.post("{ viewer { subject } }", headers)
        assert (answer.status_code, replayed(answer)) == (200, False)
    assert await _kept(one) == 0


async def test_a_webhook_is_tested_each_time(one: Tenant) -> None:
    headers = keyed(one.headers("admin"))
    test = "mutation($id: ID!) { webhookTest(id: $id) { userErrors { code } } }"
    for _ in range(2):
        assert await one.ask(test, headers, id=new_id()) == {"userErrors": [{"code": "NOT_FOUND"}]}
    assert await _kept(one) == 0


@pytest.mark.parametrize("path", ["/organization-pats", "/user-pats"])
async def test_a_new_credential_is_told_again_and_lies_nowhere_in_the_clear(one: Tenant, path: str) -> None:
    headers = keyed(one.headers("admin"))
    first = await one.gateway.rest("POST", path, headers, {"name": "deploy"})
    again = await one.gateway.rest("POST", path, headers, {"name": "deploy"})
    assert (first.status_code, replayed(again), again.content) == (201, True, first.content)
    world = one.gateway.world
    async with world.database.directory() as session:
        owner = col(Credential.owner_subject) == one.subject("admin")
        assert len(await session.rows(select(col(Credential.id)).where(owner))) == 1
    _, _, secret = first.json()["pat_key"].partition(".")
    dump = await world.dump(one.organization)
    assert dump["idempotency_keys"] != []
    assert secret not in repr(dump)
    assert headers["Idempotency-Key"] not in repr(dump)
    token = {"Authorization": f"Bearer {again.json()['pat_key']}"}
    assert (await one.gateway.graphql("{ viewer { subject } }", token)).json()["data"] == {
        "viewer": {"subject": one.subject("admin")}
    }
