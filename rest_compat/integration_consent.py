"""Serves connecting accounts by consent."""

from __future__ import annotations

from typing import Final

from resolvers import integration_consent
from resolvers.integration_consent import Consent, IntegrationComplete, IntegrationConnect, IntegrationReconnect
from resolvers.shared.context import Context
from rest_compat.integration_documents import all_shown, answer_of
from rest_compat.operations import RestOperation, RestRequest, RestResponse

_PATH: Final = "/integrations/{integration_id}"
_BACK: Final = {"return_to": "https://crm.example.com/settings"}


async def connect(call: RestRequest) -> RestResponse:
    """Begins a connection."""
    return await _begun(call.ctx, await integration_consent.connect_integration(call.ctx, call.body))


async def complete(call: RestRequest) -> RestResponse:
    """Finishes a connection."""
    made = await integration_consent.complete_integration(call.ctx, call.path["integration_id"], call.body)
    return await answer_of(call.ctx, made)


async def reconnect(call: RestRequest) -> RestResponse:
    """Begins a new consent for a connection."""
    body: IntegrationReconnect = call.body
    identifier = call.path["integration_id"]
    return await _begun(call.ctx, await integration_consent.reconnect_integration(call.ctx, identifier, body.return_to))


async def _begun(ctx: Context, begun: Consent) -> RestResponse:
    [document] = await all_shown(ctx, [begun.integration])
    told = {"authorization_url": begun.authorization_url, "expires_at": begun.expires_at}
    return RestResponse({"integration": document, **told})


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/integrations",
        connect,
        "Begin to connect an account",
        resolver=integration_consent.connect_integration,
        status=201,
        body=IntegrationConnect,
        answer="IntegrationConsent",
        graphql_field="Mutation.integrationConnect",
        description="Send the member to `authorization_url`; what comes back is completed by the same member alone. "
        "409 for a provider that is not set up here or not allowed by the policy, and where there are too many.",
        example={"provider": "google", "name": "My calendar"},
        response_headers=("X-Ignored-Fields",),
        errors=(409,),
        operation_id="integrations_connect",
    ),
    RestOperation(
        "POST",
        f"{_PATH}/complete",
        complete,
        "Complete a connection",
        resolver=integration_consent.complete_integration,
        body=IntegrationComplete,
        answer="Integration",
        graphql_field="Mutation.integrationComplete",
        description="With the code that the callback gave, once, by the member who began it. 409 for a code that is "
        "not good, a permission that was not given, and an account that is connected already; 502 where the provider "
        "does not go along.",
        example={"completion_code": "Zk3x9…"},
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404, 409, 502),
        operation_id="integrations_complete",
    ),
    RestOperation(
        "POST",
        f"{_PATH}/reconnect",
        reconnect,
        "Begin a new consent for a connection",
        resolver=integration_consent.reconnect_integration,
        body=IntegrationReconnect,
        body_required=False,
        answer="IntegrationConsent",
        graphql_field="Mutation.integrationReconnect",
        description="With the same account; another one is a 409 when it is completed. 409 for a feed.",
        example=_BACK,
        response_headers=("X-Ignored-Fields",),
        errors=(404, 409),
        operation_id="integrations_reconnect",
    ),
)
