"""The works: what is asked, of whom in which words, and what in the answers has to be equal.

All of them answer about the largest organization, in varied requests: from another offset, or about another record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson

from benchmarks.data import Known

GATEWAY, IDIOMATIC, FASTAPI, FLOOR = "gateway", "idiomatic", "fastapi", "floor"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request but for what a contestant adds to every one."""

    method: str
    path: str
    body: Any = None

    def encoded(self, headers: Mapping[str, str]) -> bytes:
        """The bytes on the wire."""
        body = b"" if self.body is None else orjson.dumps(self.body)
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1", "Accept: application/json"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(frozen=True, slots=True)
class Work:
    """One work; `requests` makes each contestant's variants, and `baseline` names the one that is idiomatic for it."""

    name: str
    requests: Callable[[Known, int], Mapping[str, Sequence[Request]]]
    baseline: str = IDIOMATIC
    status: int = 200
    writes: bool = False
    extra: bool = False
    """Whether it is beyond the works that targets are set for."""
    dropped: frozenset[str] = field(default_factory=frozenset)
    """Keys whose values differ by nature."""

    def answer(self, body: bytes) -> Any:
        """What the response says, the same for all contestants however they spell it."""
        return _plain(json.loads(body, parse_float=Decimal), self.dropped)


_MEETING = "id type subject body dueAt completedAt durationMinutes metadata accountId dealId contactId ownerId source"
_ALL_FIELDS = (
    f"{_MEETING} direction createdAt"
    " account { id name domain } deal { id name stageId } contact { id firstName lastName email }"
)
_FIVE_FIELDS = "id subject dueAt durationMinutes accountId"
_DETAIL = "id name value currency status closeDate notes createdAt"
_HEALTH = "id score trend snapshotAt factors { key label score weight value explanation sampleSize }"
_PERSON = "id firstName lastName email title"
_BOARD_DEAL = "id name value currency account { id name } stage { id name }"
_CREATED = "id name value currency accountId status"


def _meetings(count: int, fields: str, path: str) -> Callable[[Known, int], Mapping[str, Sequence[Request]]]:
    def requests(_known: Known, variants: int) -> Mapping[str, Sequence[Request]]:
        offsets = [{"offset": offset} for offset in range(variants)]
        head = "query Meetings($offset: Int!)"
        return {
            GATEWAY: _graphql(
                f"{head} {{ meetings(first: {count}, offset: $offset) {{ nodes {{ {fields} }} }} }}", offsets
            ),
            IDIOMATIC: _graphql(f"{head} {{ meetings(limit: {count}, offset: $offset) {{ {fields} }} }}", offsets),
            FLOOR: [Request("GET", f"/{path}?offset={o['offset']}") for o in offsets],
        }

    return requests


def _detail(known: Known, _variants: int) -> Mapping[str, Sequence[Request]]:
    def text(contacts: str) -> str:
        account = f"account {{ id name domain industry health {{ {_HEALTH} }} }}"
        return f"query Detail($id: ID!) {{ deal(id: $id) {{ {_DETAIL} {account} {contacts} }} }}"

    ids = [{"id": identifier} for identifier in known.deals]
    return {
        GATEWAY: _graphql(text(f"contacts {{ nodes {{ {_PERSON} }} }}"), ids),
        IDIOMATIC: _graphql(text(f"contacts {{ {_PERSON} }}"), ids),
        FLOOR: [Request("GET", f"/deal_detail?id={identifier}") for identifier in known.deals],
    }


def _dashboard(_known: Known, variants: int) -> Mapping[str, Sequence[Request]]:
    lists = (
        ("meetings", 10, "id subject dueAt account { id name }"),
        ("deals", 20, _BOARD_DEAL),
        ("accounts", 10, "id name domain industry"),
    )
    ours = " ".join(f"{name}(first: {n}, offset: $offset) {{ nodes {{ {fields} }} }}" for name, n, fields in lists)
    theirs = " ".join(f"{name}(limit: {n}, offset: $offset) {{ {fields} }}" for name, n, fields in lists)
    offsets = [{"offset": offset} for offset in range(variants)]
    return {
        GATEWAY: _graphql(f"query Dashboard($offset: Int!) {{ {ours} }}", offsets),
        IDIOMATIC: _graphql(f"query Dashboard($offset: Int!) {{ {theirs} }}", offsets),
        FLOOR: [Request("GET", f"/dashboard?offset={offset}") for offset in range(variants)],
    }


