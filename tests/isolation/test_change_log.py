"""Every mutation of the schema appends to the organization's change log, and a refused one does not (decision 67)."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import FieldNode, OperationDefinitionNode, parse
from sqlalchemy import select
from sqlmodel import col

from storage.event_types import EVENT_TYPES
from storage.tables import Event
from tests.isolation.cases import CASES, Graph, fill, put, q
from tests.isolation.records import fill_organization, missing, send
from tests.support.gateway import Gateway
from tests.support.schemas import built
from tests.support.tenants import Tenant, new_tenant

WITHOUT = {
    "integrationSync": "its run tells of what it brought",
    "integrationChannelUnlink": "a feed has no channels; tests/integrations/test_slack.py looks at its event",
    "analyticsRunCancel": "a question is its asker's own",
    "analyticsConversationDelete": "as analyticsRunCancel",
    "chatThreadCreate": "a chat is its member's own",
    "chatThreadRename": "as chatThreadCreate",
    "chatThreadDelete": "as chatThreadCreate",
    "chatSend": "as chatThreadCreate; what its tools write tells of itself",
    "chatRunCancel": "as chatThreadCreate",
    "chatApprovalDecide": "as chatSend",
    "dataExportCreate": "its job tells of the file once it is there",
    "fileLinkCreate": "nothing is written",
    "fileUploadCreate": "the file is told of once it is there",
    "ownershipTransfer": "its job tells of each thousand records that it moves",
    "userTokenCreate": "a user token is its member's own, in every organization, and in no organization's log",
    "userTokenRename": "as userTokenCreate",
    "userTokenRevoke": "as userTokenCreate",
}
"""Mutations that append nothing, each with the reason."""

REFUSED = {"integrationConnect", "integrationReconnect", "integrationComplete", "integrationChannelLink"}
"""Mutations that need a provider, and none is set up here; tests/integrations looks at their events."""

BEFORE = {
    "campaignResume": "campaignPause",
    "integrationResume": "integrationPause",
    "filePurge": "fileDelete",
    "fileRestore": "fileDelete",
    "folderRestore": "folderDelete",
    "leadReopen": "leadDisqualify",
    "memberReactivate": "memberDeactivate",
    "taskReopen": "taskComplete",
}
"""What has to happen first for a mutation to change something."""

INSTEAD = {
    "pipelineStageReorder": q(
        "mutation($ids: [ID!]!) { pipelineStageReorder(ids: $ids) { userErrors { code } } }",
        ids=["<second stage>", "<stage>"],
    ),
    "enrollmentsCreate": q(
        "mutation($id: ID!, $contacts: [EnrollmentInput!]!) { enrollmentsCreate(campaignId: $id, contacts: $contacts)"
        " { userErrors { code } } }",
        id="<campaign>",
        contacts=[{"email": "new@example.com"}],
    ),
    "webhookCreate": put("webhookCreate", "WebhookInput", "secret", url="https://1.1.1.1/", types=["<type>"]),
    "duplicatesDismiss": q(
        "mutation($ids: [ID!]!) { duplicatesDismiss(ids: $ids) { userErrors { code } } }",
        ids=["<account>", "<second account>"],
    ),
    "dealContactLink": q(
        "mutation($deal: ID!, $contact: ID!) { dealContactLink(dealId: $deal, contactId: $contact, isPrimary: true)"
        " { userErrors { code } } }",
        deal="<deal>",
        contact="<contact>",
    ),
    "fileAttach": q(
        "mutation($id: ID!, $r: ID!) { fileAttach(id: $id, recordId: $r) { userErrors { code } } }",
        id="<file>",
        r="<deal>",
    ),
    "leadUpdate": q(
        'mutation($id: ID!) { leadUpdate(id: $id, input: {notes: "Changed"}) { userErrors { code } } }', id="<lead>"
    ),
}
"""Requests where the first of the matrix changes nothing, more than one thing, or needs a name server."""

TWICE = {
    "accountUpdate": ("account_updated", {"account_id": "<account>", "changed": ["name"]}),
    "contactUpdate": ("contact_updated", {"contact_id": "<contact>", "changed": ["last_name"]}),
    "dealUpdate": ("deal_updated", {"deal_id": "<deal>", "changed": ["name"]}),
    "dealContactLink": (
        "contact_link_updated",
        {"deal_id": "<deal>", "contact_id": "<contact>", "changed": ["is_primary"]},
    ),
    "dealContactUnlink": ("contact_unlinked", {"deal_id": "<deal>", "contact_id": "<contact>"}),
    "fileUpdate": ("file_updated", {"file_id": "<file>", "changed": ["name"]}),
    "fileAttach": ("file_attached", {"file_id": "<file>", "record_id": "<deal>"}),
    "fileDetach": ("file_detached", {"file_id": "<file>", "record_id": "<record>"}),
    "folderUpdate": ("folder_updated", {"folder_id": "<folder>", "changed": ["name"]}),
    "meetingUpdate": ("meeting_updated", {"meeting_id": "<meeting>", "changed": ["subject"]}),
    "meetingComplete": ("meeting_completed", {"meeting_id": "<meeting>"}),
    "pipelineStageUpdate": ("pipeline_stage_updated", {"pipeline_stage_id": "<stage>", "changed": ["name"]}),
    "pipelineStageReorder": ("pipeline_stages_reordered", {"pipeline_stage_ids": ["<second stage>", "<stage>"]}),
    "organizationKeyRename": ("organization_key_renamed", {"organization_key_id": "<key>"}),
    "memberUpdate": ("member_updated", {"member_id": "<member>", "changed": ["name"]}),
    "memberDeactivate": ("member_deactivated", {"member_id": "<member>"}),
    "tagUpdate": ("tag_updated", {"tag_id": "<tag>", "changed": ["name"]}),
    "tagsApply": ("records_tagged", {"ids": ["<deal>", "<contact>"], "added": 1, "removed": 0}),
    "leadUpdate": ("lead_updated", {"lead_id": "<lead>", "changed": ["notes"]}),
}
"""What the log says of a change, and that the same one again is none (decision 20)."""


def _called(request: Graph) -> str:
    [operation] = parse(request.document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    [selected] = operation.selection_set.selections
    assert isinstance(selected, FieldNode)
    return selected.name.value


def _requests() -> dict[str, Graph]:
    """A request for every mutation."""
    found: dict[str, Graph] = {}
    for case in CASES.values():
        for request in case.requests:
            if isinstance(request, Graph) and request.writes:
                found.setdefault(_called(request), request)
    return found | INSTEAD


def _mutations() -> list[str]:
    root = built()._schema.mutation_type
    assert root is not None
    return list(root.fields)


async def _filled(gateway: Gateway) -> tuple[Tenant, dict[str, str]]:
    """A new organization and the identifiers of its records."""
    tenant = await new_tenant(gateway)
    values = await fill_organization(gateway.world, tenant.organization, tenant.subject("admin"), "Mark")
    own = {f"own {kind}": identifier for kind, identifier in values.items()}
    return tenant, values | own | {"name": "Changed", "type": "deal_created"}


async def _log(tenant: Tenant) -> list[Any]:
    columns: list[Any] = [Event.sequence, Event.type, Event.area, Event.actor, Event.request_id, Event.data]
    async with tenant.gateway.world.database.reading(tenant.id) as session:
        return list(await session.rows(select(*columns).where(col(Event.org_id) == tenant.id).order_by(columns[0])))


@pytest.mark.long_on("postgresql")
async def test_every_mutation_appends_unless_it_is_refused(gateway: Gateway) -> None:
    requests = _requests()
    assert WITHOUT.keys() | TWICE.keys() <= set(_mutations())
    for name in _mutations():
        tenant, values = await _filled(gateway)
        headers = tenant.headers("admin") | {"X-Request-Id": f"request-{name}"}
        if name in BEFORE:
            await send(gateway, requests[BEFORE[name]].filled(values), headers)
        before = await _log(tenant)
        await send(gateway, requests[name].filled(missing(values) | {"name": "", "type": "deal_wanted"}), headers)
        assert await _log(tenant) == before, name
        answer = (await send(gateway, requests[name].filled(values), headers)).json()
        codes = [error["code"] for error in answer["data"][name]["userErrors"]]
        assert codes == (["INVALID_STATE"] if name in REFUSED else []), (name, answer)
        added = (await _log(tenant))[len(before) :]
        assert bool(added) == (name not in WITHOUT.keys() | REFUSED), (name, answer)
        for event in added:
            assert (event.actor, event.request_id) == (tenant.subject("admin"), f"request-{name}"), name
            assert event.type in EVENT_TYPES
            assert len(str(event.data)) < 500, (name, event)
        if name in TWICE:
            type_, data = TWICE[name]
            assert [(e.type, e.data) for e in added] == [(type_, fill(data, values))], name
            again = (await send(gateway, requests[name].filled(values), headers)).json()
            assert again["data"][name]["userErrors"] == []
            assert len(await _log(tenant)) == len(before) + 1, name


async def test_keys_are_for_administrators_and_only_named(gateway: Gateway) -> None:
    tenant, values = await _filled(gateway)
    answer = await send(gateway, _requests()["organizationKeyCreate"].filled(values), tenant.headers("admin"))
    assert answer.json()["data"]["organizationKeyCreate"]["userErrors"] == []
    event = (await _log(tenant))[-1]
    assert (event.type, event.area) == ("organization_key_created", "admin")
    assert set(event.data) == {"organization_key_id"}
