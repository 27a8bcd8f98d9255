"""The paths of organization keys and user tokens (specification 2.4, 4.10)."""

from __future__ import annotations

from typing import Any, Final

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
from rest_compat.operations import Answer, Call, Operation

NOT_STORED = {"Cache-Control": "no-store"}


async def create_key(call: Call) -> Answer:
    """The new key, with its text this once."""
    return _created(await create_organization_key(call.ctx, call.body))


async def list_keys(call: Call) -> Answer:
    """The caller's keys, or an administrator's view of everybody's."""
    return Answer([_document(c) for c in await list_organization_keys(call.ctx)])


async def rename_key(call: Call) -> Answer:
    """The key with its new name."""
    return Answer(_document(await rename_organization_key(call.ctx, call.path["id"], call.body)))


async def revoke_key(call: Call) -> Answer:
    """Nothing: the key ends here."""
    await revoke_organization_key(call.ctx, call.path["id"])
    return Answer()


async def create_token(call: Call) -> Answer:
    """The new token, with its text this once."""
    return _created(await create_user_token(call.ctx, call.body))


async def list_tokens(call: Call) -> Answer:
    """The caller's tokens."""
    return Answer([_document(c) for c in await list_user_tokens(call.ctx)])


async def rename_token(call: Call) -> Answer:
    """The token with its new name."""
    return Answer(_document(await rename_user_token(call.ctx, call.path["id"], call.body)))


async def revoke_token(call: Call) -> Answer:
    """Nothing: the token ends here."""
    await revoke_user_token(call.ctx, call.path["id"])
    return Answer()


def _created(created: Created) -> Answer:
    return Answer({**_document(created.credential), "pat_key": created.pat_key}, NOT_STORED)


def _document(credential: CredentialView) -> dict[str, Any]:
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
    Operation(
        "POST",
        "/organization-pats",
        create_key,
        "Create an organization API key",
        resolver=create_organization_key,
        status=201,
        body=CredentialCreate,
        answer="NewOrganizationKey",
        twin="Mutation.organizationKeyCreate",
        description="Bound to the organization that is active now. pat_key is returned this once.",
        response_headers=("Cache-Control", "X-Ignored-Fields"),
    ),
    Operation(
        "GET",
        "/organization-pats",
        list_keys,
        "List organization API keys",
        resolver=list_organization_keys,
        answer="Credential",
        many=True,
        twin="Query.organizationKeys",
        description="The caller's own; with organizations:manage those of all members, who are then named.",
    ),
    Operation(
        "PATCH",
        "/organization-pats/{id}",
        rename_key,
        "Rename an organization API key",
        resolver=rename_organization_key,
        body=CredentialRename,
        answer="Credential",
        twin="Mutation.organizationKeyRename",
        description="The caller's own only.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    Operation(
        "DELETE",
        "/organization-pats/{id}",
        revoke_key,
        "Revoke an organization API key",
        resolver=revoke_organization_key,
        status=204,
        twin="Mutation.organizationKeyRevoke",
        description="The caller's own; with organizations:manage any of the organization's. Takes effect at once.",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/user-pats",
        create_token,
        "Create a user personal access token",
        resolver=create_user_token,
        status=201,
        body=CredentialCreate,
        answer="NewUserToken",
        twin="Mutation.userTokenCreate",
        description="Acts in any organization of its user, chosen per request by X-Service-Org. pat_key is returned "
        "this once.",
        response_headers=("Cache-Control", "X-Ignored-Fields"),
    ),
    Operation(
        "GET",
        "/user-pats",
        list_tokens,
        "List user personal access tokens",
        resolver=list_user_tokens,
        answer="Credential",
        many=True,
        twin="Query.userTokens",
        description="The caller's own, whoever asks.",
    ),
    Operation(
        "PATCH",
        "/user-pats/{id}",
        rename_token,
        "Rename a user personal access token",
        resolver=rename_user_token,
        body=CredentialRename,
        answer="Credential",
        twin="Mutation.userTokenRename",
        description="The caller's own only.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    Operation(
        "DELETE",
        "/user-pats/{id}",
        revoke_token,
        "Revoke a user personal access token",
        resolver=revoke_user_token,
        status=204,
        twin="Mutation.userTokenRevoke",
        description="The caller's own only. Takes effect at once.",
        errors=(404,),
    ),
)
