"""Serves what holds for all connections of the organization."""

from __future__ import annotations

from typing import Final

from resolvers import integration_policy
from resolvers.integration_policy import PolicyUpdate, PolicyView
from rest_compat.etags import has_seen, versions_in
from rest_compat.integration_documents import etag_of, settings_document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import JsonObject


async def policy(call: RestRequest) -> RestResponse:
    """Answers with the policy."""
    found = await integration_policy.get_policy(call.ctx)
    if has_seen(call.headers.get("if-none-match"), str(found.version)):
        return RestResponse(None, etag_of(found.version), status=304)
    return RestResponse(_policy(found), etag_of(found.version))


async def change_policy(call: RestRequest) -> RestResponse:
    """Changes the policy."""
    seen = versions_in(call.headers.get("if-match"))
    changed = await integration_policy.update_policy(call.ctx, call.body, seen=seen)
    return RestResponse(_policy(changed), etag_of(changed.version))


def _policy(view: PolicyView) -> JsonObject:
    return {
        "internal_domains": view.internal_domains,
        "allowed_providers": [provider.value for provider in view.allowed_providers],
        "defaults": settings_document(view.defaults),
        "widest_visibility": view.row.widest_visibility,
        "version": view.version,
    }


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/integrations/policy",
        policy,
        "Get the policy of integrations",
        resolver=integration_policy.get_policy,
        answer="IntegrationPolicy",
        graphql_field="Query.integrationPolicy",
        request_headers=("If-None-Match",),
        response_headers=("ETag",),
        errors=(304,),
        operation_id="integration_policy_get",
    ),
    RestOperation(
        "PATCH",
        "/integrations/policy",
        change_policy,
        "Change the policy of integrations",
        resolver=integration_policy.update_policy,
        body=PolicyUpdate,
        answer="IntegrationPolicy",
        graphql_field="Mutation.integrationPolicyUpdate",
        description="Null for `internal_domains` takes them from the members' addresses again.",
        example={"internal_domains": ["example.com"]},
        request_headers=("If-Match",),
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(412,),
        operation_id="integration_policy_change",
    ),
)
