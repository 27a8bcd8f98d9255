"""Calls tools: each by running its document as the caller, through the same executor as everybody's (decision 310).

So scopes, tenant walls, limits, cost, change log, idempotency and the shape of the answer are those of `/graphql`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Final

import orjson
from pydantic import ValidationError

from contract.analytics_events import AnalyticsRunStatus
from contract.canonical_json import JsonObject
from contract.errors import Problem, Problems
from contract.tool_answers import ToolAnswer, ToolError, ToolProposal, ToolRead, ToolTold, UnknownTool
from contract.tools import Effect, Tool
from resolvers.analytics_runs import AnalyticsAsk, ask, finished
from resolvers.pipeline_stages import list_stages
from resolvers.shared.context import Context, Key
from resolvers.shared.inputs import problems_of
from schema.execution import Executor, Request
from schema.execution.values import Value
from schema.tool_kinds import kind_of
from schema.tool_results import cut, rows_that_fit
from schema.tools import NAME_MAX, QUESTION, Catalogue, Offer, Prepared, Wrong
from storage.base import as_uuid
from transport.request_log import RequestLog

SURFACE: Final = "tools"
_WRONG: Final = "VALIDATION"
_MISSING: Final = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class _Ran:
    """The outcome of a document: the values of its root fields, or errors; and what it cost."""

    data: dict[str, Any] | None  # Any: JSON
    errors: Sequence[JsonObject]
    cost: int


class ToolCalls:
    """The tools of a process: what callers are offered, and what becomes of their calls."""

    def __init__(self, executor: Executor, catalogue: Catalogue) -> None:
        self._executor = executor
        self._catalogue = catalogue
        self._every = {offer.tool.name: offer for offer in catalogue.offered()}

    def offered(self, ctx: Context, *, reading: bool = False) -> list[ToolTold]:
        """The tools that the caller may call now, in their order; of `reading` ones those that write nothing."""
        return [offer.told for offer in self._offers(ctx, reading=reading)]

    def _offers(self, ctx: Context, *, reading: bool) -> Sequence[Offer]:
        passed = frozenset(rule for rule in self._catalogue.rules if rule.admits(ctx.principal))
        return self._catalogue.offered(passed, reading=reading)

    def check(self, ctx: Context, name: str, arguments: Mapping[str, Value], *, reading: bool = False) -> Offer:
        """The tool, where the caller may call it so. Raises UnknownTool, and what its rule refuses with."""
        offer = self._every.get(name)
        if offer is None or (reading and offer.tool.effect is Effect.WRITE):
            known = [one for one in self._every if not (reading and self._every[one].tool.effect is Effect.WRITE)]
            raise UnknownTool(name, next(iter(get_close_matches(name[:NAME_MAX], known, 1, cutoff=0)), None))
        allowed = {offer.tool.name: offer for offer in self._offers(ctx, reading=reading)}.get(name)
        kind = arguments.get("kind")
        asked = [offer.documents[kind]] if isinstance(kind, str) and kind in offer.documents else []
        for document in asked or ([] if allowed else [*offer.documents.values()]):
            for rule in document.rules:
                rule.enforce(ctx.principal)
        return allowed or offer

    async def read(self, ctx: Context, name: str, arguments: Mapping[str, Value]) -> ToolRead:
        """A call as it would be run, which it is not. Raises UnknownTool and Forbidden."""
        offer = self.check(ctx, name, arguments)
        effect, read = offer.tool.effect, offer.read(arguments)
        if isinstance(read, list):
            refused = _refused(_meant(offer, arguments), read)
            return ToolRead(effect, refused.operation, errors=refused.errors)
        document, variables = read
        if offer.tool.asks:
            return ToolRead(effect, document.operations[0])
        try:
            variables = await self._resolved(ctx, offer.tool, variables, None)
        except Problems as error:
            wrong = [ToolError(error.code, problem.message, problem.path) for problem in error.problems]
            return ToolRead(effect, document.operations[0], errors=wrong)
        return ToolRead(effect, document.operations[0], document.text, variables)

    async def call(
        self,
        ctx: Context,
        name: str,
        arguments: Mapping[str, Value],
        *,
        key: Key | None = None,
        reading: bool = False,
    ) -> ToolAnswer:
        """Call a tool. Raises UnknownTool, Forbidden and what the caller's budget refuses with."""
        offer = self.check(ctx, name, arguments, reading=reading)
        read = offer.read(arguments)
        if isinstance(read, list):
            return _refused(_meant(offer, arguments), read)
        document, variables = read
        try:
            variables = await self._resolved(ctx, offer.tool, variables, key)
        except Problems as error:
            return _refused(offer, [Wrong(problem.path, problem.message) for problem in error.problems], error.code)
        ran = await self._run(ctx, document, variables, key)
        answer = _answered(document, variables, ran, is_replayed=key is not None and key.is_replayed)
        if ran.data is None or (fitting := rows_that_fit(answer.data)) is None:
            return replace(answer, is_truncated=cut(answer.data))
        # Fewer rows are asked for, so that the page's cursor is that of its last row (decision 319).
        fewer = {**variables, "first": fitting}
        again = await self._run(ctx, document, fewer, None)
        answer = _answered(document, fewer, replace(again, cost=ran.cost + again.cost))
        cut(answer.data)
        return replace(answer, is_truncated=True)

    async def propose(self, ctx: Context, name: str, arguments: Mapping[str, Value]) -> ToolProposal | ToolAnswer:
        """A write, checked in full and not made; an answer says what stands in its way.

        Its document runs to the guard of its resolver, which is told the call in place of making it (decision 501).
        Raises as `call` does.
        """
        offer = self.check(ctx, name, arguments)
        read = offer.read(arguments)
        if isinstance(read, list):
            return _refused(_meant(offer, arguments), read)
        document, variables = read
        try:
            resolved = await self._resolved(ctx, offer.tool, variables, None)
        except Problems as error:
            return _refused(offer, [Wrong(problem.path, problem.message) for problem in error.problems], error.code)
        calls: list[tuple[str, Sequence[object]]] = []
        ran = await self._run(ctx, document, resolved, None, instead=lambda *call: calls.append(call))
        if not calls:
            return _answered(document, resolved, ran)
        [(resolver, given)] = calls
        named = {stage: resolved[stage] for stage in offer.tool.stages}
        return ToolProposal(document.operations[0], resolver, given, {**arguments, **named}, ran.cost)

    async def _resolved(
        self, ctx: Context, tool: Tool, variables: dict[str, Value], key: Key | None
    ) -> dict[str, Value]:
        """The variables, with a stage by its identifier and a question by its run. Raises Problems."""
        if tool.asks:
            return {"id": await _asked(ctx, variables[QUESTION], key)}
        for name in tool.stages:
            if as_uuid(variables[name]) is None:
                variables = {**variables, name: await _stage(ctx, name, variables[name])}
        return variables

    async def _run(
        self,
        ctx: Context,
        document: Prepared,
        variables: dict[str, Value],
        key: Key | None,
        instead: Callable[[str, Sequence[object]], None] | None = None,
    ) -> _Ran:
        request = Request(document.text, variables)
        await self._executor.open(request, RequestLog(ctx.request_id, SURFACE))
        own = Context(ctx.services, ctx.principal, ctx.request_id, key=key, via=ctx.via, look=ctx.look, instead=instead)
        body = (await self._executor.run(request, own)).body
        data = body.get("data")
        if isinstance(data, orjson.Fragment):  # what was kept under the key
            data = orjson.loads(orjson.dumps(data))
        return _Ran(data, body.get("errors", ()), body["extensions"]["cost"]["actual"])

    def kinds(self, ctx: Context) -> list[dict[str, Any]]:  # Any: JSON
        """The kinds of records that the caller may read, with their fields and vocabularies."""
        readable = {offer.tool.name: offer for offer in self._offers(ctx, reading=True)}.get("get_record")
        return [] if readable is None else [kind_of(self._executor.schema, kind) for kind in readable.documents]


