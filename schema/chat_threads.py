"""Threads of a chat and their messages on the GraphQL surface."""

from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.chat import ChatRole
from contract.criteria import PageWindow
from resolvers import chat_threads, viewer
from resolvers.chat_threads import ChatThreadInput as ThreadInput
from resolvers.chat_threads import ChatThreadTitle, Message, Thread
from resolvers.shared.node_lookup import NodeResult
from schema.chat_runs import ChatRun
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected_by_type
from schema.inputs import DeletePayload, change, deletion

enum(ChatRole, "Who wrote a message.", USER="The member.", ASSISTANT="The model, or the embedded answerer.")


@strawberry.type(description="A record that a message names, and where in its text.")
class ChatCitation:
    start: int = field("The first code point of the text that names it, counted from 0.")
    end: int = field("The code point behind the last one.")
    kind: str = field("What kind of record it is, in lower case: account, contact, deal, lead, meeting, campaign.")
    id: strawberry.ID = field("The record's id.")
    label: str = field("The record's name when it was cited.")

    @guarded_field(
        viewer.get_node, "The record as it is now; null where it is gone or the caller may no longer read it.", "id"
    )
    async def node(root: strawberry.Parent[SimpleNamespace], info: Info) -> Node | None:
        found: NodeResult | None = await viewer.get_node(info.context, root.id, selected_by_type(info))
        return found


@strawberry.type(description="One message. Its text is plain: it has no HTML, no image and no address of another site.")
class ChatMessage(Node):
    thread_id: strawberry.ID = field("The thread.")
    run_id: strawberry.ID | None = field("The run that wrote it, or that it began.")
    role: ChatRole = field("Who wrote it.")
    text: str = field("What it says.")
    created_at: datetime = field("When it was written.")

    @computed_field("The records that it names, each one seen by a tool of the thread.", "citations")
    def citations(root: strawberry.Parent[Message]) -> list[ChatCitation]:
        found: object = [SimpleNamespace(**citation) for citation in root.citations]
        return found


@strawberry.type(description="A conversation of one member in one organization.")
class ChatThread(Node):
    title: str | None = field("A short name: given, or the first words of the first message.")
    created_at: datetime = field("When it was begun.")
    updated_at: datetime = field("When its newest message was written.")

    @computed_field(
        "When it will be deleted unless somebody writes in it again; null where nothing is deleted of itself.",
        "updated_at",
    )
    async def expires_at(root: strawberry.Parent[Thread], info: Info) -> datetime | None:
        return chat_threads.expires_at(info.context, root)

    @guarded_field(chat_threads.get_thread, "The run that has not ended yet, if there is one.", "id")
    async def active_run(root: strawberry.Parent[Thread], info: Info) -> ChatRun | None:
        return await chat_threads.active_run(info.context, root.id)

    @guarded_field(chat_threads.list_messages, "Its messages, oldest first.", "id")
    async def messages(
        root: strawberry.Parent[Thread], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[ChatMessage]:
        return await chat_threads.messages_below(info.context, root.id, _window(first, after))

    @guarded_field(chat_threads.get_thread, "Its runs, oldest first.", "id")
    async def runs(
        root: strawberry.Parent[Thread], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[ChatRun]:
        return await chat_threads.runs_below(info.context, root.id, _window(first, after))


def _window(first: int | None, after: str | None) -> PageWindow:
    return listing(first=first, after=after).page


@strawberry.input(description="A new thread.")
class ChatThreadInput:
    title: str | None = field("Up to 200 characters.", default=UNSET)


@strawberry.type(description="What became of a thread.")
class ChatThreadPayload:
    thread: ChatThread | None = field("The thread.")
    user_errors: list[UserError] = field("What was wrong.")


ThreadId = Annotated[strawberry.ID, argument("The thread's id.")]


@strawberry.type
class ChatThreadQueries:
    @operation_field(
        chat_threads.get_thread,
        "One of the caller's threads; null where it is missing, another member's or another organization's.",
    )
    async def chat_thread(self, info: Info, id: ThreadId) -> ChatThread | None:
        return await chat_threads.get_thread(info.context, id)

    @operation_field(
        chat_threads.list_threads,
        "The caller's threads in the active organization, the one with the newest message first.",
    )
    async def chat_threads(
        self,
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[ChatThread]:
        page = listing(first=first, after=after, last=last, before=before, offset=offset).page
        return await chat_threads.list_threads(info.context, page)


@strawberry.type
class ChatThreadMutations:
    @operation_field(chat_threads.create_thread, "An empty thread of the caller.")
    async def chat_thread_create(
        self, info: Info, input: Annotated[ChatThreadInput | None, argument("The thread.")] = UNSET
    ) -> ChatThreadPayload:
        given: object = {} if input in (None, UNSET) else input
        thread, problems = await change(info, chat_threads.create_thread, model=ThreadInput, input=given)
        return ChatThreadPayload(thread=thread, user_errors=problems)

    @operation_field(chat_threads.rename_thread, "Gives a thread another title.")
    async def chat_thread_rename(
        self, info: Info, id: ThreadId, title: Annotated[str, argument("Up to 200 characters.")]
    ) -> ChatThreadPayload:
        fields: Mapping[str, object] = {"title": title}
        thread, problems = await change(
            info, chat_threads.rename_thread, id, model=ChatThreadTitle, input=fields, at=()
        )
        return ChatThreadPayload(thread=thread, user_errors=problems)

    @operation_field(
        chat_threads.delete_thread,
        "Ends the thread's run and deletes its messages, runs, events and approvals. Records that were written stay.",
    )
    async def chat_thread_delete(self, info: Info, id: ThreadId) -> DeletePayload:
        return await deletion(info, chat_threads.delete_thread, id)


QUERIES, MUTATIONS = ChatThreadQueries, ChatThreadMutations
