"""Questions on the GraphQL surface: asked and followed, read again, cancelled and forgotten."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.analytics_events import AnalyticsPlanner, AnalyticsRunStatus
from contract.criteria import PageWindow
from contract.errors import Problem, Problems
from contract.limits import RUNS_DEFAULT
from resolvers import analytics_runs
from resolvers.analytics_runs import AnalyticsAsk, Asked, Followed
from resolvers.shared.idempotency import read_key
from resolvers.shared.inputs import parse
from schema.analytics_events import TYPES, AnalyticsEvent, shown
from schema.analytics_results import AnalyticsResult
from schema.connections import Connection, Node
from schema.declare import Info, argument, field, guarded_field, operation_field, subscription
from schema.errors import UserError
from schema.inputs import DeletePayload, change, deletion, given, noting, telling_all

__all__ = ["MUTATIONS", "QUERIES", "TYPES"]


@strawberry.type(description="A question and what became of it.")
class AnalyticsRun(Node):
    conversation_id: strawberry.ID = field("The conversation.")
    question: str = field("The question.")
    status: AnalyticsRunStatus = field("Where it stands.")
    planner: AnalyticsPlanner | None = field("Who made the plan; null where there is none yet.")
    explanation: str = field("The explanation as far as it is written.")
    created_at: datetime = field("When it was asked.")
    finished_at: datetime | None = field("When it ended.")

    @guarded_field(
        analytics_runs.get_run, "The answer; null until there is one, and once its rows are forgotten.", "id"
    )
    async def result(root: strawberry.Parent[Asked], info: Info) -> AnalyticsResult | None:
        return await analytics_runs.result_of(info.context, root)


@strawberry.input(description="What is asked.")
class AnalyticsAskInput:
    question: str = field("1 to 1,000 characters.")
    conversation_id: strawberry.ID | None = field(
        "The conversation that the question goes on; a new one unless given.", default=UNSET
    )
    key: str | None = field(
        "1 to 255 visible ASCII characters of the client's choice; valid for 24 hours.", default=UNSET
    )
    time_zone: str = field("The zone of today, this week, last month: a name of the IANA database.", default="UTC")
    model: bool = field(
        "Whether a model may be asked where one is set; the embedded parser comes first in any case.", default=True
    )


@strawberry.type(description="The outcome of a change to a question.")
class AnalyticsRunPayload:
    run: AnalyticsRun | None = field("The question.")
    user_errors: list[UserError] = field("What stands in the way.")


RunId = Annotated[strawberry.ID, argument("The run.")]
Behind = Annotated[int | None, argument("Only events behind this sequence number.")]


@strawberry.type
class AnalyticsRunQueries:
    @operation_field(
        analytics_runs.get_run,
        "A question that the caller asked; null where it is missing, a colleague's, or forgotten by now.",
    )
    async def analytics_run(self, info: Info, id: RunId) -> AnalyticsRun | None:
        return await analytics_runs.get_run(info.context, id)

    @operation_field(analytics_runs.list_runs, "The caller's own questions, the newest first.")
    async def analytics_runs(
        self,
        info: Info,
        conversation_id: Annotated[strawberry.ID | None, argument("Only those of this conversation.")] = UNSET,
        first: Annotated[int | None, argument("How many, 0 to 100.")] = RUNS_DEFAULT,
        after: Annotated[str | None, argument("The cursor to go on behind.")] = UNSET,
    ) -> Connection[AnalyticsRun]:
        size = RUNS_DEFAULT if first is None else first
        window = PageWindow(first=size, after=None if after is UNSET else after)
        conversation = None if conversation_id is UNSET else conversation_id
        return await analytics_runs.list_runs(info.context, conversation, window)


@strawberry.type
class AnalyticsRunMutations:
    @operation_field(analytics_runs.cancel_run, "Ends a question; one that has ended already stays as it is.")
    async def analytics_run_cancel(self, info: Info, id: RunId) -> AnalyticsRunPayload:
        run, problems = await change(info, analytics_runs.cancel_run, id)
        return AnalyticsRunPayload(run=run, user_errors=problems)

    @operation_field(analytics_runs.delete_conversation, "Forgets a conversation with all its questions and answers.")
    async def analytics_conversation_delete(
        self, info: Info, id: Annotated[strawberry.ID, argument("The conversation.")]
    ) -> DeletePayload:
        return await deletion(info, analytics_runs.delete_conversation, id)


@strawberry.type
class AnalyticsRunSubscriptions:
    @subscription(
        analytics_runs.ask,
        "Asks a question and follows the answer. The same `key` again attaches to the run that it began, so that a "
        "client that connects anew does not ask twice.",
    )
    async def analytics_ask(
        self,
        info: Info,
        input: Annotated[AnalyticsAskInput, argument("The question.")],
        after: Annotated[int | None, argument("Only events behind this sequence number; for a repeated key.")] = 0,
    ) -> AsyncGenerator[AnalyticsEvent, None]:
        if (after or 0) < 0:
            raise Problems([Problem(("after",), "is no number of a step of this answer", "range")])
        fields = given(input)
        async with telling_all(info, AnalyticsAsk, fields):
            found = list[Problem]()
            with noting(found):
                question = parse(AnalyticsAsk, fields, at=("input",))
            with noting(found):
                key = None if input.key in (None, UNSET) else read_key(str(input.key), ("input", "key"))
            if found:
                raise Problems(found)
            run = await analytics_runs.ask(info.context, question, key)
        return _shown(await analytics_runs.watch_run(info.context, run.id, after or 0))

    @subscription(
        analytics_runs.watch_run,
        "Follows a question that runs or has ended: all its events behind `after`, then what comes; ends with the run.",
    )
    async def analytics_run_events(
        self, info: Info, id: RunId, after: Behind = 0
    ) -> AsyncGenerator[AnalyticsEvent, None]:
        return _shown(await analytics_runs.watch_run(info.context, id, after or 0))


async def _shown(events: AsyncIterator[Followed]) -> AsyncIterator[SimpleNamespace]:
    async with aclosing(events):  # type: ignore[type-var]  # a generator
        async for event in events:
            yield shown(event)


QUERIES, MUTATIONS = AnalyticsRunQueries, AnalyticsRunMutations
