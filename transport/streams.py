"""Holds what the streams of one process share, whichever surface they are of and whichever way they go.

One task keeps all of them: it has those told something that nothing was sent to for a while, looks at their
credentials, and ends them with the service. A stream that did so itself would hold three tasks and two timers for hours
(decision 975).
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context
from functools import partial
from itertools import islice, takewhile
from typing import Final, Protocol

from contract.error_origin import origin_of
from contract.errors import GatewayError, TimedOut, TooManyStreams, Unavailable
from contract.limits import STREAMS_PER_PROCESS
from identity.authenticate import Identity
from identity.principal import Principal
from identity.standing import Standing, unchanged
from resolvers.shared.pacing import Pacing
from transport.places import Path, Places

STREAM = "stream"
"""The name that requests are counted under that last as long as somebody listens."""

LOOK_SECONDS: Final = 2.0
"""The seconds after which a credential is looked at again."""
SILENT_SECONDS: Final = 10.0
"""The seconds after which a stream is told something though nothing has happened."""
_TURN_SECONDS: Final = 0.1
_AT_A_TIME: Final = 32
"""Credentials that are looked at together, by one statement of the database for each kind of them."""
_GROUP_SECONDS: Final = 0.25
"""The seconds after which the next are looked at though one of these is still waited for."""
_FRESH_SECONDS: Final = 1.0
_PATIENCE: Final = 0.001
"""Seconds for which a step of all of this waits for requests at the most."""
_LATE_SECONDS: Final = 0.5
"""Looks that are so late wait for no request: a service that is never at rest looks as often as another."""

_log = logging.getLogger(__name__)

Credential = tuple[str, str | None]
"""The Authorization header, and the organization that was chosen with it."""


class Watched(Protocol):
    """Something that goes on while its credential holds."""

    def found(self, principal: Principal) -> None:
        """Go on for the caller as it is now. Raises GatewayError where it may not."""

    def refuse(self, error: GatewayError) -> None:
        """End with this."""


class Beating(Protocol):
    """A stream that is told something while nothing happens."""

    def beat(self) -> None:
        """Tell it, without waiting for that."""

    def end(self) -> None:
        """The service ends."""


class Streams:
    """Their number, the credentials that they run on, and the end of the service, which is theirs as well.

    `counted` is entered while one of them runs. `pacing` has one step of all of it in a turn of the loop.
    """

    def __init__(
        self,
        identity: Identity,
        stopping: asyncio.Event,
        counted: Callable[[], AbstractContextManager[object]] = nullcontext,
        pacing: Pacing | None = None,
    ) -> None:
        self.identity = identity
        self._aside = identity.aside()
        self.stopping = stopping
        self._counted = counted
        self._pacing = pacing or Pacing()
        self._places = Places(STREAMS_PER_PROCESS)
        self._looks: dict[Credential, asyncio.Task[Principal]] = {}
        self._watched: dict[Credential, dict[Watched, None]] = {}
        self._due: dict[Credential, float] = {}
        self._standings: dict[Credential, Standing] = {}
        """Whom each credential stood for when it was looked at last."""
        self._slow: dict[Credential, asyncio.Task[object]] = {}
        """The looks that take long: nothing waits for them, and their credentials are not looked at meanwhile."""
        self._silent: dict[Beating, float] = {}
        self._keeping: asyncio.Task[None] | None = None

    def check(self, path: Path) -> None:
        """Raises TooManyStreams where as many subscriptions run as may, of these groups or at all (decision 107)."""
        with self._places.one(path, TooManyStreams):
            return

    @contextmanager
    def one(self, path: Path) -> Iterator[None]:
        """While a subscription of these groups runs. Raises TooManyStreams."""
        with self._places.one(path, TooManyStreams), self._counted():
            yield

    @contextmanager
    def beating(self, stream: Beating) -> Iterator[None]:
        """Tell it something whenever nothing was sent to it for a while, and the end of the service."""
        self._silent[stream] = _now()
        self._keep()
        try:
            yield
        finally:
            del self._silent[stream]
            self._let_go()

    def sent(self, stream: Beating) -> None:
        """Something was sent to it."""
        del self._silent[stream]  # behind all others again
        self._silent[stream] = _now()

    @contextmanager
    def watching(self, watched: Watched, credential: Credential) -> Iterator[None]:
        """Look at the credential again and again, for whatever goes on with it."""
        same = self._watched.setdefault(credential, {})
        same[watched] = None
        self._due.setdefault(credential, _now() + LOOK_SECONDS)
        self._keep()
        try:
            yield
        finally:
            del same[watched]
            if not same:
                del self._watched[credential], self._due[credential]
                self._standings.pop(credential, None)
            self._let_go()

    async def look(self, authorization: str, organization: str | None) -> Principal:
        """Finds whom the credential stands for, as of a second ago at most: who asks of one credential looks together.

        Raises what `authenticate` raises.
        """
        key = (authorization, organization)
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = asyncio.create_task(self.identity.authenticate(*key))
            look.add_done_callback(lambda done: done.cancelled() or done.exception())  # its callers may have gone
            asyncio.get_running_loop().call_later(_FRESH_SECONDS, self._looks.pop, key, None)
        return await asyncio.shield(look)

    def _keep(self) -> None:
        if self._keeping is None or self._keeping.done():
            # In nobody's context: it serves all of them, and is no part of what the first one is.
            self._keeping = asyncio.create_task(self._kept(), context=Context())

    def _let_go(self) -> None:
        if self._keeping is not None and not self._silent and not self._watched:
            self._keeping.cancel()
            self._keeping = None

    async def _kept(self) -> None:
        looking: asyncio.Task[None] | None = None
        try:
            while not self.stopping.is_set():
                await self._beat()
                if looking is None or looking.done():
                    looking = asyncio.create_task(self._look_again())
                try:
                    async with asyncio.timeout(_TURN_SECONDS):
                        await self.stopping.wait()
                except TimeoutError:
                    continue
            for stream in list(self._silent):
                stream.end()
        finally:
            for task in (looking, *self._slow.values()):
                if task is not None:
                    task.cancel()

    async def _beat(self) -> None:
        """Tell those that are silent, each in a turn of the loop: many that began together are silent together."""
        now = _now()
        silent = takewhile(lambda each: each[1] + SILENT_SECONDS <= now, self._silent.items())
        for stream, _ in list(silent):
            await self._pacing.paced(partial(self._tell, stream), patience=_PATIENCE)

    async def _tell(self, stream: Beating) -> None:
        if stream in self._silent:  # else it ended in a turn of this
            self.sent(stream)
            with _alone("a stream cannot be told something type=%s at=%s"):
                stream.beat()

    async def _look_again(self) -> None:
        """Look at the credentials that are due, a few at a time and one step in a turn of the loop (decision 1153)."""
        while True:
            first = [*islice(self._due, _AT_A_TIME)]
            due = [credential for credential in first if self._due[credential] <= _now()]
            if not due:
                return
            patience = _PATIENCE if _now() - self._due[due[0]] < _LATE_SECONDS else 0
            for credential in due:
                del self._due[credential]  # behind all others again
                self._due[credential] = _now() + LOOK_SECONDS
            if credentials := [credential for credential in due if credential not in self._slow]:
                await self._looked_at(credentials, patience)

    async def _looked_at(self, credentials: list[Credential], patience: float) -> None:
        """Look at these: together at whose rows alone say whether they stand as they did, and alone at all others.

        Time is compared before anything is read, so that it is up though the database is away.
        """
        known = {each: standing for each in credentials if (standing := self._standings.get(each)) and standing.holds()}
        looks = self._alone([each for each in credentials if each not in known], patience)
        if not known:
            await self._waited_for(looks)
            return
        together = asyncio.create_task(self._pacing.paced(partial(self._look_together, known), patience=patience))
        looks[together] = list(known)
        await self._waited_for(looks)
        if together.done() and (changed := together.result()):
            await self._waited_for(self._alone(changed, patience))

    def _alone(self, credentials: list[Credential], patience: float) -> dict[asyncio.Task[object], list[Credential]]:
        """Begin to look at each of these."""
        return {
            asyncio.create_task(self._pacing.paced(partial(self._look_at, each), patience=patience)): [each]
            for each in credentials
        }

    async def _waited_for(self, looks: Mapping[asyncio.Task[object], list[Credential]]) -> None:
        """Wait for these looks; one that takes long is left to itself, since all others would come late with it."""
        try:
            _, under_way = await asyncio.wait(looks, timeout=_GROUP_SECONDS)
        except asyncio.CancelledError:
            for look in looks:
                look.cancel()
            raise
        for look in under_way:
            self._slow.update(dict.fromkeys(looks[look], look))
            look.add_done_callback(partial(self._ended, looks[look]))

    def _ended(self, credentials: list[Credential], _look: asyncio.Task[object]) -> None:
        for credential in credentials:
            del self._slow[credential]

    async def _look_together(self, known: dict[Credential, Standing]) -> list[Credential]:
        """Go on for those callers that stand as they did; the credentials of the others.

        They have no standing from then on: who comes late with them has them judged at their next look.
        """
        try:
            same = await unchanged(known.values())
        except (Unavailable, TimedOut):  # a database that is away, or slow, refuses nobody
            return []
        except Exception as error:  # which of them it is about is found out alone
            _log.error("credentials cannot be looked at together type=%s at=%s", type(error).__name__, origin_of(error))
            same = [False] * len(known)
        changed = []
        for (credential, standing), is_same in zip(known.items(), same, strict=True):
            if is_same:
                self._follow(credential, standing.principal)
            else:
                self._standings.pop(credential, None)
                changed.append(credential)
        return changed

    async def _look_at(self, credential: Credential) -> None:
        try:
            standing = await self._aside.standing(*credential)
        except (Unavailable, TimedOut):  # a database that is away, or slow, refuses nobody
            return
        except GatewayError as error:
            refusal = error
        except Exception as error:
            _log.error("a credential cannot be looked at type=%s at=%s", type(error).__name__, origin_of(error))
            refusal = GatewayError()
        else:
            if credential in self._watched:
                self._standings[credential] = standing
            self._follow(credential, standing.principal)
            return
        for watched in list(self._watched.get(credential, ())):
            with _alone("a stream cannot be refused type=%s at=%s"):
                watched.refuse(refusal)

    def _follow(self, credential: Credential, principal: Principal) -> None:
        for watched in list(self._watched.get(credential, ())):
            with _alone("a stream cannot be refused type=%s at=%s"):
                try:
                    watched.found(principal)
                except GatewayError as refusal:
                    watched.refuse(refusal)
                except Exception:  # it is not known to hold, so it does not go on
                    watched.refuse(GatewayError())
                    raise


@contextmanager
def _alone(line: str) -> Iterator[None]:
    """Log what goes wrong with one stream: all others go on."""
    try:
        yield
    except Exception as error:
        _log.error(line, type(error).__name__, origin_of(error))


def _now() -> float:
    return asyncio.get_running_loop().time()
