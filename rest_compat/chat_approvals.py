"""Serves the writes that runs of a chat proposed: listed, read and decided on."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from contract.chat import ChatApprovalStatus
from contract.errors import NotFound
from resolvers.chat_approvals import ChatApprovalDecision, decide, get_approval, list_approvals
from rest_compat.chat_documents import approval_document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters


class ApprovalsQuery(ListParameters):
    """Has the query parameters of GET /chat/approvals."""

    status: ChatApprovalStatus | None = Field(default=None, description="Only those in this state.")


async def listing(call: RestRequest) -> RestResponse:
    """Lists the caller's approvals."""
    query: ApprovalsQuery = call.query
    page = await list_approvals(call.ctx, query.listing().page, query.status)
    return RestResponse([approval_document(approval) for approval in page.rows])


async def read(call: RestRequest) -> RestResponse:
    """Answers with an approval of the caller."""
    approval = await get_approval(call.ctx, call.path["approval_id"])
    if approval is None:
        raise NotFound()
    return RestResponse(approval_document(approval))


async def decision(call: RestRequest) -> RestResponse:
    """Approves or rejects a proposed write."""
    body: ChatApprovalDecision = call.body
    return RestResponse(approval_document(await decide(call.ctx, call.path["approval_id"], body)))


_PATH: Final = "/chat/approvals/{approval_id}"

OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/chat/approvals",
        listing,
        "List approvals",
        resolver=list_approvals,
        query=ApprovalsQuery,
        answer="ChatApproval",
        many=True,
        graphql_field="Query.chatApprovals",
        description="The writes that the caller's runs proposed, newest first.",
        operation_id="chat_approvals_listing",
    ),
    RestOperation(
        "GET",
        _PATH,
        read,
        "Read an approval",
        resolver=get_approval,
        answer="ChatApproval",
        errors=(404,),
        graphql_field="ChatRun.approvals",
        description="The caller's own: another member's is a missing one, whoever asks.",
        operation_id="chat_approvals_read",
    ),
    RestOperation(
        "POST",
        _PATH,
        decision,
        "Decide on a proposed write",
        resolver=decide,
        body=ChatApprovalDecision,
        answer="ChatApproval",
        errors=(404, 409, 412),
        graphql_field="Mutation.chatApprovalDecide",
        description="To approve takes the scopes of the tool, too. What is done is what the service stored: the body "
        "names it by its hash, SHA-256 of the canonical JSON (RFC 8785) of `{arguments, record_version, tool}`. "
        "The write is made once, whoever repeats this.",
        example={"decision": "approve", "arguments_sha256": "9f86d081884c7d659a2feaa0c55ad015" * 2},
        operation_id="chat_approvals_decide",
    ),
)
