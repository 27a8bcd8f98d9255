"""E-mail becomes activities by its headers: once, on the contacts of it, never its text, and nothing of the rest."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from storage.base import now
from storage.tables import Activity, Event, SyncItem, SyncOccurrence, SyncRun, SyncStream
from tests.integrations.test_google import runs
from tests.integrations.test_refresh import sync
from tests.support.consents import Elsewhere, begin, come_back, complete, connected
from tests.support.feeds import connection, hurry, work
from tests.support.google import Google
from tests.support.microsoft import Microsoft
from tests.support.provider_server import Account, Fault, Letter
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
BOB = "bob@out.example"
MAIL = {"kinds": ["mail"]}


@pytest.fixture(params=["google", "microsoft"])
def provider(request: pytest.FixtureRequest, google: Google, microsoft: Microsoft) -> Elsewhere:
    return google if request.param == "google" else microsoft


def ago(**back: float) -> datetime:
    return (now() - timedelta(**back)).replace(microsecond=0)


def received(identifier: str, account: Account, sender: str = BOB, **more: Any) -> Letter:
    return Letter(identifier, more.pop("sent_at", ago(days=1)), sender, (account.email,), **more)


async def contact(tenant: Tenant, email: str = BOB) -> str:
    create = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { contact { id } userErrors { message } } }"
    made = await tenant.ask(create, i={"firstName": "Bob", "lastName": "Out", "email": email})
    identifier: str = made["contact"]["id"]
    return identifier


async def emails(tenant: Tenant) -> dict[str, Any]:
    """The e-mails by their titles."""
    fields = (
        "id subject body source ownerId contactId version ... on Email "
        "{ direction sentAt fromAddress toAddresses ccAddresses messageId threadId }"
    )
    page = await tenant.ask(f"{{ activities(filter: {{types: [EMAIL]}}, first: 100) {{ nodes {{ {fields} }} }} }}")
    return {each["subject"]: each for each in page["nodes"]}


async def ledger(tenant: Tenant, identifier: str, role: str = "member") -> list[Any]:
    listed = await tenant.gateway.rest("GET", f"/integrations/{identifier}/items", tenant.headers(role))
    assert listed.status_code == 200, listed.text
    found: list[Any] = listed.json()
    return found


def reads(provider: Elsewhere) -> int:
    """The calls of a run without changes: one for each folder."""
    return 1 if isinstance(provider, Google) else 2


async def test_a_message_is_an_activity_by_its_headers(one: Tenant, provider: Elsewhere) -> None:
    account, bob = provider.account(), await contact(one)
    copies, sent_at = ("eve@out.example",), ago(days=2)
    provider.send(account, received("in", account, subject="  Re:\r\n Offer ", copies=copies, sent_at=sent_at))
    provider.send(account, Letter("out", ago(hours=3), account.email, (BOB,), subject="Answer", is_outgoing=True))
    mine = await connected(one, provider, account, **MAIL)
    found = await emails(one)
    assert set(found) == {"Re: Offer", "Answer"}
    first, second = found["Re: Offer"], found["Answer"]
    source = "GMAIL" if isinstance(provider, Google) else "OUTLOOK"
    assert (first["source"], first["direction"], first["body"]) == (source, "INBOUND", None)
    assert (first["fromAddress"], first["toAddresses"], first["ccAddresses"]) == (BOB, [account.email], list(copies))
    assert (first["messageId"], first["threadId"], first["contactId"]) == ("<in@mail.example>", "t-in", bob)
    assert (second["direction"], second["ownerId"]) == ("OUTBOUND", one.subject("member"))
    assert first["sentAt"] == f"{sent_at:%Y-%m-%dT%H:%M:%S}Z"
    shown = await connection(one, mine)
    assert (shown["counts"]["emails"], shown["counts"]["meetings"]) == (2, 0)
    assert {(s["kind"], s["enabled"], s["window_from"]) for s in shown["streams"]} == {("mail", True, None)}
    told = [data for type, data in await one.rows(Event.type, Event.data) if type == "emails_synced"]
    assert sorted(i for data in told for i in data["created"]) == sorted([first["id"], second["id"]])
    listed = await one.gateway.rest("GET", "/activities?type=email", one.headers())
    assert {each["id"] for each in listed.json()} == {first["id"], second["id"]}
    assert {(i["kind"], i["outcome"], i["meeting_id"]) for i in await ledger(one, mine)} == {("mail", "taken", None)}
    listing = "query($id: ID!) { integrationItems(integrationId: $id) { nodes { kind subject meeting { id } } } }"
    page = await one.ask(listing, id=mine)
    assert {each["subject"] for each in page["nodes"]} == {"Re: Offer", "Answer"}
    assert all(each["meeting"] is None for each in page["nodes"])
    for column in (Activity.details, Activity.body, SyncItem.body, Event.data):
        assert "CanaryOfA" not in str(await one.rows(column))


async def test_what_has_no_contact_leaves_nothing_but_its_time(one: Tenant, provider: Elsewhere) -> None:
    """Decision 925: a mailbox is full of what is nobody's business."""
    account = provider.account()
    await contact(one)
    letters = [
        received("n", account, "canary-doctor@clinic.example", subject="CanaryOfAResult"),
        received("o", account, account.email, subject="CanaryOfANote"),
        received("d", account, subject="CanaryOfADraft", labels=("DRAFT",)),
        received("t", account, subject="Taken"),
        received("old", account, subject="CanaryOfAnOldOne", sent_at=ago(days=120)),
    ]
    provider.send(account, *letters)
    mine = await connected(one, provider, account, **MAIL)
    assert set(await emails(one)) == {"Taken"}
    kept = await ledger(one, mine)
    reasons = sorted((each["reason"] or "", each["subject"]) for each in kept)
    assert reasons == [("", "Taken"), ("no_contact", None), ("no_external_attendee", None)]
    assert "make" not in str(kept)
    columns = (SyncItem.body, SyncItem.uid, SyncItem.external_id, SyncOccurrence.subject, Event.data, Activity.subject)
    for column in columns:
        assert "anary" not in str(await one.rows(column)).replace(account.email, "")
    skipped = next(each["id"] for each in kept if each["reason"] == "no_contact")
    refused = await one.gateway.rest("POST", f"/integrations/{mine}/items/{skipped}/take", one.headers())
    assert (refused.status_code, "contact" in refused.json()["detail"]) == (409, True)
    await contact(one, "canary-doctor@clinic.example")
    await sync(one, mine, full=True)
    assert set(await emails(one)) == {"Taken", "CanaryOfAResult"}
    assert sorted(await one.rows(SyncRun.skipped)) == [(0,), (2,)]  # each once


