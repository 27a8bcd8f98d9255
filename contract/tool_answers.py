"""Declares how tools are told of, and the answer of a call: the same for a chat and for the MCP door."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.canonical_json import Json
from contract.tools import Effect


@dataclass(frozen=True, slots=True)
class ToolTold:
    """A tool as a caller may call it. `documents` are by operation."""

    name: str
    description: str
    input_schema: Mapping[str, Json]
    effect: Effect
    operations: Sequence[str]
    documents: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a call gave nothing: the code and the words that its document's answer has, and which argument they mean."""

    code: str
    message: str
    field: Sequence[str | int] | None = None


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a call: `data` is what the root field of the document gives for the variables.

    Where `errors` says why there is none, nothing was done. `untrusted` are the paths of texts that people wrote,
    `cost` is in points.
    """

    operation: str
    data: Json
    document: str
    variables: Mapping[str, object]
    is_truncated: bool = False
    untrusted: Sequence[str] = ()
    cost: int = 0
    errors: Sequence[ToolError] = ()
    is_replayed: bool = False


@dataclass(frozen=True, slots=True)
class ToolRead:
    """A call as it would be run: its document and variables. None of both where `errors` says what is wrong with it,
    and where they are known only once it was run.
    """

    effect: Effect
    operation: str
    document: str | None = None
    variables: Mapping[str, object] | None = None
    errors: Sequence[ToolError] = ()


@dataclass(frozen=True, slots=True)
class ToolProposal:
    """A write as its resolver would be called: the operation's name among resolvers, and what it would be given.

    `arguments` are the tool's, with what stood there by its name in place of that.
    """

    operation: str
    resolver: str
    given: Sequence[object]
    arguments: Mapping[str, Json]
    cost: int


class UnknownTool(Exception):
    """There is no such tool, or none here; `nearest` is a name that may be meant."""

    def __init__(self, name: str, nearest: str | None) -> None:
        super().__init__(name)
        self.nearest = nearest
