"""Zoom accounts: the consent, whose it is, and its recordings."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import orjson

from contract.integrations import BY_PROVIDER, IntegrationProblemCode, IntegrationProvider, IntegrationStreamKind
from providers import wire
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.consents import Access, CalendarInfo, Who
from providers.accounts.oauth import Client, OAuth, Tokens
from providers.accounts.ports import AccountError, Reader
from providers.accounts.shown import identifier_of
from providers.accounts.zoom_recordings import RecordingReader
from providers.calls import Calls

SCOPES = BY_PROVIDER[IntegrationProvider.ZOOM].permissions
RECORDINGS = "recordings"
_CODE = IntegrationProblemCode
_SCOPES_MISSING = 4711
_OF_ADMINISTRATORS = ":admin"
"""The end of the names of permissions in an app that an administrator manages for everybody."""


class ZoomApi(AccountApi):
    """Zoom's interface, whose errors are numbers."""

    def read(self, response: wire.Response, text: bytes) -> Json:
        """The object of an answer. Raises AccountError for one that refuses."""
        if response.status_code in (400, 403) and _number(text) == _SCOPES_MISSING:
            words = "Zoom was not permitted to show this: reconnect, and permit all of it."
            raise Refused(_CODE.SCOPES_MISSING, words, 403, frozenset({str(_SCOPES_MISSING)}), is_final=True)
        return super().read(response, text)


def _number(text: bytes) -> object:
    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return answer.get("code") if isinstance(answer, dict) else None


class ZoomOAuth(OAuth):
    """Zoom's consent, whose client names itself in a header and its permissions at Zoom alone (decision 982)."""

    def address(self, redirect: str, state: str, verifier: str, scopes: Sequence[str], **more: str) -> str:
        """Zoom's page for the member."""
        return super().address(redirect, state, verifier, (), **more)

    async def revoked(self, token: str) -> None:
        """Have Zoom forget the consent, which it does by a token that still asks. Raises AccountError."""
        renewed = await self.renewed(token, datetime.now(UTC))
        await self._api.post(self._client.revoke_url or "", {"token": renewed.access}, basic=self._basic())

    async def _asked(self, form: Mapping[str, str]) -> Json:
        return await self._api.post(self._client.token_url, form, basic=self._basic())

    def _basic(self) -> str:
        return base64.b64encode(f"{self._client.id}:{self._client.secret}".encode()).decode()

    def _tokens(self, answer: Json, present: datetime) -> Tokens:
        found = super()._tokens(answer, present)
        return replace(found, scopes=frozenset(each.removesuffix(_OF_ADMINISTRATORS) for each in found.scopes))


class ZoomAccounts:
    """Zoom, as the operator's client sees it."""

    needed = frozenset(SCOPES)
    """The permissions without which a recording cannot be put on its meeting, with who took part."""

    def __init__(self, client_id: str, secret: str, base_url: str | None = None, *, calls: Calls | None = None) -> None:
        """With a `base_url` everything lies below it."""
        base = (base_url or "").rstrip("/")
        self._api = ZoomApi("Zoom", calls=calls)
        self._base = f"{base or 'https://api.zoom.us'}/v2"
        self._files = base or "https://zoom.us"
        client = Client(
            id=client_id,
            secret=secret,
            authorize_url=f"{self._files}/oauth/authorize",
            token_url=f"{self._files}/oauth/token",
            revoke_url=f"{self._files}/oauth/revoke",
            scopes=SCOPES,
            more={},
        )
        self.oauth: OAuth = ZoomOAuth(self._api, client)

    async def who(self, token: str) -> Who:
        """Whose token it is. Raises AccountError."""
        answer = await self._api.get(f"{self._base}/users/me", token)
        identifier = identifier_of(answer.get("id"))
        if identifier is None:
            raise AccountError(_CODE.PROVIDER_ANSWER, "Zoom did not say whose account it is.")
        return Who(identifier, str(answer.get("email") or "")[:500])

    async def calendars(self, token: str) -> list[CalendarInfo]:
        """The recordings, which are all that is followed."""
        return [CalendarInfo(RECORDINGS, "Recordings", is_primary=True, kind=IntegrationStreamKind.RECORDINGS)]

    def reader(self, calendar: str, label: str, access: Access) -> Reader:
        """The reader of the recordings of the account with this label, which is its owner's address."""
        return RecordingReader(self._api, self._base, self._files, label, access)

    async def close(self) -> None:
        """End the connections."""
        await self._api.close()
