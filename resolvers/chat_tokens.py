"""Reserves tokens for each question to a model, and settles what it used (decisions 515 to 517).

A run's row says what it has used and what its open question may use at most, so that a process that dies leaves nothing
behind that somebody would have to give back.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import orjson

from contract.chat import CHAT_OUTPUT_TOKENS, ChatErrorCode, ModelBudgetSpent
from contract.tool_answers import ToolTold
from providers.chat_models import (
    Answered,
    Call,
    ChatModel,
    Conversation,
    Delta,
    Result,
    Said,
    Text,
    Turn,
    Usage,
)
from resolvers.chat_calls import RunEnds
from resolvers.chat_conversation import RULES, offered
from resolvers.chat_log import RunLog
from resolvers.shared.context import Context
from storage.base import JsonDict, now
from storage.queries import model_usage
from storage.queries.model_usage import Used
from storage.queries.records import lock_organization
from storage.tables import ChatRun
from storage.tenancy.sessions import TenantSession

_BYTES_OF_A_TOKEN: Final = 4
_HELD_SECONDS: Final = 5
"""When to ask again where questions that are being answered hold what is left."""


async def reserved_at_the_door(ctx: Context, session: TenantSession, text: str) -> int:
    """Count the tokens to reserve for a first question, without what was said before, in a locked organization.

    Raises ModelBudgetSpent.
    """
    limit, moment = ctx.services.chat.tokens_per_day, now()
    if not limit or not _is_metered(ctx.services.chat_model):
        return 0
    needed = _tokens(_asked(RULES, offered(ctx), [Said(text)])) + CHAT_OUTPUT_TOKENS
    ended, going = await model_usage.taken(session, _day(moment))
    if ended + needed > limit:
        raise ModelBudgetSpent(24 * 3600 - (moment.hour * 60 + moment.minute) * 60 - moment.second)
    if ended + going + needed > limit:
        raise ModelBudgetSpent(_HELD_SECONDS)
    return needed


class Tokens:
    """The tokens of one run: what it has used, and what the question that is being answered may use."""

    def __init__(self, log: RunLog, model: ChatModel | None, limit: int) -> None:
        self._log = log
        self._limit = limit if _is_metered(model) else 0
        self.used = used_by(log.run)
        if log.run.reserved and log.run.steps:
            log.note(**columns_of(self.used))
        self._asked: int | None = None
        self._told = 0
        self._counted: Usage | None = None

    async def reserve(self, conversation: Conversation) -> None:
        """Set aside what a question may use, and count it as a step. Raises RunEnds where that is not left, RunLost."""
        asked = _tokens(_asked(conversation.rules, conversation.tools, conversation.turns))
        needed = asked + conversation.output_tokens_max
        run = self._log.run

        async def check(session: TenantSession) -> None:
            if self._limit:
                await lock_organization(session)
                ended, others = await model_usage.taken(session, _day(now()), run.id)
                if ended + others + self.used.read + self.used.written + needed > self._limit:
                    raise RunEnds(ChatErrorCode.MODEL_BUDGET_SPENT)

        values = {"steps": run.steps + 1, "reserved": needed if self._limit else 0}
        await self._log.tell(values=values, first=check)
        self._asked, self._told, self._counted = asked, 0, None

    def hear(self, delta: Delta) -> None:
        """Count what the model says."""
        match delta:
            case Text(text):
                self._told += len(text.encode())
            case Call(_, tool, arguments):
                self._told += len(tool.encode()) + len(orjson.dumps(arguments))
            case Usage(read, written):
                before = self._counted or Usage(0, 0)
                self._counted = Usage(before.input_tokens + read, before.output_tokens + written)

    def refused(self) -> None:
        """The model did not take the question: where it said nothing, nothing was used."""
        if not self._told and self._counted is None:
            self._asked = None

    def settle(self) -> None:
        """Put what was used in the place of what was reserved: as the model counts it, else a token for four bytes."""
        if self._asked is not None:
            is_counted = self._counted is not None
            usage = self._counted or Usage(self._asked, self._told // _BYTES_OF_A_TOKEN)
            self.used = _more(self.used, usage.input_tokens, usage.output_tokens, is_estimated=not is_counted)
            self._asked = None
        self._log.note(**columns_of(self.used))


def used_by(run: ChatRun) -> Used:
    """Count what a run has used by now, as stored.

    Of a question whose process died nobody knows what it used: it counts as all that was reserved for it.
    """
    used = Used(run.input_tokens, run.output_tokens, run.is_estimated)
    if not run.reserved or not run.steps:  # what the door reserved has been asked by nobody
        return used
    written = min(run.reserved, CHAT_OUTPUT_TOKENS)
    return _more(used, run.reserved - written, written, is_estimated=True)


def columns_of(used: Used) -> JsonDict:
    """Make the columns of a run's row that tell what it used, once nothing is reserved."""
    return {
        "input_tokens": used.read,
        "output_tokens": used.written,
        "is_estimated": used.is_estimated,
        "reserved": 0,
    }


async def book(session: TenantSession, run: ChatRun, used: Used) -> None:
    """Add what a run had of its model to the day on which it ends."""
    await model_usage.settle(session, _day(now()), run, used)


def _more(used: Used, read: int, written: int, *, is_estimated: bool) -> Used:
    return Used(used.read + read, used.written + written, used.is_estimated or is_estimated)


def _is_metered(model: ChatModel | None) -> bool:
    """Says whether a model has tokens at all: the embedded answerer has none."""
    return model is not None and model.name is not None


def _asked(rules: str, tools: Sequence[ToolTold], turns: Sequence[Turn]) -> int:
    """The bytes of a question, but for what its protocol adds."""
    size = len(rules.encode())
    for tool in tools:
        size += len(tool.name.encode()) + len(tool.description.encode()) + len(orjson.dumps(tool.input_schema))
    for turn in turns:
        size += len((turn.content if isinstance(turn, Result) else turn.text).encode())
        if isinstance(turn, Answered):
            size += sum(len(orjson.dumps(call.arguments)) for call in turn.calls)
    return size


def _tokens(size: int) -> int:
    return -(-size // _BYTES_OF_A_TOKEN)


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