async def test_what_came_since_then_and_nothing_twice(one: Tenant, provider: Elsewhere) -> None:
    account = provider.account()
    await contact(one)
    provider.page = 2
    provider.send(account, *(received(f"m{n}", account, subject=f"M {n}", sent_at=ago(days=n)) for n in range(5)))
    mine = await connected(one, provider, account, **MAIL)
    before = {subject: each["id"] for subject, each in (await emails(one)).items()}
    assert len(before) == 5
    provider.send(account, received("new", account, subject="New", sent_at=ago(minutes=1)))
    provider.discard(account, "m1")
    await sync(one, mine)
    after = await emails(one)
    assert set(after) == {*before, "New"}  # what was deleted there stays (decision 924)
    second = (await runs(one, mine))[0]
    assert (second["mode"], second["created"], second["removed"]) == ("incremental", 1, 0)
    rows = await one.rows(SyncItem.id, SyncItem.seen_at, SyncItem.hash)
    events = len(await one.rows(Event.id))
    await sync(one, mine)
    third = (await runs(one, mine))[0]
    assert (third["calls"], third["processed"], third["created"]) == (reads(provider), 0, 0)
    assert await one.rows(SyncItem.id, SyncItem.seen_at, SyncItem.hash) == rows
    assert len(await one.rows(Event.id)) == events + 1  # that a run was asked for is told
    await sync(one, mine, full=True)
    assert {subject: each["id"] for subject, each in (await emails(one)).items()} == {
        subject: each["id"] for subject, each in after.items()
    }


async def test_a_history_that_has_expired_is_read_again(one: Tenant, provider: Elsewhere) -> None:
    account = provider.account()
    await contact(one)
    provider.send(account, received("a", account, subject="A"))
    mine = await connected(one, provider, account, **MAIL)
    before = (await emails(one))["A"]["id"]
    provider.send(account, received("b", account, subject="B"))
    provider.forgets_before = provider.number + 1
    await sync(one, mine)
    provider.forgets_before = 0
    found = await emails(one)
    assert (set(found), found["A"]["id"]) == ({"A", "B"}, before)
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"]) == ("active", None)
    assert (await one.rows(SyncStream.wants_full)) == [(False,)] * reads(provider)


