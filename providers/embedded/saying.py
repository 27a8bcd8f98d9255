"""Rows and records in words: one line each, named by their marks."""

from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from zoneinfo import ZoneInfo

from providers.embedded.finding import label_of, mark

_TEXT_MAX: Final = 600
Node = dict[str, Any]  # Any: JSON


def line(kind: str, node: Node, zone: ZoneInfo) -> str:
    """A row of a list."""
    parts = [mark(kind, str(node.get("id"))), *_PARTS[kind](node, zone)]
    return "- " + " · ".join(part for part in parts if part)


def amount(value: object, currency: object) -> str:
    """An amount of money; empty where there is none."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return ""
    return f"{number:,f} {currency or ''}".strip()


def when(moment: object, zone: ZoneInfo) -> str:
    """A moment where the member is."""
    try:
        found = datetime.fromisoformat(str(moment)).astimezone(zone)
    except ValueError:
        return ""
    return f"{found:%a} {found.day} {found:%b %Y}, {found:%H:%M}"


def words(value: object) -> str:
    """A word of a vocabulary."""
    return str(value or "").replace("_", " ").lower()


def named(value: object) -> str:
    """The name of a linked record, or of a person."""
    return label_of(value) if isinstance(value, dict) else ""


def _account(node: Node, zone: ZoneInfo) -> list[str]:
    return [str(node.get("domain") or ""), str(node.get("industry") or ""), named(node.get("owner"))]


def _contact(node: Node, zone: ZoneInfo) -> list[str]:
    return [str(node.get("title") or ""), str(node.get("email") or ""), named(node.get("account"))]


def _deal(node: Node, zone: ZoneInfo) -> list[str]:
    closing = f"closes {node['closeDate']}" if node.get("closeDate") else ""
    of = [amount(node.get("value"), node.get("currency")), named(node.get("stage")), named(node.get("account"))]
    return [*of, words(node.get("status")), closing]


def _lead(node: Node, zone: ZoneInfo) -> list[str]:
    return [str(node.get("company") or ""), words(node.get("status")), str(node.get("email") or "")]


def _meeting(node: Node, zone: ZoneInfo) -> list[str]:
    at = when(node.get("dueAt") or node.get("completedAt"), zone)
    return [at, words(node.get("state")), named(node.get("account")), named(node.get("deal"))]


def _campaign(node: Node, zone: ZoneInfo) -> list[str]:
    return [words(node.get("status"))]


_PARTS: Final = {
    "account": _account,
    "contact": _contact,
    "deal": _deal,
    "lead": _lead,
    "meeting": _meeting,
    "campaign": _campaign,
}
_TOLD: Final = ("phone", "notes", "body", "source", "linkedin", "disqualifiedReason", "durationMinutes")
_LINKED: Final = {"contacts": "contact", "deals": "deal"}


def record(kind: str, node: Node, zone: ZoneInfo) -> list[str]:
    """A record with what it is linked to."""
    found = [line(kind, node, zone).removeprefix("- ")]
    owner, tags = named(node.get("owner")), node.get("tags")
    found += [f"- owner: {owner}"] if owner and kind != "account" else []
    found += [f"- tags: {', '.join(map(str, tags))}"] if isinstance(tags, list) and tags else []
    for name in _TOLD:
        if node.get(name):
            text = str(node[name])
            found.append(f"- {_name(name)}: {text[:_TEXT_MAX]}{'…' if len(text) > _TEXT_MAX else ''}")
    for name, of in _LINKED.items():
        linked = _rows(node.get(name))
        if linked:
            found += ["", f"{name.capitalize()}:", *(line(of, row, zone) for row in linked)]
    return found


def _rows(page: object) -> list[Node]:
    if not isinstance(page, dict):
        return []
    nodes = page.get("nodes") or [edge.get("node") for edge in page.get("edges") or () if isinstance(edge, dict)]
    return [node for node in nodes if isinstance(node, dict)]


def _name(key: str) -> str:
    return "".join(f" {sign.lower()}" if sign.isupper() else sign for sign in key)
