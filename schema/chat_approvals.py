"""Writes that runs of a chat proposed on the GraphQL surface: listed, and decided on."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.chat import ChatApprovalStatus, ChatDecision
from resolvers import chat_approvals, viewer
from resolvers.chat_approvals import Approval, ChatApprovalDecision
from resolvers.shared.inputs import parse
from resolvers.shared.node_lookup import NodeResult
from schema.connections import After, Connection, First, Node, listing
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError, outcome
from schema.execution.selections import field_of, selected_by_type
from schema.inputs import given

enum(
    ChatApprovalStatus,
    "What becomes of a proposed write.",
    PENDING="Nobody has decided.",
    APPROVED="Approved; the write is being made.",
    EXECUTED="Approved, and the write was made.",
    FAILED="Approved, and the write was refused.",
    REJECTED="Somebody said no.",
    STALE="The record had changed by then.",
    EXPIRED="Nobody decided in time, or the run was stopped.",
)
enum(ChatDecision, "Yes or no.", APPROVE="Make the write.", REJECT="Do not.")


@strawberry.type(
    description="One write that a run proposed. The service keeps what will be done; the client only says yes or no to "
    "it."
)
class ChatApproval(Node):
    run_id: strawberry.ID = field("The run.")
    thread_id: strawberry.ID = field("The thread.")
    tool: str = field("The tool.")
    operation: str = field("The field of Mutation that it stands for.")
    arguments: JSON = field("What it will be called with.")
    arguments_sha256: str = field(
        "SHA-256, in hex, of the canonical JSON (RFC 8785) of `{arguments, record_version, tool}`."
    )
    record_version: int | None = field("The version of the record that was shown; null where one is created.")
    preview: JSON = field("The record before and after.")
    status: ChatApprovalStatus = field("The state.")
    expires_at: datetime = field("Until when it can be decided.")
    decided_at: datetime | None = field("When it was decided.")

    @guarded_field(viewer.get_node, "The record that was written; null before that.", "result_id")
    async def result(root: strawberry.Parent[Approval], info: Info) -> Node | None:
        if root.result_id is None:
            return None
        found: NodeResult | None = await viewer.get_node(info.context, root.result_id, selected_by_type(info))
        return found


@strawberry.input(description="A decision on a proposed write.")
class ChatApprovalInput:
    id: strawberry.ID = field("The approval.")
    decision: ChatDecision = field("Yes or no.")
    arguments_sha256: str = field("The hash that came with what was shown.")


@strawberry.type(description="What became of an approval.")
class ChatApprovalPayload:
    approval: ChatApproval | None = field("The approval.")
    user_errors: list[UserError] = field("What was wrong.")


@strawberry.type
class ChatApprovalQueries:
    @operation_field(
        chat_approvals.list_approvals, "The caller's approvals in the active organization, the newest first."
    )
    async def chat_approvals(
        self,
        info: Info,
        status: Annotated[ChatApprovalStatus | None, argument("Only those in this state.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> Connection[ChatApproval]:
        page = listing(first=first, after=after).page
        return await chat_approvals.list_approvals(info.context, page, None if status is UNSET else status)


@strawberry.type
class ChatApprovalMutations:
    @operation_field(
        chat_approvals.decide,
        "Approves or rejects one write that a run proposed. An approval also needs the scopes of the tool, the hash of "
        "exactly what was shown, and a record that has not changed since; the write is made once, whoever repeats "
        "this.",
    )
    async def chat_approval_decide(
        self, info: Info, input: Annotated[ChatApprovalInput, argument("The decision.")]
    ) -> ChatApprovalPayload:
        async def work() -> object:
            said = {name: value for name, value in dict(given(input)).items() if name != "id"}  # type: ignore[call-overload]  # an object
            decision = parse(ChatApprovalDecision, said, at=("input",))
            context = info.context
            if context.key is not None:
                context.key.enter(field_of(info).key)
            return await chat_approvals.decide(context, str(input.id), decision, field=("input", "id"))

        approval, problems = await outcome(work())
        return ChatApprovalPayload(approval=approval, user_errors=problems)  # type: ignore[arg-type]  # a row stands for the type


QUERIES, MUTATIONS = ChatApprovalQueries, ChatApprovalMutations
