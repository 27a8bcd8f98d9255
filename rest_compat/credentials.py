"""Serves the paths of organization keys and user tokens (specification 2.4, 4.10)."""

from __future__ import annotations

from typing import Final

from resolvers.credentials import (
    Created,
    CredentialCreate,
    CredentialRename,
    CredentialView,
    create_organization_key,
    create_user_token,
    list_organization_keys,
    list_user_tokens,
    rename_organization_key,
    rename_user_token,
    revoke_organization_key,
    revoke_user_token,
)
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import JsonObject

NOT_STORED = {"Cache-Control": "no-store"}


async def create_key(call: RestRequest) -> RestResponse:
    """Creates a key; only this response has its secret."""
    return _created(await create_organization_key(call.ctx, call.body))


async def list_keys(call: RestRequest) -> RestResponse:
    """Lists the caller's keys; for an administrator everybody's."""
    return RestResponse([_document(c) for c in await list_organization_keys(call.ctx)])


async def rename_key(call: RestRequest) -> RestResponse:
    """Renames a key."""
    return RestResponse(_document(await rename_organization_key(call.ctx, call.path["id"], call.body)))


async def revoke_key(call: RestRequest) -> RestResponse:
    """Revokes a key."""
    await revoke_organization_key(call.ctx, call.path["id"])
    return RestResponse()


async def create_token(call: RestRequest) -> RestResponse:
    """Creates a token; only this response has its secret."""
    return _created(await create_user_token(call.ctx, call.body))


async def list_tokens(call: RestRequest) -> RestResponse:
    """Lists the caller's tokens."""
    return RestResponse([_document(c) for c in await list_user_tokens(call.ctx)])


async def rename_token(call: RestRequest) -> RestResponse:
    """Renames a token."""
    return RestResponse(_document(await rename_user_token(call.ctx, call.path["id"], call.body)))


async def revoke_token(call: RestRequest) -> RestResponse:
    """Revokes a token."""
    await revoke_user_token(call.ctx, call.path["id"])
    return RestResponse()


def _created(created: Created) -> RestResponse:
    return RestResponse({**_document(created.credential), "pat_key": created.pat_key}, NOT_STORED)


def _document(credential: CredentialView) -> JsonObject:
    return {
        "id": credential.id,
        "name": credential.name,
        "key_id": credential.key_id,
        "hint": credential.hint,
        "created_at": credential.created_at,
        "last_used_at": credential.last_used_at,
        "expires_at": credential.expires_at,
        "owner_user_id": credential.owner_user_id,
        "owner_name": credential.owner_name,
    }


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/organization-pats",
        create_key,
        "Create an organization API key",
        resolver=create_organization_key,
        status=201,
        body=CredentialCreate,
        answer="NewOrganizationKey",
        graphql_field="Mutation.organizationKeyCreate",
        description="Bound to the organization that is active now. pat_key is returned this once.",
        response_headers=("Cache-Control", "X-Ignored-Fields"),
    ),
    RestOperation(
        "GET",
        "/organization-pats",
        list_keys,
        "List organization API keys",
        resolver=list_organization_keys,
        answer="Credential",
        many=True,
        graphql_field="Query.organizationKeys",
        description="The caller's own; with organizations:manage those of all members, who are then named.",
    ),
    RestOperation(
        "PATCH",
        "/organization-pats/{id}",
        rename_key,
        "Rename an organization API key",
        resolver=rename_organization_key,
        body=CredentialRename,
        answer="Credential",
        graphql_field="Mutation.organizationKeyRename",
        description="The caller's own only.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    RestOperation(
        "DELETE",
        "/organization-pats/{id}",
        revoke_key,
        "Revoke an organization API key",
        resolver=revoke_organization_key,
        status=204,
        graphql_field="Mutation.organizationKeyRevoke",
        description="The caller's own; with organizations:manage any of the organization's. Takes effect at once.",
        errors=(404,),
    ),
    RestOperation(
        "POST",
        "/user-pats",
        create_token,
        "Create a user personal access token",
        resolver=create_user_token,
        status=201,
        body=CredentialCreate,
        answer="NewUserToken",
        graphql_field="Mutation.userTokenCreate",
        description="Acts in any organization of its user, chosen per request by X-Service-Org. pat_key is returned "
        "this once.",
        response_headers=("Cache-Control", "X-Ignored-Fields"),
    ),
    RestOperation(
        "GET",
        "/user-pats",
        list_tokens,
        "List user personal access tokens",
        resolver=list_user_tokens,
        answer="Credential",
        many=True,
        graphql_field="Query.userTokens",
        description="The caller's own, whoever asks.",
    ),
    RestOperation(
        "PATCH",
        "/user-pats/{id}",
        rename_token,
        "Rename a user personal access token",
        resolver=rename_user_token,
        body=CredentialRename,
        answer="Credential",
        graphql_field="Mutation.userTokenRename",
        description="The caller's own only.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    RestOperation(
        "DELETE",
        "/user-pats/{id}",
        revoke_token,
        "Revoke a user personal access token",
        resolver=revoke_user_token,
        status=204,
        graphql_field="Mutation.userTokenRevoke",
        description="The caller's own only. Takes effect at once.",
        errors=(404,),
    ),
)
