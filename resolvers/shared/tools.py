"""The port to the tools of chats and of the MCP door: what callers are offered, and what becomes of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from contract.tool_answers import ToolAnswer, ToolProposal, ToolRead, ToolTold

if TYPE_CHECKING:
    from resolvers.shared.context import Context, Key


class Tools(Protocol):
    """The port. It is above the resolvers that it calls, so that what runs below them is given it."""

    def offered(self, ctx: Context, *, reading: bool = False) -> list[ToolTold]:
        """The tools that the caller may call now, in their order; of `reading` ones those that write nothing."""

    async def read(self, ctx: Context, name: str, arguments: Mapping[str, object]) -> ToolRead:
        """A call as it would be run, which it is not. Raises UnknownTool and Forbidden."""

    async def propose(self, ctx: Context, name: str, arguments: Mapping[str, object]) -> ToolProposal | ToolAnswer:
        """A write, checked in full and not made; an answer says what stands in its way. Raises as `call`."""

    async def call(
        self, ctx: Context, name: str, arguments: Mapping[str, object], *, key: Key | None = None, reading: bool = False
    ) -> ToolAnswer:
        """Call a tool. Raises UnknownTool, Forbidden and what the caller's budget refuses with."""

    def kinds(self, ctx: Context) -> list[dict[str, object]]:
        """The kinds of records that the caller may read, with their fields and vocabularies."""
