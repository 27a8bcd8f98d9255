"""Every path judges in the same order: credential, organization, scopes, input, what the path names."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from contract.scopes import Role
from contract.vocabulary import CredentialKind
from rest_compat.operations import RestOperation
from rest_compat.routes import OPERATIONS
from storage.base import new_id, now
from storage.tables import (
    Account,
    AnalyticsConversation,
    AnalyticsRun,
    Campaign,
    ChatApproval,
    ChatEvent,
    ChatRun,
    ChatThread,
    Contact,
    CXReport,
    Deal,
    DealContact,
    Job,
    Lead,
    ResearchResult,
    ResearchRun,
)
from tests.isolation.requests import UPLOADING
from tests.rest_compat.conftest import REQUEST_ID
from tests.support.record_types import record_types
from tests.support.world import World, bearer

GUARDED = [o for o in OPERATIONS if o.rule is not None]
SCOPED = [o for o in GUARDED if o.rule is not None and o.rule.group is not None]
UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
BAD_BODY = b'{"name": 7'
SAID = {
    "to": ["admin@two.example"],
    "text": "Other",
    "title": "Other",
    "decision": "reject",
    "arguments_sha256": "a" * 64,
}
"""Good values of bodies that take nothing else."""


def _url(operation: RestOperation, identifier: str = UNKNOWN) -> str:
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace("{" + name + "}", identifier)
    return path


async def _worst(client: httpx.AsyncClient, operation: RestOperation, headers: dict[str, str]) -> httpx.Response:
    """A request with everything wrong behind the headers: no such record, a bad query, and a bad body."""
    content = BAD_BODY if operation.body is not None else b""
    query = {"limit": "-1"} if operation.query is not None else {}
    return await client.request(operation.method, _url(operation), params=query, content=content, headers=headers)


async def test_a_bad_credential_is_refused_first(world: World, client: httpx.AsyncClient) -> None:
    ended = await world.credential("admin@one", world.one)
    await world.leave("admin@one", world.one)
    good = await world.credential("member@one", None)
    before = await world.dump()
    refused = [
        {},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer"},
        bearer("nonsense"),
        bearer(f"{good}x"),
        bearer(good.replace("pat_", "ak_")),
        bearer(ended),
        bearer(good) | {"Authorization": f"Bearer {good}, Bearer {good}"},
    ]
    for operation in GUARDED:
        for headers in refused:
            response = await _worst(client, operation, headers | {"X-Service-Org": "org_of_nobody"})
            assert response.status_code == 401, (operation.path, headers)
            assert response.headers["www-authenticate"] == "Bearer"
            assert operation.method == "HEAD" or response.json() == {
                "detail": "Valid credential required",
                "code": "unauthenticated",
                "request_id": REQUEST_ID,
            }
    assert await world.dump() == before


async def test_then_the_organization_header(world: World, client: httpx.AsyncClient) -> None:
    key = await world.headers("viewer@one", world.one, CredentialKind.ORGANIZATION_KEY)
    token = await world.headers("viewer@one", None, CredentialKind.USER_TOKEN)
    session = world.session("viewer@one", world.one)
    before = await world.dump()
    for operation in GUARDED:
        response = await _worst(client, operation, key | {"X-Service-Org": "org_one"})
        assert response.status_code == 400, operation.path
        assert operation.method == "HEAD" or response.json() == {
            "detail": "X-Service-Org is not accepted with an organization key",
            "code": "organization_not_accepted",
            "request_id": REQUEST_ID,
        }
        for headers in (token, session):
            response = await _worst(client, operation, headers | {"X-Service-Org": "org_two"})
            assert response.status_code == 403, operation.path
            assert operation.method == "HEAD" or response.json() == {
                "detail": "Organization mismatch",
                "code": "organization_mismatch",
                "request_id": REQUEST_ID,
            }
    assert await world.dump() == before


async def test_then_the_active_organization(world: World, client: httpx.AsyncClient) -> None:
    """Before the scopes: the caller has none that would do."""
    await world.join("nobody", world.one, scopes=["outreach:read"])
    headers = await world.headers("nobody", None, CredentialKind.USER_TOKEN)
    for operation in GUARDED:
        response = await _worst(client, operation, headers)
        assert operation.rule is not None
        if operation.rule.organization:
            assert response.status_code == 400, operation.path
            assert operation.method == "HEAD" or response.json() == {
                "detail": "Active organization required",
                "code": "organization_required",
                "request_id": REQUEST_ID,
            }
        else:
            # Feedback needs no scope: what is wrong with it comes next. Nothing can be wrong with GET /viewer.
            unscoped = 200 if operation.path == "/viewer" else 422
            assert response.status_code == (403 if operation in SCOPED else unscoped), operation.path


@pytest.mark.parametrize("kind", CredentialKind)
async def test_then_the_scopes(world: World, client: httpx.AsyncClient, kind: CredentialKind) -> None:
    """A caller of the other half of the service: one that may outreach only, one that may manage the CRM only."""
    granted = {False: ["outreach:manage", "outreach:read"], True: ["api:manage", "api:read"]}
    for outreach, scopes in granted.items():
        await world.join(f"nobody {outreach}", world.one, scopes=scopes)
    callers = {outreach: await world.headers(f"nobody {outreach}", world.one, kind) for outreach in granted}
    before = await world.dump()
    assert [operation.path for operation in GUARDED if operation not in SCOPED] == ["/viewer", "/feedback"]
    for operation in SCOPED:
        assert operation.rule is not None
        assert operation.rule.group is not None
        outreach = operation.path.startswith("/outreach/") or operation.path == "/export/campaigns"
        response = await _worst(client, operation, callers[outreach])
        assert response.status_code == 403, operation.path
        assert operation.method == "HEAD" or response.json() == {
            "detail": "Insufficient permissions",
            "code": "forbidden",
            "request_id": REQUEST_ID,
            "required_scopes": sorted(operation.rule.group.value),
            "granted_scopes": granted[outreach],
        }
    assert await world.dump() == before


async def test_then_the_input(world: World, client: httpx.AsyncClient) -> None:
    headers = world.session("admin@one", world.one)
    before = await world.dump()
    for operation in GUARDED:
        if operation.body is None and "limit" not in operation.query_parameters:
            continue
        response = await _worst(client, operation, headers)
        assert response.status_code == 422, operation.path
        [problem, *_] = response.json()["detail"]  # what is missing comes after what is there
        assert problem["loc"] == (["body"] if operation.body else ["query", "limit"])
    assert await world.dump() == before


async def test_then_what_the_path_names_and_another_organization_s_is_missing(
    world: World, client: httpx.AsyncClient
) -> None:
    account, contact = Account(name="A"), Contact()
    deal = Deal(name="D", account_id=account.id)
    link = DealContact(deal_id=deal.id, contact_id=contact.id)
    job = Job(kind="some_work", arguments={})
    lead = Lead(name="L")
    run = ResearchRun(name="R", result_count=1)
    result = ResearchResult(id=run.id, run_id=run.id, position=0, company_name="C")  # one identifier for both places
    report = CXReport(result_id=result.id)
    campaign = Campaign(name="C", provider="local", status="active")
    conversation = AnalyticsConversation(subject="admin@one", title="Q")
    question = AnalyticsRun(  # one identifier for both places
        id=conversation.id,
        conversation_id=conversation.id,
        subject="admin@one",
        fingerprint="f",
        question="Q",
        holder=new_id(),
        leased_until=now(),
    )
    await world.add(world.one, account, contact, deal, link, job, lead, run, result, report, campaign)
    thread = ChatThread(id=conversation.id, subject="admin@one")
    chat_run = ChatRun(
        id=conversation.id,
        thread_id=thread.id,
        subject="admin@one",
        message_id=new_id(),
        answer_id=new_id(),
        request_id="request",
        provider="embedded",
        time_zone="UTC",
        credential_kind="session",
        granted_scopes=[],
        last_sequence=1,
        finished_at=now(),
    )
    told = ChatEvent(run_id=chat_run.id, sequence=1, subject="admin@one", type="run_finished", data={})
    approval = ChatApproval(
        id=conversation.id,
        thread_id=thread.id,
        run_id=chat_run.id,
        call_id="call_1",
        subject="admin@one",
        tool="update_record",
        operation="accountUpdate",
        arguments={},
        arguments_sha256=SAID["arguments_sha256"],
        preview={},
        expires_at=now(),
    )
    await world.add(world.one, conversation, question, thread, chat_run, told, approval)
    known = {"account": account.id, "contact": contact.id, "deal": deal.id}
    others = [(record, record.row(known, "O")) for record in record_types()]
    rows = {record.name: row for record, row in others}
    rows["saved query"].id = conversation.id  # as above
    rows["upload"].id = rows["file"].id
    await world.add(world.one, *(row for _, row in others))
    key = await world.credential("admin@one", world.one)
    token = await world.credential("admin@one", None)
    mine = world.session("admin@one", world.one)
    [key_record] = (await client.get("/organization-pats", headers=mine)).json()
    [token_record] = (await client.get("/user-pats", headers=mine)).json()
    owned = {path.split("/")[1]: row.id for record, row in others for _, path in record.paths} | {
        "accounts": account.id,
        "contacts": contact.id,
        "deals": deal.id,
        "jobs": job.id,
        "leads": lead.id,
        "customer-intelligence": result.id,
        "analytics": question.id,
        "chat": thread.id,
        "outreach": campaign.id,
        "organization-pats": key_record["id"],
        "user-pats": token_record["id"],
    }
    # Several, as one alone could not pay for all of it.
    people = [await world.join(f"admin {number}@two", world.two, role=Role.ADMIN) for number in range(4)]
    before = await world.dump()
    named = [o for o in GUARDED if o.path_parameters]
    of_record_types = [path for record, _ in others for _, path in record.paths if "{" in path]
    assert len(named) == 36 + len(of_record_types)
    for place, operation in enumerate(named):
        headers = world.session(people[place % len(people)], world.two)
        there = owned[operation.path.split("/")[1]]
        for identifier in (there, there.upper(), UNKNOWN, "no-uuid", "%00", "é"):
            given: dict[str, Any] = dict.fromkeys(("name", "bpo_prefix", "completion_code"), "Other")
            given |= {"from": [UNKNOWN], "shared": True, "verified": True, "to": ["admin@two.example"]}
            given |= {"account_id": UNKNOWN} if operation.path.endswith("/{channel_id}") else {}
            if operation.body is not None and operation.body.model_config["extra"] == "forbid":
                given = {name: SAID[name] for name in operation.body.model_fields if name in SAID}
            body = given if operation.body is not None else None
            given_headers = headers | (UPLOADING if "/uploads/" in operation.path else {})
            url = _url(operation, identifier)
            sent: dict[str, Any] = {"json": body}
            if operation.raw is not None:
                sent = {"content": operation.raw.example}
                given_headers = given_headers | {"Content-Type": operation.raw.media_type}
            response = await client.request(operation.method, url, headers=given_headers, **sent)
            if operation.path.endswith("/latest"):
                assert (response.status_code, response.json()) == (200, {})
            elif operation.method == "DELETE" and ("contacts" in operation.path or "/records/" in operation.path):
                assert response.status_code == 204
            else:
                assert response.status_code == 404, (operation.path, identifier)
                assert operation.method == "HEAD" or response.json() == {
                    "detail": "Not found",
                    "code": "not_found",
                    "request_id": REQUEST_ID,
                }
    assert await world.dump() == before
    assert (await client.get("/deals", headers=bearer(key))).status_code == 200
    assert (await client.get("/user-pats", headers=bearer(token))).status_code == 200


async def test_an_unreachable_database_is_503(world: World, client: httpx.AsyncClient, monkeypatch) -> None:
    from contract.errors import Unavailable

    async def away(*_: object) -> None:
        raise Unavailable()

    monkeypatch.setattr(world.services.identity, "authenticate", away)
    for operation in GUARDED:
        response = await _worst(client, operation, {})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert operation.method == "HEAD" or response.json() == {
            "detail": "Temporarily unavailable",
            "code": "unavailable",
            "request_id": REQUEST_ID,
        }
