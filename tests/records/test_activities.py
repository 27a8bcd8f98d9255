"""Activities of every type in one list, on both surfaces; and the meeting listing beside them, which knows none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from contract.criteria import ListQuery
from storage.tables import Account, Activity, Contact, Deal, Lead
from tests.isolation.requests import Case, Rest, by_id, of, q
from tests.isolation.surfaces import Surfaces, camel
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHARED = [
    *("id", "type", "subject", "body", "occurred_at", "account_id", "deal_id", "contact_id", "lead_id", "owner_id"),
    *("source", "tags", "created_at", "updated_at", "version"),
]
MESSAGE = ["direction", "sent_at", "from_address", "to_addresses", "cc_addresses", "message_id", "thread_id"]
KEYS = {
    "meeting": [*SHARED, "due_at", "completed_at", "duration_minutes", "metadata"],
    "task": [*SHARED, "due_at", "completed_at", "remind_at", "priority", "state"],
    "note": [*SHARED, "is_pinned"],
    "call": [*SHARED, "direction", "started_at", "duration_minutes", "phone", "outcome"],
    "email": [*SHARED, *MESSAGE],
}
LIST = """query($f: ActivityFilter, $o: ActivityOrder, $n: Int, $a: String) {
  activities(filter: $f, orderBy: $o, first: $n, after: $a) {
    nodes { id kind __typename } edges { cursor } pageInfo { endCursor hasNextPage } totalCount } }"""


def every_type(account: str | None = None, **more: Any) -> list[Activity]:
    """One of each type, each an hour before the one before it."""
    made = {"created_at": NOON - timedelta(days=1), "account_id": account, **more}
    return [
        Activity(type="meeting", subject="M", due_at=NOON, **made),
        Activity(type="task", subject="T", due_at=NOON - timedelta(hours=1), **made),
        Activity(type="call", subject="C", direction="inbound", due_at=NOON - timedelta(hours=2), **made),
        Activity(type="email", subject="E", direction="outbound", due_at=NOON - timedelta(hours=3), **made),
        Activity(type="note", body="N", **made),
    ]


async def test_one_list_in_one_order(one: Tenant, two: Tenant) -> None:
    rows = every_type()
    await one.add(*rows)
    await two.add(*every_type())
    page = await one.ask(LIST, n=2)
    assert [(n["id"], n["kind"], n["__typename"]) for n in page["nodes"]] == [
        (rows[0].id, "MEETING", "Meeting"),
        (rows[1].id, "TASK", "Task"),
    ]
    assert page["totalCount"] == 5
    rest = await one.ask(LIST, n=9, a=page["pageInfo"]["endCursor"])
    assert [n["id"] for n in rest["nodes"]] == [row.id for row in rows[2:]]
    assert not rest["pageInfo"]["hasNextPage"]
    backwards = await one.ask(LIST, o={"field": "OCCURRED_AT", "direction": "ASC"})
    assert [n["id"] for n in backwards["nodes"]] == [row.id for row in reversed(rows)]
    untimed = await one.ask(LIST, o={"field": "DUE_AT", "direction": "ASC"})
    assert [n["id"] for n in untimed["nodes"]] == [rows[i].id for i in (3, 2, 1, 0, 4)]


async def test_what_the_filter_finds(one: Tenant) -> None:
    lead = Lead(name="L")
    await one.add(lead)
    meeting, task, call, email, note = every_type()
    done = Activity(type="task", subject="D", completed_at=NOON, due_at=NOON, lead_id=lead.id, owner_id="o")
    ahead = Activity(type="task", subject="A", due_at=NOON + timedelta(days=100_000), created_at=NOON)
    undated = Activity(type="task", subject="U", created_at=NOON)
    everything = [meeting, task, call, email, note, done, ahead, undated]
    await one.add(*everything)
    for filter, found in (
        ({"types": ["TASK"]}, [task, done, ahead, undated]),
        ({"types": ["CALL", "EMAIL"]}, [call, email]),
        ({"types": []}, []),
        ({"taskStates": ["OPEN"]}, [ahead, undated]),
        ({"taskStates": ["OVERDUE"]}, [task]),
        ({"taskStates": ["DONE", "OVERDUE"]}, [task, done]),
        ({"taskStates": []}, []),
        ({"not": {"taskStates": ["OPEN", "OVERDUE", "DONE"]}}, [meeting, call, email, note]),
        ({"direction": "INBOUND"}, [call]),
        ({"leadId": {"eq": lead.id}}, [done]),
        ({"ownerId": {"eq": "o"}}, [done]),
        ({"subject": {"eq": "E"}}, [email]),
        ({"occurredAt": {"gt": NOON.isoformat()}}, [ahead]),
        ({"or": [{"types": ["NOTE"]}, {"source": {"neq": "MANUAL"}}]}, [note]),
    ):
        listed = await one.ask(LIST, f=filter)
        assert {n["id"] for n in listed["nodes"]} == {row.id for row in found}, filter
        assert listed["totalCount"] == len(found), filter


async def test_links_and_fields_of_each_type_come_along(one: Tenant) -> None:
    account, contact = Account(name="A"), Contact(first_name="C")
    await one.add(account, contact)
    rows = every_type(account.id, contact_id=contact.id)
    await one.add(*rows)
    document = """{ activities { nodes { kind occurredAt account { name } contact { firstName } lead { id }
      ... on Meeting { meets: state } ... on Task { priority state } ... on Note { body }
      ... on Call { startedAt direction } ... on Email { sentAt toAddresses } } } }"""
    nodes = (await one.ask(document))["nodes"]
    assert all(n["account"] == {"name": "A"} and n["contact"] == {"firstName": "C"} for n in nodes)
    own = [{k: v for k, v in n.items() if k not in ("account", "contact", "lead", "occurredAt")} for n in nodes]
    assert own == [
        {"kind": "MEETING", "meets": "OVERDUE"},
        {"kind": "TASK", "priority": "NORMAL", "state": "OVERDUE"},
        {"kind": "CALL", "startedAt": "2026-05-01T10:00:00Z", "direction": "INBOUND"},
        {"kind": "EMAIL", "sentAt": "2026-05-01T09:00:00Z", "toAddresses": []},
        {"kind": "NOTE", "body": "N"},
    ]
    single = "query($id: ID!) { activity(id: $id) { __typename subject owner { name } ... on Call { phone } } }"
    assert await one.ask(single, id=rows[2].id) == {"__typename": "Call", "subject": "C", "owner": None, "phone": None}
    node = "query($id: ID!) { node(id: $id) { __typename ... on Activity { kind account { name } } } }"
    for row, name in zip(rows, ("Meeting", "Task", "Call", "Email", "Note"), strict=True):
        found = await one.ask(node, id=row.id)
        assert found == {"__typename": name, "kind": name.upper(), "account": {"name": "A"}}


@pytest.mark.parametrize("noun", ["account", "contact", "deal", "lead"])
async def test_the_activities_of_a_record(one: Tenant, noun: str) -> None:
    """As many statements for ten records as for one."""
    make: dict[str, Any] = {
        "account": lambda: Account(name="A"),
        "contact": lambda: Contact(first_name="C"),
        "deal": lambda: Deal(name="D"),
        "lead": lambda: Lead(name="L"),
    }
    records = [make[noun]() for _ in range(10)]
    await one.add(*records)
    for record in records:
        await one.add(*every_type(**{f"{noun}_id": record.id}))
    await one.add(*every_type())
    below = "activities(first: 2, filter: {types: [TASK, NOTE]}) { nodes { kind } totalCount }"
    [record] = (await one.ask(f"{{ {noun}s(first: 1) {{ nodes {{ {below} }} }} }}"))["nodes"]
    assert record["activities"] == {"nodes": [{"kind": "TASK"}, {"kind": "NOTE"}], "totalCount": 2}
    counted = []
    for size in (1, 10):
        with statements(one.gateway.world.database) as sent:
            listed = await one.ask(f"{{ {noun}s(first: {size}) {{ nodes {{ {below} }} }} }}")
        assert len(listed["nodes"]) == size
        counted.append(len(sent))
    assert counted[0] == counted[1]


async def test_meetings_and_activities_of_a_record_are_counted_apart(one: Tenant) -> None:
    account = Account(name="A", domain="a.example")
    await one.add(account, *every_type(account.id))
    lists = "meetings(first: 1) { totalCount } activities(first: 1) { totalCount }"
    counted = {"meetings": {"totalCount": 1}, "activities": {"totalCount": 5}}
    assert await one.ask(f"query($id: ID!) {{ account(id: $id) {{ {lists} }} }}", id=account.id) == counted
    assert await one.ask(f"{{ accounts {{ nodes {{ {lists} }} }} }}") == {"nodes": [counted]}


async def test_the_search_finds_them_where_types_name_them(one: Tenant) -> None:
    rows = every_type()
    for row in rows:
        row.subject = "Zeppelin"
    await one.add(*rows)
    search = 'query($t: [SearchType!]) { search(query: "zepp", types: $t) { type node { __typename id } } }'
    assert [hit["type"] for hit in await one.ask(search)] == ["MEETING"]
    found = await one.ask(search, t=["NOTE", "TASK", "CALL", "EMAIL"])
    assert [(hit["type"], hit["node"]["__typename"]) for hit in found] == [
        ("TASK", "Task"),
        ("NOTE", "Note"),
        ("CALL", "Call"),
        ("EMAIL", "Email"),
    ]
    below = await one.scoped("api:read", name="narrow")
    assert await one.ask(search, below, t=["NOTE", "MEETING"]) == []


async def test_the_meeting_listing_knows_none_of_them(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    [meeting, *others] = every_type(account.id)
    await one.add(meeting)
    before = await one.gateway.rest("GET", "/activities/meetings", one.headers())
    await one.add(*others)
    after = await one.gateway.rest("GET", "/activities/meetings", one.headers())
    assert after.content == before.content  # to the byte
    assert [row["id"] for row in after.json()] == [meeting.id]
    assert (await one.ask("{ meetings { nodes { id } totalCount } }")) == {
        "nodes": [{"id": meeting.id}],
        "totalCount": 1,
    }


async def _sent(tenant: Tenant, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
    return await tenant.gateway.rest(method, path, tenant.headers() | headers, body)


async def test_the_paths_list_and_find(one: Tenant) -> None:
    rows = every_type()
    await one.add(*rows)
    _, task, call, email, note = rows
    since = (NOON - timedelta(hours=2)).isoformat()
    for query, found in (
        ("", rows),
        ("order=asc", rows[::-1]),
        ("type=task&type=note", [task, note]),
        ("type=call,email&limit=1", [call]),
        ("task_state=overdue", [task]),
        (f"from={since}&to={since}".replace("+", "%2B"), [call]),
        ("updated_since=2999-01-01", []),
        (f"account_id={task.id}", []),
        ("limit=2&offset=3", [email, note]),
    ):
        answer = await _sent(one, "GET", f"/activities?{query}")
        assert [row["id"] for row in answer.json()] == [row.id for row in found], query
        assert all(list(row) == KEYS[row["type"]] for row in answer.json())
    for query, at in (
        ("type=lunch", ["query", "type", 0]),
        ("type=", ["query", "type", 0]),
        ("order=up", ["query", "order"]),
    ):
        answer = await _sent(one, "GET", f"/activities?{query}")
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, at)
    answer = await _sent(one, "GET", f"/activities/{call.id}")
    assert (answer.status_code, answer.headers["etag"]) == (200, '"1"')
    assert answer.json()["started_at"] == "2026-05-01T10:00:00Z"
    assert (await _sent(one, "GET", f"/activities/{call.id}", **{"If-None-Match": '"1"'})).status_code == 304
    late = await _sent(one, "GET", f"/activities/{task.id}", **{"If-None-Match": '"1"'})
    assert (late.status_code, late.json()["state"]) == (200, "overdue")  # decision 1105: it was open in that version


async def test_the_paths_write(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    bodies: list[dict[str, Any]] = [
        {"type": "task", "subject": "T", "due_at": "2026-05-01T12:00:00Z", "priority": "high"},
        {"type": "note", "body": "N", "account_id": account.id, "is_pinned": True},
        {"type": "call", "subject": "C", "started_at": "2026-05-01T12:00:00Z", "direction": "inbound"},
        {"type": "email", "subject": "E", "to_addresses": ["a"], "message_id": "<1>"},
    ]
    for body in bodies:
        answer = await _sent(one, "POST", "/activities", body)
        assert answer.status_code == 201, answer.text
        assert answer.headers["location"] == f"/activities/{answer.json()['id']}"
        shown = (await _sent(one, "GET", answer.headers["location"])).json()
        assert shown.items() >= body.items()
        assert list(shown) == KEYS[body["type"]]
        path = answer.headers["location"]
        stale = await _sent(one, "PATCH", path, {"subject": "S"}, **{"If-Match": '"7"'})
        assert stale.status_code == 412
        changed = await _sent(one, "PATCH", path, {"subject": "S"}, **{"If-Match": '"1"'})
        assert (changed.json()["subject"], changed.headers["etag"]) == ("S", '"2"')
        foreign = await _sent(one, "PATCH", path, {"remind_at" if body["type"] != "task" else "phone": None})
        assert foreign.status_code == 422
        assert foreign.json()["detail"][0]["loc"][0] == "body"
        finished = await _sent(one, "POST", f"{path}/complete")
        assert finished.status_code == (200 if body["type"] == "task" else 409)
        assert (await _sent(one, "DELETE", path)).status_code == 204
        assert (await _sent(one, "DELETE", path)).status_code == 404
    assert await one.rows(Activity.id) == []


async def test_what_the_paths_refuse(one: Tenant) -> None:
    for body, at in (
        ({"type": "meeting", "subject": "M"}, ["body", "type"]),
        ({"subject": "M"}, ["body", "type"]),
        ({"type": "note", "body": " ", "account_id": None}, ["body", "body"]),
        ({"type": "note", "body": "N"}, ["body"]),
        ({"type": "task", "subject": "T", "body": "B", "phone": "1"}, ["body", "phone"]),
        ({"type": "task"}, ["body", "subject"]),
        ({"type": "task", "subject": "T", "deal_id": "no-uuid"}, ["body", "deal_id"]),
        ({"type": "call", "subject": "C", "duration_minutes": -1}, ["body", "duration_minutes"]),
    ):
        answer = await _sent(one, "POST", "/activities", body)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, at), body
    assert await one.rows(Activity.id) == []
    meeting = Activity(subject="M")
    await one.add(meeting)
    done = await _sent(one, "POST", f"/activities/{meeting.id}/complete", {"at": "2026-05-01T12:00:00Z"})
    assert (done.status_code, done.json()["completed_at"]) == (200, "2026-05-01T12:00:00Z")
    assert (await _sent(one, "POST", f"/activities/{meeting.id}/reopen")).status_code == 409


_ENUMS = ("source", "priority", "state", "direction")


def shown(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a path as GraphQL says it."""
    values = {key: value.upper() if key in _ENUMS and value else value for key, value in record.items()}
    values["kind"] = values.pop("type").upper()
    return {camel(key): value for key, value in values.items()}


