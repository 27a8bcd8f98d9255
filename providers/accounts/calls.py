"""Calls to the interface of an account's provider: deadlines, bounded answers, and words for members where one fails.

Neither a token nor what a provider says of an error is part of ours, or of the log.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar
from urllib.parse import urljoin

import orjson

from contract.integrations import IntegrationProblemCode
from providers import wire
from providers.accounts.ports import AccountError, asking_to_wait
from providers.breaker import Breaker
from providers.calls import Calls

_log = logging.getLogger(__name__)
T = TypeVar("T")

Json = dict[str, Any]
"""An object of JSON. Any: what is in it is looked at where it is used."""

CALL_SECONDS: Final = 30.0
ANSWER_MAX: Final = 4 * 1024 * 1024
TRIES: Final = 3
"""How often an answer that breaks off is asked for, where asking changes nothing."""
_RETRY_MOST: Final = 3_600.0
_HOPS_MOST: Final = 3
_CODE = IntegrationProblemCode


Params = Mapping[str, str | Sequence[str]]
"""What is asked, by name; a name with several values is there several times."""


class Refused(AccountError):
    """The provider answered, and not with what was asked for. `reasons` are its own words for programs."""

    def __init__(
        self,
        code: IntegrationProblemCode,
        words: str,
        status: int,
        reasons: frozenset[str],
        *,
        retry_after: float | None = None,
        is_final: bool = False,
    ) -> None:
        super().__init__(code, words, retry_after=retry_after, is_final=is_final)
        self.status = status
        self.reasons = reasons


class Broken(AccountError):
    """The answer broke off, or is no JSON."""


class AccountApi:
    """One provider's interface, for all of its accounts: a failure of it holds up calls for all, a refusal none."""

    def __init__(self, name: str, *, calls: Calls | None = None, seconds: float = CALL_SECONDS) -> None:
        self.name = name
        self._label = name.lower()
        self._calls = calls or Calls()
        self._breaker = Breaker(name, calls=self._calls)
        self._seconds = seconds
        self._client = wire.AsyncClient(
            headers={"Accept": "application/json"},
            timeout=wire.Timeout(seconds),
            follow_redirects=False,  # a redirect would carry the token to wherever it leads
            trust_env=False,
        )

    async def get(
        self,
        url: str,
        token: str,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """The answer's object. Raises AccountError, Refused among them."""
        sent = {**(headers or {}), "Authorization": f"Bearer {token}"}
        for number in range(1, TRIES + 1):
            try:
                return await self._call("GET", url, sent, self.read, params=params)
            except Broken:
                if number == TRIES:
                    raise
        raise AssertionError("unreachable")

    async def post(
        self, url: str, form: Mapping[str, str], token: str | None = None, *, basic: str | None = None
    ) -> Json:
        """The answer to a form, which is sent once: as the account, or as the client itself. Raises AccountError."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        headers |= {} if basic is None else {"Authorization": f"Basic {basic}"}
        return await self._call("POST", url, headers, self.read, form=form)

    async def delete(self, url: str, token: str) -> None:
        """Have something be no more. Raises AccountError."""
        await self._call("DELETE", url, {"Authorization": f"Bearer {token}"}, self.read)

    async def text(self, url: str, token: str, leads_on: Callable[[str], bool]) -> str:
        """A file of text; where it lies at another address, and that is a good one, it is asked without the token.

        Raises AccountError, Refused among them.
        """
        headers = {"Accept": "*/*", "Authorization": f"Bearer {token}"}
        for _ in range(_HOPS_MOST):
            found, onward = await self._call("GET", url, headers, self._file)
            if onward is None:
                return found
            try:
                url, headers = urljoin(url, onward), {"Accept": "*/*"}
            except ValueError:
                break
            if not leads_on(url):
                break
        words = f"{self.name}'s file lies in another place, which is not asked."
        raise Refused(_CODE.PROVIDER_ANSWER, words, 302, frozenset())

    async def send(self, url: str, token: str, document: Mapping[str, object]) -> Json:
        """The answer to a document, which is sent once. Raises AccountError."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return await self._call("POST", url, headers, self.read, content=orjson.dumps(document))

    async def _call(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        read: Callable[[wire.Response, bytes], T],
        *,
        params: Params | None = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> T:
        words = f"{self.name} cannot be reached, or does not answer in time; it is asked again by itself."
        away = AccountError(_CODE.PROVIDER_UNAVAILABLE, words)
        with self._calls.one(self._label), self._breaker.call(away, (Refused,)), self._logged():
            try:
                async with asyncio.timeout(self._seconds):  # httpx's own deadlines begin anew with every byte
                    sent = self._client.stream(method, url, headers=headers, params=params, data=form, content=content)
                    async with sent as response:
                        text = await self._bounded(response)
            except (wire.RemoteProtocolError, wire.ReadError, wire.DecodingError):
                raise Broken(_CODE.PROVIDER_ANSWER, f"{self.name}'s answer breaks off; it is asked again.") from None
            except (TimeoutError, wire.HTTPError, OSError):
                raise away from None
            except wire.InvalidURL:
                words = f"{self.name} names an address that is none."
                raise Refused(_CODE.PROVIDER_ANSWER, words, 302, frozenset()) from None
            return read(response, text)

    @contextmanager
    def _logged(self) -> Iterator[None]:
        try:
            yield
        except AccountError as error:
            status = error.status if isinstance(error, Refused) else None
            if status not in _EXPECTED:
                _log.warning("provider %s failed status=%s problem=%s", self.name, status, error.code.value)
            raise

    async def _bounded(self, response: wire.Response) -> bytes:
        found = bytearray()
        async for chunk in response.aiter_bytes():
            found += chunk
            if len(found) > ANSWER_MAX:
                raise AccountError(_CODE.PROVIDER_ANSWER, f"{self.name} gave an answer that is too large.")
        return bytes(found)

    def _file(self, response: wire.Response, content: bytes) -> tuple[str, str | None]:
        """The text of an answer, or where it lies. Raises AccountError for an answer that says that it is none."""
        if response.has_redirect_location:
            return "", response.headers["location"]
        if not response.is_success:
            self.read(response, content)
        return content.decode("utf-8", "replace"), None

    def read(self, response: wire.Response, text: bytes) -> Json:
        """The object of an answer. Raises AccountError for one that says that it is none."""
        try:
            answer = orjson.loads(text) if text.strip() else {}
        except orjson.JSONDecodeError:
            answer = None
        if response.is_success:
            if not isinstance(answer, dict):
                raise Broken(_CODE.PROVIDER_ANSWER, f"{self.name} gave no JSON object; it is asked again.")
            return answer
        if response.status_code >= 500:
            after = waiting(response.headers.get("retry-after"), datetime.now(UTC))
            if after:  # which nobody cuts short, as of a feed; the breaker counts it (decision 1169)
                raise AccountError(_CODE.RATE_LIMITED, asking_to_wait(self.name), retry_after=after)
            words = f"{self.name} has trouble of its own (status {response.status_code}); it is asked again by itself."
            raise AccountError(_CODE.PROVIDER_UNAVAILABLE, words)
        raise self._refusal(response, _reasons(answer))

    def _refusal(self, response: wire.Response, reasons: frozenset[str]) -> Refused:
        status = response.status_code
        if status == 429 or reasons & _LIMITS:
            after = waiting(response.headers.get("retry-after"), datetime.now(UTC))
            return Refused(_CODE.RATE_LIMITED, asking_to_wait(self.name), status, reasons, retry_after=after)
        if status == 403 and reasons & _SCOPES:
            words = f"{self.name} was not permitted to show this: reconnect, and tick every permission."
            return Refused(_CODE.SCOPES_MISSING, words, status, reasons, is_final=True)
        if reasons & _NO_MAILBOX:
            words = f"{self.name} has no mailbox or calendar of this account that can be read: connect another account."
            return Refused(_CODE.FORBIDDEN, words, status, reasons, is_final=True)
        if status in (401, 403):
            words = f"{self.name} refuses, whatever the consent says: ask the administrator of the account there."
            return Refused(_CODE.FORBIDDEN, words, status, reasons, is_final=True)
        words = f"{self.name} does not answer what is asked (status {status}); it is asked again by itself."
        return Refused(_CODE.PROVIDER_ANSWER, words, status, reasons)

    async def close(self) -> None:
        """End the connections."""
        await self._client.aclose()


_EXPECTED = frozenset({400, 401, 410})
"""The answers that say something of a token or a cursor alone; who asked makes of them what they are."""
_LIMITS = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded"})
_SCOPES = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"})
_NO_MAILBOX = frozenset({"MailboxNotEnabledForRESTAPI", "MailboxNotSupportedForRESTAPI"})
_SCOPES |= {"ErrorAccessDenied", "Authorization_RequestDenied"}


def _reasons(answer: object) -> frozenset[str]:
    """The words for programs in an error of OAuth (`error: "…"`) or of an interface.

    Google's are `error: {status, errors, details}`, Microsoft's `error: {code, innerError}`.
    """
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, str):
        return frozenset({error})
    if not isinstance(error, dict):
        return frozenset()
    listed = [*_objects(error.get("errors")), *_objects(error.get("details"))]
    found = [error.get("status"), error.get("code"), *(each.get("reason") for each in listed)]
    return frozenset(each for each in found if isinstance(each, str))


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def waiting(header: str | None, present: datetime) -> float | None:
    """The seconds of a Retry-After header, at most an hour; None for one that says nothing.

    It has seconds or a date, as RFC 9110 has it, or as Zoom does: 2026-05-31T00:00:00Z.
    """
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), _RETRY_MOST)
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text)
        except (ValueError, IndexError, TypeError, OverflowError):
            continue
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return min(max((moment - present).total_seconds(), 0.0), _RETRY_MOST)
    return None
