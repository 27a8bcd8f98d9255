"""A member connects a Microsoft account: what was not ticked, tokens that rotate, consents that end, and no secret."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from pydantic import ValidationError

from contract.integrations import IntegrationProvider
from gateway.account_providers import accounts_of
from gateway.settings import Settings
from providers.accounts.microsoft import MicrosoftAccounts
from providers.calls import Calls
from storage.tables import Event, Integration
from tests.integrations.test_refresh import ended, secret, sync
from tests.support.consents import begin, come_back, complete, connected
from tests.support.feeds import at, connection, meetings, work
from tests.support.microsoft import ALL, Account, Fault, Microsoft, meeting
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
CALLBACK = "/integrations/callback/microsoft"


async def permitted(tenant: Tenant, microsoft: Microsoft, address: str, account: Account, **more: Any) -> Any:
    """What completing answers."""
    back = await come_back(tenant, microsoft.consent(address, account, **more), CALLBACK)
    return await complete(tenant, back.json())


async def test_what_is_asked_for_and_by_whom(one: Tenant, microsoft: Microsoft) -> None:
    begun = await begin(one, provider="microsoft", name="Mine")
    asked = dict(parse_qsl(urlsplit(begun["authorization_url"]).query))
    assert asked["scope"].split() == list(ALL)
    assert (asked["redirect_uri"], asked["prompt"]) == (f"http://gateway{CALLBACK}", "select_account")
    account = microsoft.account()
    wrong = await come_back(one, microsoft.consent(begun["authorization_url"], account))  # Google's callback
    assert wrong.status_code == 400
    done = await permitted(one, microsoft, begun["authorization_url"], account)
    assert (done.status_code, done.json()["status"], done.json()["account_label"]) == (200, "active", account.email)
    connect = (
        "mutation($i: IntegrationConnectInput!) { integrationConnect(input: $i) "
        "{ integration { provider status } authorizationUrl userErrors { code } } }"
    )
    other = await one.ask(connect, i={"provider": "MICROSOFT"})
    assert other["integration"] == {"provider": "MICROSOFT", "status": "PENDING"}
    assert other["authorizationUrl"].startswith(f"{microsoft.url}/organizations/oauth2/v2.0/authorize?")
    providers = await one.ask("{ integrationProviders { provider available missingSettings permissions } }")
    found = next(each for each in providers if each["provider"] == "MICROSOFT")
    assert (found["available"], found["missingSettings"], found["permissions"]) == (True, [], [*ALL, "Mail.ReadBasic"])


async def test_what_was_not_ticked_connects_nothing(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    for scopes, words in ((ALL[:2], "tick Calendars.Read"), (ALL[1:], "gave nothing to go on with")):
        begun = await begin(one, provider="microsoft")
        answer = await permitted(one, microsoft, begun["authorization_url"], account, scopes=scopes)
        assert (answer.status_code, words in answer.json()["detail"]) == (409, True), answer.text
        assert await one.rows(Integration.sealed) == []
    begun = await begin(one, provider="microsoft")
    refused = microsoft.consent(begun["authorization_url"], account, error="access_denied")
    assert (await come_back(one, refused, CALLBACK)).json()["error"] == "access_denied"
    assert await one.rows(Integration.sealed) == []


async def test_the_same_account_is_wanted_again(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    mine = await connected(one, microsoft, account)
    again = await begin(one, provider="microsoft")
    twice = await permitted(one, microsoft, again["authorization_url"], account)
    assert (twice.status_code, twice.json()["code"]) == (409, "duplicate")
    address = (await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers())).json()
    other = await permitted(one, microsoft, address["authorization_url"], microsoft.account())
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


async def test_tokens_rotate_and_are_kept(one: Tenant, microsoft: Microsoft) -> None:
    account = microsoft.account()
    mine = await connected(one, microsoft, account)
    before = await secret(one, mine)
    for number in range(3):
        microsoft.put(account, meeting(f"m{number}", at(3 + number), subject=f"M {number}"))
        await ended(one, microsoft, mine)
        await sync(one, mine)
    after = await secret(one, mine)
    assert (after.access != before.access, after.refresh in microsoft.refresh) == (True, True)
    assert before.refresh not in microsoft.refresh
    microsoft.put(account, meeting("m3", at(9), subject="M 3"))
    microsoft.expire()  # before its time
    calls = microsoft.count("/token")
    await sync(one, mine)
    assert (microsoft.count("/token"), len(await meetings(one))) == (calls + 1, 4)


@pytest.mark.parametrize("error", ["invalid_grant", "interaction_required", "consent_required"])
async def test_a_consent_that_ended_asks_for_another(one: Tenant, microsoft: Microsoft, error: str) -> None:
    account = microsoft.account()
    microsoft.put(account, meeting("a", at(3), subject="Kept"))
    mine = await connected(one, microsoft, account)
    before = (await meetings(one))["Kept"]["id"]
    told = {"error": error, "error_description": "AADSTS50076: CanaryOfAnError", "suberror": "basic_action"}
    microsoft.faults.append(Fault("/token", 400, json.dumps(told).encode()))
    await ended(one, microsoft, mine)
    await sync(one, mine)
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"]["code"]) == ("action_required", "reauthorize")
    assert ("connect again" in shown["problem"]["message"], "Canary" in shown["problem"]["message"]) == (True, False)
    failed = [data for type, data in await one.rows(Event.type, Event.data) if type == "integration_failed"]
    assert [each["problem"] for each in failed] == ["reauthorize"]
    address = (await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers())).json()
    done = await permitted(one, microsoft, address["authorization_url"], account)
    assert (done.json()["status"], done.json()["problem"]) == ("active", None)
    microsoft.put(account, meeting("b", at(4), subject="New"))
    await work(one)
    found = await meetings(one)
    assert (set(found), found["Kept"]["id"]) == ({"Kept", "New"}, before)


async def test_disconnecting_forgets_and_asks_nobody_to(one: Tenant, microsoft: Microsoft) -> None:
    """Microsoft has no address at which a consent is taken back (decision 923)."""
    account = microsoft.account()
    microsoft.put(account, meeting("a", at(3), subject="Kept"))
    mine = await connected(one, microsoft, account)
    asked = len(microsoft.asked)
    assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers())).status_code == 204
    assert await one.rows(Integration.sealed) == [(None,)]
    await work(one)
    assert (await one.rows(Integration.id), len(microsoft.asked)) == ([], asked)
    assert set(await meetings(one)) == {"Kept"}


async def test_the_addresses_are_microsofts_unless_told() -> None:
    provider = MicrosoftAccounts("client", "secret")
    address = provider.oauth.address("https://crm.example/back", "state", "verifier", ["User.Read"])
    assert address.startswith("https://login.microsoftonline.com/common/oauth2/v2.0/authorize?")


async def test_each_provider_needs_settings_of_its_own() -> None:
    given: dict[str, Any] = {"microsoft_client_id": "client", "public_url": "http://127.0.0.1:8000"}
    wrong: dict[str, Any]
    half = accounts_of(Settings(_env_file=None, **given), Calls())
    others = {f"CRM_{name}_CLIENT_{part}" for name in ("GOOGLE", "SLACK", "ZOOM") for part in ("ID", "SECRET")}
    assert half.missing == {*others, "CRM_MICROSOFT_CLIENT_SECRET"}
    whole = accounts_of(Settings(_env_file=None, **given, microsoft_client_secret="secret"), Calls())
    assert (set(half.providers), set(whole.providers)) == (set(), {IntegrationProvider.MICROSOFT})
    await whole.close()
    for wrong in ({"microsoft_tenant": "a/b"}, {"microsoft_base_url": "http://graph.example"}):
        with pytest.raises(ValidationError):
            Settings(_env_file=None, **wrong)
