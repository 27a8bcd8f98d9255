"""`kill -9` of a worker in mid-render: another resumes the job once, and the report has three files of one revision."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.load import pick
from tests.support.service import SCRIPT, Service, environment

pytestmark = pytest.mark.long

KILLS = pick(1, 4)
LEASE_SECONDS = 4.0  # longer than a busy machine keeps a worker from renewing it
REPORTS = "{ researchRuns(first: 1) { nodes { id results { nodes { id cxReport { %s } } } } } }"
STATE = REPORTS % "revision artifacts { kind revision bytes url } render { status attempts error }"
EDIT = """
mutation($run: ID!, $result: ID!, $copy: JSON!) {
  cxReportEdit(runId: $run, resultId: $result, input: {copyBlobs: $copy}) {
    report { revision } userErrors { code message }
  }
}
"""


@contextmanager
def working(folder: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker; ended with the block if it lives still."""
    with (folder / f"worker-{time.monotonic_ns()}").open("wb") as log:
        worker = subprocess.Popen(
            [SCRIPT, "worker"], cwd=folder, env=environment(folder, **settings), stdout=subprocess.DEVNULL, stderr=log
        )
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


def _files(folder: Path) -> set[Path]:
    return {file for file in (folder / "data" / "artifacts").rglob("*.*") if file.is_file()}


class Reports:
    """The demo's reports, over GraphQL."""

    def __init__(self, service: Service) -> None:
        self._client = httpx.Client(
            base_url=service.address, headers={"Authorization": f"Bearer {service.value('Token')}"}, timeout=20
        )

    def ask(self, document: str, **variables: Any) -> Any:
        body = {"query": document, "variables": variables}
        answer = self._client.post("/graphql", json=body).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def first(self) -> tuple[str, str, Any]:
        """A report with the identifiers that lead to it."""
        [run] = self.ask(STATE)["researchRuns"]["nodes"]
        result = next(node for node in run["results"]["nodes"] if node["cxReport"])
        return run["id"], result["id"], result["cxReport"]

    def is_rendered(self) -> bool:
        """Whether every report has been rendered, or has failed for good."""
        [run] = self.ask(STATE)["researchRuns"]["nodes"]
        renders = [node["cxReport"]["render"] for node in run["results"]["nodes"] if node["cxReport"]]
        return all(render["status"] in ("SUCCEEDED", "FAILED") for render in renders)

    def content(self, artifact: Any) -> bytes:
        """The file as whoever has its address reads it."""
        answer = self._client.get(httpx.URL(artifact["url"]).path)
        assert answer.status_code == 200
        return answer.content

    def close(self) -> None:
        self._client.close()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"], indirect=True)
async def test_it_is_resumed_once(database_url: str, dialect: str, tmp_path: Path) -> None:
    settings = {
        "CRM_DATABASE_URL": database_url,
        "CRM_JOB_LEASE_SECONDS": f"{LEASE_SECONDS:g}",
        "CRM_RATE_LIMIT": "off",
    }
    with Service(tmp_path, "--demo", "--no-worker", **settings) as service:
        reports = Reports(service)
        try:
            await asyncio.to_thread(_resume, tmp_path, reports, settings)
        finally:
            reports.close()


def _resume(folder: Path, reports: Reports, settings: dict[str, str]) -> None:
    with working(folder, **settings):
        _wait(reports.is_rendered)
    resumed = 0
    for number in range(KILLS):
        run, result, before = reports.first()
        known = _files(folder)
        edit = reports.ask(EDIT, run=run, result=result, copy={"headline": f"Edited {number} times"})["cxReportEdit"]
        assert edit == {"report": {"revision": before["revision"] + 1}, "userErrors": []}
        with working(folder, **settings) as victim:
            # The first of the files is there: of the others none, or some, or all, but for their publication.
            _wait(lambda known=known: bool(_files(folder) - known), pause=0.0005)
            victim.send_signal(signal.SIGKILL)
            assert victim.wait() == -signal.SIGKILL
        killed = time.monotonic()
        with working(folder, **settings), working(folder, **settings):
            _wait(reports.is_rendered)
            seconds = time.monotonic() - killed
            time.sleep(2 * LEASE_SECONDS)  # in which nothing more may happen
        _, _, after = reports.first()
        # It may have been done in the moment between its first file and its end; then there is nothing to resume.
        attempts = after["render"]["attempts"]
        assert after["render"] == {"status": "SUCCEEDED", "attempts": attempts, "error": None}
        assert attempts in (1, 2)
        resumed += attempts == 2
        assert after["revision"] == before["revision"] + 1
        files = after["artifacts"]
        assert [file["kind"] for file in files] == ["PDF", "SPREADSHEET", "DECK"]
        assert {file["revision"] for file in files} == {after["revision"]}
        assert [len(reports.content(file)) for file in files] == [file["bytes"] for file in files]
        assert len({hashlib.sha256(reports.content(file)).digest() for file in files}) == 3
        print(f"attempts {attempts}; rendered {seconds:.1f} s after the kill")
    assert resumed > 0


def _wait(condition: Any, seconds: float = 90, pause: float = 0.05) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(pause)
