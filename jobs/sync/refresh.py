"""The tokens of an account, renewed by one process at a time: what a provider rotates is kept before anything else.

The lease is a column of the connection, so it holds over all processes (decision 577). A crash between the provider's
answer and the commit can lose a token that was rotated; the connection then asks for a new consent.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta

from contract.integrations import (
    REFRESH_SECONDS,
    REFRESH_WAIT_SECONDS,
    TOKEN_SECONDS_LEFT,
    IntegrationProblemCode,
)
from jobs.sync.sources import Account, Secret, opened_secret, sealed_secret
from providers.accounts.oauth import OAuth
from providers.accounts.ports import AccountError
from storage.base import now
from storage.queries import integrations
from storage.tables import Integration
from storage.tenancy.sessions import TenantSession

_log = logging.getLogger(__name__)
_PAUSE = 0.1
_LEFT = timedelta(seconds=TOKEN_SECONDS_LEFT)


@dataclass(frozen=True, slots=True)
class Renewal:
    """Gives the tokens of one connection, new ones where need be."""

    reading: Callable[[], AbstractAsyncContextManager[TenantSession]]
    writing: Callable[[], AbstractAsyncContextManager[TenantSession]]
    """A transaction that stands whatever becomes of the caller."""
    pepper: bytes
    oauth: OAuth
    integration_id: str

    async def token(self, refused: str | None = None) -> str:
        """A token that holds for some time yet, and is not the refused one. Raises AccountError."""
        clock = asyncio.get_running_loop().time
        until = clock() + REFRESH_WAIT_SECONDS
        while clock() < until:  # a few statements each time, while another renews
            found, account = await self._kept()
            if account.access != refused and account.expires_at - _LEFT > now():
                return account.access
            if await self._leased(found.token_version):
                # The provider may have rotated the token: what is begun is ended, whatever becomes of the caller.
                return await asyncio.shield(asyncio.ensure_future(self._renew(found.token_version, account)))
            await asyncio.sleep(_PAUSE)
        words = "The account's token is being renewed for long; it is tried again by itself."
        raise AccountError(IntegrationProblemCode.PROVIDER_UNAVAILABLE, words)

    async def _kept(self) -> tuple[Integration, Account]:
        async with self.reading() as session:
            found = await session.find(Integration, id=self.integration_id)
        secret = opened_secret(self.pepper, self.integration_id, None if found is None else found.sealed)
        if found is None or secret.account is None:
            raise AccountError(IntegrationProblemCode.REAUTHORIZE, _NONE, is_final=True)
        return found, secret.account

    async def _leased(self, version: int) -> bool:
        moment = now()
        async with self.writing() as session:
            until = moment + timedelta(seconds=REFRESH_SECONDS)
            return await integrations.lease_renewal(session, self.integration_id, version, moment, until)

    async def _renew(self, version: int, account: Account) -> str:
        try:
            tokens = await self.oauth.renewed(account.refresh, now())
        except AccountError as error:
            newer = await self._given_back(version)
            if newer is not None:  # a new consent came meanwhile, whose tokens are good
                return newer
            self.oauth.count_renewal(error.code.value)
            if error.code is IntegrationProblemCode.REAUTHORIZE:
                _log.warning("integration %s needs a new consent", self.integration_id)
            raise
        self.oauth.count_renewal("succeeded")
        renewed = replace(
            account, access=tokens.access, refresh=tokens.refresh or account.refresh, expires_at=tokens.expires_at
        )
        async with self.writing() as session:
            found = await session.find(Integration, id=self.integration_id, lock=True)
            if found is None or found.sealed is None:
                raise AccountError(IntegrationProblemCode.REAUTHORIZE, _NONE, is_final=True)
            if found.token_version != version:
                newer_secret = opened_secret(self.pepper, found.id, found.sealed)
                return newer_secret.account.access if newer_secret.account else renewed.access
            sealed = sealed_secret(self.pepper, found.id, Secret(account=renewed))
            await session.update(found, sealed=sealed, token_version=version + 1, refreshing_until=None)
        return renewed.access

    async def _given_back(self, version: int) -> str | None:
        """Let others renew; the token of a newer version, where there is one."""
        async with self.writing() as session:
            found = await session.find(Integration, id=self.integration_id, lock=True)
            if found is None or found.sealed is None:
                return None
            if found.token_version != version:
                account = opened_secret(self.pepper, found.id, found.sealed).account
                return None if account is None else account.access
            await session.update(found, refreshing_until=None)
        return None


_NONE = "The connection has no consent any more: connect again."