async def test_a_message_is_kept_once(one: Tenant, google: Google, microsoft: Microsoft) -> None:
    """In two mailboxes of two providers, and logged by hand: one record (decision 927)."""
    ann, bob = google.account(), microsoft.account()
    await contact(one)
    both = {"subject": "Both", "message_id": "<both@mail.example>"}
    google.send(ann, received("g1", ann, **both), received("g2", ann, subject="Logged", message_id="<by.hand@x>"))
    microsoft.send(bob, received("m1", bob, **both))
    log = "mutation($i: EmailLogInput!) { emailLog(input: $i) { email { id } userErrors { message } } }"
    logged = await one.ask(log, i={"subject": "By hand", "messageId": "<by.hand@x>"})
    theirs = await connected(one, google, ann, **MAIL)
    mine = await connected(one, microsoft, bob, role="admin", **MAIL)
    found = await emails(one)
    assert set(found) == {"Both", "By hand"}
    assert (found["Both"]["source"], found["Both"]["ownerId"]) == ("GMAIL", one.subject("member"))
    assert {each["reason"] for each in await ledger(one, mine, "admin")} == {"duplicate"}
    assert sorted(each["reason"] or "" for each in await ledger(one, theirs)) == ["", "duplicate"]
    gone = await one.gateway.rest("DELETE", f"/integrations/{theirs}?delete_synced=true", one.headers())
    assert gone.status_code == 202
    await work(one)
    after = await emails(one)
    assert (set(after), after["Both"]["id"]) == ({"Both", "By hand"}, found["Both"]["id"])
    assert after["Both"]["ownerId"] == one.subject("admin")
    assert [each["outcome"] for each in await ledger(one, mine, "admin")] == ["taken"]
    gone = await one.gateway.rest("DELETE", f"/integrations/{mine}?delete_synced=true", one.headers("admin"))
    assert gone.status_code == 202
    await work(one)
    assert {each["id"] for each in (await emails(one)).values()} == {logged["email"]["id"]}


async def test_what_a_member_does_with_a_message_stays(one: Tenant, provider: Elsewhere) -> None:
    account = provider.account()
    await contact(one)
    names = ("Deleted", "Ignored", "Worked on", "Kept")
    provider.send(account, *(received(f"x{n}", account, subject=name) for n, name in enumerate(names)))
    mine = await connected(one, provider, account, **MAIL)
    found = await emails(one)
    gone = "mutation($id: ID!) { activityDelete(id: $id) { deletedId userErrors { message } } }"
    assert (await one.ask(gone, id=found["Deleted"]["id"]))["userErrors"] == []
    ignored = next(each["id"] for each in await ledger(one, mine) if each["subject"] == "Ignored")
    for _ in range(2):
        answer = await one.gateway.rest("POST", f"/integrations/{mine}/items/{ignored}/ignore", one.headers())
        assert (answer.status_code, answer.json()["reason"]) == (200, "removed_here"), answer.text
    change = "mutation($id: ID!, $i: EmailUpdateInput!) { emailUpdate(id: $id, input: $i) { userErrors { message } } }"
    assert (await one.ask(change, id=found["Worked on"]["id"], i={"contactId": None}))["userErrors"] == []
    await sync(one, mine, full=True)
    assert set(await emails(one)) == {"Worked on", "Kept"}
    reasons = [each["reason"] for each in await ledger(one, mine) if each["outcome"] == "skipped"]
    assert reasons == ["removed_here", "removed_here"]
    answer = await one.gateway.rest("DELETE", f"/integrations/{mine}?delete_synced=true", one.headers())
    assert answer.status_code == 202
    await work(one)
    assert set(await emails(one)) == {"Worked on"}


async def test_others_see_what_the_visibility_shows(one: Tenant, provider: Elsewhere) -> None:
    account = provider.account()
    await contact(one)
    copies = ("canary-eve@out.example",)
    provider.send(account, received("a", account, subject="CanaryOfASubject", copies=copies))
    mine = await connected(one, provider, account, settings={"visibility": "subject_only"}, **MAIL)
    found = (await emails(one))["CanaryOfASubject"]
    assert (found["fromAddress"], found["toAddresses"], found["ccAddresses"]) == (BOB, [], [])
    policy = {"widest_visibility": "nothing"}
    assert (await one.gateway.rest("PATCH", "/integrations/policy", one.headers("admin"), policy)).status_code == 200
    await work(one)
    narrowed = (await emails(one))[None]
    assert (narrowed["id"], narrowed["fromAddress"], narrowed["messageId"]) == (found["id"], None, None)
    assert narrowed["version"] > found["version"]
    for column in (Activity.subject, Activity.from_address, Activity.cc_addresses, SyncOccurrence.subject):
        assert "anary" not in str(await one.rows(column)).replace(account.email, "")
    await sync(one, mine, full=True)
    assert len(await emails(one)) == 1
    wide = {"widest_visibility": "everything"}
    assert (await one.gateway.rest("PATCH", "/integrations/policy", one.headers("admin"), wide)).status_code == 200
    everything = {"settings": {"visibility": "everything"}}
    changed = await one.gateway.rest("PATCH", f"/integrations/{mine}", one.headers(), everything)
    assert changed.status_code == 200
    await work(one)
    shown = (await emails(one))["CanaryOfASubject"]
    assert (shown["id"], shown["ccAddresses"]) == (found["id"], list(copies))


