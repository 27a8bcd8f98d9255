"""The requests that reach operations, and how a row of the table of all operations is written.

A name in angle brackets stands for an identifier, `<name>` for what a record is to be called. `<own deal>` is a record
of the caller's organization, `<deal>` one of the organization that a test aims at, which may be the same.
`<own column>` is a column that an export may have, unless the test says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_NAME = re.compile(r"<([a-z ]+)>")
_WORDS = {"own column": "name"}


def fill(value: Any, values: Mapping[str, str]) -> Any:
    """The value with every name in angle brackets replaced."""
    if isinstance(value, str):
        return _NAME.sub(lambda match: values[match[1]] if match[1] in values else _WORDS[match[1]], value)
    if isinstance(value, dict):
        return {name: fill(part, values) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(fill(part, values) for part in value)
    return value


def names(value: Any) -> set[str]:
    """The names in angle brackets of another organization's records that the value has."""
    return {name for name in _NAME.findall(repr(value)) if name != "name" and not name.startswith("own ")}


READ_BY_POST = re.compile(r"/analytics/(query|sql|saved-queries/[^/]+/run)|/(merges|imports)/preview")
"""Paths that ask by POST and change nothing."""


UPLOADING = {
    "Tus-Resumable": "1.0.0",
    "Upload-Offset": "1",
    "Content-Type": "application/offset+octet-stream",
}
"""The headers of a part of an upload."""


@dataclass(frozen=True)
class Rest:
    method: str
    path: str
    body: Any = None

    @property
    def writes(self) -> bool:
        return self.method not in ("GET", "HEAD", "OPTIONS") and READ_BY_POST.fullmatch(self.path) is None

    def filled(self, values: Mapping[str, str]) -> Rest:
        return Rest(self.method, fill(self.path, values), fill(self.body, values))


@dataclass(frozen=True)
class Graph:
    document: str
    variables: dict[str, Any] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        return self.document.startswith("mutation")

    @property
    def needs_key(self) -> bool:
        return any(f" {field}(" in self.document for field in ("domainPurchase", "mailboxProvision"))

    def filled(self, values: Mapping[str, str]) -> Graph:
        return Graph(self.document, fill(self.variables, values))


@dataclass(frozen=True)
class Case:
    """`below` are the operations that the GraphQL requests pass on their way; `direct` are arguments for the resolver,
    of those that are reached through another operation only.
    """

    group: str | None
    requests: tuple[Rest | Graph, ...]
    below: tuple[str, ...] = ()
    direct: tuple[Any, ...] | None = None
    organization: bool = True
    in_person: bool = False


def q(document: str, **variables: Any) -> Graph:
    return Graph(document, variables)


def of(kind: str, selection: str) -> Graph:
    """What lies below one record."""
    return q(f"query($id: ID!) {{ {kind} (id: $id) {{ id {selection} }} }}", id=f"<{kind}>")


def by_id(mutation: str, kind: str, selection: str) -> Graph:
    """A mutation that takes an identifier only."""
    return q(f"mutation($id: ID!) {{ {mutation}(id: $id) {{ {selection} {ERRORS} }} }}", id=f"<{kind}>")


def put(mutation: str, kind: str, selection: str, /, **input: Any) -> Graph:
    """A mutation that takes an input object and nothing else."""
    return q(f"mutation($input: {kind}!) {{ {mutation}(input: $input) {{ {selection} {ERRORS} }} }}", input=input)


def change(mutation: str, kind: str, selection: str, id: str, **input: Any) -> Graph:
    """A mutation that takes an identifier and an input object."""
    document = (
        f"mutation($id: ID!, $input: {kind}!) {{ {mutation}(id: $id, input: $input) {{ {selection} {ERRORS} }} }}"
    )
    return q(document, id=id, input=input)


ERRORS = "userErrors { code message field }"

EACH_LINK = tuple({f"{noun}Id": f"<{noun}>"} for noun in ("account", "deal", "contact", "lead"))
"""The links of an activity, one at a time."""

FIRST = {
    "files.restore_file": "files.delete_file",
    "files.purge_file": "files.delete_file",
    "folders.restore_folder": "folders.delete_folder",
    "leads.reopen_lead": "leads.disqualify_lead",
}
"""What has to be done before an operation can be: what is not in the trash cannot leave it."""

OF_CONSENT = {f"integration_consent.{name}_integration" for name in ("connect", "reconnect", "complete")}
OF_CONSENT |= {"integration_channels.link_channel"}
"""Without a provider, as here, these do nothing; tests/integrations (test_consent.py, test_slack.py) repeats them under
a key."""
