"""Who is calling, and any record by its identifier."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import get_named_type, is_leaf_type, is_required_argument

from contract.limits import DOCUMENT_ALIASES_MAX
from contract.scopes import ScopeGroup
from storage.base import new_id, now
from storage.tables import (
    Account,
    Activity,
    AnalyticsConversation,
    AnalyticsRun,
    Campaign,
    ChatApproval,
    ChatMessage,
    ChatRun,
    ChatThread,
    Contact,
    Deal,
    Enrollment,
    HealthFactor,
    HealthSnapshot,
    Job,
    Lead,
    Mailbox,
    OutreachDomain,
    PipelineStage,
    ResearchResult,
    ResearchRun,
    SyncItem,
    SyncOccurrence,
    SyncStream,
    Webhook,
)
from tests.support.gateway import Gateway
from tests.support.record_types import fields_of, record_types
from tests.support.schemas import printed
from tests.support.tenants import Tenant
from tests.support.world import bearer

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOWHERE = "00000000-0000-7000-8000-000000000000"
VIEWER = (
    """{ viewer { subject name email credentialKind organization { id name } organizations { id name } scopes } }"""
)
CAN = "query($operation: String!) { viewer { can(operation: $operation) } }"

READ_MEETINGS = {"meeting", "meetings", "meetingAggregate", *fields_of("MEETINGS_READ")}
READ_CRM = {
    "account",
    "accounts",
    "contact",
    "contacts",
    "deal",
    "deals",
    "pipelineStages",
    "fileUsage",
    "dealBoard",
    "accountAggregate",
    "dealAggregate",
    "dealForecast",
    "dealFunnel",
    "leadAggregate",
    "job",
    "search",
    *("events", "changes", "chatTools", "chatThread", "chatThreads", "chatRun", "chatThreadCreate"),
    *("chatThreadRename", "chatThreadDelete", "chatSend", "chatRunCancel", "chatApprovals", "chatApprovalDecide"),
    "lead",
    "leads",
    "leadConversionPreview",
    "researchRun",
    "researchRuns",
    "researchResult",
    *fields_of("CRM_READ"),
}
MANAGE_CRM = {
    "accountCreate",
    "accountUpdate",
    "accountDelete",
    "accountHealthRefresh",
    "contactCreate",
    "contactUpdate",
    "contactDelete",
    "dealCreate",
    "dealUpdate",
    "dealDelete",
    "dealContactLink",
    "dealContactUnlink",
    "meetingLog",
    "meetingUpdate",
    "meetingComplete",
    "meetingDelete",
    "cardCaptureConfirm",
    "leadUpdate",
    "leadDisqualify",
    "leadReopen",
    "leadConvert",
    "researchRunCreate",
    "researchRunCancel",
    "cxReportEdit",
    *("accountsUpsert", "contactsUpsert", "dealsUpsert", "leadsUpsert", "notificationEmit"),
    *fields_of("CRM_MANAGE"),
}
READ_OUTREACH = {"campaignAggregate", "campaign", "campaigns", "outreachDomains", "mailboxes"}
MANAGE_OUTREACH = {
    "campaignCreate",
    "campaignUpdate",
    "campaignLaunch",
    "campaignPause",
    "campaignResume",
    "campaignArchive",
    "campaignDelete",
    "enrollmentsCreate",
    "enrollmentRemove",
}
PROVISION = {"domainPurchase", "mailboxProvision"}
ADMINISTER = {
    "pipelineStageCreate",
    "pipelineStageUpdate",
    "pipelineStageReorder",
    "pipelineStageDelete",
    "webhooks",
    "webhookCreate",
    "webhookDelete",
    "webhookTest",
    "chatUsage",
    *fields_of("ORG_ADMIN"),
}
KEYS = {
    "pats:read": {"organizationKeys"},
    "pats:create": {"organizationKeyCreate", "organizationKeyRename"},
    "pats:delete": {"organizationKeyRevoke"},
}
TOKENS = {
    "pats:read": {"userTokens"},
    "pats:create": {"userTokenCreate", "userTokenRename"},
    "pats:delete": {"userTokenRevoke"},
}
ASK = {
    *("analyticsCatalog", "analyticsQuery", "analyticsRun", "analyticsRuns", "sqlQuery"),
    *("analyticsRunCancel", "analyticsConversationDelete"),
    *fields_of("DATA_ACCESS"),
}
ANYBODY = {"viewer", "node", "nodes", "feedbackSubmit", "costEstimate"}


async def _can(tenant: Tenant, headers: dict[str, str], names: list[str]) -> dict[str, bool]:
    """What `viewer.can` says of each of these operations."""
    found: dict[str, bool] = {}
    for start in range(0, len(names), DOCUMENT_ALIASES_MAX):
        asked = names[start : start + DOCUMENT_ALIASES_MAX]
        parts = "\n".join(f'n{number}: can(operation: "{name}")' for number, name in enumerate(asked))
        told = await tenant.ask(f"{{ viewer {{ {parts} }} }}", headers)
        found |= {name: told[f"n{number}"] for number, name in enumerate(asked)}
    return found


async def allowed(tenant: Tenant, headers: dict[str, str]) -> set[str]:
    """The queries and mutations that `viewer.can` says yes to, of all that the schema has, by their bare names."""
    roots = (printed().query_type, printed().mutation_type)
    said = await _can(tenant, headers, [f"{root}.{name}" for root in roots if root for name in root.fields])
    return {name.partition(".")[2] for name, yes in said.items() if yes}


async def test_a_session(one: Tenant, two: Tenant) -> None:
    world, subject = one.gateway.world, one.subject()
    here = {"id": one.organization.external_id, "name": one.organization.name}
    assert await one.ask(VIEWER) == {
        "subject": subject,
        "name": "The member",
        "email": "member@example.com",
        "credentialKind": "SESSION",
        "organization": here,
        "organizations": [here],
        "scopes": sorted(await _scopes(one, "member")),
    }
    await world.join(subject, two.organization, scopes=["pats:read", "outreach:provision"])
    there = {"id": two.organization.external_id, "name": two.organization.name}
    viewer = await one.ask(VIEWER, world.session(subject, two.organization))
    assert (viewer["organization"], viewer["organizations"]) == (there, [here, there])
    assert viewer["scopes"] == ["outreach:provision", "pats:read"]


async def _scopes(tenant: Tenant, role: str) -> list[str]:
    return (await tenant.ask("{ viewer { scopes } }", tenant.headers(role)))["scopes"]


async def test_an_organization_key(one: Tenant, two: Tenant) -> None:
    world, subject = one.gateway.world, one.subject()
    await world.join(subject, two.organization, scopes=["pats:read"])
    here = {"id": one.organization.external_id, "name": one.organization.name}
    viewer = await one.ask(VIEWER, bearer(await world.credential(subject, one.organization)))
    assert (viewer["subject"], viewer["credentialKind"]) == (subject, "ORGANIZATION_KEY")
    assert (viewer["organization"], viewer["organizations"]) == (here, [here])
    assert viewer["scopes"] == await _scopes(one, "member")


async def test_a_user_token_with_and_without_an_organization(one: Tenant, two: Tenant) -> None:
    world, subject = one.gateway.world, one.subject("viewer")
    await world.join(subject, two.organization, scopes=["pats:read"])
    both = [{"id": t.organization.external_id, "name": t.organization.name} for t in (one, two)]
    token = bearer(await world.credential(subject, None))
    viewer = await one.ask(VIEWER, token)
    assert (viewer["credentialKind"], viewer["organization"], viewer["organizations"]) == ("USER_TOKEN", None, both)
    assert viewer["scopes"] == sorted({*await _scopes(one, "viewer"), "pats:read"})
    viewer = await one.ask(VIEWER, token | {"X-Service-Org": two.organization.external_id})
    assert (viewer["organization"], viewer["scopes"]) == (both[1], ["pats:read"])


async def test_what_each_role_can(one: Tenant) -> None:
    keys, tokens = set().union(*KEYS.values()), set().union(*TOKENS.values())
    read = ANYBODY | READ_MEETINGS | READ_CRM | READ_OUTREACH | ASK
    manage = read | MANAGE_CRM | MANAGE_OUTREACH | keys | tokens
    assert await allowed(one, one.headers("viewer")) == read
    assert await allowed(one, one.headers("member")) == manage
    assert await allowed(one, one.headers("admin")) == manage | ADMINISTER | PROVISION


async def test_what_each_scope_can(one: Tenant) -> None:
    reads = "data:access contacts:read deals:read companies:read activities:read leads:read users:read"
    manages = "api deals contacts companies activities leads users organizations workflows"
    endpoint = {"contacts:read", "deals:read", "companies:read", "activities:read"}
    expected = {
        scope: ANYBODY | READ_CRM | (READ_MEETINGS if scope in endpoint else set())
        for scope in ["api:read", *reads.split(), "organizations:read", "workflows:read"]
    }
    expected |= {f"{area}:manage": ANYBODY | READ_CRM | READ_MEETINGS | MANAGE_CRM for area in manages.split()}
    expected["organizations:manage"] |= ADMINISTER
    expected["data:access"] |= ASK
    expected["outreach:read"] = ANYBODY | READ_OUTREACH
    expected["outreach:manage"] = expected["outreach:read"] | MANAGE_OUTREACH
    expected["outreach:provision"] = expected["outreach:manage"] | PROVISION
    expected |= {scope: ANYBODY | KEYS[scope] | TOKENS[scope] for scope in KEYS}
    assert set(expected) == {str(scope) for group in ScopeGroup for scope in group.value}
    for scope, operations in expected.items():
        assert await allowed(one, await one.scoped(scope)) == operations, scope
    assert await allowed(one, await one.scoped()) == ANYBODY


async def test_without_an_organization_only_the_callers_own(one: Tenant) -> None:
    token = bearer(await one.gateway.world.credential(one.subject("admin"), None))
    assert await allowed(one, token) == ANYBODY | set().union(*TOKENS.values())


@pytest.mark.parametrize("name", ["", "dealcreate", "deal_create", "Query", "leadDelete", "\x00"])
async def test_nobody_can_what_does_not_exist(one: Tenant, name: str) -> None:
    assert await one.ask(CAN, one.headers("admin"), operation=name) == {"can": False}


NODE = """query($id: ID!) { node(id: $id) { __typename id
  ... on Account { name health { score } } ... on Contact { lastName } ... on Deal { name value }
  ... on Competitor { aliases } ... on PipelineStage { name position } ... on Meeting { subject state metadata }
  ... on HealthSnapshot { score factors { key } } ... on HealthFactor { key weight } ... on Job { kind status }
  ... on Lead { name capturePayload }
  ... on OrganizationKey { name hint } ... on UserToken { name hint } } }"""
NODES = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }"


async def records(tenant: Tenant) -> dict[str, Any]:
    """One record of each kind that has an identifier, by the name of its type."""
    account = Account(name="A")
    stage, job = PipelineStage(name="S"), Job(kind="some_work", arguments={})
    await tenant.add(account, stage, job)
    contact = Contact(last_name="C", account_id=account.id)
    deal = Deal(name="D", account_id=account.id, stage_id=stage.id)
    await tenant.add(contact, deal)
    meeting = Activity(subject="M", details={"z": 1}, account_id=account.id, contact_id=contact.id, deal_id=deal.id)
    await tenant.add(meeting)
    snapshot = HealthSnapshot(account_id=account.id, score=50, data_points=9, formula_version="1")
    await tenant.add(snapshot)
    factor = HealthFactor(
        account_id=account.id,
        health_score_id=snapshot.id,
        position=0,
        key="follow_through",
        label="l",
        score=1,
        weight=0.5,
        explanation="e",
        sample_size=1,
    )
    lead = Lead(name="L", capture_payload={"x": 1})
    run, domain = ResearchRun(name="R", result_count=1), OutreachDomain(name="d.example")
    campaign = Campaign(name="C", provider="local")
    await tenant.add(factor, lead, run, domain, campaign)
    result = ResearchResult(run_id=run.id, position=0, company_name="N")
    mailbox = Mailbox(domain_id=domain.id, email="m@d.example")
    enrollment = Enrollment(campaign_id=campaign.id, email="e@d.example", email_key="e@d.example")
    webhook = Webhook(url="https://1.1.1.1/", cursor=0)
    await tenant.add(result, mailbox, enrollment, webhook)
    conversation = AnalyticsConversation(subject=tenant.subject(), title="Q")
    await tenant.add(conversation)
    question = AnalyticsRun(
        conversation_id=conversation.id,
        subject=tenant.subject(),
        fingerprint="f",
        question="Q",
        holder=new_id(),
        leased_until=now(),
    )
    await tenant.add(question)
    thread = ChatThread(subject=tenant.subject(), title="T")
    await tenant.add(thread)
    chat_run = ChatRun(
        thread_id=thread.id,
        subject=tenant.subject(),
        message_id=new_id(),
        answer_id=new_id(),
        request_id="request",
        provider="embedded",
        time_zone="UTC",
        credential_kind="session",
        granted_scopes=[],
        finished_at=now(),
    )
    message = ChatMessage(thread_id=thread.id, subject=tenant.subject(), position=1, role="user", text="T")
    approval = ChatApproval(
        thread_id=thread.id,
        run_id=chat_run.id,
        call_id="call_1",
        subject=tenant.subject(),
        tool="log_note",
        operation="noteCreate",
        arguments={},
        arguments_sha256="a" * 64,
        preview={},
        expires_at=now(),
    )
    await tenant.add(chat_run, message, approval)
    named = (account, contact, deal, lead, stage, snapshot, factor, job, run, result)
    named += (domain, campaign, mailbox, enrollment, webhook, question, thread, chat_run, message, approval)
    found = {type(record).__name__: record.id for record in named} | {"Meeting": meeting.id}
    known = {"account": account.id, "contact": contact.id, "deal": deal.id}
    others = {kind.typename: kind.row(known, "R") for kind in record_types() if kind.is_node}
    await tenant.add(*others.values())
    found |= {typename: other.id for typename, other in others.items()}
    stream = SyncStream(integration_id=found["Integration"], name="S")
    kept = SyncItem(stream_id=stream.id, body={}, **dict.fromkeys(("external_id", "uid", "hash"), "u"))
    shown = {"integration_id": found["Integration"], "stream_id": stream.id, "item_id": kept.id}
    occurrence = SyncOccurrence(outcome="taken", **shown)
    await tenant.add(stream)
    await tenant.add(kept)
    await tenant.add(occurrence)
    found["IntegrationItem"] = occurrence.id
    for field, kind in (("organizationKeyCreate", "organizationKey"), ("userTokenCreate", "userToken")):
        made = await tenant.ask(f'mutation {{ {field}(input: {{name: "n"}}) {{ {kind} {{ id }} }} }}')
        found[kind[0].upper() + kind[1:]] = made[kind]["id"]
    return found


async def test_a_node_of_every_kind(one: Tenant, two: Tenant) -> None:
    found = await records(one)
    shown = {
        "Account": {"name": "A", "health": {"score": 50}},
        "Contact": {"lastName": "C"},
        "Deal": {"name": "D", "value": None},
        "Lead": {"name": "L", "capturePayload": {"x": 1}},
        "PipelineStage": {"name": "S", "position": 0},
        "Competitor": {"aliases": []},
        "Meeting": {"subject": "M", "state": "UNSCHEDULED", "metadata": {"z": 1}},
        "HealthSnapshot": {"score": 50, "factors": [{"key": "FOLLOW_THROUGH"}]},
        "HealthFactor": {"key": "FOLLOW_THROUGH", "weight": 0.5},
        "Job": {"kind": "some_work", "status": "QUEUED"},
    }
    kinds = {kind.name for kind in printed().get_possible_types(printed().type_map["Node"])}
    assert set(found) == kinds
    for kind, identifier in found.items():
        headers = one.headers("admin" if kind == "Webhook" else "member")
        node = await one.ask(NODE, headers, id=identifier)
        assert node["__typename"] == kind
        assert node["id"] == identifier
        assert {name: node[name] for name in shown.get(kind, {})} == shown.get(kind, {})
        assert (await one.ask(NODE, headers, id=identifier.upper()))["id"] == identifier
        assert await one.ask(NODE, two.headers(), id=identifier) is None
        assert await one.ask(NODE, two.headers("admin"), id=identifier) is None


@pytest.mark.long_on("postgresql")
async def test_each_field_of_a_node_brings_what_it_needs(one: Tenant) -> None:
    """One field is asked for at a time, so that no other has its columns read."""
    for kind, identifier in (await records(one)).items():
        fields = _fields(kind)
        query = f"query($id: ID!) {{ node(id: $id) {{ ... on {kind} {{ %s }} }} }}"
        headers = one.headers("admin" if kind == "Webhook" else "member")
        whole = await one.ask(query % " ".join(fields.values()), headers, id=identifier)
        assert whole.keys() == fields.keys()
        for name, field in fields.items():
            assert await one.ask(query % field, headers, id=identifier) == {name: whole[name]}, (kind, name)


def _fields(kind: str) -> dict[str, str]:
    """The fields of a type that take no arguments, each as it is asked for."""
    found = {}
    for name, field in printed().type_map[kind].fields.items():
        below = get_named_type(field.type)
        if not any(is_required_argument(argument) for argument in field.args.values()):
            inner = "" if is_leaf_type(below) else "{ id }" if "id" in below.fields else "{ __typename }"
            found[name] = f"{name} {inner}"
    return found


async def test_nodes_keep_their_order(one: Tenant, two: Tenant) -> None:
    found = await records(one)
    del found["Webhook"]  # which members may not see
    foreign = Account(name="other")
    await two.add(foreign)
    ids = [*found.values(), NOWHERE, "no uuid", "", foreign.id, *reversed(found.values())]
    nodes = await one.ask(NODES, ids=ids)
    expected = [{"__typename": kind, "id": identifier} for kind, identifier in found.items()]
    assert nodes == [*expected, None, None, None, None, *reversed(expected)]
    assert await one.ask(NODES, ids=[]) == []
    assert await one.ask(NODES, ids=[NOWHERE] * 500) == [None] * 500
    error = await one.error(NODES, ids=[NOWHERE] * 501)
    assert error["extensions"]["code"] == "VALIDATION"
    assert error["extensions"]["problems"] == [
        {"field": ["ids"], "message": "must not have more than 500 items", "type": "too_long"}
    ]


CRM_KINDS = {
    *("Account", "Contact", "Deal", "Lead", "PipelineStage", "Job", "ResearchRun", "ResearchResult"),
    *(kind.typename for kind in record_types() if kind.is_node and kind.group == "CRM_READ"),
}
MEETING_KINDS = {
    *("Meeting", "HealthSnapshot", "HealthFactor", "IntegrationItem"),
    *(kind.typename for kind in record_types() if kind.is_node and kind.group == "MEETINGS_READ"),
}


@pytest.mark.parametrize(
    ("scopes", "kinds"),
    [
        ([], set()),
        (["outreach:provision"], {"Campaign", "Enrollment", "OutreachDomain", "Mailbox"}),
        (["api:read"], CRM_KINDS),
        (["deals:read"], CRM_KINDS | MEETING_KINDS),
        (["organizations:manage", "pats:create", "pats:delete"], CRM_KINDS | MEETING_KINDS | {"Webhook"}),
    ],
)
async def test_nodes_beyond_the_callers_scopes_are_null(one: Tenant, scopes: list[str], kinds: set[str]) -> None:
    # Decision 21.
    found = await records(one)
    nodes = await one.ask(NODES, await one.scoped(*scopes), ids=list(found.values()))
    assert {kind for kind, node in zip(found, nodes, strict=True) if node is not None} == kinds


async def test_credentials_as_nodes_follow_their_listing(one: Tenant) -> None:
    found = await records(one)
    ids = [found["OrganizationKey"], found["UserToken"]]
    reader = await one.scoped("pats:read")
    admin = await one.scoped("pats:read", "organizations:manage", name="boss")
    key = {"__typename": "OrganizationKey", "id": ids[0]}
    token = {"__typename": "UserToken", "id": ids[1]}
    assert await one.ask(NODES, ids=ids) == [key, token]
    assert await one.ask(NODES, reader, ids=ids) == [None, None]
    assert await one.ask(NODES, admin, ids=ids) == [key, None]


async def test_a_node_without_an_organization(one: Tenant, gateway: Gateway) -> None:
    found = await records(one)
    headers = bearer(await gateway.world.credential(one.subject(), None))
    nodes = await one.ask(NODES, headers, ids=list(found.values()))
    assert [node and node["__typename"] for node in nodes] == [None] * (len(found) - 1) + ["UserToken"]


PERMISSIONS = """query($names: [String!]!) {
  viewer { permissions(operations: $names) { operation known allowed requiredScopes } } }"""


async def _permissions(tenant: Tenant, headers: dict[str, str], names: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await tenant.ask(PERMISSIONS, headers, names=names))["permissions"]
    assert [one["operation"] for one in found] == names
    return found


@pytest.mark.parametrize("role", ["viewer", "admin"])
async def test_permissions_say_what_can_says_and_more(one: Tenant, role: str) -> None:
    """Decision 213: for every root field there is, bare and behind its type."""
    headers = one.headers(role)
    held = set(await _scopes(one, role))
    schema = printed()
    for kind in (schema.query_type, schema.mutation_type, schema.subscription_type):
        assert kind is not None
        for names in (list(kind.fields), [f"{kind.name}.{name}" for name in kind.fields]):
            yes = await _can(one, headers, names)
            for told in await _permissions(one, headers, names):
                name = told["operation"].rpartition(".")[2]
                assert told["known"]
                assert told["requiredScopes"] == sorted(told["requiredScopes"])
                needed = told["requiredScopes"]
                assert told["allowed"] == (not needed or not held.isdisjoint(needed)), name
                assert told["allowed"] == yes[told["operation"]]


async def test_what_there_is_not(one: Tenant) -> None:
    names = ["Query.dealCreate", "mutation.dealCreate", "DealCreate", "dealcreate", " dealCreate", "", "__schema", "."]
    for told in await _permissions(one, one.headers("admin"), names):
        assert (told["known"], told["allowed"], told["requiredScopes"]) == (False, False, [])
        assert await one.ask(CAN, one.headers("admin"), operation=told["operation"]) == {"can": False}
    assert await one.ask(CAN, operation="Mutation.dealCreate") == {"can": True}
    assert await one.ask(CAN, one.headers("viewer"), operation="Mutation.dealCreate") == {"can": False}
    [told] = await _permissions(one, one.headers("viewer"), ["Mutation.dealCreate"])
    assert (told["known"], told["allowed"]) == (True, False)
    assert "deals:manage" in told["requiredScopes"]


async def test_200_names_at_once(one: Tenant) -> None:
    assert await _permissions(one, one.headers("viewer"), []) == []
    assert len(await _permissions(one, one.headers("viewer"), ["viewer"] * 200)) == 200
    error = await one.error(PERMISSIONS, names=["viewer"] * 201)
    assert error["extensions"]["problems"] == [
        {"field": ["operations"], "message": "must not have more than 200 items", "type": "too_long"}
    ]