async def test_nothing_goes_wrong_on_a_bad_day(one: Tenant, provider: Elsewhere) -> None:
    account = provider.account()
    await contact(one)
    provider.send(account, received("a", account, subject="A"))
    mine = await connected(one, provider, account, **MAIL)
    path = "/history" if isinstance(provider, Google) else "/messages/delta"
    bad = [
        ([Fault(path, 503)], "provider_unavailable"),
        ([Fault(path, 429, headers={"Retry-After": "120"})], "rate_limited"),
        ([Fault(path, 200, b'{"value": [{"id"')] * 3, "provider_answer"),
        ([Fault(path, 200, b"{}")], "provider_answer"),
    ]
    for faults, code in bad:
        provider.faults += faults
        await sync(one, mine)
        shown = await connection(one, mine)
        assert (shown["status"], shown["problem"]["code"]) == ("active", code)
        assert set(await emails(one)) == {"A"}
        await hurry(one)
        await sync(one, mine)
    assert (await connection(one, mine))["problem"] is None


async def test_links_of_mail_are_followed_here_alone(one: Tenant, microsoft: Microsoft, google: Google) -> None:
    account = microsoft.account()
    await contact(one)
    microsoft.send(account, *(received(f"m{n}", account, subject=f"M {n}") for n in range(3)))
    mine = await connected(one, microsoft, account, **MAIL)
    microsoft.page, microsoft.leads_to, asked = 2, f"{google.url}/v1.0/me/mail", len(google.asked)
    await sync(one, mine, full=True)
    assert (await connection(one, mine))["problem"]["code"] == "provider_answer"
    assert (len(google.asked), len(await emails(one))) == (asked, 3)


async def test_mail_is_asked_for_where_it_is_named(one: Tenant, provider: Elsewhere) -> None:
    """By the permission that shows headers alone (decision 926)."""
    name = type(provider).__name__.lower()
    usual = await begin(one, provider=name)
    both = await begin(one, provider=name, kinds=["calendar", "mail"])
    words = ("gmail.metadata", "Mail.ReadBasic")
    assert not any(word in usual["authorization_url"] for word in words)
    assert any(word in both["authorization_url"] for word in words)
    account = provider.account()
    back = f"/integrations/callback/{name}"
    whole = provider.consent(both["authorization_url"], account)
    done = await complete(one, (await come_back(one, whole, back)).json())
    assert done.status_code == 200, done.text
    kinds = {each["kind"] for each in done.json()["streams"]}
    assert kinds == {"calendar", "mail"}
    again = await one.gateway.rest("POST", f"/integrations/{done.json()['id']}/reconnect", one.headers())
    assert any(word in again.json()["authorization_url"] for word in words)
    alone = await begin(one, provider=name, kinds=["mail"])
    unticked = ("offline_access", "User.Read", "openid", "https://www.googleapis.com/auth/userinfo.email")
    asked = provider.consent(alone["authorization_url"], provider.account(), scopes=unticked)
    refused = await complete(one, (await come_back(one, asked, back)).json())
    assert (refused.status_code, any(word in refused.json()["detail"] for word in words)) == (409, True)


async def test_what_is_marked_private_is_nobodys(one: Tenant, google: Google) -> None:
    account = google.account()
    await contact(one)
    google.send(account, received("p", account, subject="CanaryOfASecret", headers=(("Sensitivity", "Private"),)))
    google.send(account, received("e", account, subject="=?utf-8?B?R3LDvMOfZQ==?="))
    google.send(account, received("b", account, subject="=?nonsense?Q?x?="))
    google.send(account, received("z", account, "bob@out.example, <broken", subject="=?utf-8?B?WgBlcm8=?="))
    mine = await connected(one, google, account, **MAIL)
    assert set(await emails(one)) == {"Grüße", "=?nonsense?Q?x?=", "Zero"}
    assert "private" in {each["reason"] for each in await ledger(one, mine)}
    for column in (SyncItem.body, SyncOccurrence.subject, Activity.subject):
        assert "CanaryOfA" not in str(await one.rows(column))
