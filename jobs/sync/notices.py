"""Providers' notices: what proves one that comes by a channel of ours, and noting that streams have changed.

A notice does no work: it hastens the connection's job. One that comes in the middle of a run has the job run once more,
and as many as come before it runs are one run (decision 911).
"""

import base64
import binascii
import uuid
from collections.abc import Collection, Mapping
from datetime import datetime

from cryptography.exceptions import InvalidTag

from contract.integrations import IntegrationStatus
from identity.encryption import opened, seal
from identity.secrets import peppers
from jobs.queue import hasten
from storage.base import as_uuid
from storage.database import Database
from storage.queries import jobs, notices
from storage.tables import Integration

KIND = "integration_sync"
"""The kind of the job that reads a connection."""
_IDENTIFIER = 16
TOKEN_MAX = 128
"""The characters that a provider takes of what proves a channel's notices, at least."""


def notice_token(pepper: bytes, provider: str, org_id: str, watch_id: str) -> str:
    """The word by which the notices of a channel are proven: nobody else can make one, and it says whose it is."""
    sealed = seal(pepper, f"notice:{provider}", uuid.UUID(org_id).bytes + uuid.UUID(watch_id).bytes)
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def opened_notice(pepper: bytes, provider: str, token: str) -> tuple[str, str] | None:
    """The organization and the channel that a notice's word was made for; None for one that was not made here."""
    try:
        if not token.isascii() or not 0 < len(token) <= TOKEN_MAX:
            return None
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != token:
            return None
        plain = opened(peppers(pepper), f"notice:{provider}", sealed)
        organization, watch = plain[:_IDENTIFIER], plain[_IDENTIFIER:]
        return str(uuid.UUID(bytes=organization)), str(uuid.UUID(bytes=watch))
    except (InvalidTag, binascii.Error, ValueError):
        return None


async def note(database: Database, org_id: str, changed: Mapping[str, Collection[str]], present: datetime) -> None:
    """Note that streams have changed, by their connections.

    Nothing is written for a connection that is not read, that its provider asks to wait, or whose job is due already.
    """
    for integration_id, stream_ids in changed.items():  # one, unless an account is connected several times
        if as_uuid(org_id) is None or not stream_ids:
            continue
        async with database.reading(org_id) as session:
            integration = await session.find(Integration, id=integration_id)
            if integration is None or not _is_read(integration, present):
                continue
            job = await jobs.unfinished(session, KIND, integration_id)
            if job is None or await notices.is_due(session, job.id, present):
                continue
        async with database.writing(org_id) as session:
            if await hasten(session, KIND, integration_id):
                await notices.note(session, stream_ids, present)


def _is_read(integration: Integration, present: datetime) -> bool:
    waits = integration.retry_at is not None and integration.retry_at > present
    return integration.status == IntegrationStatus.ACTIVE.value and not waits
