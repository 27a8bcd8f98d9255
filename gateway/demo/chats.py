"""The demo's chat: a question of the administrator that was answered by whoever answers without a language model."""

from contract.chat import ChatEventType, ChatRole, ChatRunStatus
from contract.vocabulary import CredentialKind
from providers.embedded.answerer import NO_MODEL, Embedded
from providers.embedded.examples import CAN
from resolvers.chat_runs import started
from resolvers.chat_threads import ChatThreadInput, create_thread
from resolvers.chat_work import finished
from resolvers.shared.chat_options import ChatOptions
from resolvers.shared.context import Context
from storage.base import new_id, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries.chat_runs import Said, append, has_events
from storage.tables import ChatMessage, ChatRun

_RUN = "33333333-3333-4333-8333-333333333333"
_EVENTS = 3
_ASKED = "What can you do?"
_ANSWERED = f"{NO_MODEL}{CAN}"


async def write_chat(ctx: Context) -> None:
    """A thread with a message and its answer. They are written: what answers needs the schema, which no command has."""
    thread = await create_thread(ctx, ChatThreadInput(title="Open deals"))
    moment = now()
    run = new_row(
        ChatRun,
        id=_RUN,
        thread_id=thread.id,
        subject=ctx.caller.subject,
        message_id=new_id(),
        answer_id=new_id(),
        request_id=ctx.request_id,
        status=ChatRunStatus.SUCCEEDED.value,
        provider=Embedded().provider,
        time_zone="UTC",
        credential_kind=CredentialKind.SESSION.value,
        granted_scopes=[],
        last_sequence=_EVENTS,
        created_at=moment,
        finished_at=moment,
    )
    said = ((run.message_id, ChatRole.USER, _ASKED), (run.answer_id, ChatRole.ASSISTANT, _ANSWERED))
    messages = [
        new_row(
            ChatMessage,
            id=message_id,
            thread_id=thread.id,
            subject=ctx.caller.subject,
            position=position,
            run_id=run.id,
            role=role.value,
            text=text,
            created_at=moment,
        )
        for position, (message_id, role, text) in enumerate(said, 1)
    ]
    async with ctx.writing() as session:
        await session.insert(run)
        await session.insert(*messages)
        await append(session, run, 0, _told(run))


async def renew_chat(database: Database, organization: str) -> None:
    """Answer the question anew where the answer's events were forgotten, a day after it (decision 1112)."""
    async with database.reading(organization) as session:
        run = await session.find(ChatRun, id=_RUN)
        if run is None or await has_events(session, run.id):
            return
    moment = now()
    async with database.writing(organization) as session:
        run = await session.find(ChatRun, id=_RUN, lock=True)
        if run is not None and not await has_events(session, run.id):
            await session.update(run, created_at=moment, finished_at=moment)
            await append(session, run, 0, _told(run))


def _told(run: ChatRun) -> list[Said]:
    """The events of the run."""
    answered = {"message_id": run.answer_id, "text": _ANSWERED}
    return [
        started(run, ChatOptions()),
        (ChatEventType.TEXT_DELTA, answered),
        finished(ChatRunStatus.SUCCEEDED, None, run.answer_id),
    ]
