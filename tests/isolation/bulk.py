"""The rows of upserts, exports and notifications in the tables of all operations and paths, and beside their twins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from storage.tables import Event
from tests.isolation.requests import ERRORS, Case, Rest, put, q
from tests.isolation.surfaces import Surfaces, camel

_RESULTS = "results { index outcome id externalKey errors { message field } } created updated unchanged failed dryRun"


_NAMED: dict[str, dict[str, str]] = {
    "accounts": {},
    "contacts": {"accountId": "account"},
    "deals": {"accountId": "account", "championId": "contact", "stageId": "stage"},
    "leads": {},
}
"""The fields of a row that name other records."""


def _upsert(noun: str, field: str) -> Case:
    kind = noun[:-1]
    document = (
        f"mutation($r: [{kind.capitalize()}UpsertInput!]!) {{ {noun}Upsert(rows: $r, matchOn: ID) {{"
        f" results {{ id outcome errors {{ message }} }} {ERRORS} }} }}"
    )
    row: dict[str, Any] = {"id": f"<{kind}>", "name": "<name>"}
    if kind == "contact":
        row = {"id": "<contact>", "lastName": "<name>"}
    rows = [{"id": f"<{kind}>", field: "<name>"}]
    others = [{"id": f"<own {kind}>", name: f"<{record}>"} for name, record in _NAMED[noun].items()]
    asked = [q(document, r=[each]) for each in (row, *others)]
    return Case("CRM_MANAGE", (Rest("POST", f"/{noun}/upsert", {"rows": rows, "match_on": "id"}), *asked))


_EXPORTS = {
    **dict.fromkeys(("accounts", "contacts", "deals", "leads"), "CRM_READ"),
    **dict.fromkeys(("meetings", "activities"), "MEETINGS_READ"),
    "campaigns": "OUTREACH_READ",
}
"""The lists that are exported, with the groups that read them."""

CASES: dict[str, Case] = {
    **{f"exports.export_{noun}": Case(group, (Rest("GET", f"/export/{noun}"),)) for noun, group in _EXPORTS.items()},
    "upserts.upsert_accounts": _upsert("accounts", "name"),
    "upserts.upsert_contacts": _upsert("contacts", "last_name"),
    "upserts.upsert_deals": _upsert("deals", "name"),
    "upserts.upsert_leads": _upsert("leads", "name"),
    "notifications.emit_notification": Case(
        "CRM_MANAGE",
        (
            Rest("POST", "/notifications", {"type": "signed", "record_id": "<deal>"}),
            put("notificationEmit", "NotificationInput", "eventId", type="signed", recordId="<deal>"),
        ),
    ),
}
PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    **{("GET", f"/export/{noun}"): (group, True, 200, f"Query.{noun}") for noun, group in _EXPORTS.items()},
    **{
        ("POST", f"/{noun}/upsert"): ("CRM_MANAGE", True, 200, f"Mutation.{noun}Upsert")
        for noun in ("accounts", "contacts", "deals", "leads")
    },
    ("POST", "/notifications"): ("CRM_MANAGE", True, 202, "Mutation.notificationEmit"),
}


def _compared(noun: str) -> Callable[[Surfaces], Awaitable[None]]:
    async def compared(surfaces: Surfaces) -> None:
        field = "lastName" if noun == "contacts" else "name"
        path_field = "last_name" if noun == "contacts" else "name"
        document = (
            f"mutation($r: [{noun[:-1].capitalize()}UpsertInput!]!, $p: BulkPolicy!) {{"
            f" {noun}Upsert(rows: $r, policy: $p) {{ {_RESULTS} userErrors {{ message field }} }} }}"
        )
        values = [("k-1", "First"), ("k-2", "x" * 10_001), ("k-1", "Again")]
        body = {"rows": [{"external_key": key, path_field: value} for key, value in values]}
        graph = await surfaces.graphql(
            document, r=[{"externalKey": key, field: value} for key, value in values], p="SKIP_FAILED"
        )
        path = (await surfaces.rest("POST", f"/{noun}/upsert", body)).json()
        assert [graph.pop("created"), path.pop("created")] == [1, 0]
        assert [graph.pop("unchanged"), path.pop("unchanged")] == [0, 1]
        for ours, theirs in zip(path["results"], graph.pop("results"), strict=True):
            assert (ours["id"], ours["external_key"]) == (theirs["id"], theirs["externalKey"])
            said = [([camel(str(part)) for part in e["field"]], e["msg"]) for e in ours["errors"]]
            assert said == [(e["field"], e["message"]) for e in theirs["errors"]]
        assert {camel(n): v for n, v in path.items() if n != "results"} | {"userErrors": []} == graph
        refused = await surfaces.rest("POST", f"/{noun}/upsert", {**body, "policy": "all_or_nothing"})
        assert refused.status_code == 422
        assert [each["loc"] for each in refused.json()["detail"]] == [
            ["body", "rows", 1, path_field],
            ["body", "rows", 2, "external_key"],
        ]

    return compared


async def _notifications(surfaces: Surfaces) -> None:
    path = await surfaces.rest("POST", "/notifications", {"type": "signed", "data": {"x": [1]}})
    graph = await surfaces.graphql(
        "mutation($i: NotificationInput!) { notificationEmit(input: $i) { eventId userErrors { code } } }",
        i={"type": "signed", "data": {"x": [1]}},
    )
    world = surfaces.gateway.world
    async with world.database.reading(world.one.id) as session:
        events = [await session.find(Event, id=i) for i in (path.json()["event_id"], graph["eventId"])]
    assert [event and (event.type, event.data) for event in events] == [
        ("notification_emitted", {"type": "signed", "record_id": None})
    ] * 2


COMPARED: dict[str, Callable[[Surfaces], Awaitable[None]]] = {
    **{f"Mutation.{noun}Upsert": _compared(noun) for noun in ("accounts", "contacts", "deals", "leads")},
    "Mutation.notificationEmit": _notifications,
}
