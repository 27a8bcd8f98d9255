"""`kill -9` of a worker amid an import and an export: each row is written or refused once, and is in the file once."""

from __future__ import annotations

import asyncio
import csv
import io
import random
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.test_worker_killed import working
from tests.support.service import Service

pytestmark = pytest.mark.long

ROWS = 6_000
KILLS = 3
BAD = 17
"""Every so manieth row has no address."""


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"], indirect=True)
async def test_nothing_is_lost_and_nothing_is_there_twice(database_url: str, dialect: str, tmp_path: Path) -> None:
    settings = {"CRM_DATABASE_URL": database_url, "CRM_JOB_LEASE_SECONDS": "1", "CRM_RATE_LIMIT": "off"}
    with Service(tmp_path, "--demo", "--no-worker", **settings) as service:
        await asyncio.to_thread(_check, tmp_path, service, settings)


def _check(folder: Path, service: Service, settings: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {service.value('Token')}"}
    with httpx.Client(base_url=service.address, headers=headers, timeout=60) as http:
        lines = [f"k-{n},Row{n},{'none' if n % BAD == 0 else f'k{n}@rows.example'}" for n in range(ROWS)]
        data = "\n".join(["external_key,last_name,email", *lines]).encode()
        file_id = http.post("/files", files={"file": ("rows.csv", data, "text/csv")}).json()["id"]
        before = len(_exported(http, folder, settings, kills=0))
        path = http.post("/imports", json={"file_id": file_id, "kind": "contact"}).json()["status_url"]
        done = _ended(http, path, folder, settings, KILLS)
        refused = len(range(0, ROWS, BAD))
        assert (done["status"], done["rows"], done["created"], done["refused"]) == (
            "completed",
            ROWS,
            ROWS - refused,
            refused,
        )
        rows = _exported(http, folder, settings, KILLS)
        keys = [row["external_key"] for row in rows if row["external_key"].startswith("k-")]
        assert len(rows) == len({row["id"] for row in rows}) == before + ROWS - refused
        assert sorted(keys) == sorted(f"k-{n}" for n in range(ROWS) if n % BAD)
        ledger = http.get(f"{path}/refusals", params={"format": "csv"}).text
        assert [row["external_key"] for row in csv.DictReader(io.StringIO(ledger))] == [
            f"k-{n}" for n in range(0, ROWS, BAD)
        ]


def _exported(http: httpx.Client, folder: Path, settings: dict[str, str], kills: int) -> list[dict[str, str]]:
    path = http.post("/exports", json={"kind": "contact"}).json()["status_url"]
    done = _ended(http, path, folder, settings, kills)
    assert (done["status"], done["complete"]) == ("succeeded", True), done
    text = http.get(f"/files/{done['file']['id']}/content").text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == done["rows"]
    return rows


def _ended(http: httpx.Client, path: str, folder: Path, settings: dict[str, str], kills: int) -> Any:
    """What has come of the work, whose worker was killed so many times while it was under way."""
    chance = random.Random(7)
    until = time.monotonic() + 180
    for _ in range(kills):
        with working(folder, **settings) as victim:
            while (found := http.get(path).json())["status"] == "queued":
                assert time.monotonic() < until
            time.sleep(chance.uniform(0, 0.3))
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        found = http.get(path).json()
        assert found["status"] in ("running", "succeeded", "completed"), found
    with working(folder, **settings):
        while (found := http.get(path).json())["finished_at"] is None:
            assert time.monotonic() < until
            time.sleep(0.1)
    return found
