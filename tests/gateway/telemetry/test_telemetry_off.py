"""Off, traces and reports of errors cost nothing: nothing is loaded for them, and nothing more is called."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.gateway.conftest import Start
from tests.support.gateway import Gateway
from tests.support.world import Headers

LOADED = """
import asyncio, sys
import httpx
from gateway.app import application
from gateway.runtime import Runtime
from gateway.settings import Settings

async def main():
    runtime = Runtime(Settings(_env_file=None, data_dir=sys.argv[1]))
    app = application(runtime)
    transport = httpx.ASGITransport(app=app)
    async with runtime.running(), httpx.AsyncClient(transport=transport, base_url="http://x") as http:
        print((await http.post("/graphql", json={"query": "{ __typename }"})).status_code)
        print((await http.get("/deals")).status_code)
    print(sorted({name.split(".")[0] for name in sys.modules} & {"opentelemetry", "sentry_sdk", "google", "requests"}))
    print("gateway.tracing.library" in sys.modules, "gateway.observability.sentry" in sys.modules)

asyncio.run(main())
"""


async def test_a_process_without_them_loads_neither_library(tmp_path: Path) -> None:
    # Decision 880.
    from storage import migrate

    await migrate.upgrade(f"sqlite+aiosqlite:///{(tmp_path / 'crm.sqlite3').absolute()}")
    words = [sys.executable, "-c", LOADED, str(tmp_path)]
    found = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[:4] == ["200", "401", "[]", "False False"]


READ = "query Mine { meetings(first: 5) { nodes { subject account { name } } } deals { nodes { name } } }"
_OURS = ("contract/tracing.py", "gateway/tracing/", "gateway/observability/error_reports.py", "/opentelemetry/")


async def _asked(gateway: Gateway, headers: Headers) -> None:
    assert (await gateway.graphql(READ, headers)).status_code == 200
    assert (await gateway.rest("GET", "/deals", headers)).status_code == 200
    assert (await gateway.rest("POST", "/deals", headers, {"name": "n"})).status_code == 201
    assert (await gateway.graphql("{ deals { nodes { nothing } } }", headers)).status_code == 200


@pytest.mark.parametrize("is_on", [False, True])
async def test_no_function_of_theirs_is_called(start: Start, is_on: bool) -> None:
    """On, the same look finds them: so it can fail."""
    options: dict[str, Any] = {}
    if is_on:
        from gateway.tracing.library import Tracer

        options = {"tracer": Tracer(None)}
    async with start(**options) as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        await _asked(gateway, headers)
        calls: Counter[str] = Counter()

        def note(frame: FrameType, event: str, _argument: Any) -> None:
            if event == "call":
                name = frame.f_code.co_filename
                calls.update(one for one in _OURS if one in name)

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            await _asked(gateway, headers)
        finally:
            sys.setprofile(before)
    assert bool(calls) is is_on, calls
