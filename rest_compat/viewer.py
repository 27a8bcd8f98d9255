"""Serves GET /viewer: who is calling."""

from __future__ import annotations

from typing import Final

from identity.principal import Organization
from resolvers.members import get_own_member
from resolvers.viewer import get_viewer
from rest_compat.members import MEMBER
from rest_compat.operations import RestOperation, RestRequest, RestResponse


async def viewer(call: RestRequest) -> RestResponse:
    """Answers with the caller, as a member too where an organization is active."""
    caller = await get_viewer(call.ctx)
    member = await get_own_member(call.ctx)
    return RestResponse(
        {
            "subject": caller.subject,
            "name": caller.name,
            "email": caller.email,
            "credential_kind": caller.kind.value,
            "organization": None if caller.organization is None else _document(caller.organization),
            "organizations": [_document(each) for each in caller.organizations],
            "scopes": sorted(caller.scopes),
            "member": None if member is None else MEMBER.of(member),
        }
    )


def _document(organization: Organization) -> dict[str, str]:
    return {"id": organization.external_id, "name": organization.name}


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/viewer",
        viewer,
        "Who is calling",
        resolver=get_viewer,
        answer="Viewer",
        graphql_field="Query.viewer",
        description="The caller, the organizations that the credential can act in, and the scopes that hold now.",
    ),
)
