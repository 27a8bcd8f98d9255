"""Every write is told: each mutation that changes a record with a feed leaves an item in one (decisions 232 to 236).

The mutations are those of the schema: a new one fails here until it is told, or it is said why it is not.
"""

from __future__ import annotations

from typing import Any

import pytest
from graphql import FieldNode, OperationDefinitionNode, parse
from sqlalchemy import select

from contract.timeline import SUBJECTS
from contract.vocabulary import TimelineKind
from jobs.kinds import KINDS
from rest_compat.routes import OPERATIONS
from storage.new_rows import model_named
from storage.queries import timeline as feeds
from storage.tables import Activity
from tests.isolation.cases import CASES, Graph
from tests.isolation.records import fill_organization, send
from tests.support.schemas import printed
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCHEMA = printed()
_ADMINISTRATION = "it concerns no record with a feed"
_GOES = "the item goes with the record"
_TAGS = "tags have no feed, and are told by their events (decision 234)"
_NOTES = "it is a note on what may be asked, and no record with a feed"
_FILES = "a file is told where it is attached, as long as it is"
_RESEARCH = "what is researched is no record with a feed"
_CONNECTED = (
    *("FeedConnect", "FeedReplace", "Update", "Pause", "Resume", "Sync", "Disconnect", "ItemTake", "ItemIgnore"),
    *("ChannelLink", "ChannelUnlink"),
    *("PolicyUpdate", "Connect", "Complete", "Reconnect"),
)
UNTOLD = {
    **dict.fromkeys(
        (
            *("memberAdd", "memberUpdate", "memberDeactivate", "memberReactivate"),
            *("organizationKeyCreate", "organizationKeyRename", "organizationKeyRevoke"),
            *("userTokenCreate", "userTokenRename", "userTokenRevoke"),
            *("webhookCreate", "webhookDelete", "webhookTest", "feedbackSubmit"),
            *("competitorCreate", "competitorDelete", "salesTargetsPut", "salesTargetDelete"),
            *("pipelineStageCreate", "pipelineStageDelete", "pipelineStageReorder"),
            *("domainPurchase", "mailboxProvision"),
        ),
        _ADMINISTRATION,
    ),
    **dict.fromkeys(("activityDelete", "meetingDelete", "campaignDelete", "enrollmentRemove"), _GOES),
    **dict.fromkeys(("tagCreate", "tagUpdate", "tagMerge", "tagDelete"), _TAGS),
    **dict.fromkeys(("researchRunCreate", "researchRunCancel", "cxReportEdit"), _RESEARCH),
    **dict.fromkeys(("ownershipTransfer", "memberRemove"), "the job that they start tells (test_ownership)"),
    **dict.fromkeys(("analyticsRunCancel", "analyticsConversationDelete"), "questions are their asker's alone"),
    **dict.fromkeys(
        ("chatThreadCreate", "chatThreadRename", "chatThreadDelete", "chatSend", "chatRunCancel", "chatApprovalDecide"),
        "a chat is its member's alone, and what it changes it does by tools, which are mutations themselves",
    ),
    **dict.fromkeys([f"savedQuery{verb}" for verb in ("Create", "Update", "Delete", "Share", "Verify")], _NOTES),
    **dict.fromkeys(
        [f"integration{verb}" for verb in _CONNECTED],
        "a connection has no feed; the meetings that it brings are items themselves",
    ),
    "meetingSyncRelease": "what the provider says next is what shows",
    **dict.fromkeys([f"report{verb}" for verb in ("Create", "Update", "Delete", "Run", "Email")], _NOTES),
    "duplicatesDismiss": "it says nothing of the records themselves, and is told by its event",
    **dict.fromkeys(("dataImportCreate", "dataImportCancel"), "the job tells (tests/records/test_imports.py)"),
    "dataExportCreate": "it changes no record",
    "notificationEmit": "it changes no record",
    **dict.fromkeys([f"file{verb}" for verb in ("Update", "Delete", "Restore", "Purge", "Detach")], _FILES),
    **dict.fromkeys([f"folder{verb}" for verb in ("Create", "Update", "Delete", "Restore")], _FILES),
    **dict.fromkeys(("fileLinkCreate", "fileUploadCreate"), _FILES),
    "pipelineStageUpdate": "a new type is told on the deals in the stage (test_timeline), nothing else is theirs",
}
JOBS = {
    "lead_tags": "a tag's change is told by its own event (decision 234)",
    "tagged_records": "the same",
    "data_import": "told on each record, as by the upserts (tests/records/test_imports.py)",
    "ownership_transfer": "told on each record (test_ownership)",
    "data_export": "it changes no record",
    "report_run": "its files are told where they are attached, and they are not yet",
    "mail": "a message is told where it is asked for",
    "campaign_ask": "what the provider says of a campaign is told in its history (test_campaigns)",
    "campaign_tell": "the same",
    **dict.fromkeys(("sequence_remove", "lead_remove", "webhook_delivery"), "it changes nothing here"),
    "integration_wait": "the same",
    **dict.fromkeys(("domain_purchase", "mailbox_provision"), _ADMINISTRATION),
    **dict.fromkeys(("research_company", "cx_report_render"), _RESEARCH),
    **dict.fromkeys(
        ("integration_sync", "integration_removal", "integration_watches_end", "meetings_held", "meetings_kept"),
        "meetings are items of the feeds themselves",
    ),
}


