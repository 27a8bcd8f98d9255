"""Organization keys and user tokens on the GraphQL surface (specification 4.10, part 5)."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from resolvers import credentials
from schema.connections import Node
from schema.declare import Info, argument, field, operation_field, secret_field
from schema.errors import UserError
from schema.inputs import DeletePayload, change, deletion


@strawberry.type(description="A key bound to one organization.")
class OrganizationKey(Node):
    name: str = field("What its owner calls it.")
    key_id: str = field("The public part of the key.")
    hint: str = field("The last four characters of the secret.")
    created_at: datetime = field("When it was made.")
    last_used_at: datetime | None = field("When it was last used, to the minute.")
    expires_at: datetime | None = field("When it ends by itself.")
    owner_user_id: str | None = field("The subject of its owner; null on the caller's own keys.")
    owner_name: str | None = field("The name of its owner; null on the caller's own keys.")


@strawberry.type(description="A personal token for any organization that its owner belongs to.")
class UserToken(Node):
    name: str = field("What its owner calls it.")
    key_id: str = field("The public part of the token.")
    hint: str = field("The last four characters of the secret.")
    created_at: datetime = field("When it was made.")
    last_used_at: datetime | None = field("When it was last used, to the minute.")
    expires_at: datetime | None = field("When it ends by itself.")


@strawberry.input(description="A new key or token.")
class CredentialCreateInput:
    name: str = field("What to call it: 1 to 120 characters.")
    expires_at: datetime | None = field("When it ends by itself; it lasts until revoked unless told.", default=UNSET)


@strawberry.type(description="A new key.")
class OrganizationKeyCreatePayload:
    organization_key: OrganizationKey | None = field("The key's record.")
    pat_key: str | None = secret_field("The key itself, shown once, here.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of a change to a key.")
class OrganizationKeyPayload:
    organization_key: OrganizationKey | None = field("The key after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="A new token.")
class UserTokenCreatePayload:
    user_token: UserToken | None = field("The token's record.")
    pat_key: str | None = secret_field("The token itself, shown once, here.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of a change to a token.")
class UserTokenPayload:
    user_token: UserToken | None = field("The token after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


KeyId = Annotated[strawberry.ID, argument("The key's identifier.")]
TokenId = Annotated[strawberry.ID, argument("The token's identifier.")]
Name = Annotated[str, argument("What to call it: 1 to 120 characters.")]
New = Annotated[CredentialCreateInput, argument("The new credential.")]


@strawberry.type
class CredentialQueries:
    @operation_field(
        credentials.list_organization_keys,
        "The caller's own organization keys; with organizations:manage everybody's.",
    )
    async def organization_keys(self, info: Info) -> list[OrganizationKey]:
        return await credentials.list_organization_keys(info.context)

    @operation_field(credentials.list_user_tokens, "The caller's own tokens.")
    async def user_tokens(self, info: Info) -> list[UserToken]:
        return await credentials.list_user_tokens(info.context)


@strawberry.type
class CredentialMutations:
    @operation_field(credentials.create_organization_key, "Makes a key for the active organization.")
    async def organization_key_create(self, info: Info, input: New) -> OrganizationKeyCreatePayload:
        made, problems = await change(
            info, credentials.create_organization_key, model=credentials.CredentialCreate, input=input
        )
        return OrganizationKeyCreatePayload(
            organization_key=made and made.credential, pat_key=made and made.pat_key, user_errors=problems
        )

    @operation_field(credentials.rename_organization_key, "Renames one of the caller's own keys.")
    async def organization_key_rename(self, info: Info, id: KeyId, name: Name) -> OrganizationKeyPayload:
        renamed, problems = await change(
            info,
            credentials.rename_organization_key,
            id,
            model=credentials.CredentialRename,
            input={"name": name},
            at=(),
        )
        return OrganizationKeyPayload(organization_key=renamed, user_errors=problems)

    @operation_field(
        credentials.revoke_organization_key,
        "Revokes one of the caller's own keys, or with organizations:manage any of the organization's.",
    )
    async def organization_key_revoke(self, info: Info, id: KeyId) -> DeletePayload:
        return await deletion(info, credentials.revoke_organization_key, id)

    @operation_field(credentials.create_user_token, "Makes a personal token.")
    async def user_token_create(self, info: Info, input: New) -> UserTokenCreatePayload:
        made, problems = await change(
            info, credentials.create_user_token, model=credentials.CredentialCreate, input=input
        )
        return UserTokenCreatePayload(
            user_token=made and made.credential, pat_key=made and made.pat_key, user_errors=problems
        )

    @operation_field(credentials.rename_user_token, "Renames one of the caller's own tokens.")
    async def user_token_rename(self, info: Info, id: TokenId, name: Name) -> UserTokenPayload:
        renamed, problems = await change(
            info, credentials.rename_user_token, id, model=credentials.CredentialRename, input={"name": name}, at=()
        )
        return UserTokenPayload(user_token=renamed, user_errors=problems)

    @operation_field(credentials.revoke_user_token, "Revokes one of the caller's own tokens.")
    async def user_token_revoke(self, info: Info, id: TokenId) -> DeletePayload:
        return await deletion(info, credentials.revoke_user_token, id)


QUERIES, MUTATIONS = CredentialQueries, CredentialMutations
