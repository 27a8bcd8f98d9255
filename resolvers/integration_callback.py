"""The end of a consent at the provider: it connects nothing, and gives a code that only who began it can use.

It has no caller: the browser that comes back carries no credential, and may be somebody else's.
"""

import secrets
from dataclasses import dataclass, field, replace
from datetime import timedelta

from contract.errors import BadRequest
from contract.integrations import CONSENT_SECONDS, IntegrationProvider, IntegrationStatus
from identity.secrets import matches, stored
from jobs.sync.events import happened
from resolvers.shared.consents import Grant, State, opened_grant, read_state, sealed_grant
from resolvers.shared.context import Services
from storage.base import as_uuid, now
from storage.tables import Integration
from storage.tenancy.sessions import TenantSession

WRONG = "This consent is not valid, was used, or has expired: begin the connection again"
_CODE_MAX = 4_000
_DENIED = "access_denied"
_REFUSED = "provider_refused"


@dataclass(frozen=True, slots=True)
class Returned:
    """The outcome of a consent: the completion code, or why there is none; and where the browser goes from here."""

    integration_id: str
    completion_code: str | None = field(default=None, repr=False)
    error: str | None = None
    return_to: str | None = None


async def take_back(
    services: Services, provider: str, state: str, code: str | None, error: str | None, request_id: str
) -> Returned:
    """Take what the provider handed back, once. Raises BadRequest, with one text for all that is not good."""
    told = read_state(services.identity.pepper, state)
    if told is None or told.provider != provider or as_uuid(told.org_id) is None or not _is_something(code, error):
        raise BadRequest(WRONG)
    async with services.database.writing(told.org_id) as session:
        integration = await session.find(Integration, id=told.integration_id, lock=True)
        if integration is None or integration.grant_sealed is None or not _is_awaited(services, integration, told):
            raise BadRequest(WRONG)
        grant = opened_grant(services.identity.pepper, integration.id, integration.grant_sealed)
        if error is not None or code is None:
            await _refused(session, integration, request_id)
            said = _DENIED if error == _DENIED else _REFUSED
            return Returned(integration.id, error=said, return_to=grant.return_to)
        return await _completable(services, session, integration, grant, code)


def _is_something(code: str | None, error: str | None) -> bool:
    return error is not None or (code is not None and 0 < len(code) <= _CODE_MAX)


def _is_awaited(services: Services, integration: Integration, told: State) -> bool:
    expires, known = integration.grant_expires_at, {each.value for each in IntegrationProvider}
    is_good = matches(told.nonce, integration.grant_state, services.identity.pepper)
    return is_good and expires is not None and expires >= now() and integration.provider == told.provider in known


async def _completable(
    services: Services, session: TenantSession, integration: Integration, grant: Grant, code: str
) -> Returned:
    """Keep the provider's code, sealed, for who has the completion code."""
    pepper, completion = services.identity.pepper, secrets.token_urlsafe(32)
    await session.update(
        integration,
        grant_state=None,
        grant_code=stored(completion, pepper),
        grant_sealed=sealed_grant(pepper, integration.id, replace(grant, code=code)),
        grant_expires_at=now() + timedelta(seconds=CONSENT_SECONDS),
    )
    return Returned(integration.id, completion_code=completion, return_to=grant.return_to)


async def _refused(session: TenantSession, integration: Integration, request_id: str) -> None:
    """The member refused: what was only begun is gone, and what was there goes on as it was."""
    if integration.status == IntegrationStatus.PENDING.value:
        await session.delete(integration)
        data = {"provider": integration.provider, "deleted": False}
        await happened(session, integration, "integration_disconnected", request_id, **data)
        return
    values = {"grant_sealed": None, "grant_state": None, "grant_code": None, "grant_expires_at": None}
    await session.update(integration, **values)
