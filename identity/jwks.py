"""The public keys of an external identity provider: fetched in the background, the last good set kept."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import orjson

from identity.signatures import PublicKey, public_key
from providers import wire
from providers.calls import Calls

# Seconds, of the caller's clock for the first and of the event loop's for the others.
UNKNOWN_EVERY = 10.0
UNKNOWN_WAIT = 2.0
REFRESH_EVERY = 600.0
RETRY_EVERY = 60.0
FETCH_DEADLINE = 5.0
RESPONSE_MAX = 256 * 1024

# So that many processes started together do not ask together.
_JITTER = 0.1

log = logging.getLogger("identity.jwks")


class _Unusable(Exception):
    """The provider's answer is no key set; the text is safe to log."""


class RemoteKeys:
    """The keys of one issuer.

    Tokens are verified with what is in memory. Only a key that is not there is asked for, at most once in ten seconds
    however many unknown keys are named, and waited for two seconds at most; a fetch that is under way is joined, never
    doubled. A set that could not be fetched, or holds no usable key, changes nothing: the provider being down does not
    lock anybody out, and a key is given up only when a good set no longer has it.
    """

    def __init__(
        self,
        http: wire.AsyncClient,
        *,
        issuer: str,
        jwks_url: str | None,
        clock: Callable[[], float] = time.monotonic,
        refresh_every: float = REFRESH_EVERY,
        calls: Calls | None = None,
    ) -> None:
        """Without `jwks_url`, the address comes from the issuer's discovery document, at every fetch."""
        self.issuer = issuer
        self._http = http
        self._jwks_url = jwks_url
        self._clock = clock
        self._refresh_every = refresh_every
        self._calls = calls or Calls()
        self._keys: dict[tuple[str | None, str], PublicKey] = {}
        self._flight: asyncio.Task[bool] | None = None
        self._asked: float | None = None
        self._background: asyncio.Task[None] | None = None

    @property
    def loaded(self) -> bool:
        """Says whether a good set was ever fetched."""
        return bool(self._keys)

    def start(self) -> None:
        """Begin the background refresh, with a first fetch at once; nothing is waited for. Needs a running loop."""
        if self._background is None:
            self._background = asyncio.get_running_loop().create_task(self._refresh_for_ever())

    async def stop(self) -> None:
        tasks = [task for task in (self._background, self._flight) if task is not None]
        self._background = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def refresh(self) -> bool:
        """Fetch the set, or join the fetch under way; whether that succeeded."""
        return await asyncio.shield(self._fetching())

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """The key of that name for that algorithm.

        A token that names no key is verified with the only key of its algorithm, where there is only one.
        """
        found = self._known(kid, algorithm)
        if found is None and (flight := self._worth_waiting_for()) is not None:
            await asyncio.wait({flight}, timeout=UNKNOWN_WAIT)
            found = self._known(kid, algorithm)
        return found

    def has(self, key: PublicKey) -> bool:
        """Says whether the key is of the newest good set."""
        return self._keys.get((key.kid, key.algorithm)) is key

    def _known(self, kid: str | None, algorithm: str) -> PublicKey | None:
        if kid is not None:
            return self._keys.get((kid, algorithm))
        fitting = [key for key in self._keys.values() if key.algorithm == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    def _worth_waiting_for(self) -> asyncio.Task[bool] | None:
        """The fetch under way, or a new one, unless the last one that a token asked for is too recent."""
        if self._flight is not None:
            return self._flight
        now = self._clock()
        if self._asked is not None and now - self._asked < UNKNOWN_EVERY:
            return None
        self._asked = now
        return self._fetching()

    def _fetching(self) -> asyncio.Task[bool]:
        if self._flight is None:
            self._flight = asyncio.get_running_loop().create_task(self._fetch())
            self._flight.add_done_callback(self._landed)
        return self._flight

    def _landed(self, flight: asyncio.Task[bool]) -> None:
        if self._flight is flight:
            self._flight = None

    async def _refresh_for_ever(self) -> None:
        vary = secrets.SystemRandom().uniform
        while True:
            fine = await self.refresh()
            pause = self._refresh_every if fine else min(RETRY_EVERY, self._refresh_every)
            await asyncio.sleep(pause * vary(1 - _JITTER, 1 + _JITTER))

    async def _fetch(self) -> bool:
        try:
            async with asyncio.timeout(FETCH_DEADLINE):
                with self._calls.one("identity_provider"):
                    keys = _usable(await self._json(self._jwks_url or await self._discovered()))
        except _Unusable as error:
            log.warning("the identity provider's keys stay as they are: %s", error)
            return False
        except Exception as error:
            # Whatever it is, it must end neither the refresh nor a request. The name alone, because such texts may
            # repeat an address with what is secret in it.
            log.warning("the identity provider's keys stay as they are: %s", type(error).__name__)
            return False
        if keys.keys() != self._keys.keys():
            log.info("the identity provider's keys changed: %d usable", len(keys))
        self._keys = keys
        return True

    async def _discovered(self) -> str:
        # An issuer may end with a slash, which is part of its name but not doubled in the address (Discovery part 4).
        document = await self._json(self.issuer.rstrip("/") + "/.well-known/openid-configuration")
        if not isinstance(document, dict) or document.get("issuer") != self.issuer:
            raise _Unusable("the discovery document is another issuer's")
        address = document.get("jwks_uri")
        schemes = ("https",) if urlsplit(self.issuer).scheme == "https" else ("https", "http")
        if not isinstance(address, str) or urlsplit(address).scheme not in schemes:
            raise _Unusable("the discovery document has no usable jwks_uri")
        return address

    async def _json(self, address: str) -> object:
        # Uncompressed, so that the limit holds for what is in memory and not only for what was sent.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        body = bytearray()
        async with self._http.stream("GET", address, headers=headers, follow_redirects=False) as response:
            if response.status_code != 200:
                raise _Unusable(f"status {response.status_code}")
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > RESPONSE_MAX:
                    raise _Unusable("the answer is too long")
        with contextlib.suppress(ValueError):
            document: object = orjson.loads(body)
            return document
        raise _Unusable("the answer is not JSON")


def _usable(document: object) -> dict[tuple[str | None, str], PublicKey]:
    members = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(members, list):
        raise _Unusable("the answer is no key set")
    keys = [key for member in members if (key := public_key(member)) is not None]
    if not keys:
        raise _Unusable("the key set holds no usable key")
    return {(key.kid, key.algorithm): key for key in keys}
