"""One budget for both surfaces, by a clock of the test's own: points, headers and refusals (decisions 100 to 102)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from contract.vocabulary import CredentialKind
from storage.base import new_id
from storage.tables import Deal
from tests.gateway.conftest import Start
from tests.support.clock import Clock
from tests.support.gateway import Gateway
from tests.support.world import Headers, bearer

DEALS = "query($first: Int) { deals(first: $first) { nodes { id } } }"
FOUR = f"query($first: Int) {{ {' '.join(f'a{n}: deals(first: $first) {{ nodes {{ id }} }}' for n in range(4))} }}"
CREATE = 'mutation { dealCreate(input: {name: "New"}) { deal { id } } }'


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def gateway(start: Start, clock: Clock) -> AsyncIterator[Gateway]:
    """With thirty deals in organization one, and budgets."""
    async with start(rate_limit=True) as gateway:
        gateway.runtime.services.budget._buckets._clock = clock
        world = gateway.world
        await world.add(world.one, *(Deal(id=new_id(), name=f"Deal {n}", owner_id="admin@one") for n in range(30)))
        yield gateway


def _said(answer: httpx.Response) -> tuple[int, int, int, int]:
    """Cost, limit, remaining and reset, off the headers."""
    names = ("x-request-cost", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
    cost, limit, remaining, reset = (int(answer.headers[name]) for name in names)
    return cost, limit, remaining, reset


def _spent(answer: httpx.Response) -> tuple[int, int, int]:
    """Requested, actual and available, off the extensions."""
    cost = answer.json()["extensions"]["cost"]
    assert cost["throttle"] == {
        "maximum": 2000,
        "available": cost["throttle"]["available"],
        "restoreRate": 100,
    }
    return cost["requested"], cost["actual"], cost["throttle"]["available"]


async def _empty(gateway: Gateway, headers: Headers, leave: int = 0) -> None:
    """Spend all of the budget but this much."""
    principal = await gateway.runtime.services.identity.authenticate(
        headers["Authorization"], headers.get("X-Service-Org")
    )
    budget = gateway.runtime.services.budget
    nothing = await budget.charge(principal, 0)
    await budget.settle(nothing, (await budget.settle(nothing, 0)).available - leave)


async def test_both_surfaces_spend_from_one_bucket(gateway: Gateway, clock: Clock) -> None:
    headers = await gateway.world.headers("admin@one", gateway.world.one, CredentialKind.ORGANIZATION_KEY)
    assert _said(await gateway.rest("GET", "/deals?limit=100", headers)) == (3, 2000, 1997, 1)
    assert _spent(await gateway.graphql(DEALS, headers, first=100)) == (10, 3, 1994)
    assert _said(await gateway.rest("POST", "/deals", headers, {"name": "Another"})) == (5, 2000, 1989, 1)
    assert _spent(await gateway.graphql(CREATE, headers)) == (6, 6, 1983)
    assert _said(await gateway.rest("GET", "/deals", headers)) == (4, 2000, 1979, 1)
    clock.forward(0.15)
    assert _said(await gateway.rest("GET", "/deals?limit=0", headers)) == (1, 2000, 1993, 1)
    clock.forward(60)
    assert _spent(await gateway.graphql("{ __typename }", headers)) == (0, 0, 2000)


async def test_a_bucket_for_each_member_in_each_organization(gateway: Gateway) -> None:
    world = gateway.world
    await world.join("admin@one", world.two, scopes=["deals:read"])
    keys = [bearer(await world.credential("admin@one", world.one)) for _ in range(3)]
    tokens = [bearer(await world.credential("admin@one", None)) for _ in range(3)]
    in_one, in_two = {"X-Service-Org": "org_one"}, {"X-Service-Org": "org_two"}
    exchanged = [
        bearer((await gateway.rest("POST", "/pat/exchange", headers)).json()["access_token"])
        for headers in (keys[0], tokens[0] | in_one)
    ]
    sessions = [world.session("admin@one", world.one) for _ in range(2)]
    everything = [*keys, *(token | in_one for token in tokens), *exchanged, *sessions]
    await _empty(gateway, keys[0])
    for headers in everything:
        answer = await gateway.rest("GET", "/deals", headers)
        assert (answer.status_code, answer.headers["ratelimit-remaining"]) == (429, "0")
        assert (await gateway.graphql(DEALS, headers, first=1)).status_code == 429
    for headers in (tokens[0] | in_two, world.session("member@one", world.one)):
        assert _said(await gateway.rest("GET", "/deals", headers))[2] >= 1990
    # Without an organization there is a bucket of the member's alone, which all tokens share.
    assert _said(await gateway.rest("GET", "/user-pats", tokens[0])) == (1, 2000, 1999, 1)
    assert _said(await gateway.rest("GET", "/user-pats", tokens[1])) == (1, 2000, 1998, 1)


async def test_a_subject_that_reads_like_another_bucket_is_one_of_its_own(gateway: Gateway) -> None:
    world = gateway.world
    names = [f"{world.one.id}:ada", f"ada:{world.one.id}", f"{{{world.one.id}}}", f":{world.one.id}", "ada"]
    for name in names:
        await world.join(name, world.one, scopes=["deals:read"])
    for name in names:
        assert _said(await gateway.rest("GET", "/deals?limit=1", world.session(name, world.one)))[2] == 1999
        token = bearer(await world.credential(name, None))
        assert _said(await gateway.rest("GET", "/user-pats", token))[2] == 1999


async def test_the_members_of_an_organization_share_a_larger_bucket(gateway: Gateway, clock: Clock) -> None:
    world = gateway.world
    names = [f"{number}@one" for number in range(7)]
    for name in names:
        await world.join(name, world.one, scopes=["deals:read"])
    sessions = [world.session(name, world.one) for name in names]
    for headers in sessions[:4]:
        await _empty(gateway, headers)
    await _empty(gateway, sessions[4], leave=30)
    # The fifth has 30 points left, and so has the organization; so the sixth has no more than these of its 2,000.
    assert _said(await gateway.rest("GET", "/deals?limit=1", sessions[5])) == (1, 2000, 29, 20)
    refused = await gateway.rest("GET", "/deals?limit=301", sessions[5])
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["detail"] == "The budget of this organization is used up for now"
    assert _said(refused) == (0, 2000, 29, 20)
    answer = await gateway.graphql(FOUR, sessions[6], first=500)
    assert (answer.status_code, _spent(answer)) == (429, (200, 0, 29))
    assert answer.json()["errors"][0]["message"] == "The budget of this organization is used up for now"
    # Nothing of the member's own went with what the organization refused, and others are not touched.
    assert _said(await gateway.rest("GET", "/deals?limit=1", world.session("admin@two", world.two)))[2] == 1999
    clock.forward(1)
    assert _said(await gateway.rest("GET", "/deals?limit=1", sessions[5]))[2] == 528
    clock.forward(20)
    assert _said(await gateway.rest("GET", "/deals?limit=1", sessions[6]))[2] == 1999


async def test_an_organization_s_bucket_has_a_size_of_its_own(start: Start, clock: Clock) -> None:
    async with start(rate_limit=True, organization_budget=2_500) as gateway:
        gateway.runtime.services.budget._buckets._clock = clock
        world = gateway.world
        await _empty(gateway, world.session("admin@one", world.one))
        assert _said(await gateway.rest("GET", "/deals?limit=1", world.session("member@one", world.one)))[2] == 499
        clock.forward(10)
        assert _said(await gateway.rest("GET", "/deals?limit=1", world.session("member@one", world.one)))[2] == 1748


async def test_rest_out_of_budget(gateway: Gateway, clock: Clock) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    await _empty(gateway, headers, leave=-170)
    for path, wait in (("/deals?limit=10", "2"), ("/deals?limit=300", "2"), ("/deals?limit=301", "3")):
        answer = await gateway.rest("GET", path, headers | {"X-Request-Id": "mine"})
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == wait
        assert _said(answer) == (0, 2000, 0, 22)
        assert answer.json() == {
            "detail": "The budget of this member is used up for now",
            "code": "rate_limited",
            "request_id": "mine",
        }
    clock.forward(1.7)
    assert (await gateway.rest("GET", "/deals?limit=1", headers)).status_code == 429
    clock.forward(0.3)
    assert _said(await gateway.rest("GET", "/deals?limit=300", headers)) == (3, 2000, 27, 20)


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json", "text/event-stream"])
async def test_graphql_out_of_budget(gateway: Gateway, clock: Clock, accept: str) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    await _empty(gateway, headers, leave=50)
    answer = await gateway.graphql(FOUR, headers | {"Accept": accept, "X-Request-Id": "mine"}, first=500)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert answer.json() == {
        "errors": [
            {
                "message": "The budget of this member is used up for now",
                "extensions": {
                    "code": "RATE_LIMITED",
                    "requested": 200,
                    "available": 50,
                    "retryAfter": 2,
                    "request_id": "mine",
                },
            }
        ],
        "extensions": {
            "cost": {
                "requested": 200,
                "actual": 0,
                "throttle": {"maximum": 2000, "available": 50, "restoreRate": 100},
            }
        },
    }
    clock.forward(1.5)
    assert (await gateway.graphql(FOUR, headers, first=500)).status_code == 200


async def test_a_refused_mutation_did_nothing(gateway: Gateway) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    before = await gateway.world.dump()
    await _empty(gateway, headers, leave=4)
    assert (await gateway.graphql(CREATE, headers)).status_code == 429
    assert (await gateway.rest("POST", "/deals", headers, {"name": "New"})).status_code == 429
    assert await gateway.world.dump() == before


async def test_what_asks_for_more_than_a_bucket_holds_needs_a_full_one(gateway: Gateway, clock: Clock) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    parts = " ".join(
        f'a{n}: dealCompetitorsDetect(dealId: "{new_id()}") {{ deal {{ id }} userErrors {{ code }} }}'
        for n in range(20)
    )
    answer = await gateway.graphql(f"mutation {{ {parts} }}", headers)
    assert _spent(answer) == (2002, 2002, 0)
    clock.forward(20.01)
    refused = await gateway.graphql(f"mutation {{ {parts} }}", headers)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert _spent(refused) == (2002, 0, 1999)
    clock.forward(0.01)
    assert (await gateway.graphql(f"mutation {{ {parts} }}", headers)).status_code == 200


async def test_what_was_used_beyond_a_full_bucket_is_owed(gateway: Gateway, clock: Clock) -> None:
    world = gateway.world
    headers = world.session("admin@one", world.one)
    principal = await gateway.runtime.services.identity.authenticate(headers["Authorization"], None)
    budget = gateway.runtime.services.budget
    throttle = await budget.settle(await budget.charge(principal, 5000), 4000)
    assert tuple(throttle) == (2000, 0, 100, 40)
    answer = await gateway.rest("GET", "/deals?limit=1", headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "21")
    assert _said(answer) == (0, 2000, 0, 40)
    clock.forward(20.01)
    assert (await gateway.rest("GET", "/deals?limit=1", headers)).status_code == 200


async def test_what_is_refused_costs_a_point_and_what_fails_what_it_asked_for(gateway: Gateway) -> None:
    world = gateway.world
    admin, reader = world.session("admin@one", world.one), world.session("viewer@one", world.one)
    assert _said(await gateway.rest("GET", "/deals?limit=-1", admin)) == (1, 2000, 1999, 1)
    assert _said(await gateway.rest("POST", "/deals", admin, {})) == (1, 2000, 1998, 1)
    assert _said(await gateway.rest("PATCH", f"/deals/{new_id()}", admin, {"name": "x"})) == (5, 2000, 1993, 1)
    refused = await gateway.rest("POST", "/deals", reader, {"name": "x"})
    assert (refused.status_code, *_said(refused)) == (403, 1, 2000, 1999, 1)


async def test_what_is_free(gateway: Gateway) -> None:
    headers = gateway.world.session("admin@one", gateway.world.one)
    await _empty(gateway, headers)
    for path in ("/health", "/ready", "/openapi.json", "/docs", "/", "/graphql/schema.graphql", "/metrics"):
        answer = await gateway.rest("GET", path, headers)
        assert answer.status_code in (200, 503)
        assert not {"ratelimit-limit", "x-request-cost"} & set(answer.headers)
    for document in (
        "{ __schema { description } }",
        '{ costEstimate(document: "{ deals { totalCount } }") { requested } }',
    ):
        answer = await gateway.graphql(document, headers)
        assert answer.status_code == 200
        assert _spent(answer)[:2] == (0, 0)
    unauthenticated = await gateway.rest("GET", "/deals", {})
    assert unauthenticated.status_code == 401
    assert "ratelimit-limit" not in unauthenticated.headers


@pytest.mark.parametrize(
    ("field", "requested"),
    [
        ("deals(first: 0) { pageInfo { hasNextPage } }", 1),
        ("deals(last: 0) { nodes { id } }", 1),
        ('search(query: "nowhere", first: 0) { __typename }', 1),
        ('search(query: "nowhere", first: 100) { __typename }', 10),
        ("nodes(ids: []) { id }", 1),
    ],
)
async def test_to_find_nothing_costs_a_point(gateway: Gateway, field: str, requested: int) -> None:
    headers = await gateway.world.headers("admin@one", gateway.world.one, CredentialKind.ORGANIZATION_KEY)
    assert _spent(await gateway.graphql(f"{{ {field} }}", headers)) == (requested, 1, 1999)
    await _empty(gateway, headers)
    assert (await gateway.graphql(f"{{ {field} }}", headers)).status_code == 429


async def test_the_exchange_costs_a_point_of_the_member_s(gateway: Gateway) -> None:
    key = bearer(await gateway.world.credential("admin@one", gateway.world.one))
    assert _said(await gateway.rest("POST", "/pat/exchange", key)) == (1, 2000, 1999, 1)
    await _empty(gateway, key)
    refused = await gateway.rest("POST", "/pat/exchange", key)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


async def test_each_event_of_a_stream_is_charged(gateway: Gateway) -> None:
    world = gateway.world
    headers = world.session("admin@one", world.one)
    for name in ("One", "Two"):
        assert (await gateway.rest("POST", "/deals", headers, {"name": name})).status_code == 201
    cursor = (await gateway.graphql("{ events(first: 1) { edges { cursor } } }", headers)).json()
    after = cursor["data"]["events"]["edges"][0]["cursor"]
    watch = "subscription($after: String) { deals: events(after: $after) { id } }"
    before = (await gateway.rest("GET", "/deals?limit=0", headers)).headers["ratelimit-remaining"]
    event = await gateway.first_event(watch, headers, after=after)
    assert "errors" not in event.json(), event.json()
    left = (await gateway.rest("GET", "/deals?limit=0", headers)).headers["ratelimit-remaining"]
    assert int(before) - int(left) == 2 + event.json()["extensions"]["cost"]["actual"]
    assert event.json()["extensions"]["cost"]["actual"] > 0
    await _empty(gateway, headers)
    refused = await gateway.first_event(watch, headers, after=after)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    await _empty(gateway, headers, leave=1)
    event = await gateway.first_event(watch, headers, after=after)
    assert (event.status_code, event.json()["errors"][0]["extensions"]["code"]) == (200, "RATE_LIMITED")


async def test_off_there_is_neither_a_limit_nor_a_header(start: Start) -> None:
    async with start(rate_limit=False) as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        answer = await gateway.rest("GET", "/deals", headers)
        assert not {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-request-cost"} & set(answer.headers)
        for _ in range(3):
            assert _spent(await gateway.graphql(CREATE, headers)) == (6, 6, 2000)
        assert gateway.runtime.services.identity.failures is None


async def test_failed_authentications_at_both_surfaces(start: Start) -> None:
    async with start(rate_limit=True) as gateway:
        text = await gateway.world.credential("admin@one", gateway.world.one)
        wrong = bearer(text[:-1] + ("A" if text[-1] != "A" else "B"))
        answers = [await gateway.rest("GET", "/deals", wrong) for _ in range(25)]
        answers += [await gateway.graphql("{ __typename }", wrong) for _ in range(25)]
        assert [answer.status_code for answer in answers] == [401] * 50
        for answer in (await gateway.rest("GET", "/deals", wrong), await gateway.graphql("{ __typename }", wrong)):
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert "www-authenticate" not in answer.headers
        assert (await gateway.rest("POST", "/pat/exchange", wrong)).status_code == 429
        assert (await gateway.rest("GET", "/deals", bearer(text))).status_code == 200
        assert (await gateway.graphql("{ viewer { id } }", bearer(text))).status_code == 200
