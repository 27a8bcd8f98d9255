"""What the tests of all record types have to know of one: its own module in `tests/records` says it, as `RECORD`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from graphql import FieldNode, OperationDefinitionNode, parse

from storage.base import Record
from tests.isolation.requests import Case, Graph

RECORDS = Path(__file__).parents[1] / "records"


@dataclass(frozen=True)
class RecordType:
    """A record type. `name` is its name in angle brackets, `group` the scopes that read it.

    `row` makes a row with a mark in its texts, which may name the account, contact and deal of the identifiers.
    `cases` are its rows of the table of all operations. `paths` are its documented ones, as `test_openapi.PATHS` has
    them: group, whether an organization is needed, status, twin; `keys` are those of their answers, in order, and
    `keys_by_type` those of answers whose key `type` says which they have.
    `compared` holds what a path answers against its twin. What is no node, `node` does not find.
    """

    typename: str
    name: str
    row: Callable[[Mapping[str, str], str], Record]
    cases: Mapping[str, Case]
    group: str = "CRM_READ"
    is_node: bool = True
    paths: Mapping[tuple[str, str], tuple[str | None, bool, int, str | None]] = field(default_factory=dict)
    keys: Mapping[tuple[str, str], list[str]] = field(default_factory=dict)
    keys_by_type: Mapping[tuple[str, str], Mapping[str, list[str]]] = field(default_factory=dict)
    compared: Mapping[str, Callable[[Any], Awaitable[None]]] = field(default_factory=dict)


@cache
def record_types() -> Sequence[RecordType]:
    """Those with a module of their own."""
    return [import_module(f"tests.records.{file.stem}").RECORD for file in sorted(RECORDS.glob("test_*.py"))]


def fields_of(group: str) -> set[str]:
    """The fields of Query and Mutation that the cases of these record types put under the group."""
    cases = [case for record in record_types() for case in record.cases.values() if case.group == group]
    requests = [request for case in cases for request in case.requests if isinstance(request, Graph)]
    return {name for request in requests for name in _called(request.document)}


def _called(document: str) -> Sequence[str]:
    [operation] = parse(document).definitions
    assert isinstance(operation, OperationDefinitionNode)
    return [node.name.value for node in operation.selection_set.selections if isinstance(node, FieldNode)]
