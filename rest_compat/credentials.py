"""The paths of organization keys and user tokens (specification 2.4, 4.10)."""

from __future__ import annotations

from typing import Any

from resolvers.credentials import (
    Created,
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
from rest_compat.operations import Answer, Call

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