def _fields(kind: str) -> str:
    return " ".join("kind" if key == "type" else camel(key) for key in KEYS[kind])


FIELDS = " ".join(f"... on {kind.capitalize()} {{ {_fields(kind)} }}" for kind in KEYS)


async def _activities(surfaces: Surfaces) -> None:
    await surfaces.gateway.world.add(surfaces.gateway.world.one, *every_type())
    for query, arguments in (
        ("", ""),
        ("type=task,note", "(filter: {types: [TASK, NOTE]})"),
        ("order=asc&limit=2", "(first: 2, orderBy: {field: OCCURRED_AT, direction: ASC})"),
        ("task_state=overdue", "(filter: {taskStates: [OVERDUE]})"),
    ):
        listed = (await surfaces.rest("GET", f"/activities?{query}")).json()
        page = await surfaces.graphql(f"{{ activities{arguments} {{ nodes {{ {FIELDS} }} }} }}")
        assert [shown(record) for record in listed] == page["nodes"], query
        assert listed


async def _activity(surfaces: Surfaces) -> None:
    rows = every_type()
    await surfaces.gateway.world.add(surfaces.gateway.world.one, *rows)
    for row in rows:
        by_path = (await surfaces.rest("GET", f"/activities/{row.id}")).json()
        found = await surfaces.graphql(f"query($id: ID!) {{ activity(id: $id) {{ {FIELDS} }} }}", id=row.id)
        assert shown(by_path) == found


