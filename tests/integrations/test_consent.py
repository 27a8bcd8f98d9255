"""A member connects an account by consent: what comes back connects nothing, and only who began it completes it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.integrations import CONSENT_SECONDS
from resolvers.integration_callback import WRONG
from storage.base import now
from storage.tables import Event, Integration
from tests.support.consents import CALLBACK, JSON, begin, come_back, complete, connected
from tests.support.feeds import connection, work
from tests.support.google import ALL, Google
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def stored(tenant: Tenant) -> list[tuple[Any, ...]]:
    return await tenant.rows(Integration.status, Integration.sealed)


async def test_who_began_it_completes_it(one: Tenant, google: Google) -> None:
    account = google.account()
    begun = await begin(one, name="Mine", settings={"visibility": "subject_only"})
    assert (begun["integration"]["status"], begun["integration"]["streams"]) == ("pending", [])
    asked = dict(parse_qsl(urlsplit(begun["authorization_url"]).query))
    assert asked["redirect_uri"] == f"http://gateway{CALLBACK}"
    assert asked["prompt"] == "consent"
    answer = await come_back(one, google.consent(begun["authorization_url"], account))
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert await stored(one) == [("pending", None)]
    done = await complete(one, answer.json())
    assert (done.status_code, done.json()["status"], done.json()["name"]) == (200, "active", "Mine")
    assert done.json()["account_label"] == account.email
    assert [(s["kind"], s["name"], s["enabled"]) for s in done.json()["streams"]] == [("calendar", "Calendar", True)]
    assert (await connection(one, done.json()["id"]))["settings"]["visibility"] == "subject_only"
    types = [type for (type,) in await one.rows(Event.type)]
    assert [type for type in types if type in ("integration_connected", "integration_updated")] == [
        "integration_updated",
        "integration_connected",
    ]


async def test_the_other_surface_does_the_same(one: Tenant, google: Google) -> None:
    account = google.account()
    connect = (
        "mutation($i: IntegrationConnectInput!) { integrationConnect(input: $i) "
        "{ integration { id status } authorizationUrl expiresAt userErrors { code field message } } }"
    )
    begun = await one.ask(connect, i={"provider": "GOOGLE"})
    assert (begun["userErrors"], begun["integration"]["status"]) == ([], "PENDING")
    told = (await come_back(one, google.consent(begun["authorizationUrl"], account))).json()
    finish = (
        "mutation($i: IntegrationCompleteInput!) { integrationComplete(input: $i) "
        "{ integration { id status accountLabel } userErrors { code field message } } }"
    )
    given = {"id": told["integration_id"], "completionCode": told["completion_code"]}
    wrong = await one.ask(finish, i=given | {"completionCode": "no"})
    assert (wrong["integration"], wrong["userErrors"][0]["code"]) == (None, "INVALID_STATE")
    assert wrong["userErrors"][0]["field"] == ["input", "completionCode"]
    done = await one.ask(finish, i=given)
    assert (done["integration"]["status"], done["integration"]["accountLabel"]) == ("ACTIVE", account.email)
    again = (
        "mutation($id: ID!) { integrationReconnect(id: $id) "
        "{ integration { id status } authorizationUrl userErrors { code } } }"
    )
    new = await one.ask(again, id=told["integration_id"])
    assert (new["integration"]["status"], new["userErrors"]) == ("ACTIVE", [])
    assert new["authorizationUrl"].startswith(google.url)


async def test_nobody_else_completes_it(one: Tenant, two: Tenant, google: Google) -> None:
    """Who follows the link gives no account away, and who sees the code can do nothing with it."""
    begun = await begin(one)
    told = (await come_back(one, google.consent(begun["authorization_url"], google.account()))).json()
    colleague = await one.scoped("contacts:manage", name="colleague")
    path, body = f"/integrations/{told['integration_id']}/complete", {"completion_code": told["completion_code"]}
    for headers in (colleague, one.headers("admin"), two.headers(), two.headers("admin")):
        answer = await one.gateway.rest("POST", path, headers, body)
        assert (answer.status_code, answer.json()["detail"]) == (404, "Not found")
    other = await begin(one)
    answer = await complete(one, told | {"integration_id": other["integration"]["id"]})
    assert answer.status_code == 409
    assert google.count("/token") == 0 or all(sealed is None for _, sealed in await stored(one))
    assert all(status == "pending" for status, _ in await stored(one))
    assert (await complete(one, told)).status_code == 200


async def test_states_hold_once_and_as_they_were_made(one: Tenant, google: Google) -> None:
    begun = await begin(one)
    asked = google.consent(begun["authorization_url"], google.account())
    state = asked["state"]
    altered = state[:40] + ("A" if state[40] != "A" else "B") + state[41:]
    before = await one.rows(Integration.grant_state, Integration.grant_sealed)
    wrong = [
        (CALLBACK, asked | {"state": altered}),
        (CALLBACK, asked | {"state": ""}),
        (CALLBACK, asked | {"state": state + "="}),
        (CALLBACK, asked | {"state": "é" * 50}),
        (CALLBACK, {"state": state}),
        (CALLBACK, asked | {"code": "x" * 5_000}),
        (CALLBACK.replace("google", "zoom"), asked),
        (CALLBACK.replace("google", "nobody"), asked),
    ]
    for path, given in wrong:
        answer = await come_back(one, given, path)
        assert (answer.status_code, answer.json()["detail"], answer.is_redirect) == (400, WRONG, False), given
    twice = await one.gateway.http.get(f"{CALLBACK}?state={state}&state={state}&code={asked['code']}", headers=JSON)
    assert twice.status_code == 400
    assert await one.rows(Integration.grant_state, Integration.grant_sealed) == before
    both = await asyncio.gather(*(come_back(one, asked) for _ in range(2)))
    assert sorted(answer.status_code for answer in both) == [200, 400]
    assert (await come_back(one, asked)).json()["detail"] == WRONG


async def test_states_and_codes_expire(one: Tenant, google: Google) -> None:
    async def later(seconds: int) -> None:
        async with one.gateway.world.database.writing(one.id) as session:
            moved = {"grant_expires_at": now() + timedelta(seconds=CONSENT_SECONDS - seconds)}
            await session.execute(update(Integration).where(col(Integration.org_id) == one.id).values(**moved))

    begun = await begin(one)
    asked = google.consent(begun["authorization_url"], google.account())
    await later(CONSENT_SECONDS + 1)
    assert (await come_back(one, asked)).status_code == 400
    await later(CONSENT_SECONDS - 5)
    told = (await come_back(one, asked)).json()
    await later(CONSENT_SECONDS + 1)
    calls = google.count("/token")
    answer = await complete(one, told)
    assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
    assert google.count("/token") == calls
    again = await begin(one)
    assert [i for (i,) in await one.rows(Integration.id)] == [again["integration"]["id"]]


async def test_two_completions_at_once(one: Tenant, google: Google) -> None:
    begun = await begin(one)
    told = (await come_back(one, google.consent(begun["authorization_url"], google.account()))).json()
    calls = google.count("/token")
    answers = await asyncio.gather(*(complete(one, told) for _ in range(3)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
    assert {a.json()["code"] for a in answers if a.status_code == 409} == {"invalid_state"}
    wrong = {a.json()["detail"] for a in [*answers, await complete(one, told)] if a.status_code == 409}
    assert len(wrong) == 1
    assert google.count("/token") == calls + 1


async def test_a_repetition_under_its_key_is_answered_the_same(one: Tenant, google: Google) -> None:
    key = {"Idempotency-Key": "connect-1"}
    path, body = "/integrations", {"provider": "google"}
    first, second = [await one.gateway.rest("POST", path, one.headers() | key, body) for _ in range(2)]
    assert (first.json(), second.headers["idempotency-replayed"]) == (second.json(), "true")
    told = (await come_back(one, google.consent(first.json()["authorization_url"], google.account()))).json()
    done = [await complete(one, told, **{"Idempotency-Key": "complete-1"}) for _ in range(2)]
    assert [answer.status_code for answer in done] == [200, 200]
    assert done[0].json()["id"] == done[1].json()["id"]


async def test_refused_at_the_provider(one: Tenant, google: Google) -> None:
    begun = await begin(one, return_to="https://app.example/settings?tab=1")
    asked = google.consent(begun["authorization_url"], google.account(), error="access_denied")
    answer = await come_back(one, asked)
    assert answer.status_code == 303
    page, _, fragment = answer.headers["location"].partition("#")
    assert (page, parse_qs(fragment)["error"]) == ("https://app.example/settings?tab=1", ["access_denied"])
    assert await stored(one) == []
    begun = await begin(one)
    asked = google.consent(begun["authorization_url"], google.account(), error="<script>")
    shown = await one.gateway.http.get(CALLBACK, params=asked, headers={"Accept": "text/html"})
    assert (shown.status_code, "provider_refused" in shown.text, "<script>" in shown.text) == (200, True, False)


async def test_a_permission_that_was_not_given(one: Tenant, google: Google) -> None:
    begun = await begin(one)
    asked = google.consent(begun["authorization_url"], google.account(), scopes=ALL[:2])
    answer = await complete(one, (await come_back(one, asked)).json())
    assert answer.status_code == 409
    assert "tick https://www.googleapis.com/auth/calendar.readonly" in answer.json()["detail"]
    assert await stored(one) == []


async def test_where_the_browser_goes_from_here(one: Tenant, google: Google) -> None:
    for wrong in ("https://evil.example/x", "https://app.example.evil/", "javascript:alert(1)", "http://app.example/"):
        body = {"provider": "google", "return_to": wrong}
        refused = await one.gateway.rest("POST", "/integrations", one.headers(), body)
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "return_to"]), wrong
    begun = await begin(one, return_to="http://gateway/done")
    answer = await come_back(one, google.consent(begun["authorization_url"], google.account()))
    page, _, fragment = answer.headers["location"].partition("#")
    told = {name: values[0] for name, values in parse_qs(fragment).items()}
    assert (answer.status_code, page) == (303, "http://gateway/done")
    assert (await complete(one, told)).status_code == 200
    begun = await begin(one)
    asked = google.consent(begun["authorization_url"], google.account())
    page_shown = await one.gateway.http.get(CALLBACK, params=asked)
    assert page_shown.headers["content-type"].startswith("text/html")
    assert "<pre>" in page_shown.text


async def test_an_account_is_connected_once(one: Tenant, google: Google) -> None:
    account = google.account()
    first = await connected(one, google, account)
    begun = await begin(one)
    answer = await complete(one, (await come_back(one, google.consent(begun["authorization_url"], account))).json())
    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate")
    assert [i for (i,) in await one.rows(Integration.id)] == [first]
    await connected(one, google, account, role="admin")


async def test_reconnecting_wants_the_same_account_and_keeps_all(one: Tenant, google: Google) -> None:
    account = google.account()
    mine = await connected(one, google, account, name="Mine")
    before = await connection(one, mine)

    async def again(with_account: Any, **more: Any) -> Any:
        response = await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers())
        assert (response.status_code, response.json()["integration"]["status"]) == (200, "active")
        asked = google.consent(response.json()["authorization_url"], with_account, **more)
        back = await come_back(one, asked)
        return back if "error" in asked else await complete(one, back.json())

    other = await again(google.account())
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert (await again(account, scopes=ALL[:2])).status_code == 409
    assert (await again(account, error="access_denied")).status_code == 200
    [(sealed,)] = await one.rows(Integration.sealed)
    assert sealed is not None
    assert (await again(account)).status_code == 200
    await work(one)
    after = await connection(one, mine)
    assert [s["id"] for s in after["streams"]] == [s["id"] for s in before["streams"]]
    assert (after["name"], after["account_label"], after["status"]) == ("Mine", account.email, "active")
    refused = await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers("admin"))
    assert refused.status_code == 404


async def test_the_provider_does_not_go_along(one: Tenant, google: Google) -> None:
    begun = await begin(one)
    asked = google.consent(begun["authorization_url"], google.account())
    told = (await come_back(one, asked)).json()
    google.codes.clear()
    answer = await complete(one, told)
    assert (answer.status_code, answer.json()["code"]) == (502, "provider_error")
    assert await stored(one) == []


async def test_what_cannot_be_connected_says_so(one: Tenant) -> None:
    rest = one.gateway.rest
    assert (await rest("POST", "/integrations", one.headers(), {"provider": "ical"})).status_code == 422
    assert (await rest("POST", "/integrations", one.headers(), {"provider": "slack"})).status_code == 403
    kinds = {"provider": "google", "kinds": ["mail", "recordings"]}
    refused = await rest("POST", "/integrations", one.headers(), kinds)
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "kinds", 1])
    listed = (await rest("GET", "/integrations/providers", one.headers())).json()
    assert (listed[0]["provider"], listed[0]["available"], listed[0]["missing_settings"]) == ("google", True, [])
    only = {"allowed_providers": ["ical"]}
    assert (await rest("PATCH", "/integrations/policy", one.headers("admin"), only)).status_code == 200
    assert (await rest("POST", "/integrations", one.headers(), {"provider": "google"})).status_code == 409
