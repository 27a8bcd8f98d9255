"""Shows and changes the policy for all connections of an organization, on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.integrations import IntegrationProvider, SyncVisibility
from resolvers import integration_policy
from resolvers.integration_policy import PolicyView
from schema import integration_enums as _vocabularies  # noqa: F401  # declares the enums
from schema.declare import Info, argument, computed_field, field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.integration_types import IntegrationSettings
from schema.integrations import IntegrationSettingsInput


@strawberry.type(description="What holds for all connections of the organization.")
class IntegrationPolicy:
    internal_domains: list[str] = field(
        "Addresses of these domains and what lies below them are colleagues. From the members' addresses unless set."
    )
    allowed_providers: list[IntegrationProvider] = field("The providers that members may connect.")

    @computed_field("What a new connection starts with.")
    def defaults(root: strawberry.Parent[PolicyView]) -> IntegrationSettings:
        return root.defaults

    @computed_field("The widest that a connection may show.")
    def widest_visibility(root: strawberry.Parent[PolicyView]) -> SyncVisibility:
        return SyncVisibility(root.row.widest_visibility)

    version: int = field("Counts the changes, for expectedVersion.")


@strawberry.input(
    description="A field that is left out stays; null for `internalDomains` takes them from the members' addresses "
    "again."
)
class IntegrationPolicyInput:
    internal_domains: list[str] | None = field("Domains of colleagues.", default=UNSET)
    allowed_providers: list[IntegrationProvider] | None = field(
        "The providers that members may connect.", default=UNSET
    )
    defaults: IntegrationSettingsInput | None = field("What a new connection starts with.", default=UNSET)
    widest_visibility: SyncVisibility | None = field("The widest that a connection may show.", default=UNSET)
    expected_version: int | None = field(
        "The version that the caller saw; another one is PRECONDITION_FAILED.", default=UNSET
    )


@strawberry.type(description="What became of a change to the policy.")
class IntegrationPolicyPayload:
    policy: IntegrationPolicy | None = field("The policy as it is now; null with userErrors.")
    user_errors: list[UserError] = field("What stands in the way.")


@strawberry.type
class IntegrationPolicyQueries:
    @operation_field(integration_policy.get_policy, "What holds for all connections of the organization.")
    async def integration_policy(self, info: Info) -> IntegrationPolicy:
        return await integration_policy.get_policy(info.context)


@strawberry.type
class IntegrationPolicyMutations:
    @operation_field(integration_policy.update_policy, "Changes what holds for all connections of the organization.")
    async def integration_policy_update(
        self, info: Info, input: Annotated[IntegrationPolicyInput, argument("What changes.")]
    ) -> IntegrationPolicyPayload:
        model = integration_policy.PolicyUpdate
        changed, problems = await change(info, integration_policy.update_policy, model=model, input=input)
        return IntegrationPolicyPayload(policy=changed, user_errors=problems)


QUERIES, MUTATIONS = IntegrationPolicyQueries, IntegrationPolicyMutations
