"""Connecting accounts by consent on the GraphQL surface."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.integrations import IntegrationProvider, IntegrationStreamKind
from resolvers import integration_consent
from schema.declare import Info, argument, field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.integration_types import Integration
from schema.integrations import IntegrationId, IntegrationPayload, IntegrationSettingsInput


@strawberry.input(description="What to connect, and how.")
class IntegrationConnectInput:
    provider: IntegrationProvider = field("Which one.")
    kinds: list[IntegrationStreamKind] | None = field(
        "What to follow; the provider's calendar, recordings or channels unless told. MAIL has to be named.",
        default=UNSET,
    )
    name: str | None = field("What the members call it.", default=UNSET)
    settings: IntegrationSettingsInput | None = field("What its owner chose.", default=UNSET)
    return_to: str | None = field(
        "Where the callback sends the browser, with the code behind `#`; an origin of CRM_CORS_ORIGINS or the "
        "service's own.",
        default=UNSET,
    )


@strawberry.input(description="What finishes a connection.")
class IntegrationCompleteInput:
    id: strawberry.ID = field("The connection.")
    completion_code: str = field("What the callback gave.")


@strawberry.type(description="What became of beginning a consent.")
class IntegrationConnectPayload:
    integration: Integration | None = field("The PENDING connection.")
    authorization_url: str | None = field("The provider's page for the member; shown once.")
    expires_at: datetime | None = field("When the consent has to be given by.")
    user_errors: list[UserError] = field("What stands in the way.")


@strawberry.type
class IntegrationConsentMutations:
    @operation_field(
        integration_consent.connect_integration,
        "Begins a connection: a PENDING one, and the provider's page to send the member to. What belongs to the "
        "organization (Slack) needs organizations:manage too. Nothing is connected before integrationComplete.",
    )
    async def integration_connect(
        self, info: Info, input: Annotated[IntegrationConnectInput, argument("The account.")]
    ) -> IntegrationConnectPayload:
        model = integration_consent.IntegrationConnect
        begun, problems = await change(info, integration_consent.connect_integration, model=model, input=input)
        return _begun(begun, problems)

    @operation_field(
        integration_consent.complete_integration,
        "Finishes a connection with the code that the callback gave: by the member who began it, in the same "
        "organization, once.",
    )
    async def integration_complete(
        self, info: Info, input: Annotated[IntegrationCompleteInput, argument("The code.")]
    ) -> IntegrationPayload:
        model = integration_consent.IntegrationComplete
        resolver = integration_consent.complete_integration
        integration, problems = await change(info, resolver, input.id, model=model, input=input)
        return IntegrationPayload(integration=integration, user_errors=problems)

    @operation_field(
        integration_consent.reconnect_integration,
        "A new consent for the same connection and the same account at the provider; another account is a CONFLICT.",
    )
    async def integration_reconnect(
        self,
        info: Info,
        id: IntegrationId,
        return_to: Annotated[str | None, argument("Where the callback sends the browser.")] = UNSET,
    ) -> IntegrationConnectPayload:
        where = return_to or None
        begun, problems = await change(info, integration_consent.reconnect_integration, id, where)
        return _begun(begun, problems)


def _begun(begun: integration_consent.Consent | None, problems: list[UserError]) -> IntegrationConnectPayload:
    if begun is None:
        return IntegrationConnectPayload(
            integration=None, authorization_url=None, expires_at=None, user_errors=problems
        )
    return IntegrationConnectPayload(
        integration=begun.integration,  # type: ignore[arg-type]  # a row stands for its type
        authorization_url=begun.authorization_url,
        expires_at=begun.expires_at,
        user_errors=problems,
    )


MUTATIONS = IntegrationConsentMutations
