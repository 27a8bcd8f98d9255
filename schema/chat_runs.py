"""Runs of a chat on the GraphQL surface: begun by a message, followed, read again and stopped."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.chat import ChatEventType, ChatRunStatus
from contract.limits import PAGE_DEFAULT
from resolvers import chat_approvals, chat_runs
from resolvers.chat_runs import ChatSend, Event
from resolvers.chat_threads import Run
from resolvers.shared.inputs import parse
from schema.chat_approvals import ChatApproval
from schema.connections import First, Node
from schema.declare import Info, argument, enum, field, guarded_field, operation_field, subscription
from schema.errors import UserError, outcome
from schema.inputs import change, given

enum(
    ChatRunStatus,
    "What becomes of a run. The last three are for good.",
    QUEUED="Nobody works on it yet.",
    RUNNING="It is being answered.",
    WAITING="It waits for the decision on what it proposed.",
    SUCCEEDED="The answer is there.",
    FAILED="It ended with an error.",
    CANCELLED="Somebody stopped it.",
)
enum(
    ChatEventType,
    "What an event of a run says; REST has the names in lower case.",
    RUN_STARTED="The first event of a run.",
    RUN_RESUMED="Another process took the run up; text after `discard_after` is to be dropped.",
    TEXT_DELTA="Some more text.",
    TOOL_CALL="A tool is asked.",
    TOOL_RESULT="What the tool gave, in short.",
    APPROVAL_REQUIRED="A write is proposed.",
    APPROVAL_DECIDED="A proposal was decided, went stale or expired.",
    CITATION="A record that the text names.",
    USAGE="What was used.",
    WARNING="Something to know that stops nothing.",
    ERROR="Why the run ends.",
    RUN_FINISHED="The last event of a run, always.",
)


@strawberry.type(description="One stored event of a run: the same through every door.")
class ChatEvent:
    id: strawberry.ID = field(
        "The run's id, a dot, and the sequence: the `id:` of server-sent events, and what `after` takes."
    )
    run_id: strawberry.ID = field("The run.")
    sequence: int = field("Its place in the run, from 1, without gaps.")
    type: ChatEventType = field("What it says.")
    at: datetime = field("When it was stored.")
    data: JSON = field("What it carries: the very object that server-sent events have in `data`.")


EventsAfter = Annotated[str | None, argument("Events behind this one.")]


@strawberry.type(
    description="The answer to one message: what was asked of the model and of the tools, as a log of events."
)
class ChatRun(Node):
    thread_id: strawberry.ID = field("The thread.")
    status: ChatRunStatus = field("The state.")
    provider: str = field("Who answers: embedded, openai or anthropic.")
    model: str | None = field("The model's name; null for the embedded answerer.")
    error_code: str | None = field("Why it failed, as a code in lower case; null otherwise.")
    created_at: datetime = field("When it was asked for.")
    finished_at: datetime | None = field("When it ended; null before that.")
    attempts: int = field("How often it was taken up, counted from 1; more than 1 after a process died.")
    input_tokens: int = field("Tokens that the model read.")
    output_tokens: int = field("Tokens that the model wrote.")
    points: int = field("Points of the caller's budget that its tools cost.")

    @guarded_field(chat_approvals.get_approval, "What it proposed to write.", "id")
    async def approvals(root: strawberry.Parent[Run], info: Info) -> list[ChatApproval]:
        found: Any = await chat_approvals.approvals_below(info.context, root.id)  # Any: read as their type is
        return found

    @guarded_field(chat_runs.get_run, "Its stored events, oldest first; empty once they were pruned.", "id")
    async def events(
        root: strawberry.Parent[Run], info: Info, first: First = UNSET, after: EventsAfter = UNSET
    ) -> list[ChatEvent]:
        size = PAGE_DEFAULT if first in (None, UNSET) else first
        found = await chat_runs.events_below(info.context, root.id, size or 0, None if after is UNSET else after)
        told: Any = [shown(event) for event in found]  # Any: read as their type is
        return told


@strawberry.input(description="A message. One text: what was said before is read from the service's own tables.")
class ChatSendInput:
    thread_id: strawberry.ID = field("The thread.")
    text: str = field("1 to 8,000 characters without the blanks around it.")
    time_zone: str | None = field(
        "Where the member's days and weeks begin: a zone of the IANA database.", default="UTC"
    )


@strawberry.type(description="What became of a run.")
class ChatRunPayload:
    run: ChatRun | None = field("The run.")
    user_errors: list[UserError] = field("What was wrong.")


RunId = Annotated[strawberry.ID, argument("The run's id.")]


@strawberry.type
class ChatRunQueries:
    @operation_field(chat_runs.get_run, "One of the caller's runs; null like a missing thread.")
    async def chat_run(self, info: Info, id: RunId) -> ChatRun | None:
        return await chat_runs.get_run(info.context, id)


@strawberry.type
class ChatRunMutations:
    @operation_field(
        chat_runs.send,
        "Adds one message of the caller to a thread and begins the run that answers it. One run at a time in a thread.",
    )
    async def chat_send(self, info: Info, input: Annotated[ChatSendInput, argument("The message.")]) -> ChatRunPayload:
        fields = given(input)

        async def work() -> Any:  # Any: a row stands for the type that its field declares
            said = {name: value for name, value in dict(fields).items() if name != "thread_id"}  # type: ignore[call-overload]  # an object
            if said.get("time_zone", "") is None:
                said["time_zone"] = "UTC"
            message = parse(ChatSend, said, at=("input",))
            context = info.context
            if context.key is not None:
                context.key.enter("chatSend")
            return await chat_runs.send(context, str(input.thread_id), message, field=("input", "thread_id"))

        run, problems = await outcome(work())
        return ChatRunPayload(run=run, user_errors=problems)

    @operation_field(
        chat_runs.cancel_run,
        "Stops a run, from any process and any device. Repeating it, or cancelling a run that has ended, changes "
        "nothing.",
    )
    async def chat_run_cancel(self, info: Info, id: RunId) -> ChatRunPayload:
        run, problems = await change(info, chat_runs.cancel_run, id)
        return ChatRunPayload(run=run, user_errors=problems)


@strawberry.type
class ChatRunSubscriptions:
    @subscription(
        chat_runs.watch_run,
        "The stored events of one of the caller's runs, then those to come; complete after RUN_FINISHED. `after` "
        "resumes without a gap.",
    )
    async def chat_run(
        self,
        info: Info,
        id: RunId,
        after: Annotated[str | None, argument("Events behind this one, by its id; all unless given.")] = UNSET,
    ) -> AsyncGenerator[ChatEvent, None]:
        behind = None if after is UNSET else after
        return _shown(await chat_runs.watch_run(info.context, id, behind))


async def _shown(events: AsyncIterator[Event]) -> AsyncIterator[SimpleNamespace]:
    async with aclosing(events):  # type: ignore[type-var]  # a generator
        async for event in events:
            yield shown(event)


def shown(event: Event) -> SimpleNamespace:
    """The event as its type reads it."""
    return SimpleNamespace(
        id=chat_runs.event_id(event),
        run_id=event.run_id,
        sequence=event.sequence,
        type=ChatEventType(event.type),
        at=event.at,
        data=event.data,
    )


QUERIES, MUTATIONS = ChatRunQueries, ChatRunMutations
