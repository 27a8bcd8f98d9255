"""Calls the tools that a model asks for, as the caller is now (decisions 331 and 333)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from contract.chat import CHAT_RESULTS_BYTES, ChatErrorCode, ChatEventType
from contract.errors import Forbidden, GatewayError, RateLimited, Unavailable
from contract.tool_answers import ToolAnswer, ToolError, ToolRead, UnknownTool
from contract.tools import Effect
from providers.chat_models import Call, Result
from resolvers.chat_conversation import Progress
from resolvers.chat_log import Also, RunLog
from resolvers.chat_results import content_of, full, result_event
from resolvers.shared.context import Context, Key
from storage.base import JsonDict
from storage.queries.chat_runs import Said

T = TypeVar("T")


class RunEnds(Exception):
    """The run ends with this code."""

    def __init__(self, code: ChatErrorCode) -> None:
        super().__init__(code)
        self.code = code


Proposing = Callable[[Context, Call], Awaitable[tuple[ToolAnswer | None, list[str] | None]]]
"""Proposes what a call would write; an answer, with the scopes that it lacks, where it cannot be proposed."""


class Calls:
    """The calls of one run."""

    def __init__(self, log: RunLog, progress: Progress, proposing: Proposing) -> None:
        self._log = log
        self._progress = progress
        self._propose = proposing

    async def make(self, ctx: Context, call: Call, taken: Callable[[], list[Said]], step: list[JsonDict]) -> None:
        """Call a tool, and tell both the call and what it gave.

        `taken` gives the events that come first, and `step` is stored with them. Raises RunEnds and RunLost.
        """
        read = await self._log.patiently(lambda: self._read(ctx, call))
        before = taken()
        if call.id in self._progress.told_calls:
            if before or step:
                await self._log.tell(*before, steps=step)
        else:
            number = self._log.run.tool_calls + 1
            await self._log.tell(*before, _asked(call, read), values={"tool_calls": number}, steps=step)
        if read.effect is Effect.WRITE and not read.errors:
            refused, scopes = await self._log.patiently(lambda: self._propose(ctx, call))
            if refused is not None:
                await self.give(call, refused, scopes=scopes)
            return
        answer, scopes = await self._log.patiently(lambda: self._answer(ctx, call, read))
        await self.give(call, answer, scopes=scopes, misread=bool(read.errors))

    async def give(
        self,
        call: Call,
        answer: ToolAnswer,
        *,
        before: tuple[Said, ...] = (),
        scopes: list[str] | None = None,
        misread: bool = False,
        also: Also | None = None,
    ) -> None:
        """Tell what a call gave, once. Raises RunEnds where it could not be read for the second time, and RunLost."""
        content = content_of(answer)
        if self._progress.results_bytes + len(content.encode()) > CHAT_RESULTS_BYTES:
            answer = replace(full(), operation=answer.operation, cost=answer.cost)
            content = content_of(answer)
        told, seen = result_event(call.id, call.tool, answer, arguments=call.arguments or {}, scopes=scopes)
        result = Result(call.id, call.tool, content, ok=not answer.errors)
        stored = self._progress.gave(result, seen) | {"refused": misread}
        points = self._log.run.points + answer.cost
        await self._log.tell(*before, told, values={"points": points}, steps=[stored], also=also)
        self._progress.refused += misread
        if self._progress.refused > 1:
            raise RunEnds(ChatErrorCode.MODEL_INVALID_ANSWER)

    async def _read(self, ctx: Context, call: Call) -> ToolRead:
        """The call as it would be run."""
        if call.arguments is None:
            error = ToolError("VALIDATION", "The arguments are no JSON object")
            return ToolRead(Effect.READ, call.tool, errors=[error])
        try:
            return await ctx.tools.read(ctx, call.tool, call.arguments)
        except UnknownTool as error:
            near = f"; did you mean {error.nearest}?" if error.nearest else ""
            return ToolRead(Effect.READ, "", errors=[ToolError("UNKNOWN_TOOL", f"There is no such tool{near}")])
        except Forbidden:  # which calling it says, too
            return ToolRead(Effect.READ, "")

    async def _answer(self, ctx: Context, call: Call, read: ToolRead) -> tuple[ToolAnswer, list[str] | None]:
        """Call the tool for its answer, with the scopes of which a refusal needs one. Raises RunEnds."""
        if read.errors:
            return ToolAnswer(read.operation, None, "", {}, errors=read.errors), None
        arguments: Mapping[str, object] = call.arguments or {}
        return await asked(read.operation, lambda: ctx.tools.call(ctx, call.tool, arguments, reading=True))


async def asked(
    operation: str, ask: Callable[[], Awaitable[ToolAnswer | T]], *, key: Key | None = None
) -> tuple[ToolAnswer | T, list[str] | None]:
    """Ask a tool for its answer, with the scopes of which a refusal needs one. Raises RunEnds and Unavailable."""
    try:
        answer = await ask()
    except Forbidden as error:
        return _failed(operation, error), error.required_scopes
    except RateLimited:
        raise RunEnds(ChatErrorCode.RATE_LIMITED) from None
    except UnknownTool:
        return ToolAnswer(operation, None, "", {}, errors=[ToolError("UNKNOWN_TOOL", "No such tool")]), None
    except Unavailable:
        raise
    except GatewayError as error:
        return _failed(operation, error), None
    errors = answer.errors if isinstance(answer, ToolAnswer) else ()
    if (errors and key is not None and key.is_held) or any(error.code == Unavailable.code for error in errors):
        raise Unavailable()
    return answer, None


def _failed(operation: str, error: GatewayError) -> ToolAnswer:
    return ToolAnswer(operation, None, "", {}, errors=[ToolError(error.code, error.message)])


def _asked(call: Call, read: ToolRead) -> Said:
    twin = None if read.document is None else {"document": read.document, "variables": read.variables}
    data: JsonDict = {
        "call_id": call.id,
        "tool": call.tool,
        "arguments": call.arguments,
        "effect": read.effect.value,
        "twin": twin,
    }
    return ChatEventType.TOOL_CALL, data