def _alike(record: dict[str, Any]) -> dict[str, Any]:
    fresh = ("id", "createdAt", "updatedAt", "occurredAt", "completedAt")
    return {key: value for key, value in record.items() if key not in fresh}


async def _create(surfaces: Surfaces) -> None:
    body = {"type": "task", "subject": "T", "due_at": "2999-05-01T12:00:00Z", "priority": "low"}
    made = (await surfaces.rest("POST", "/activities", body)).json()
    by_path = (await surfaces.rest("GET", f"/activities/{made['id']}")).json()
    input = {"subject": "T", "dueAt": "2999-05-01T12:00:00Z", "priority": "LOW"}
    task = await surfaces.change(
        "taskCreate", "$i: TaskCreateInput! -> input: $i", f"task {{ {_fields('task')} }}", i=input
    )
    assert _alike(shown(by_path)) == _alike(task["task"])


def _changes(mutation: str, method: str, path: str, body: Any, arguments: str) -> Any:
    async def compare(surfaces: Surfaces) -> None:
        twins = [Activity(type="task", subject="T", completed_at=NOON if "eopen" in mutation else None) for _ in "ab"]
        await surfaces.gateway.world.add(surfaces.gateway.world.one, *twins)
        by_path = await surfaces.rest(method, path.format(twins[0].id), body)
        task = await surfaces.change(
            mutation, f"$id: ID! -> id: $id{arguments}", f"task {{ {_fields('task')} }}", id=twins[1].id
        )
        assert _alike(shown(by_path.json())) == _alike(task["task"])

    return compare


