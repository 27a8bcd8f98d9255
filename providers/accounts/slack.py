"""Slack workspaces: the consent, whose it is, one of its channels, and who somebody there is."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlencode

from contract.integrations import (
    BY_PROVIDER,
    CHANNELS_LISTED_MAX,
    HISTORY_PAUSE_SECONDS,
    IntegrationProblemCode,
    IntegrationProvider,
)
from providers import wire
from providers.accounts.asking import Asker
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.chats import ChatChannel
from providers.accounts.consents import Access, CalendarInfo, Who
from providers.accounts.oauth import Client, OAuth, Tokens
from providers.accounts.ports import AccountError, Reader, Told, asking_to_wait
from providers.accounts.shown import identifier_of, objects, text_of, within
from providers.accounts.slack_huddles import HuddleReader
from providers.calls import Calls

_CODE = IntegrationProblemCode
SCOPES = BY_PROVIDER[IntegrationProvider.SLACK].permissions
_LISTED = 200
"""The channels of a page."""
_LASTING = timedelta(days=36_500)
_TOKEN = frozenset({"invalid_auth", "not_authed", "token_expired"})
"""The errors that another token may mend."""
_ENDED = frozenset({"token_revoked", "account_inactive", "invalid_refresh_token", "org_login_required"})
_SCOPES = frozenset({"missing_scope", "no_permission", "not_allowed_token_type"})
_UNSEEN = frozenset({"channel_not_found", "not_in_channel", "is_archived", "user_not_found", "user_not_visible"})
_AWAY = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})


class SlackApi(AccountApi):
    """Slack's interface, which answers with status 200 and says in the answer itself whether it refuses."""

    def read(self, response: wire.Response, text: bytes) -> Json:
        """The object of an answer. Raises AccountError for one that refuses."""
        answer = super().read(response, text)
        if answer.get("ok") is True:
            return answer
        error = answer.get("error")
        raise self._refused(error if isinstance(error, str) else "")

    def _refused(self, error: str) -> AccountError:
        reasons = frozenset({error})
        if error in _TOKEN:
            words = "Slack does not accept the consent any more: connect again, by reconnecting."
            return Refused(_CODE.REAUTHORIZE, words, 401, reasons, is_final=True)
        if error in _ENDED:
            words = "Slack does not accept the consent any more: connect again, by reconnecting."
            return Refused(_CODE.REAUTHORIZE, words, 403, reasons, is_final=True)
        if error in _SCOPES:
            words = "Slack was not permitted to show this: reconnect, and permit all of it."
            return Refused(_CODE.SCOPES_MISSING, words, 403, reasons, is_final=True)
        if error == "ratelimited":
            return Refused(_CODE.RATE_LIMITED, asking_to_wait("Slack"), 429, reasons)
        if error in _AWAY:
            words = "Slack has trouble of its own; it is asked again by itself."
            return AccountError(_CODE.PROVIDER_UNAVAILABLE, words)
        if error in _UNSEEN:
            words = "Slack does not show a channel that is linked: invite the app to it there, or unlink it here."
            return Refused(_CODE.FORBIDDEN, words, 404, reasons)
        words = "Slack does not answer what is asked; it is asked again by itself."
        return Refused(_CODE.PROVIDER_ANSWER, words, 400, reasons)


