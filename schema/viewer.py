"""Shows who is calling, and any record by its identifier."""

import asyncio
from typing import Annotated, Any

import strawberry
from graphql import GraphQLSchema

from contract.errors import Problem, Problems
from contract.limits import NODES_MAX
from contract.vocabulary import CredentialKind
from identity.principal import Principal
from resolvers import viewer as service
from resolvers.access import FINDABLE
from schema.connections import Node
from schema.declare import RULES, Info, argument, enum, operation, resolved, shown
from schema.execution.selections import selected_by_type

enum(
    CredentialKind,
    "How the caller proved who is calling.",
    SESSION="A session token of the identity provider.",
    ORGANIZATION_KEY="An organization key, `ak_`.",
    USER_TOKEN="A personal token, `pat_`.",
)


@strawberry.type(description="A tenant.")
class Organization:
    name: str = shown("The organization's name.")

    @resolved("The identity provider's identifier, which the header X-Service-Org takes.")
    def id(root: strawberry.Parent[Any]) -> strawberry.ID:
        return root.external_id


@strawberry.type(description="The caller of this request.")
class Viewer:
    subject: str = shown("The identity provider's name for the caller.")
    name: str | None = shown("The caller's name.")
    email: str | None = shown("The caller's e-mail address.")
    organization: Organization | None = shown("The active organization; null where the request has none.")
    organizations: list[Organization] = shown("Every organization that the credential can act in, by name.")

    @resolved("How the caller proved who is calling.")
    def credential_kind(root: strawberry.Parent[Principal]) -> CredentialKind:
        return root.kind

    @resolved("The scopes that hold in the active organization; without one, in all of them together.")
    def scopes(root: strawberry.Parent[Principal]) -> list[str]:
        return sorted(root.scopes)

    @resolved("Whether the caller may use the named Query or Mutation field right now; false for an unknown name.")
    def can(
        root: strawberry.Parent[Principal],
        operation: Annotated[str, argument("The name of a field of Query or Mutation, such as dealCreate.")],
    ) -> bool:
        rule = RULES.get(operation)
        return rule is not None and rule.admits(root)


@strawberry.type
class ViewerQueries:
    @operation(service.get_viewer, "Who is calling: no organization and no scope is needed.")
    async def viewer(self, info: Info) -> Viewer:
        return await service.get_viewer(info.context)

    @operation(service.get_node, "Any record by its id; null where it is missing or another organization's.")
    async def node(self, info: Info, id: Annotated[strawberry.ID, argument("The identifier.")]) -> Node | None:
        return await service.get_node(info.context, id, selected_by_type(info))

    @operation(service.get_node, "Records by their ids, in the same order; null where one is missing.")
    async def nodes(
        self, info: Info, ids: Annotated[list[strawberry.ID], argument("The identifiers, at most 500.")]
    ) -> list[Node | None]:
        if len(ids) > NODES_MAX:
            raise Problems([Problem(("ids",), f"must not have more than {NODES_MAX} items", "too_long")])
        selections = selected_by_type(info)
        return await asyncio.gather(*(service.get_node(info.context, i, selections) for i in ids))


def refuse_unfindable(schema: GraphQLSchema) -> None:
    """Raise TypeError for a type that is a Node and that `node` does not find."""
    interface: Any = schema.type_map["Node"]
    for kind in schema.get_possible_types(interface):
        if kind.name not in FINDABLE and kind.name not in service.CREDENTIALS:
            raise TypeError(f"{kind.name} is a Node, but no resolver says that it finds one: @requires(..., finds=...)")


QUERIES = ViewerQueries
