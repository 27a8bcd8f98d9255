"""Serves the threads of a chat and their messages."""

from __future__ import annotations

from asyncio import gather
from typing import Final

from contract.criteria import PageWindow
from contract.errors import NotFound
from resolvers.chat_threads import (
    ChatThreadInput,
    ChatThreadTitle,
    Thread,
    active_run,
    create_thread,
    delete_thread,
    get_thread,
    list_messages,
    list_threads,
    rename_thread,
)
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from rest_compat.chat_documents import message_document, thread_document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.schemas import JsonObject


async def create(call: RestRequest) -> RestResponse:
    """Begins a thread."""
    body: ChatThreadInput = call.body
    thread = await create_thread(call.ctx, body)
    return RestResponse(await _shown(call.ctx, thread), {"Location": f"{call.root_path}/chat/threads/{thread.id}"})


async def listing(call: RestRequest) -> RestResponse:
    """Lists the caller's threads."""
    page = await list_threads(call.ctx, _window(call.query))
    return RestResponse(await gather(*(_shown(call.ctx, thread) for thread in page.rows)))


async def read(call: RestRequest) -> RestResponse:
    """Answers with a thread of the caller."""
    thread = await get_thread(call.ctx, call.path["thread_id"])
    if thread is None:
        raise NotFound()
    return RestResponse(await _shown(call.ctx, thread))


async def rename(call: RestRequest) -> RestResponse:
    """Gives a thread another title."""
    body: ChatThreadTitle = call.body
    return RestResponse(await _shown(call.ctx, await rename_thread(call.ctx, call.path["thread_id"], body)))


async def delete(call: RestRequest) -> RestResponse:
    """Deletes a thread."""
    await delete_thread(call.ctx, call.path["thread_id"])
    return RestResponse()


async def messages(call: RestRequest) -> RestResponse:
    """Lists the messages of a thread."""
    page = await list_messages(call.ctx, call.path["thread_id"], _window(call.query))
    return RestResponse([message_document(message) for message in page.rows])


def _window(query: Input | None) -> PageWindow:
    if not isinstance(query, ListParameters):
        raise TypeError(type(query).__name__)
    return query.listing().page


async def _shown(ctx: Context, thread: Thread) -> JsonObject:
    """Returns the document; the unfinished runs of several threads come in one statement."""
    return thread_document(ctx, thread, await active_run(ctx, thread.id))


_PATH: Final = "/chat/threads/{thread_id}"
_OWN: Final = "The caller's own: another member's is a missing one, whoever asks."

OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/chat/threads",
        create,
        "Begin a thread",
        resolver=create_thread,
        status=201,
        body=ChatThreadInput,
        body_required=False,
        answer="ChatThread",
        graphql_field="Mutation.chatThreadCreate",
        description="An empty one; the body may be missing.",
        example={"title": "Acme"},
        response_headers=("Location",),
        operation_id="chat_threads_create",
    ),
    RestOperation(
        "GET",
        "/chat/threads",
        listing,
        "List threads",
        resolver=list_threads,
        query=ListParameters,
        answer="ChatThread",
        many=True,
        graphql_field="Query.chatThreads",
        description="The caller's own, the one with the newest message first.",
        operation_id="chat_threads_listing",
    ),
    RestOperation(
        "GET",
        _PATH,
        read,
        "Read a thread",
        resolver=get_thread,
        answer="ChatThread",
        errors=(404,),
        graphql_field="Query.chatThread",
        description=_OWN,
        operation_id="chat_threads_read",
    ),
    RestOperation(
        "PATCH",
        _PATH,
        rename,
        "Rename a thread",
        resolver=rename_thread,
        body=ChatThreadTitle,
        answer="ChatThread",
        errors=(404,),
        graphql_field="Mutation.chatThreadRename",
        description="null takes the title away.",
        example={"title": "Acme, renewal"},
        operation_id="chat_threads_rename",
    ),
    RestOperation(
        "DELETE",
        _PATH,
        delete,
        "Delete a thread",
        resolver=delete_thread,
        status=204,
        errors=(404,),
        graphql_field="Mutation.chatThreadDelete",
        description="Its run is stopped first; messages, runs, events and approvals go along, records stay.",
        operation_id="chat_threads_delete",
    ),
    RestOperation(
        "GET",
        f"{_PATH}/messages",
        messages,
        "List messages",
        resolver=list_messages,
        query=ListParameters,
        answer="ChatMessage",
        many=True,
        errors=(404,),
        description="Oldest first.",
        graphql_field="ChatThread.messages",
        operation_id="chat_messages_listing",
    ),
)
