"""OAuth 2.0 authorization codes with PKCE (RFC 6749 and 7636): the address of the consent, and what becomes of codes.

Three forms of one protocol, each a call of `AccountApi`: a library would bring a client of its own (decision 578).
"""

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from urllib.parse import urlencode

from contract.integrations import IntegrationProblemCode
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.ports import AccountError

_TOKEN_MAX = 20_000
_ENDED = frozenset({"invalid_grant", "interaction_required", "consent_required", "login_required"})
"""The refusals of a token after which nothing but a new consent helps."""
_USUAL, _LONGEST = 3_600, 30 * 86_400


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens that a provider gave. Without `refresh` the former one goes on; `scopes` are what was permitted.

    `is_lasting` where the token ends when the consent does, so that nothing renews it.
    """

    access: str = field(repr=False)
    refresh: str | None = field(repr=False)
    expires_at: datetime
    scopes: frozenset[str]
    is_lasting: bool = False


@dataclass(frozen=True, slots=True)
class Client:
    """The operator's client at a provider, and where the provider is asked."""

    id: str
    secret: str = field(repr=False)
    authorize_url: str
    token_url: str
    revoke_url: str | None
    scopes: tuple[str, ...]
    more: Mapping[str, str]
    prefix: str = ""
    """What the provider puts before the names of some permissions when it says which were given."""


class OAuth:
    """The consent of one provider."""

    def __init__(self, api: AccountApi, client: Client) -> None:
        self._api = api
        self._client = client
        self.count_renewal: Callable[[str], None] = lambda _outcome: None
        """Called with what became of each renewal of tokens."""

    def address(self, redirect: str, state: str, verifier: str, scopes: Sequence[str], **more: str) -> str:
        """The provider's page for the member, who is asked for these permissions."""
        asked = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": redirect,
            **({"scope": " ".join(scopes)} if scopes else {}),
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
            **self._client.more,
            **more,
        }
        return f"{self._client.authorize_url}?{urlencode(asked)}"

    async def exchanged(self, code: str, verifier: str, redirect: str, present: datetime) -> Tokens:
        """The tokens that the code stands for. Raises AccountError."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
        return self._tokens(await self._asked(form), present)

    async def renewed(self, refresh: str, present: datetime) -> Tokens:
        """New tokens for a former one. Raises AccountError: REAUTHORIZE where the consent is accepted no more."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
        try:
            answer = await self._asked(form)
        except Refused as error:
            if not error.reasons & _ENDED:
                raise
            words = f"{self._api.name} does not accept the consent any more: connect again, by reconnecting."
            raise AccountError(IntegrationProblemCode.REAUTHORIZE, words, is_final=True) from None
        return self._tokens(answer, present)

    def to_revoke(self, access: str, refresh: str) -> str:
        """Says which of the tokens the provider takes back the consent by."""
        return refresh or access

    async def revoked(self, token: str) -> None:
        """Have the provider forget the consent, where it can be asked to. Raises AccountError."""
        if self._client.revoke_url is not None:
            await self._api.post(self._client.revoke_url, {"token": token})

    async def _asked(self, form: Mapping[str, str]) -> Json:
        """The answer to a form about tokens. Raises AccountError."""
        return await self._api.post(self._client.token_url, {**form, **self._own()})

    def _own(self) -> dict[str, str]:
        return {"client_id": self._client.id, "client_secret": self._client.secret}

    def _tokens(self, answer: Json, present: datetime) -> Tokens:
        access, refresh, lasts = (answer.get(name) for name in ("access_token", "refresh_token", "expires_in"))
        if not isinstance(access, str) or not 0 < len(access) <= _TOKEN_MAX:
            words = f"{self._api.name} gave an answer without a token."
            raise AccountError(IntegrationProblemCode.PROVIDER_ANSWER, words)
        seconds = lasts if isinstance(lasts, int) and 0 < lasts <= _LONGEST else _USUAL
        kept = refresh if isinstance(refresh, str) and 0 < len(refresh) <= _TOKEN_MAX else None
        given = str(answer.get("scope", "")).split()
        named = {each.lower(): each for each in self._client.scopes}  # Microsoft's are the same in either case
        plain = (each.removeprefix(self._client.prefix) for each in given)
        scopes = frozenset(named.get(each.lower(), each) for each in plain)
        return Tokens(access, kept, present + timedelta(seconds=seconds), scopes)


def new_verifier() -> str:
    """A verifier of PKCE: 256 bits, in the letters that RFC 7636 allows."""
    return secrets.token_urlsafe(32)


def challenge_of(verifier: str) -> str:
    """The verifier's challenge of the kind S256."""
    return base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
