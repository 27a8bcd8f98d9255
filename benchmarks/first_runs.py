"""How long the first run of an account with 10,000 items takes, and what it weighs: `python -m benchmarks.first_runs`.

Each kind of account is connected to a gateway of its own, with its worker beside it. The provider is the one
of the tests, in this process on the same machine. Then the account is read again and again, without any change.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request as Starred
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.asking import LARGEST, Request
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout, processor_seconds
from benchmarks.data import Known, Place, Profile, known, place
from storage.seeding import Plan
from tests.support import feeds, google, microsoft, slack, zoom
from tests.support.google import Google
from tests.support.microsoft import Microsoft
from tests.support.provider_server import Letter, Provider, served

SMALL = Profile("first-runs", Plan(1, 200, 600, 60, 600, seed=11), variants=4)
ITEMS, QUICK = 10_000, 200
_PATIENCE = 900.0
_RUNS, _A_RUN = 40, 1.0
_NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
_CONTACT = """mutation { contactCreate(input: {firstName: "K", lastName: "N", email: "known@customer0.example"}) {
  contact { id } userErrors { message } } }"""
_GUEST = "guest{}@customer{}.example"


@dataclass(frozen=True)
class Case:
    """An account to be connected: what it takes to permit, which kinds are followed, the channel to be linked.

    Of a feed it is the address.
    """

    provider: str
    consent: Callable[[str], dict[str, str]]
    kinds: Sequence[str]
    settings: dict[str, str]
    channel: str | None = None
    url: str | None = None


def _moments(count: int, first: float, last: float) -> Iterator[datetime]:
    """So many moments between so many days from now."""
    step = timedelta(days=last - first) / count
    return (_NOW + timedelta(days=first) + step * number for number in range(count))


def _guest(number: int) -> str:
    return _GUEST.format(number % 1_000, number % 100)


def _letters(count: int, account: str) -> Iterator[Letter]:
    """One in ten from somebody who is a contact."""
    for number, moment in enumerate(_moments(count, -80, -1)):
        sender = "known@customer0.example" if number % 10 == 0 else _guest(number)
        yield Letter(f"l{number}", moment.replace(microsecond=0), sender, (account,), subject=f"Letter {number}")


def filled(
    fake: Google | Microsoft,
    meeting: Callable[..., dict[str, Any]],  # Any: events as the provider has them
    count: int,
    kind: str,
    settings: dict[str, str],
) -> Case:
    """An account of so many messages or events there."""
    account = fake.account()
    if kind == "mail":
        fake.send(account, *_letters(count, account.email))
    else:
        moments = enumerate(_moments(count, -80, 300))
        fake.put(account, *(meeting(f"e{n}", moment, _guest(n), subject=f"Event {n}") for n, moment in moments))
    return Case(type(fake).__name__.lower(), lambda address: fake.consent(address, account), [kind], settings)


@contextmanager
def _google(count: int, kind: str) -> Iterator[Case]:
    """A Google account of so many items."""
    with google.google_server() as fake:
        settings = settings_of("GOOGLE", google.CLIENT_ID, google.CLIENT_SECRET, fake.url)
        yield filled(fake, google.meeting, count, kind, settings)


@contextmanager
def _microsoft(count: int, kind: str) -> Iterator[Case]:
    with microsoft.microsoft_server() as fake:
        settings = settings_of("MICROSOFT", microsoft.CLIENT_ID, microsoft.CLIENT_SECRET, fake.url)
        yield filled(fake, microsoft.meeting, count, kind, settings | {"CRM_MICROSOFT_TENANT": "organizations"})


@contextmanager
def _feed(count: int, _kind: str) -> Iterator[Case]:
    """An iCalendar text at an address of this machine, which says whether it has changed."""
    moments = enumerate(_moments(count, -80, 300))
    events = (feeds.event(f"e{n}", start=moment, subject=f"Event {n}", guest=_guest(n)) for n, moment in moments)
    content, tag = feeds.feed(*events).encode(), '"1"'

    async def calendar(request: Starred) -> Response:
        is_known = request.headers.get("if-none-match") == tag
        return Response(b"" if is_known else content, 304 if is_known else 200, {"ETag": tag}, "text/calendar")

    with served(server := Provider(), Starlette(routes=[Route("/calendar.ics", calendar)])):
        settings = {"CRM_OUTBOUND_ALLOW_LOOPBACK": "true"}
        yield Case("ical", lambda _: {}, [], settings, url=f"{server.url}/calendar.ics")


@contextmanager
def _zoom(count: int, kind: str) -> Iterator[Case]:
    with zoom.zoom_server() as fake:
        account = fake.account()
        said = "WEBVTT\n\n" + "00:00:01.000 --> 00:00:04.000\nAnn: Some words of a conversation\n\n" * 100
        for number, moment in enumerate(_moments(count, -80, -1)):
            fake.record(account, 10_000_000 + number, moment, ("Guest", _guest(number)), topic=f"R {number}", text=said)
        settings = settings_of("ZOOM", zoom.CLIENT_ID, zoom.CLIENT_SECRET, fake.url)
        yield Case("zoom", lambda address: fake.consent(address, account), [kind], settings)


@contextmanager
def _slack(count: int, kind: str) -> Iterator[Case]:
    with slack.slack_server() as fake:
        workspace = fake.workspace()
        channel = fake.channel(workspace)
        people = [fake.person(workspace, _guest(number)) for number in range(20)]
        for number, moment in enumerate(_moments(count, -80, -1)):
            if number % 10:
                fake.message(workspace, channel, "Words", moment.timestamp())
                continue
            both, start = (people[number % 19], people[number % 19 + 1]), moment.timestamp()
            fake.huddle(workspace, channel, *both, start=start, end=start + 900)
        settings = settings_of("SLACK", slack.CLIENT_ID, slack.CLIENT_SECRET, fake.url) | {"CRM_SLACK_TIER": "internal"}
        yield Case("slack", lambda address: fake.consent(address, workspace), [kind], settings, channel)


def settings_of(name: str, client_id: str, secret: str, url: str) -> dict[str, str]:
    own = {"CLIENT_ID": client_id, "CLIENT_SECRET": secret, "BASE_URL": url}
    return {f"CRM_{name}_{setting}": value for setting, value in own.items()}


def free() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


_CASES = {
    "google calendar": (_google, "calendar"),
    "feed": (_feed, "calendar"),
    "google mail": (_google, "mail"),
    "microsoft calendar": (_microsoft, "calendar"),
    "microsoft mail": (_microsoft, "mail"),
    "zoom recordings": (_zoom, "recordings"),
    "slack channel": (_slack, "channel"),
}


def ask(contestant: Contestant, method: str, path: str, body: Any = None, organization: str = LARGEST) -> Any:
    """The JSON of an answer, whatever it is."""
    status, answer = contestant.ask(Request(method, path, body, organization))
    if status >= 300:
        raise RuntimeError(f"{method} {path}: {status} {answer[:500]!r}")
    return json.loads(answer) if answer else None


def begun(contestant: Contestant, case: Case, organization: str = LARGEST) -> Callable[[], str]:
    """Begin to connect; call what this returns to finish, which gives the path of the connection."""
    if case.url is not None:
        body = {"name": "Feed", "url": case.url}
        return lambda: f"/integrations/{ask(contestant, 'POST', '/integrations/feeds', body, organization)['id']}"
    wanted = {"provider": case.provider, "kinds": case.kinds}
    back = case.consent(ask(contestant, "POST", "/integrations", wanted, organization)["authorization_url"])
    told = ask(contestant, "GET", f"/integrations/callback/{case.provider}?{urlencode(back)}")
    mine = f"/integrations/{told['integration_id']}"

    def finish() -> str:
        ask(contestant, "POST", f"{mine}/complete", {"completion_code": told["completion_code"]}, organization)
        return mine

    return finish


def _measure(contestant: Contestant, case: Case, facts: Known) -> dict[str, float]:
    """Connect, have it read to the end, and once more."""
    ask(contestant, "POST", "/graphql", {"query": _CONTACT})
    finish = begun(contestant, case)
    idle, spent, started = contestant.memory(), processor_seconds(contestant.pid), time.perf_counter()
    mine = finish()
    if case.channel is not None:
        idle_again(contestant, mine)
        started = time.perf_counter()
        ask(contestant, "PUT", f"{mine}/channels/{case.channel}", {"account_id": facts.accounts[0]})
    run = idle_again(contestant, mine)
    took, spent = time.perf_counter() - started, processor_seconds(contestant.pid) - spent
    more, counts = contestant.memory() - idle, ask(contestant, "GET", mine)["counts"]
    again = _again(contestant, mine)  # the first of its kind makes what the others find made
    return {
        "seconds": took,
        "processor": spent,
        "MiB": more,
        "calls": run["calls"],
        "kept": counts["meetings"] + counts["emails"],
        "again calls": again["calls"],
        "again processor ms": 1_000 * _unchanged(contestant, mine),
    }


def _again(contestant: Contestant, mine: str) -> Any:  # Any: a run as JSON has it
    """Have a run without changes."""
    ask(contestant, "POST", f"{mine}/sync", {})
    return idle_again(contestant, mine)


def _unchanged(contestant: Contestant, mine: str) -> float:
    """The processor seconds of a run without changes, asking for it included: of many, less what is spent beside them.

    A tick of the system's is 10 ms, so that one run says nothing. A worker looks for work all the time, and whoever
    looks whether the run has ended is answered: both are taken off, as the same span with as many looks and no runs.
    """

    def spent(ask_for: Callable[[], object]) -> float:
        before = processor_seconds(contestant.pid)
        for _ in range(_RUNS):
            ask_for()
            time.sleep(_A_RUN)
            idle_again(contestant, mine)
        return processor_seconds(contestant.pid) - before

    return (spent(lambda: ask(contestant, "POST", f"{mine}/sync", {})) - spent(lambda: None)) / _RUNS


def idle_again(contestant: Contestant, mine: str, organization: str = LARGEST) -> Any:  # Any: a run as JSON has it
    """The latest run, once none waits or runs; a run that failed ends the measurement."""
    until, runs = time.perf_counter() + _PATIENCE, []
    while time.perf_counter() < until:
        runs = ask(contestant, "GET", f"{mine}/runs?limit=5", None, organization)
        if runs and all(each["status"] == "succeeded" for each in runs):
            return runs[0]
        if any(each["status"] == "failed" for each in runs):
            raise RuntimeError(f"a run failed: {runs}")
        time.sleep(0.1)
    raise RuntimeError(f"{mine} is not read to its end: {runs}")


def _one(name: str, where: Place, count: int, facts: Known) -> None:
    made, kind = _CASES[name]
    with ExitStack() as stack:
        case = stack.enter_context(made(count, kind))
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        port = free()
        settings = case.settings | {"CRM_PUBLIC_URL": f"http://127.0.0.1:{port}"}
        cores = layout().contestant
        running = gateway(where, [facts], scratch, cores, has_worker=True, port=port, settings=settings)
        found = _measure(stack.enter_context(running), case, facts)
    figures = " ".join(f"{value:12,.1f}" for value in found.values())
    print(f"{where.dialect:11} {name:20} {figures}", flush=True)


def main() -> None:
    """Print a line for each database and kind of account."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_runs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few items: that it runs, not how fast")
    parser.add_argument("--database", action="append", choices=("postgresql", "sqlite"), help="both unless told")
    parser.add_argument("--only", action="append", choices=tuple(_CASES), help="one kind; may be repeated")
    asked = parser.parse_args()
    count = QUICK if asked.quick else ITEMS
    names = ("seconds", "processor s", "more MiB", "calls", "kept", "again calls", "again ms")
    print(f"{count:,} items: {'':20} {' '.join(f'{each:>12}' for each in names)}", flush=True)
    for dialect in asked.database or ("postgresql", "sqlite"):
        for name in asked.only or _CASES:
            with (
                tempfile.TemporaryDirectory(prefix="crm-bench-") as folder,
                place(dialect, SMALL, Path(folder), layout().database) as where,
            ):
                _one(name, where, count, known(SMALL)[0])


if __name__ == "__main__":
    main()
