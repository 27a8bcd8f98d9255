"""Asks an account's interface with its token, and once more with another one where that is accepted no more."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from providers.accounts.calls import AccountApi, Json, Params, Refused
from providers.accounts.consents import Access
from providers.accounts.ports import Told

T = TypeVar("T")


class Asker:
    """One account, as long as a stream of it is read."""

    def __init__(self, api: AccountApi, access: Access, headers: Mapping[str, str] | None = None) -> None:
        self._api = api
        self._access = access
        self._headers = headers or {}
        self._token: str | None = None
        self._refused: str | None = None
        """A token that was new and was refused all the same: another one would be, too."""

    async def get(self, url: str, told: Told, params: Params | None = None) -> Json:
        """The answer's object. Raises AccountError, Refused among them."""
        return await self._asked(lambda token: self._api.get(url, token, params, self._headers), told)

    async def text(self, url: str, told: Told, leads_on: Callable[[str], bool]) -> str:
        """A file of text, from where it leads on to. Raises AccountError, Refused among them."""
        return await self._asked(lambda token: self._api.text(url, token, leads_on), told)

    async def _asked(self, ask: Callable[[str], Awaitable[T]], told: Told) -> T:
        token = self._token = self._token or await self._access(None)
        told.calls += 1
        try:
            return await ask(token)
        except Refused as error:
            if error.status != 401 or token == self._refused:
                raise
        self._token = await self._access(token)
        told.calls += 1
        try:
            return await ask(self._token)
        except Refused as error:
            if error.status == 401:
                self._refused = self._token
            raise
