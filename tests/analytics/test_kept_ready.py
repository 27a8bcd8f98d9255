"""Figures under writers of every kind, through both doors: what is kept ready is what is counted anew (decision 262).

Hypothesis writes, has writes refused or lost at their commit, imports, hands over, changes and deletes stages, and
folds in between. After each step `doctor` finds nothing, and at the end both doors tell what their listings add up to.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterator
from decimal import Decimal
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from contract.errors import Unavailable
from jobs import roll_ups
from storage.base import new_id
from tests.records.test_imports import imported
from tests.support.due import work_off
from tests.support.gateway import Gateway, open_gateway
from tests.support.machines import own_database, run_machine
from tests.support.tenants import Tenant, new_tenant

T = TypeVar("T")
ERRORS = "userErrors { code field }"
CREATE = f"mutation($i: DealCreateInput!) {{ dealCreate(input: $i) {{ deal {{ id }} {ERRORS} }} }}"
CHANGE = f"mutation($id: ID!, $i: DealUpdateInput!) {{ dealUpdate(id: $id, input: $i) {{ deal {{ id }} {ERRORS} }} }}"
UPSERT = f"""mutation($r: [DealUpsertInput!]!, $p: BulkPolicy!) {{
  dealsUpsert(rows: $r, policy: $p) {{ results {{ outcome id }} {ERRORS} }} }}"""
STAGE = f"mutation($i: PipelineStageInput!) {{ pipelineStageCreate(input: $i) {{ stage {{ id }} {ERRORS} }} }}"
RETYPE = f"""mutation($id: ID!, $t: StageType!, $p: Int) {{
  pipelineStageUpdate(id: $id, input: {{type: $t, probability: $p}}) {{ stage {{ id }} {ERRORS} }} }}"""
DELETE = "mutation($id: ID!) {{ {}(id: $id) {{ deletedId }} }}"
LOG = f"mutation($i: MeetingLogInput!) {{ meetingLog(input: $i) {{ meeting {{ id }} {ERRORS} }} }}"
MOVE = f"""mutation($id: ID!, $i: MeetingUpdateInput!) {{
  meetingUpdate(id: $id, input: $i) {{ meeting {{ id }} {ERRORS} }} }}"""
HAND_OVER = f"""mutation($from: ID!, $to: ID!) {{
  ownershipTransfer(input: {{from: $from, to: $to}}) {{ job {{ id }} {ERRORS} }} }}"""
DEALS = "{ deals(first: 500) { nodes { stageId status currency value ownerId } } }"
BY_STAGE = """{ dealAggregate(groupBy: [STAGE, STATUS], first: 500) {
  groups { key { stage { id } status } count values { currency sum } } total { count winRate } } }"""
MEETINGS = "{ meetings(first: 500) { nodes { ownerId durationMinutes } } }"
BY_OWNER = "{ meetingAggregate(groupBy: [OWNER], first: 500) { groups { key { ownerId } count totalMinutes } } }"

AMOUNTS = st.none() | st.sampled_from(["0", "0.0001", "12345.6789", "999999999999.9999"])
DAYS = st.none() | st.sampled_from(["0001-01-01", "2026-02-28", "2026-11-30", "9999-12-31"])
MOMENTS = st.none() | st.sampled_from(["2026-11-22T12:30:00Z", "2026-12-31T23:59:59.999999Z", "1969-12-31T00:00:00Z"])
TYPES = st.sampled_from(["OPEN", "WON", "LOST"])
DOORS = st.sampled_from(["graphql", "rest"])
ROLES = st.sampled_from(["member", "admin"])
WORTH = st.fixed_dictionaries(
    {}, optional={"value": AMOUNTS, "currency": st.sampled_from(["EUR", "JPY"]), "closeDate": DAYS}
)
HELD = st.fixed_dictionaries(
    {},
    optional={
        "dueAt": MOMENTS,
        "completedAt": MOMENTS,
        "durationMinutes": st.none() | st.sampled_from([0, 45]),
    },
)


class Figures(RuleBasedStateMachine):
    """One organization and what is done to it."""

    gateway: Gateway
    runner: asyncio.Runner

    deals: Bundle[str] = Bundle("deals")
    stages: Bundle[str] = Bundle("stages")
    meetings: Bundle[str] = Bundle("meetings")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def done(self, document: str, role: str = "member", **variables: Any) -> Any:
        """What a mutation gave; it has to work."""
        answer = self.run(self.one.ask(document, self.one.headers(role), **variables))
        assert answer.pop("userErrors") == [], answer
        return next(iter(answer.values()))

    def deleted(self, mutation: str, record: str, role: str = "member") -> str | None:
        """The identifier of what a mutation deleted; None where something stood in the way."""
        headers = self.one.headers(role)
        gone: str | None = self.run(self.one.ask(DELETE.format(mutation), headers, id=record))["deletedId"]
        return gone

    def rest(self, method: str, path: str, body: Any = None, role: str = "member", **headers: str) -> Any:
        return self.run(self.gateway.rest(method, path, self.one.headers(role) | headers, body))

    @initialize(target=stages)
    def begin(self) -> Any:
        self.one: Tenant = self.run(new_tenant(self.gateway))
        made = [self.done(STAGE, "admin", i={"name": kind, "type": kind}) for kind in ("OPEN", "WON")]
        return multiple(*(stage["id"] for stage in made))

    @rule(target=stages, kind=TYPES)
    def make_stage(self, kind: str) -> str:
        made: str = self.done(STAGE, "admin", i={"name": new_id(), "type": kind, "probability": 40})["id"]
        return made

    @rule(stage=stages, kind=TYPES, probability=st.none() | st.integers(0, 100))
    def retype_stage(self, stage: str, kind: str, probability: int | None) -> None:
        self.done(RETYPE, "admin", id=stage, t=kind, p=probability)

    @rule(stage=consumes(stages))
    def delete_stage(self, stage: str) -> None:
        self.deleted("pipelineStageDelete", stage, "admin")  # or not, where deals are in it

    @rule(target=deals, door=DOORS, worth=WORTH, stage=st.none() | stages, role=ROLES)
    def make_deal(self, door: str, worth: dict[str, Any], stage: str | None, role: str) -> str:
        fields = {"name": "d", "stageId": stage, **worth}
        made: dict[str, Any]
        if door == "graphql":
            made = self.done(CREATE, role, i=fields)
        else:
            answer = self.rest("POST", "/deals", as_rest(fields), role)
            assert answer.status_code == 201, answer.text
            made = answer.json()
        return str(made["id"])

    @rule(door=DOORS, deal=deals, worth=WORTH, stage=st.none() | stages, moves=st.booleans())
    def change_deal(self, door: str, deal: str, worth: dict[str, Any], stage: str | None, moves: bool) -> None:
        fields = {"notes": "n", **worth, **({"stageId": stage} if moves else {})}
        if door == "graphql":
            self.done(CHANGE, id=deal, i=fields)
        else:
            answer = self.rest("PATCH", f"/deals/{deal}", as_rest(fields))
            assert answer.status_code == 200, answer.text

    @rule(deal=consumes(deals))
    def delete_deal(self, deal: str) -> None:
        assert self.deleted("dealDelete", deal) == deal

    @rule(worth=st.lists(WORTH, min_size=1, max_size=3), keys=st.lists(st.sampled_from("abc"), min_size=3, max_size=3))
    def upsert(self, worth: list[dict[str, Any]], keys: list[str]) -> None:
        """A row is refused as another one's twin, and the others are written."""
        rows = [{"name": "u", "externalKey": key, **fields} for key, fields in zip(keys, worth, strict=False)]
        self.run(self.one.ask(UPSERT, r=rows, p="SKIP_FAILED"))

    @rule(worth=WORTH)
    def refuse(self, worth: dict[str, Any]) -> None:
        """One bad row and nothing is written."""
        rows = [{"name": "never", "externalKey": "x", **worth}, {"name": "never", "stageId": new_id()}]
        assert self.run(self.one.ask(UPSERT, r=rows, p="ALL_OR_NOTHING"))["userErrors"]

    @rule(worth=WORTH, stage=st.none() | stages)
    def lose(self, worth: dict[str, Any], stage: str | None) -> None:
        """The database goes away at the commit: under a key all of a write is one transaction."""
        database = self.gateway.world.database
        end = database.end

        async def lost(taken: Any, organization: str | None, *, commit: bool) -> None:
            await end(taken, organization, commit=False)
            if commit:
                raise Unavailable()

        with patch.object(database, "end", lost):
            body = as_rest({"name": "never", "stageId": stage, **worth})
            answer = self.rest("POST", "/deals", body, **{"Idempotency-Key": new_id()})
        assert answer.status_code == 503, answer.text

    @rule(rows=st.lists(st.tuples(AMOUNTS, DAYS), min_size=1, max_size=3))
    def bring(self, rows: list[tuple[str | None, str | None]]) -> None:
        """An import, of which one row is refused."""
        lines = [f"i,{value or ''},{day or ''},EUR" for value, day in rows]
        text = "\n".join(["name,value,close_date,currency", *lines, "bad,-1,,EUR"]) + "\n"
        told = self.run(imported(self.one, text, "DEAL"))
        assert (told["created"], told["refused"]) == (len(rows), 1)

    @rule(back=st.booleans())
    def hand_over(self, back: bool) -> None:
        one, other = self.one.subject("member"), self.one.subject("admin")
        self.done(HAND_OVER, "admin", **{"from": other if back else one, "to": one if back else other})
        self.run(work_off(self.gateway))

    @rule(target=meetings, held=HELD, role=ROLES)
    def log(self, held: dict[str, Any], role: str) -> str:
        made: str = self.done(LOG, role, i={"subject": "m", **held})["id"]
        return made

    @rule(meeting=meetings, held=HELD)
    def change_meeting(self, meeting: str, held: dict[str, Any]) -> None:
        self.done(MOVE, id=meeting, i={"body": "b", **held})

    @rule(meeting=consumes(meetings))
    def delete_meeting(self, meeting: str) -> None:
        assert self.deleted("meetingDelete", meeting) == meeting

    @rule(tidies=st.booleans())
    def fold(self, tidies: bool) -> None:
        self.run((roll_ups.tidy if tidies else roll_ups.fold_all)(self.gateway.world.database, self.one.id))

    @invariant()
    def nothing_differs(self) -> None:
        """As `doctor` looks for it."""
        if hasattr(self, "one"):
            assert self.run(roll_ups.put_right(self.gateway.world.database, self.one.id, dry=True)) == 0

    def teardown(self) -> None:
        if hasattr(self, "one"):
            self.is_what_the_listing_adds_up_to()
            self.fold(tidies=True)
            self.nothing_differs()
            self.is_what_the_listing_adds_up_to()

    def is_what_the_listing_adds_up_to(self) -> None:
        deals = self.run(self.one.ask(DEALS))["nodes"]
        counts = Counter((deal["stageId"], deal["status"]) for deal in deals)
        sums: dict[Any, Decimal] = defaultdict(Decimal)
        for deal in deals:
            if deal["value"] is not None:
                sums[deal["stageId"], deal["status"], deal["currency"]] += Decimal(deal["value"])
        told = self.run(self.one.ask(BY_STAGE))
        keys = [((g["key"]["stage"] or {"id": None})["id"], g["key"]["status"]) for g in told["groups"]]
        assert dict(zip(keys, (group["count"] for group in told["groups"]), strict=True)) == counts
        values = {
            (*k, v["currency"]): Decimal(v["sum"])
            for k, g in zip(keys, told["groups"], strict=True)
            for v in g["values"]
        }
        assert {key: value for key, value in values.items() if value} == {
            key: value for key, value in sums.items() if value
        }
        assert told["total"]["count"] == len(deals)
        shown = self.rest("GET", "/deals/aggregate?group_by=stage,status&first=500").json()
        assert sorted(group["count"] for group in shown["groups"]) == sorted(counts.values())
        meetings = self.run(self.one.ask(MEETINGS))["nodes"]
        held: dict[str, list[int]] = defaultdict(list)
        for meeting in meetings:
            held[meeting["ownerId"]].append(meeting["durationMinutes"] or 0)
        by_owner = self.run(self.one.ask(BY_OWNER))["groups"]
        shown_minutes = {g["key"]["ownerId"]: (g["count"], g["totalMinutes"]) for g in by_owner}
        assert shown_minutes == {owner: (len(minutes), sum(minutes)) for owner, minutes in held.items()}


def as_rest(fields: dict[str, Any]) -> dict[str, Any]:
    """A deal's fields as REST has them."""
    names = {"stageId": "stage_id", "closeDate": "close_date"}
    shown = {names.get(name, name): value for name, value in fields.items()}
    return {name: float(v) if name == "value" and v is not None else v for name, v in shown.items()}


@pytest.fixture(scope="module")
def machine(machine_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Figures]]:
    """The machine over an application of its own: what it does is no coroutine."""
    with asyncio.Runner() as runner:
        opened = open_gateway(machine_url, tmp_path_factory.mktemp("kept_ready") / "data")
        gateway = runner.run(opened.__aenter__())
        try:
            yield type("Figures", (Figures,), {"gateway": gateway, "runner": runner})
        finally:
            runner.run(opened.__aexit__(None, None, None))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def machine_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from own_database("kept_ready", request, tmp_path_factory)


def test_a_few_writers(machine: type[Figures]) -> None:
    run_machine(machine, 2, 12, is_random=False)


@pytest.mark.long
def test_many_writers(machine: type[Figures]) -> None:
    run_machine(machine, 300, 40, is_random=True)