def _rest_meetings(_known: Known, variants: int) -> Mapping[str, Sequence[Request]]:
    listing = [Request("GET", f"/activities/meetings?limit=200&offset={offset}") for offset in range(variants)]
    return {
        GATEWAY: listing,
        FASTAPI: listing,
        FLOOR: [Request("GET", f"/rest_meetings_200?offset={offset}") for offset in range(variants)],
    }


def _new_deals(known: Known, key: str) -> list[dict[str, Any]]:
    return [
        {"name": f"Benchmark {number:04}", "value": 1234.5, "currency": "EUR", key: account}
        for number, account in enumerate(known.accounts)
    ]


def _create(known: Known, _variants: int) -> Mapping[str, Sequence[Request]]:
    inputs = [{"input": fields | {"value": "1234.5"}} for fields in _new_deals(known, "accountId")]
    head = "mutation Create($input: DealCreateInput!) { dealCreate(input: $input)"
    ours = f"{head} {{ deal {{ {_CREATED} }} userErrors {{ message }} }} }}"
    return {
        GATEWAY: _graphql(ours, inputs),
        IDIOMATIC: _graphql(f"{head} {{ {_CREATED} }} }}", inputs),
        FLOOR: [Request("POST", "/deal_create", fields) for fields in _new_deals(known, "account_id")],
    }


def _rest_create(known: Known, _variants: int) -> Mapping[str, Sequence[Request]]:
    posts = [Request("POST", "/deals", fields) for fields in _new_deals(known, "account_id")]
    bare = [Request("POST", "/rest_deal_create", post.body) for post in posts]
    return {GATEWAY: posts, FASTAPI: posts, FLOOR: bare}


_MADE = frozenset({"id"})
WORKS: tuple[Work, ...] = (
    Work("meetings_200", _meetings(200, _ALL_FIELDS, "meetings_200")),
    Work("meetings_20", _meetings(20, _FIVE_FIELDS, "meetings_20")),
    Work("deal_detail", _detail),
    Work("dashboard", _dashboard),
    Work("rest_meetings_200", _rest_meetings, baseline=FASTAPI),
    # Last, because what they write is what the others read.
    Work("deal_create", _create, writes=True, dropped=_MADE),
    Work("rest_deal_create", _rest_create, baseline=FASTAPI, status=201, writes=True, extra=True, dropped=_MADE),
)


def _graphql(query: str, variables: Sequence[Mapping[str, Any]]) -> list[Request]:
    return [Request("POST", "/graphql", {"query": query, "variables": dict(values)}) for values in variables]


_WRAPPERS = (
    {"data"},
    {"data", "extensions"},
    {"nodes"},
    {"meetings"},
    {"deal"},
    {"dealCreate"},
    {"deal", "userErrors"},
)
"""Objects that hold an answer and say nothing of it."""
_WORDS = {"source", "status", "trend", "key"}
"""Keys of closed vocabularies, which GraphQL writes in upper case where they are enums."""


def _plain(value: Any, dropped: frozenset[str], key: str = "") -> Any:
    """Times as moments, amounts as numbers, words in lower case, pages as lists."""
    if isinstance(value, list):
        return [_plain(item, dropped) for item in value]
    if isinstance(value, dict):
        if set(value) in _WRAPPERS and not value.get("userErrors"):
            return _plain(next(iter(value.values())), dropped)
        return {k: _plain(v, dropped, k) for k, v in value.items() if k not in dropped}
    if isinstance(value, str):
        if key.endswith(("At", "_at")):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if key == "value":
            return Decimal(value)
        return value.lower() if key in _WORDS else value
    return value
