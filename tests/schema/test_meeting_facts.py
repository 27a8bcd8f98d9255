"""What has a fixed shape, or a closed vocabulary, has a type beside the documented JSON or text (decision 989)."""

from __future__ import annotations

import pytest

from schema.meeting_facts import facts_of
from storage.event_types import EVENT_TYPES
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = """mutation($input: MeetingLogInput!) { meetingLog(input: $input) { userErrors { message } meeting {
  metadata facts { transcript recordingUrl attendees { name email } location provider startedAt endedAt } } } }"""


async def test_the_documented_keys_of_metadata_have_types(one: Tenant) -> None:
    given = {"location": "Room 4", "attendees": [{"name": "Ada Park", "email": "ada@example.com"}]}
    meeting = (await one.ask(LOG, input={"subject": "s", "metadata": given}))["meeting"]
    assert meeting["metadata"]["location"] == "Room 4"
    others = dict.fromkeys(("transcript", "recordingUrl", "provider", "startedAt", "endedAt"))
    assert meeting["facts"] == {**others, **given}
    bare = (await one.ask(LOG, input={"subject": "s"}))["meeting"]
    assert bare["facts"] == {**others, "location": None, "attendees": []}


async def test_metadata_of_another_shape_is_left_out() -> None:
    odd = {"transcript": 5, "attendees": ["Ada", {"name": 1}], "started_at": "soon", "ended_at": "2026-05-01T09:30:00Z"}
    found = facts_of(odd)
    assert (found.transcript, found.started_at) == (None, None)
    assert [(one.name, one.email) for one in found.attendees] == [(None, None)]
    assert found.ended_at is not None
    assert found.ended_at.isoformat() == "2026-05-01T09:30:00+00:00"


async def test_events_have_their_type_as_a_vocabulary(one: Tenant) -> None:
    await one.ask('mutation { dealCreate(input: {name: "n"}) { deal { id } userErrors { message } } }')
    await one.ask('mutation { notificationEmit(input: {type: "contract_signed"}) { userErrors { message } } }')
    nodes = (await one.ask("{ events(first: 50) { nodes { type kind } } }"))["nodes"]
    kinds = {node["type"]: node["kind"] for node in nodes}
    assert kinds["deal_created"] == "DEAL_CREATED"
    assert all(kind == (type.upper() if type in EVENT_TYPES else None) for type, kind in kinds.items())