def _called(request: Graph) -> set[str]:
    [operation] = parse(request.document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    return {node.name.value for node in operation.selection_set.selections if isinstance(node, FieldNode)}


WRITES = [r for case in CASES.values() for r in case.requests if isinstance(r, Graph) and r.writes]
REQUESTS = {name: request for request in reversed(WRITES) for name in _called(request)}
assert SCHEMA.mutation_type is not None
MUTATIONS = sorted(SCHEMA.mutation_type.fields)
BEFORE = {"campaignResume": ["campaignPause"], "leadReopen": ["leadDisqualify"], "taskReopen": ["taskComplete"]}
BEFORE["fileAttach"] = ["fileDetach"]
BEFORE["enrollmentsCreate"] = ["enrollmentRemove"]  # the contact is in the campaign
"""What comes before a mutation that its record's state would refuse."""


async def _items(tenant: Tenant) -> set[tuple[Any, ...]]:
    """Every item of every feed; an activity is another one with each version."""
    found: set[tuple[Any, ...]] = set()
    async with tenant.gateway.world.database.reading(tenant.id) as session:
        versions = {
            row.id: row.version
            for row in await session.rows(select(Activity.id, Activity.version).where(Activity.org_id == tenant.id))
        }
        for table, subject in SUBJECTS.items():
            model = model_named(table)
            ids = [row.id for row in await session.rows(select(model.id).where(model.org_id == tenant.id))]
            feed = feeds.Feed(subject, frozenset(TimelineKind), 100, is_upcoming=True)
            if subject == "campaign":
                feed = feeds.Feed(subject, frozenset({TimelineKind.CHANGE}), 100)
            for page in (await feeds.pages(session, feed, ids)).values() if ids else ():
                found |= {(row.kind, row.id, row.at, str(row.fields), versions.get(row.id)) for row in page.rows}
    return found


async def _sent(tenant: Tenant, ids: dict[str, str], name: str) -> None:
    values = ids | {f"own {key}": value for key, value in ids.items()} | {"name": "Changed"}
    response = await send(tenant.gateway, REQUESTS[name].filled(values), tenant.headers("admin"))
    body = response.json()
    assert "errors" not in body, body
    [payload] = body["data"].values()
    assert payload["userErrors"] == [], payload


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in UNTOLD])
async def test_a_mutation_leaves_an_item(one: Tenant, name: str) -> None:
    ids = await fill_organization(
        one.gateway.world, one.organization, one.subject("admin"), one.organization.external_id
    )
    for earlier in BEFORE.get(name, ()):
        await _sent(one, ids, earlier)
    before = await _items(one)
    await _sent(one, ids, name)
    assert await _items(one) - before, f"{name} changed nothing that a feed shows"


async def test_every_mutation_is_there() -> None:
    assert set(UNTOLD) <= set(MUTATIONS)
    assert set(REQUESTS) >= set(MUTATIONS) - set(UNTOLD)


async def test_every_path_that_writes_has_a_twin_here() -> None:
    """The paths call the same resolvers as their twins, so what these tell they tell."""
    twins = {o.graphql_field for o in OPERATIONS if o.writes}
    assert None not in twins
    assert {str(twin).removeprefix("Mutation.") for twin in twins} <= set(MUTATIONS)


async def test_every_kind_of_work_is_known() -> None:
    assert set(JOBS) == set(KINDS)
