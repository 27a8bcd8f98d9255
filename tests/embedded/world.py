"""Tools that answer from the real catalogue: arguments are checked by it, records are a few that stand here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from contract.tool_answers import ToolTold
from providers.chat_models import Answered, Call, Conversation, Result, Said, Text, Turn
from providers.embedded.answerer import Embedded
from schema.tools import Catalogue, Offer
from tests.support.schemas import built

NOW = datetime(2026, 11, 24, 9, tzinfo=UTC)
ZONE = "Europe/Berlin"
ME = "rep-1"
RECORDS = {
    "account": ("Acme", "Open Systems", "Globex GmbH", "Globex Labs"),
    "contact": ("Jo Ito",),
    "deal": ("Acme renewal", "Globex rollout"),
    "lead": ("Lia Lead",),
    "meeting": ("Kickoff",),
}
STAGES = {"Discovery": "open", "Negotiation": "open", "Closed won": "won", "Closed lost": "lost"}


def id_of(name: str) -> str:
    return ME if name == "me" else str(uuid5(NAMESPACE_URL, name))


def filled(value: Any, ids: Any = id_of) -> Any:
    """Arguments with identifiers in the place of names in angle brackets."""
    if isinstance(value, dict):
        return {key: filled(of, ids) for key, of in value.items()}
    if isinstance(value, list):
        return [filled(of, ids) for of in value]
    found = re.fullmatch(r"<(.+)>", value) if isinstance(value, str) else None
    return value if found is None or found[1] == "text" else ids(found[1])


@lru_cache(maxsize=1)
def offers() -> dict[str, Offer]:
    return {offer.tool.name: offer for offer in Catalogue(built().graphql).offered()}


def offered(*without: str) -> list[ToolTold]:
    return [offer.told for name, offer in offers().items() if name not in without]


@dataclass
class World:
    """Runs the loop of a chat with the embedded answerer, and keeps what it called."""

    turns: list[Turn] = field(default_factory=list)
    steps: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)
    without: tuple[str, ...] = ()
    gives: dict[str, Any] = field(default_factory=dict)
    """What tools give instead: data, or an error with its code."""

    async def ask(self, text: str, most: int = 8) -> str:
        """What is said at last."""
        self.turns.append(Said(text))
        self.steps = []
        said = ""
        for _ in range(most):
            text, calls = await self._step()
            said += text
            self.turns.append(Answered(text, calls))
            if not calls:
                return said
            self.steps.append([(call.tool, dict(call.arguments or {})) for call in calls])
            self.turns += [await self.result(call) for call in calls]
        raise AssertionError("too many steps")

    async def _step(self) -> tuple[str, list[Call]]:
        asked = Conversation("", self.turns, offered(*self.without), ME, NOW, ZONE)
        deltas = [delta async for delta in Embedded().answer(asked, 5)]
        text = "".join(delta.text for delta in deltas if isinstance(delta, Text))
        return text, [delta for delta in deltas if isinstance(delta, Call)]

    async def result(self, call: Call) -> Result:
        offer, arguments = offers()[call.tool], dict(call.arguments or {})
        read = offer.read(arguments)
        assert not isinstance(read, list), (call, read)
        if call.tool in self.gives:
            given = self.gives[call.tool]
            return Result(call.id, call.tool, json.dumps(given), ok="errors" not in given)
        data = getattr(self, call.tool)(**arguments)
        told = {"operation": read[0].operations[0], "data": data, "truncated": False}
        return Result(call.id, call.tool, json.dumps(told))

    def search(self, query: str, types: list[str], first: int) -> Any:
        words = query.lower().split()
        return [
            {"type": kind.upper(), "node": {"id": id_of(name), "name": name}}
            for kind, names in RECORDS.items()
            for name in names
            if kind.upper() in types and all(any(of.startswith(word) for of in name.lower().split()) for word in words)
        ][:first]

    def list_records(self, kind: str, **_more: Any) -> Any:
        names = RECORDS.get(kind, ("Spring",))
        rows = [{"id": id_of(name), "name": name, "value": "1500.50", "currency": "EUR"} for name in names]
        return {"nodes": rows, "pageInfo": {"hasNextPage": False, "endCursor": None}}

    def get_record(self, kind: str, id: str) -> Any:
        [name] = [name for name in RECORDS[kind] if id_of(name) == id]
        return {"id": id, "name": name, "notes": "Likes tea"}

    def describe(self) -> Any:
        stages = [{"id": id_of(name), "name": name, "type": type.upper()} for name, type in STAGES.items()]
        return {"viewer": {"subject": ME}, "pipelineStages": stages}

    def deal_board(self) -> Any:
        column = {
            "stage": {"name": "Discovery", "type": "OPEN"},
            "dealCount": 1,
            "totals": [{"currency": "EUR", "amount": "1500"}],
        }
        return {"totals": column["totals"], "columns": [column]}

    def account_health(self, id: str) -> Any:
        factor = {"label": "Meetings", "score": 80, "explanation": "3 in 30 days"}
        told = {"score": 72, "trend": "STABLE", "snapshotAt": "2026-11-23T05:00:00Z", "factors": [factor]}
        return {"id": id, "name": "Acme", "health": told}

    def changes(self, **_more: Any) -> Any:
        data = {"deal_id": id_of("Acme renewal"), "account_id": id_of("Acme"), "changed": ["stage_id"]}
        event = {"type": "deal_updated", "actor": ME, "occurredAt": "2026-11-24T08:00:00Z", "data": data}
        return {"nodes": [event], "pageInfo": {"hasNextPage": False, "endCursor": None}}

    def ask_data(self, question: str) -> Any:
        columns = [{"name": "status", "label": "Status"}, {"name": "count", "label": "Count"}]
        return {"explanation": "Two.", "result": {"columns": columns, "rows": [["new", "2"], ["won", "1"]]}}

    def log_note(self, **_more: Any) -> Any:
        return {"note": {"id": "1"}, "userErrors": []}

    def move_deal(self, **_more: Any) -> Any:
        return {"deal": {"id": "1"}, "userErrors": []}
