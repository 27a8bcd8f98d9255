"""Asks for what the service needs, all at once: a line for each, with how long the answer took, in bounded time.

What nothing can be answered without fails the whole: the database, its migrations, the server's own worker, an
identity provider whose keys were never had. What only some operations need is reported and fails nothing
(decision 124).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from contract.errors import Unavailable
from providers.calls import OK, Calls
from storage import migrate
from storage.clusters import Clusters
from transport.readiness import Check

DEADLINE = 3.0
"""Seconds until an answer is given, without the probes that are not done by then."""

Probe = Callable[[], Awaitable[Check]]


class Readiness:
    """Asks for the checks; who comes while they are being asked gets the same answer."""

    def __init__(self, probes: dict[str, Probe], deadline: float = DEADLINE) -> None:
        self._probes = probes
        self._deadline = deadline
        self._asking: asyncio.Task[Sequence[Check]] | None = None

    async def __call__(self) -> Sequence[Check]:
        """The state of everything, in the order of the probes."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def _ask(self) -> Sequence[Check]:
        tasks = {name: asyncio.create_task(_timed(probe)) for name, probe in self._probes.items()}
        await asyncio.wait(tasks.values(), timeout=self._deadline)
        checks = []
        for name, task in tasks.items():
            if not task.done():
                task.cancel()  # and not waited for, since what hangs may not even notice
                checks.append(Check(name, False, f"no answer within {self._deadline:g} s", self._deadline))
            elif error := task.exception():
                checks.append(Check(name, False, f"could not be asked: {type(error).__name__}"))
            else:
                checks.append(task.result())
        return checks


async def _timed(probe: Probe) -> Check:
    began = time.perf_counter()
    check = await probe()
    return replace(check, seconds=time.perf_counter() - began)


async def migrations(url: str) -> Check:
    """Says whether the database has what this version needs; a newer one that is rolled out may have added to it."""
    try:
        pending = await migrate.pending(url)
    except (Unavailable, OSError):
        return Check("migrations", False, "unknown")
    except migrate.UnknownRevision as error:
        return Check("migrations", True, f"{error}: it belongs to a newer one")
    return Check("migrations", not pending, f"{len(pending)} pending" if pending else "up to date")


async def clusters_there(clusters: Clusters) -> Check:
    """Says which of the other servers can be used; that one cannot fails its own organizations alone."""
    wrong = []
    for name, server in clusters.others.items():
        state = await migrations(server.url.render_as_string(hide_password=False))
        if state.message != "up to date":
            wrong.append(f"{name}: {'cannot be reached' if state.message == 'unknown' else state.message}")
    wrong += [f"{name}: not in CRM_CLUSTERS" for name in sorted(clusters.unknown())]
    return Check("clusters", True, "; ".join(wrong) or f"{len(clusters.others)} can be used")


def latest_call(calls: Calls, provider: str) -> str:
    """Says how the last call to a provider went, in words; empty where there was none."""
    call = calls.last.get(provider)
    if call is None:
        return ""
    if provider in calls.left_alone:
        return "left alone for a while after failures in a row"
    how = "succeeded" if call.outcome == OK else f"failed ({call.outcome})"
    return f"the last call {how} {time.monotonic() - call.at:.0f} s ago"
