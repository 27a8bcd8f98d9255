"""Gives each identifier within a path an example: that of the record which the path's own answers show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from rest_compat import examples
from rest_compat.documents import Document
from rest_compat.example_identifiers import DEAL, RESULT, RUN, identifier_of
from rest_compat.operations import RestOperation
from rest_compat.routes import OPERATIONS

_TOLD: Final[Mapping[str, str]] = {
    "/analytics/conversations": RESULT,
    "/customer-intelligence/runs": RUN,
    "/customer-intelligence/runs/{run_id}/results": RESULT,
    "/files/signed": examples.LINK_TOKEN,
    "/files/uploads": identifier_of("uploads"),
    "/integrations/{integration_id}/channels": "C024BE91L",  # the provider's own identifier
    "/media": examples.MEDIA_KEY,
    "/records": DEAL,
    "/records/{record_id}/files": identifier_of("files"),
}
"""The examples of places whose answers have no record with an identifier of its own."""


@cache
def path_examples() -> Mapping[str, str]:
    """Returns the example of the identifier behind each beginning of a path, such as `/deals`."""
    shown = {place: identifier for operation in OPERATIONS for place, identifier in _shown(operation)}
    return {**shown, **_TOLD}


def _shown(operation: RestOperation) -> Iterable[tuple[str, str]]:
    beginning, _, last = operation.path.rpartition("/")
    place = beginning if last.startswith("{") else operation.path
    answer = operation.answer
    example = answer.example if isinstance(answer, Document) else examples.ANSWERS.get(answer or "")
    if isinstance(example, Mapping):
        identifier = example.get("id") or example.get("lead_id")
        if isinstance(identifier, str):
            yield place, identifier
