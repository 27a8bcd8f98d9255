"""Duplicates on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.bulk_vocabulary import DuplicateReason, MergeableKind
from resolvers import duplicates
from schema.connections import After, Connection, First, Node, listing
from schema.declare import Info, argument, enum, field, operation_field
from schema.errors import UserError
from schema.inputs import change

enum(MergeableKind, "A kind of records that can become one.", ACCOUNT="Accounts.", CONTACT="Contacts.")
enum(
    DuplicateReason,
    "What records have in common that may be one.",
    SAME_EMAIL="The same e-mail address, letter case aside.",
    SAME_DOMAIN="The same Internet domain.",
    SAME_NAME="The same name, without case, marks, punctuation and legal forms.",
    SAME_PHONE="The same telephone number.",
    SAME_NAME_AND_ACCOUNT="The same name at the same account.",
)


@strawberry.type(description="Records that may be one.")
class DuplicateGroup:
    reasons: list[DuplicateReason] = field("What they have in common, in words.")
    records: list[Node] = field("Two to 20 of them, oldest first.")
    size: int = field("How many there are in all.")


@strawberry.type(description="Whether a set of records is known not to be one.")
class DuplicateDismissPayload:
    dismissed: int = field("How many pairs are known now not to be one.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type
class DuplicateQueries:
    @operation_field(duplicates.list_duplicates, "Groups of records that may be one, the surest and largest first.")
    async def duplicates(
        self,
        info: Info,
        kind: Annotated[MergeableKind, argument("Of which kind.")],
        first: First = UNSET,
        after: After = UNSET,
    ) -> Connection[DuplicateGroup]:
        return await duplicates.list_duplicates(info.context, kind, listing(first=first, after=after).page)


@strawberry.type
class DuplicateMutations:
    @operation_field(duplicates.dismiss_duplicates, "These records are not one: no group has two of them again.")
    async def duplicates_dismiss(
        self, info: Info, ids: Annotated[list[strawberry.ID], argument("The records, 2 to 100 of one kind.")]
    ) -> DuplicateDismissPayload:
        model = duplicates.DuplicatesDismiss
        done, problems = await change(info, duplicates.dismiss_duplicates, model=model, input={"ids": ids}, at=())
        return DuplicateDismissPayload(dismissed=done or 0, user_errors=problems)


QUERIES, MUTATIONS = DuplicateQueries, DuplicateMutations