async def _delete(surfaces: Surfaces) -> None:
    twins = every_type()[:2]
    await surfaces.gateway.world.add(surfaces.gateway.world.one, *twins)
    assert (await surfaces.rest("DELETE", f"/activities/{twins[0].id}")).status_code == 204
    gone = await surfaces.change("activityDelete", "$id: ID! -> id: $id", "deletedId", id=twins[1].id)
    assert gone == {"deletedId": twins[1].id}
    assert (await surfaces.rest("GET", "/activities")).json() == []


def _below(noun: str) -> Case:
    reader = f"{noun}s.get_{noun}"
    return Case(
        "MEETINGS_READ",
        (of(noun, "activities { nodes { subject } totalCount }"),),
        below=(reader,),
        direct=(f"<{noun}>", ListQuery()),
    )


RECORD = RecordType(
    typename="Activity",
    name="activity",
    group="MEETINGS_READ",
    is_node=False,
    row=lambda ids, mark: Activity(type="task", subject=mark, body=mark, deal_id=ids["deal"]),
    cases={
        "activities.get_activity": Case(
            "MEETINGS_READ", (Rest("GET", "/activities/<activity>"), of("activity", "subject"))
        ),
        "activities.list_activities": Case(
            "MEETINGS_READ",
            (
                Rest("GET", "/activities"),
                Rest("GET", "/activities?type=task&account_id=<account>"),
                Rest("GET", "/activities?lead_id=<lead>&contact_id=<contact>"),
                q(
                    "query($id: ID!) { activities(filter: {or: [{accountId: {eq: $id}}, {account: {id: {eq: $id}}}]})"
                    " { nodes { subject } totalCount } }",
                    id="<account>",
                ),
            ),
        ),
        **{f"activities.activities_of_{noun}": _below(noun) for noun in ("account", "contact", "deal", "lead")},
        "activities.delete_activity": Case(
            "CRM_MANAGE",
            (Rest("DELETE", "/activities/<activity>"), by_id("activityDelete", "activity", "deletedId")),
        ),
    },
    paths={
        ("GET", "/activities"): ("MEETINGS_READ", True, 200, "Query.activities"),
        ("GET", "/activities/{activity_id}"): ("MEETINGS_READ", True, 200, "Query.activity"),
        ("POST", "/activities"): ("CRM_MANAGE", True, 201, "Mutation.taskCreate"),
        ("PATCH", "/activities/{activity_id}"): ("CRM_MANAGE", True, 200, "Mutation.taskUpdate"),
        ("DELETE", "/activities/{activity_id}"): ("CRM_MANAGE", True, 204, "Mutation.activityDelete"),
        ("POST", "/activities/{activity_id}/complete"): ("CRM_MANAGE", True, 200, "Mutation.taskComplete"),
        ("POST", "/activities/{activity_id}/reopen"): ("CRM_MANAGE", True, 200, "Mutation.taskReopen"),
    },
    keys={("/activities", "POST"): ["id"]},
    keys_by_type={
        ("/activities", "GET"): KEYS,
        ("/activities/{activity_id}", "GET"): KEYS,
        ("/activities/{activity_id}", "PATCH"): KEYS,
        ("/activities/{activity_id}/complete", "POST"): KEYS,
        ("/activities/{activity_id}/reopen", "POST"): KEYS,
    },
    compared={
        "Query.activities": _activities,
        "Query.activity": _activity,
        "Mutation.taskCreate": _create,
        "Mutation.taskUpdate": _changes(
            "taskUpdate", "PATCH", "/activities/{}", {"body": "B", "subject": "S"}, ', input: {body: "B", subject: "S"}'
        ),
        "Mutation.taskComplete": _changes("taskComplete", "POST", "/activities/{}/complete", None, ""),
        "Mutation.taskReopen": _changes("taskReopen", "POST", "/activities/{}/reopen", None, ""),
        "Mutation.activityDelete": _delete,
    },
)
