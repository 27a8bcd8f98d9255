"""Asks an account's interface with its token, and once more with another one where that is accepted no more."""

from collections.abc import Mapping

from providers.accounts.calls import AccountApi, Json, Params, Refused
from providers.accounts.consents import Access
from providers.accounts.ports import Told


class Asker:
    """One account, as long as a stream of it is read."""

    def __init__(self, api: AccountApi, access: Access, headers: Mapping[str, str] | None = None) -> None:
        self._api = api
        self._access = access
        self._headers = headers or {}
        self._token: str | None = None

    async def get(self, url: str, told: Told, params: Params | None = None) -> Json:
        """The answer's object. Raises AccountError, Refused among them."""
        token = self._token = self._token or await self._access(None)
        told.calls += 1
        try:
            return await self._api.get(url, token, params, self._headers)
        except Refused as error:
            if error.status != 401:
                raise
        self._token = await self._access(token)
        told.calls += 1
        return await self._api.get(url, self._token, params, self._headers)