async def _asked(ctx: Context, question: Value, key: Key | None) -> str:
    """The run that answers a question, once it has ended. Raises Problems."""
    try:
        input = AnalyticsAsk(question=question)
    except ValidationError as error:
        raise Problems(problems_of(error)) from None
    run = await finished(ctx, await ask(ctx, input, key))
    if run.status != AnalyticsRunStatus.SUCCEEDED.value:
        raise Problems([Problem((QUESTION,), _why(run), "unanswered")])
    return run.id


def _why(run: Any) -> str:  # Any: a run as one of several statements gives it
    if run.status == AnalyticsRunStatus.DECLINED.value:
        unread = f"cannot be read: {', '.join(run.unread)}" if run.unread else "cannot be answered"
        return f"{unread}; ask such as {' / '.join(run.suggestions or ())}"
    return (run.error or {}).get("message") or "was not answered"


async def _stage(ctx: Context, at: str, name: Value) -> str:
    stages = await list_stages(ctx)
    for stage in stages:
        if stage.name == name:
            return str(stage.id)
    raise Problems([Problem((at,), f"is no stage; there are {', '.join(stage.name for stage in stages)}", "reference")])


def _meant(offer: Offer, arguments: Mapping[str, Value]) -> Offer:
    """The tool with the one document that the kind names, where it names one."""
    kind = arguments.get("kind")
    if isinstance(kind, str) and kind in offer.documents:
        return replace(offer, documents={kind: offer.documents[kind]})
    return offer


def _refused(offer: Offer, wrong: Sequence[Wrong], code: str = _WRONG) -> ToolAnswer:
    errors = [ToolError(code, one.words, one.path) for one in wrong]
    return ToolAnswer(offer.operations[0], None, "", {}, errors=errors)


def _answered(
    document: Prepared, variables: Mapping[str, Value], ran: _Ran, *, is_replayed: bool = False
) -> ToolAnswer:
    data = ran.data
    if data is not None and len(document.operations) == 1:
        [data] = data.values()
    errors = [*_errors(document, ran.errors), *_user_errors(document, data)]
    if data is None and not errors:
        errors = [ToolError(_MISSING, "There is none of this id", ("id",))]
    return ToolAnswer(
        document.operations[0],
        data,
        document.text,
        variables,
        untrusted=document.untrusted,
        cost=ran.cost,
        errors=errors,
        is_replayed=is_replayed,
    )


def _errors(document: Prepared, errors: Sequence[JsonObject]) -> list[ToolError]:
    """Reads the errors of an answer, a problem at a time."""
    found = []
    for error in errors:
        extensions = error["extensions"]
        for problem in extensions.get("problems") or [{"message": error["message"], "field": None}]:
            at = problem["field"]
            path = None if at is None else document.argument_at(at)
            found.append(ToolError(extensions["code"], problem["message"], path))
    return found


def _user_errors(document: Prepared, data: Any) -> list[ToolError]:  # Any: JSON
    told = data.get("userErrors", ()) if isinstance(data, dict) else ()
    return [
        ToolError(one["code"], one["message"], None if one["field"] is None else document.argument_at(one["field"]))
        for one in told
    ]
