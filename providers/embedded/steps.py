"""Plans of answers: what is asked of the tools, step by step, and what is said in the end."""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from zoneinfo import ZoneInfo

from contract.canonical_json import Json, JsonObject
from contract.tool_answers import ToolTold
from providers.chat_models import Result
from providers.embedded.words import Word

Arguments = JsonObject


@dataclass(frozen=True, slots=True)
class Request:
    """A call of a tool."""

    tool: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call; `why` are the words of its errors."""

    is_ok: bool
    data: Json = None
    is_truncated: bool = False
    why: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Calls that are made together, and what is said before."""

    requests: Sequence[Request]
    text: str = ""


Lines = Sequence[str]
Plan = Generator[Step, Sequence[Outcome], Lines]
"""Yields steps, is sent their outcomes, and returns the answer's lines."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Says which of several records is meant: the number that it was told by, and its line there."""

    number: int
    line: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its words, whose it is, when and where, and the tools that may answer it."""

    text: str
    words: Sequence[Word]
    subject: str
    now: datetime
    zone: ZoneInfo
    tools: Mapping[str, ToolTold] = field(default_factory=dict)
    pick: Pick | None = None

    @property
    def today(self) -> date:
        """The member's day."""
        return self.now.astimezone(self.zone).date()

    def may(self, request: Request) -> bool:
        """Says whether the tool is offered, for the kind that it is asked with."""
        offered = self.tools.get(request.tool)
        kind = request.arguments.get("kind")
        if offered is None or kind is None:
            return offered is not None
        kinds = offered.input_schema.get("properties", {}).get("kind", {}).get("enum")
        return kinds is None or kind in kinds


def outcome_of(result: Result) -> Outcome:
    """Read a result. It may stand within a frame, so its JSON is looked for."""
    at = min((place for sign in "{[" if (place := result.content.find(sign)) >= 0), default=-1)
    try:
        found = json.JSONDecoder().raw_decode(result.content, max(at, 0))[0]
    except (ValueError, RecursionError):
        found = None
    content = found if isinstance(found, dict) else {}
    errors = content.get("errors") if isinstance(content.get("errors"), list) else found
    told = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else content
    if not result.ok:
        return Outcome(False, why=str(told.get("message") or ""), code=str(told.get("code") or "").lower())
    data = content["data"] if "data" in content and "operation" in content else found
    return Outcome(True, data, is_truncated=content.get("truncated") is True)


def one(request: Request, text: str = "") -> Generator[Step, Sequence[Outcome], Outcome]:
    """Make a single call, and return its outcome."""
    [outcome] = yield Step([request], text)
    return outcome


def refused(outcome: Outcome) -> Lines:
    """Say that a call gave nothing, and why."""
    if outcome.code == "forbidden":
        return ["Your credential does not permit that."]
    why = outcome.why.rstrip(".")
    return [f"That did not work: {why}." if why else "That did not work."]


def nodes_of(data: Json) -> list[JsonObject]:
    """The rows of a page."""
    nodes = data.get("nodes") if isinstance(data, dict) else None
    return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []


def has_more(data: Json) -> bool:
    """Says whether there are rows behind the page."""
    page = data.get("pageInfo") if isinstance(data, dict) else None
    return isinstance(page, dict) and page.get("hasNextPage") is True
