"""Serves the paths of members, and the transfer of what they own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Final

from pydantic import Field

from contract.criteria import Condition
from contract.vocabulary import MemberState
from resolvers.members import (
    add_member,
    deactivate_member,
    get_member,
    list_members,
    reactivate_member,
    remove_member,
    update_member,
    wanted,
)
from resolvers.ownership import OwnershipTransfer, transfer_ownership
from resolvers.shared.inputs import Input
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.resources import Resource
from storage import tables as t

MEMBER: Final = Document(
    "Member",
    t.Person,
    "Somebody who belongs to the organization, or did.",
    ("id", "name", "email", "role", "state", "joined_at", "left_at"),
    schemas={"id": {"type": "string", "description": "The subject, the value of every owner_id."}},
    examples={"id": "user_2mF7"},
)


class MemberQuery(ListParameters):
    """Has the query parameters of GET /members."""

    state: MemberState | None = Field(
        default=None, description="Only members in this state; unless told, those who have not left."
    )
    query: str | None = Field(default=None, description="Only members whose name or e-mail address contains this.")

    def conditions(self) -> Iterator[Condition]:
        """Yields the condition that both parameters set together."""
        yield wanted(None if self.state is None else [self.state.value], query=self.query)


class MemberRemoval(Input):
    """Has the query parameter of DELETE /members/{member_id}."""

    transfer_to: str | None = Field(default=None, description="The active member who gets the records.")


async def remove(call: RestRequest) -> RestResponse:
    """Removes the member; 202 with the job where the records are handed over."""
    removal: MemberRemoval = call.query
    done = await remove_member(call.ctx, call.path["member_id"], removal.transfer_to)
    return RestResponse() if done.job is None else RestResponse(_queued(call, done.job), status=202)


async def transfer(call: RestRequest) -> RestResponse:
    """Hands records over; 200 with the counts alone for a dry run."""
    done = await transfer_ownership(call.ctx, call.body)
    counts = {"counts": asdict(done.counts)}
    return RestResponse(counts, status=200) if done.job is None else RestResponse(_queued(call, done.job) | counts)


def _queued(call: RestRequest, job: t.Job) -> dict[str, object]:
    return {"job_id": job.id, "status_url": f"{call.root_path}/jobs/{job.id}"}


_MEMBERS: Final = Resource("/members/{member_id}", MEMBER)
OPERATIONS: Final = (
    _MEMBERS.listing(list_members, MemberQuery, description="By name, then by id."),
    _MEMBERS.detail(get_member, description="Those who left included."),
    replace(
        _MEMBERS.create(add_member, description="In the embedded directory; with an external identity provider 409."),
        graphql_field="Mutation.memberAdd",
        errors=(409,),
    ),
    replace(
        _MEMBERS.change(update_member, description="What is left out stays. The last administrator keeps the role."),
        errors=(404, 409),
    ),
    _MEMBERS.action(
        "deactivate",
        deactivate_member,
        description="Whatever the member calls with is refused from the next call on, until the suspension ends.",
    ),
    _MEMBERS.action(
        "reactivate", reactivate_member, description="The member goes on with the role and the credentials of before."
    ),
    RestOperation(
        "DELETE",
        "/members/{member_id}",
        remove,
        "Remove a member",
        resolver=remove_member,
        status=204,
        query=MemberRemoval,
        graphql_field="Mutation.memberRemove",
        description="Revokes the keys that the member made in the organization. With transfer_to the answer is 202, "
        "with the job that hands the records over.",
        errors=(404, 409),
    ),
    RestOperation(
        "POST",
        "/ownership-transfers",
        transfer,
        "Hand records over",
        resolver=transfer_ownership,
        status=202,
        body=OwnershipTransfer,
        answer="OwnershipTransferQueued",
        graphql_field="Mutation.ownershipTransfer",
        description="By a job, a thousand records in a transaction. A dry run answers 200 with the counts alone.",
        response_headers=("X-Ignored-Fields",),
    ),
)
