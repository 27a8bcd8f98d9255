"""Shows who is calling, and any record by its identifier."""

import asyncio
from typing import Annotated, cast

import strawberry
from graphql import GraphQLInterfaceType, GraphQLSchema

from contract.errors import Problem, Problems
from contract.limits import NODES_MAX, PERMISSIONS_MAX
from contract.vocabulary import CredentialKind
from identity import principal
from identity.principal import Principal
from resolvers import members
from resolvers import viewer as service
from resolvers.shared.access import FINDABLE, Rule
from schema.connections import Node
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field, rules_of
from schema.execution.selections import selected_by_type
from schema.members import Member

enum(
    CredentialKind,
    "How the caller proved who is calling.",
    SESSION="A session token of the identity provider.",
    ORGANIZATION_KEY="An organization key, `ak_`.",
    USER_TOKEN="A personal token, `pat_`.",
)


@strawberry.type(description="A tenant.")
class Organization:
    name: str = field("The organization's name.")

    @computed_field("The identity provider's identifier, which the header X-Service-Org takes.")
    def id(root: strawberry.Parent[principal.Organization]) -> strawberry.ID:
        return root.external_id


@strawberry.type(description="Whether the caller may use an operation, and what it would take.")
class Permission:
    operation: str = field("The name as it was asked for.")
    known: bool = field("Whether there is such a Query, Mutation or Subscription field.")
    allowed: bool = field("Whether the caller may use it right now.")
    required_scopes: list[str] = field("The scopes of which any one would do.")


@strawberry.type(description="The caller of this request.")
class Viewer:
    subject: str = field("The identity provider's name for the caller.")
    name: str | None = field("The caller's name.")
    email: str | None = field("The caller's e-mail address.")
    organization: Organization | None = field("The active organization; null where the request has none.")
    organizations: list[Organization] = field("Every organization that the credential can act in, by name.")

    @computed_field("How the caller proved who is calling.")
    def credential_kind(root: strawberry.Parent[Principal]) -> CredentialKind:
        return root.kind

    @computed_field("The scopes that hold in the active organization; without one, in all of them together.")
    def scopes(root: strawberry.Parent[Principal]) -> list[str]:
        return sorted(root.scopes)

    @guarded_field(members.get_own_member, "The caller as a member of the active organization; null without one.")
    async def member(root: strawberry.Parent[Principal], info: Info) -> Member | None:
        return await members.get_own_member(info.context)

    @computed_field(
        "Whether the caller may use the named Query or Mutation field right now; false for an unknown name."
    )
    def can(
        root: strawberry.Parent[Principal],
        operation: Annotated[str, argument("The name of a field of Query or Mutation, such as dealCreate.")],
    ) -> bool:
        return _permission(root, operation).allowed

    @computed_field(
        "One answer for each name, in their order; at most 200. Names are those of root fields, bare or as "
        "Mutation.dealCreate."
    )
    def permissions(
        root: strawberry.Parent[Principal],
        operations: Annotated[list[str], argument("The names, at most 200.")],
    ) -> list[Permission]:
        if len(operations) > PERMISSIONS_MAX:
            words = f"must not have more than {PERMISSIONS_MAX} items"
            raise Problems([Problem(("operations",), words, "too_long")])
        return [_permission(root, operation) for operation in operations]


_OPERATIONS: dict[str, Rule] = {}
"""The rule of every root field by its name, bare and behind that of its type (decision 213).

A name that a query and a mutation share stands bare for the mutation, which asks for more (decision 553).
"""


def name_operations(schema: GraphQLSchema) -> None:
    """Learn which operations there are; every schema has the same."""
    for name, rule in rules_of(schema).items():
        _OPERATIONS[name.partition(".")[2]] = _OPERATIONS[name] = rule


def _permission(caller: Principal, operation: str) -> Permission:
    rule = _OPERATIONS.get(operation)
    if rule is None:
        return Permission(operation=operation, known=False, allowed=False, required_scopes=[])
    scopes = [] if rule.group is None else sorted(map(str, rule.group.value))
    return Permission(operation=operation, known=True, allowed=rule.admits(caller), required_scopes=scopes)


@strawberry.type
class ViewerQueries:
    @operation_field(service.get_viewer, "Who is calling: no organization and no scope is needed.")
    async def viewer(self, info: Info) -> Viewer:
        return await service.get_viewer(info.context)

    @operation_field(service.get_node, "Any record by its id; null where it is missing or another organization's.")
    async def node(self, info: Info, id: Annotated[strawberry.ID, argument("The identifier.")]) -> Node | None:
        return await service.get_node(info.context, id, selected_by_type(info))

    @operation_field(service.get_node, "Records by their ids, in the same order; null where one is missing.")
    async def nodes(
        self, info: Info, ids: Annotated[list[strawberry.ID], argument("The identifiers, at most 500.")]
    ) -> list[Node | None]:
        if len(ids) > NODES_MAX:
            raise Problems([Problem(("ids",), f"must not have more than {NODES_MAX} items", "too_long")])
        selections = selected_by_type(info)
        return await asyncio.gather(*(service.get_node(info.context, i, selections) for i in ids))


def refuse_unfindable(schema: GraphQLSchema) -> None:
    """Raise TypeError for a type that is a Node and that `node` does not find."""
    for kind in schema.get_possible_types(cast(GraphQLInterfaceType, schema.type_map["Node"])):
        if kind.name not in {*FINDABLE, *service.CREDENTIALS, *service.OWN}:
            raise TypeError(f"{kind.name} is a Node, but no resolver says that it finds one: @requires(..., finds=...)")


QUERIES = ViewerQueries