class SlackOAuth(OAuth):
    """Slack's consent: without PKCE (decision 910), and with tokens that may last as long as it does."""

    def address(self, redirect: str, state: str, verifier: str, scopes: Sequence[str], **more: str) -> str:
        """Slack's page for the administrator."""
        asked = {
            "client_id": self._client.id,
            "scope": ",".join(scopes),
            "redirect_uri": redirect,
            "state": state,
            **more,
        }
        return f"{self._client.authorize_url}?{urlencode(asked)}"

    async def exchanged(self, code: str, verifier: str, redirect: str, present: datetime) -> Tokens:
        """The tokens that the code stands for. Raises AccountError."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect}
        return self._tokens(await self._api.post(self._client.token_url, form | self._own()), present)

    async def renewed(self, refresh: str, present: datetime) -> Tokens:
        """New tokens for a former one; REAUTHORIZE where there is none. Raises AccountError."""
        if refresh:
            return await super().renewed(refresh, present)
        words = "Slack does not accept the consent any more: connect again, by reconnecting."
        raise AccountError(_CODE.REAUTHORIZE, words, is_final=True)

    def to_revoke(self, access: str, refresh: str) -> str:
        """The token that asks, which is the one that is taken back."""
        return access

    async def revoked(self, token: str) -> None:
        """Have Slack forget the consent. Raises AccountError."""
        if self._client.revoke_url is not None:
            await self._api.post(self._client.revoke_url, {}, token)

    def _tokens(self, answer: Json, present: datetime) -> Tokens:
        found = super()._tokens(answer, present)
        scopes = frozenset(str(answer.get("scope", "")).split(","))
        if found.refresh is not None:
            return Tokens(found.access, found.refresh, found.expires_at, scopes)
        return Tokens(found.access, None, present + _LASTING, scopes, is_lasting=True)


class SlackAccounts:
    """Slack, as the operator's client sees it."""

    needed = frozenset(SCOPES)
    """The permissions without which a huddle cannot be read with who took part."""

    def __init__(
        self,
        client_id: str,
        secret: str,
        base_url: str | None = None,
        *,
        is_internal: bool = False,
        calls: Calls | None = None,
    ) -> None:
        """With a `base_url` everything lies below it. `is_internal` where no limit of a look a minute holds."""
        base = (base_url or "https://slack.com").rstrip("/")
        self._api = SlackApi("Slack", calls=calls)
        self._base = f"{base}/api"
        self.history_pause = 0.0 if is_internal else HISTORY_PAUSE_SECONDS
        client = Client(
            id=client_id,
            secret=secret,
            authorize_url=f"{base}/oauth/v2/authorize",
            token_url=f"{self._base}/oauth.v2.access",
            revoke_url=f"{self._base}/auth.revoke",
            scopes=SCOPES,
            more={},
        )
        self.oauth: OAuth = SlackOAuth(self._api, client)

    async def who(self, token: str) -> Who:
        """Says which workspace the token is of. Raises AccountError."""
        answer = await self._api.get(f"{self._base}/auth.test", token)
        identifier, label = answer.get("team_id"), answer.get("team")
        if not isinstance(identifier, str) or not identifier:
            raise AccountError(_CODE.PROVIDER_ANSWER, "Slack did not say whose workspace it is.")
        return Who(identifier[:500], str(label or "")[:500])

    async def calendars(self, token: str) -> list[CalendarInfo]:
        """Nothing: channels are followed once somebody links them."""
        return []

    async def channel(self, token: str, channel_id: str) -> ChatChannel | None:
        """A channel that the app is in; None for others. Raises AccountError."""
        try:
            answer = await self._api.get(f"{self._base}/conversations.info", token, {"channel": channel_id})
        except Refused as error:
            if error.status == 404:
                return None
            raise
        found = answer.get("channel")
        if not isinstance(found, dict) or found.get("id") != channel_id or found.get("is_member") is not True:
            return None
        if found.get("is_archived") is True:
            return None
        return ChatChannel(channel_id, str(found.get("name") or channel_id)[:200])

    async def channels(self, access: Access, told: Told) -> list[ChatChannel]:
        """The public channels that the app has been invited to, at most so many. Raises AccountError."""
        asker, found, been = Asker(self._api, access), dict[str, ChatChannel](), set[str]()
        params = {"types": "public_channel", "exclude_archived": "true", "limit": str(_LISTED)}
        while True:
            answer = await asker.get(f"{self._base}/users.conversations", told, params)
            for each in objects(answer.get("channels")):
                identifier, name = identifier_of(each.get("id")), text_of(each.get("name"), 200)
                is_open = each.get("is_member") is not False and each.get("is_archived") is not True
                if identifier is not None and is_open:
                    found[identifier] = ChatChannel(identifier, name or identifier)
            following = within(answer.get("response_metadata"), "next_cursor")
            is_last = not isinstance(following, str) or not following or following in been
            if is_last or len(found) >= CHANNELS_LISTED_MAX:
                return list(found.values())[:CHANNELS_LISTED_MAX]
            been.add(str(following))
            params["cursor"] = str(following)

    def reader(self, calendar: str, label: str, access: Access) -> Reader:
        """The reader of the channel with this identifier."""

        async def ask(method: str, token: str, params: Mapping[str, str]) -> Json:
            return await self._api.get(f"{self._base}/{method}", token, params)

        return HuddleReader(ask, calendar, access, is_limited=self.history_pause > 0)

    async def close(self) -> None:
        """End the connections."""
        await self._api.close()
