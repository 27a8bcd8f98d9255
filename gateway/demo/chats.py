"""The demo's chat: a question of the administrator that was answered by whoever answers without a language model."""

from contract.chat import ChatEventType, ChatRole, ChatRunStatus
from contract.vocabulary import CredentialKind
from providers.embedded.answerer import NO_MODEL, Embedded
from providers.embedded.examples import CAN
from resolvers.chat_runs import started
from resolvers.chat_threads import ChatThreadInput, create_thread
from resolvers.chat_work import finished
from resolvers.shared.context import Context
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries.chat_runs import append
from storage.tables import ChatMessage, ChatRun

_ASKED = "What can you do?"
_ANSWERED = f"{NO_MODEL}{CAN}"


async def write_chat(ctx: Context) -> None:
    """A thread with a message and its answer. They are written: what answers needs the schema, which no command has."""
    thread = await create_thread(ctx, ChatThreadInput(title="Open deals"))
    moment = now()
    run = new_row(
        ChatRun,
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
        last_sequence=3,
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
        answered = {"message_id": run.answer_id, "text": _ANSWERED}
        told = [
            started(ctx, run),
            (ChatEventType.TEXT_DELTA, answered),
            finished(ChatRunStatus.SUCCEEDED, None, run.answer_id),
        ]
        await append(session, run, 0, told)
