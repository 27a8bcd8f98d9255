"""Works on one run of a chat in this process, step by step, under a lease (decisions 330 to 334).

Each event is stored before the next step begins: whoever reads the run, in whichever process, reads it from the table.
What ends the work early is looked for beside it: the caller's word, another holder, the end of the process.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from contract.chat import (
    CHAT_OUTPUT_TOKENS,
    CHAT_STEPS_MAX,
    CHAT_TOOL_CALLS_MAX,
    ERROR_WORDS,
    RETRYABLE,
    ChatErrorCode,
    ChatEventType,
    ChatRole,
    ChatRunStatus,
)
from contract.error_origin import origin_of
from contract.errors import GatewayError, RateLimited, TimedOut, Unauthenticated, Unavailable
from contract.scopes import ScopeGroup
from contract.vocabulary import CredentialKind
from identity import scope_sets
from identity.principal import Principal
from identity.resume import Origin, resume
from providers.chat_models import Answered, Call, Conversation, Stopped, Text
from providers.models import ModelAway, ModelError, ModelMisconfigured, ModelSlow
from resolvers.chat_approving import Approvals
from resolvers.chat_calls import Calls, RunEnds
from resolvers.chat_conversation import RULES, Progress, offered, progress_of
from resolvers.chat_log import RunLog, RunLost, keep
from resolvers.chat_text import AnswerText, warning
from resolvers.chat_tokens import Tokens, book
from resolvers.shared.access import Rule
from resolvers.shared.context import Context, Services
from resolvers.shared.cut import Cut
from storage.base import JsonDict, now
from storage.new_rows import new_row
from storage.queries import chat_threads
from storage.queries.chat_runs import Said
from storage.rows import ChatRunRow
from storage.tables import ChatMessage, ChatRun, ChatThread
from storage.tenancy.sessions import TenantSession
from storage.watched_rows import WatchedRow

_AGAIN_SECONDS = 0.5
_READS = Rule(ScopeGroup.CRM_READ)
_NARROWED = warning("tools_narrowed", "The caller may use fewer tools than when this answer began")
_STOPPED = {
    "truncated": "The model's answer was cut at its longest",
    "filtered": "The provider of the model withheld a part of the answer",
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Ending:
    """Says how a run ends."""

    status: ChatRunStatus
    code: ChatErrorCode | None = None


def _failed(code: ChatErrorCode) -> _Ending:
    return _Ending(ChatRunStatus.FAILED, code)


class Work:
    """One run, from wherever it stands to its last event."""

    _progress: Progress
    _text: AnswerText
    _approvals: Approvals

    def __init__(self, services: Services, run: ChatRun, *, is_resumed: bool = False) -> None:
        self._services = services
        granted = sorted(scope_sets.known(run.granted_scopes))  # words that all runs share
        self._log = RunLog(services, run._replace(granted_scopes=granted))  # type: ignore[attr-defined]  # a named tuple
        self._is_resumed = is_resumed
        self._tokens = Tokens(self._log, services.chat_model, services.chat.tokens_per_day)
        self._is_narrowed = False
        self._reason: _Ending | Exception | None = None
        self._checking: asyncio.Task[None] | None = None
        self._moves = 0

    async def run(self) -> None:
        """Work until there is an end, whichever comes first, and write it."""
        try:
            with self._services.chat_leases.holding(self._log.lease, partial(keep, self._services)):
                await self._begin()
                ending = await self._ending()
                if ending is not None:
                    await self._finish(ending)
        except RunLost:
            return
        except asyncio.CancelledError:  # the process ends: another one goes on
            await self._give_back()
        except Exception as error:
            line = "no end of run=%s could be written type=%s at=%s"
            _log.error(line, self._log.run.id, type(error).__name__, origin_of(error))

    async def _begin(self) -> None:
        """Find how far the run is, which every end needs. Raises RunLost."""
        run = self._log.run
        progress = self._progress = await self._log.patiently(lambda: progress_of(self._services.database, run))
        self._log.next_step = progress.steps
        self._text = AnswerText(self._log, progress.seen, progress.text, progress.citations)
        self._approvals = Approvals(self._services, self._log, progress)

    async def _give_back(self) -> None:
        self._tokens.settle()
        try:
            await self._log.give_back()
        except GatewayError:  # its lease will run out
            return

    async def _ending(self) -> _Ending | None:
        """Says how the run ends; None where it waits for a decision. Raises RunLost."""
        left = self._services.chat.run_seconds - self._log.worked_seconds
        cut = self._cut = Cut(max(left, 0))
        reason: _Ending | Exception
        try:
            async with cut:
                with self._looking():
                    return await self._answered()
        except Exception as error:
            reason = error
        finally:
            await self._quiet()
        if cut.is_cut:
            reason = self._reason or _failed(ChatErrorCode.RUN_TIMEOUT)
        return reason if isinstance(reason, _Ending) else self._ended_by(reason)

    def _ended_by(self, error: Exception) -> _Ending:
        """How the run ends by an error. Raises RunLost."""
        match error:
            case RunLost():
                raise error
            case RunEnds():
                return _failed(error.code)
            case ModelError():
                if isinstance(error, ModelAway | ModelMisconfigured) and not isinstance(error, ModelSlow):
                    self._tokens.refused()
                return _failed(_code_of(error))
            case Unauthenticated():
                return _failed(ChatErrorCode.UNAUTHENTICATED)
            case RateLimited():
                return _failed(ChatErrorCode.RATE_LIMITED)
        line = "internal error request_id=%s type=%s at=%s"
        _log.error(line, self._log.run.request_id, type(error).__name__, origin_of(error))
        return _failed(ChatErrorCode.INTERNAL)

    def _end(self, reason: _Ending | Exception) -> None:
        """Have the work end, wherever it is."""
        if self._reason is None:
            self._reason = reason
        self._cut.now()

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Take the end that comes from elsewhere.

        The row is read along with those of the organization's other runs; what is found so may be older than this work.
        """
        run = self._log.run
        with self._services.feed.channel(run.org_id) as channel, channel.chat_runs.watching(run.id) as watched:
            mark = 0

            def told() -> None:
                nonlocal mark
                head, is_read = watched.row, watched.mark != mark
                mark = watched.mark
                is_held = head is not None and head.holder == self._log.run.holder and head.finished_at is None
                if is_read and is_held and head is not None and head.cancel_requested_at is None:
                    return
                self._moves += 1
                if self._checking is None or self._checking.done():
                    self._checking = asyncio.create_task(self._check(watched))

            self._log.lease.lost = lambda: self._end(RunLost())
            self._log.watched = watched
            try:
                with watched.telling(told):
                    yield
            finally:
                self._log.lease.lost = None  # the lease and this work would be a ring (decision 1170)
                self._log.watched = None

    async def _check(self, watched: WatchedRow[ChatRunRow]) -> None:
        """Look at the row itself, and end by what it says; again where it has moved since the look began."""
        seen = 0
        while seen != self._moves:
            seen = self._moves
            try:
                watched.check()
                run = await self._log.read()
            except (Unavailable, TimedOut):  # a database that is away, or slow, ends nothing
                seen = 0
                await asyncio.sleep(_AGAIN_SECONDS)
                continue
            except Exception as error:
                self._end(error)
                return
            if run.cancel_requested_at is not None:
                self._end(_Ending(ChatRunStatus.CANCELLED))

    async def _quiet(self) -> None:
        """Let nothing go on beside what follows."""
        if self._checking is not None:
            self._checking.cancel()
            await asyncio.wait({self._checking})
        await self._text.quiet()

    async def _answered(self) -> _Ending | None:
        """Ask the model and call tools in turn, until it says no more; None where a decision is waited for.

        Raises RunEnds, RunLost and ModelError.
        """
        run, progress, approvals = self._log.run, self._progress, self._approvals
        calls = Calls(self._log, progress, approvals.propose)
        if self._is_resumed:
            resumed = {"attempt": run.attempts, "discard_after": progress.void_after}
            await self._log.tell((ChatEventType.RUN_RESUMED, resumed))
        step: list[JsonDict] = []
        while True:
            await approvals.settle(self._acting, calls)
            if self._log.run.cancel_requested_at is not None:
                return _Ending(ChatRunStatus.CANCELLED)
            for call in list(progress.open):
                if approvals.waits(call):
                    continue
                if self._log.run.tool_calls >= CHAT_TOOL_CALLS_MAX and call.id not in progress.told_calls:
                    raise RunEnds(ChatErrorCode.STEP_LIMIT)
                ctx = await self._acting()
                await calls.make(ctx, call, self._text.taken, step)
                step = []
            if await approvals.wait():
                return None
            if progress.open:
                continue
            if self._log.run.steps >= CHAT_STEPS_MAX:
                raise RunEnds(ChatErrorCode.STEP_LIMIT)
            answered = await self._ask(await self._acting(), progress)
            if not answered.calls:
                return _Ending(ChatRunStatus.SUCCEEDED)
            step = [progress.said(answered, *self._text.of_step)]

    async def _acting(self) -> Context:
        """The caller as of now. Raises Unauthenticated, and RunEnds for one who may read no records any more."""
        run = self._log.run
        kind = CredentialKind(run.credential_kind)
        scopes = scope_sets.known(run.granted_scopes)
        origin = Origin(run.org_id, run.subject, kind, run.credential_id, scopes, run.session_ends_at)

        async def look() -> Principal:
            return await resume(self._services.database, origin)

        principal = await self._log.patiently(look)
        if not _READS.admits(principal):
            raise RunEnds(ChatErrorCode.FORBIDDEN)
        via = {"via": "chat", "run_id": run.id}
        ctx = Context(self._services, principal, run.request_id, via=via, look=look)
        if principal.scopes != scopes and not self._is_narrowed:
            before = Context(self._services, replace(principal, scopes=scopes), run.request_id)
            if offered(ctx) != offered(before):
                self._is_narrowed = True
                await self._log.tell(_NARROWED)
        return ctx

    async def _ask(self, ctx: Context, progress: Progress) -> Answered:
        """One step of the model: its text is told as it comes. Raises ModelError and RunLost."""
        model, text, run = self._services.chat_model, self._text, self._log.run
        if model is None:
            raise RunEnds(ChatErrorCode.MODEL_UNAVAILABLE)
        conversation = Conversation(
            RULES,
            list(progress.turns),
            offered(ctx),
            run.subject,
            self._services.clock(),
            run.time_zone,
            CHAT_OUTPUT_TOKENS,
        )
        await self._tokens.reserve(conversation)
        left = self._services.chat.run_seconds - self._log.worked_seconds
        text.begin()
        calls: list[Call] = []
        said: list[str] = []
        first = run.tool_calls
        async with aclosing(model.answer(conversation, max(left, 0.1))) as deltas:  # type: ignore[type-var]  # a generator
            async for delta in deltas:
                self._tokens.hear(delta)
                match delta:
                    case Text(piece):
                        said.append(piece)
                        text.feed(piece)
                    case Call(_, tool, arguments):
                        calls.append(Call(f"call_{first + len(calls) + 1}", tool, arguments))
                    case Stopped(code):
                        await self._log.tell(*text.taken(), warning(code, _STOPPED[code]))
                await text.come(self._end)
                if text.is_full or len(calls) > CHAT_TOOL_CALLS_MAX:
                    break
        text.end()
        self._tokens.settle()
        return Answered("".join(said), () if text.is_full else tuple(calls))

    async def _finish(self, ending: _Ending) -> None:
        """Write the end, with what was said until then. Raises RunLost."""
        await self._approvals.close()
        run, text, code = self._log.run, self._text, ending.code
        text.end()
        events = text.taken()
        has_text = bool(text.text)
        self._tokens.settle()
        used = self._tokens.used
        told = {"input_tokens": used.read, "output_tokens": used.written, "is_estimated": used.is_estimated}
        events.append((ChatEventType.USAGE, {**told, "points": run.points}))
        if code is not None:
            error = {"code": code.value, "message": ERROR_WORDS[code], "retryable": code in RETRYABLE}
            events.append((ChatEventType.ERROR, error))
        message_id = run.answer_id if has_text else None
        events.append(finished(ending.status, code, message_id))
        values = {
            "status": ending.status.value,
            "error_code": code,
            "finished_at": now(),
            "leased_until": None,
        }

        async def also(session: TenantSession) -> None:
            if has_text:
                await self._keep_answer(session)
            await book(session, run, used)

        await self._log.tell(*events, values=values, also=also)
        self._services.chat_counts.ended(run.provider, code or ending.status.value, used.read, used.written)

    async def _keep_answer(self, session: TenantSession) -> None:
        """Keep the text as the thread's newest message."""
        run, text = self._log.run, self._text
        moment = now()
        await session.insert(
            new_row(
                ChatMessage,
                id=run.answer_id,
                thread_id=run.thread_id,
                subject=run.subject,
                position=await chat_threads.next_position(session, run.thread_id),
                run_id=run.id,
                role=ChatRole.ASSISTANT.value,
                text=text.text,
                citations=text.citations,
                created_at=moment,
            )
        )
        thread = await session.find(ChatThread, id=run.thread_id, subject=run.subject, lock=True)
        if thread is not None:
            await session.update(thread, updated_at=moment)


def finished(status: ChatRunStatus, code: ChatErrorCode | None, message_id: str | None) -> Said:
    """The last event of a run."""
    data = {"status": status.value, "error_code": code, "message_id": message_id}
    return ChatEventType.RUN_FINISHED, data


def _code_of(error: ModelError) -> ChatErrorCode:
    if isinstance(error, ModelMisconfigured):
        return ChatErrorCode.MODEL_MISCONFIGURED
    if isinstance(error, ModelSlow):
        return ChatErrorCode.MODEL_TIMEOUT
    return ChatErrorCode.MODEL_UNAVAILABLE if isinstance(error, ModelAway) else ChatErrorCode.MODEL_INVALID_ANSWER
