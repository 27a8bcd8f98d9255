"""Has what is asked of whom: requests, the works that they belong to, and the names of the contestants."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from benchmarks.answers import plain
from benchmarks.data import Known

GATEWAY, IDIOMATIC, FASTAPI, FLOOR, MERCURIUS = "gateway", "idiomatic", "fastapi", "floor", "mercurius"
LARGEST, NOBODY = "the largest organization", "nobody"
"""Whom a request is from that names no organization of its own."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request but for the headers by which a contestant knows the organization that it is from."""

    method: str
    path: str
    body: Any = None
    organization: str = LARGEST

    def encoded(self, headers: Mapping[str, str], *, accept: str = "application/json") -> bytes:
        """The bytes on the wire."""
        body = b"" if self.body is None else orjson.dumps(self.body)
        lines = [f"{self.method} {self.path} HTTP/1.1", "Host: 127.0.0.1", f"Accept: {accept}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


Requests = dict[str, Sequence[Request]]
"""Each contestant's variants of a work."""


@dataclass(frozen=True, slots=True)
class Work:
    """One work; `requests` is told what the organizations hold, the largest first, and how many variants are wanted."""

    name: str
    requests: Callable[[Sequence[Known], int], Requests]
    status: int = 200
    dropped: frozenset[str] = field(default_factory=frozenset)
    """Keys whose values differ by nature."""

    def answer(self, body: bytes) -> Any:
        """Reads what the response says, the same for all contestants however they spell it."""
        return plain(json.loads(body, parse_float=Decimal), self.dropped)


def graphql(query: str, variables: Mapping[str, Any], organization: str = LARGEST) -> Request:
    """An operation."""
    return Request("POST", "/graphql", {"query": query, "variables": dict(variables)}, organization)
