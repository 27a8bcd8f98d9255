"""Nothing that a provider gave out, and nothing that a consent is known by, lies in a database, a log or a metric."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.integrations.test_refresh import ended, sync
from tests.integrations.test_slack import linked
from tests.support.consents import begin, come_back, complete, connected
from tests.support.feeds import at, work
from tests.support.google import ALL, CLIENT_SECRET, Fault, Google, meeting
from tests.support.slack import CLIENT_SECRET as SLACK_SECRET
from tests.support.slack import SIGNING_SECRET, Slack, tell
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_no_secret_lies_about(one: Tenant, google: Google, caplog: pytest.LogCaptureFixture) -> None:
    before = set(google.secrets)
    account = google.account()
    bob = {"email": "bob@out.example"}
    private = meeting("p", at(3), subject="CanaryOfADentist", visibility="private")
    google.put(account, meeting("a", at(3), organizer=bob), private)
    told: list[str] = []
    with caplog.at_level(logging.INFO):
        for error, scopes in (("access_denied", ALL), (None, ALL[:2]), (None, ALL)):
            begun = await begin(one)
            asked = google.consent(begun["authorization_url"], account, scopes, error)
            back = (await come_back(one, asked)).json()
            told += [asked["state"], back.get("completion_code", "")]
            if error is None:
                answer = await complete(one, back)
        mine = answer.json()["id"]
        await work(one)
        await ended(one, google, mine)
        google.faults += [Fault("/token", 500), Fault("/events", 429)]
        for _ in range(3):
            await sync(one, mine)
            await work(one, anyway=True)
        told.append((await begin(one))["authorization_url"].partition("state=")[2].partition("&")[0])
        metrics = (await one.gateway.http.get("/metrics")).text
        shown = await one.gateway.rest("GET", "/integrations?all=true", one.headers("admin"))
        hidden = {CLIENT_SECRET, "CanaryOfADentist", *(google.secrets - before), *filter(None, told)}
        assert len(hidden) > 10
        places = await stored(one) | {"metrics": metrics}
    places["log"] = logged(caplog)
    places["answer"] = shown.text.replace(account.email, "")  # which is its owner's and the administrator's to see
    for place, text in places.items():
        assert {secret for secret in hidden if secret in text} == set(), place


async def test_no_secret_of_a_workspace_or_a_channel_lies_about(
    one: Tenant, google: Google, slack: Slack, reached: None, caplog: pytest.LogCaptureFixture
) -> None:
    slack.rotates = True
    before = google.secrets | slack.secrets
    with caplog.at_level(logging.INFO):
        account, workspace = google.account(), slack.workspace()
        await connected(one, google, account)
        mine, channel, _ = await linked(one, slack, workspace)
        people = [slack.person(workspace, f"p{n}@out.example") for n in range(2)]
        slack.message(workspace, channel, "CanaryOfWords")
        told = slack.huddle(workspace, channel, *people, start=time.time() - 900)
        event = {"type": "message", "subtype": "huddle_thread", "channel": channel, "ts": told["ts"]}
        assert (await tell(one.gateway.http, workspace, event)).status_code == 204
        for token in [name for name, each in google.channels.items() if each["account"] == account]:
            answer = await one.gateway.http.post("/integrations/hooks/google", headers=google.notice(token))
            assert answer.status_code == 204
        slack.access = {token: (each, 0.0) for token, (each, _) in slack.access.items()}
        await work(one)
        metrics = (await one.gateway.http.get("/metrics")).text
        shown = await one.gateway.rest("GET", f"/integrations/{mine}", one.headers("admin"))
    hidden = {SLACK_SECRET, SIGNING_SECRET, "CanaryOfWords", *((google.secrets | slack.secrets) - before)}
    assert len(hidden) > 12
    places = await stored(one) | {"metrics": metrics, "log": logged(caplog)}
    places["answer"] = shown.text.replace(workspace.name, "")
    for place, text in places.items():
        assert {secret for secret in hidden if secret in text} == set(), place


async def stored(tenant: Tenant) -> dict[str, str]:
    """All that the database holds: a dump of the organization, and the files where there are any."""
    url = make_url(str(tenant.gateway.world.database.url.render_as_string(hide_password=False)))
    places = {"dump": str(await tenant.gateway.world.dump(tenant.organization))}
    if url.database and url.get_backend_name() == "sqlite":
        file = Path(url.database)
        contents = [each.read_bytes() for each in file.parent.glob(f"{file.name}*")]
        places |= {f"file {number}": content.decode("latin-1") for number, content in enumerate(contents)}
    return places


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """What the service itself wrote into the log."""
    own = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    return "\n".join(record.getMessage() for record in own)
