"""Lines of the log on a terminal: short, for people, and safe from what clients send (decision 640)."""

from __future__ import annotations

import logging
import os
import pty
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from select import select
from typing import TextIO

import pytest
import structlog

from gateway.observability import logs, terminal_log
from gateway.settings import Settings
from tests.support.gateway import Gateway
from transport.request_log import RequestLog

COLOR = re.compile(r"\x1b\[\d*m")


@dataclass
class Terminal:
    """A pseudo-terminal that the process logs to, once it is configured."""

    monkeypatch: pytest.MonkeyPatch
    stream: TextIO
    reading: int

    def configure(self, **values: str) -> None:
        with self.monkeypatch.context() as patch:
            patch.setattr("sys.stderr", self.stream)
            logs.configure(Settings(_env_file=None, **values).logs)  # type: ignore[arg-type]  # read as from the environment

    def lines(self, until: str) -> list[str]:
        """The lines shown since it was last asked, which go on to one that has this text."""
        shown = b""
        while until.encode() not in shown:
            assert select([self.reading], [], [], 20)[0], f"never shown: {until!r}, but {shown!r}"
            shown += os.read(self.reading, 65_536)
        return shown.decode().splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    root, kept = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    monkeypatch.setattr(logs, "access", logs.AccessLog())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        yield Terminal(monkeypatch, stream, reading)
    os.close(reading)
    root.handlers, root.level = handlers, level
    structlog.configure(**kept)


@pytest.mark.asyncio(loop_scope="module")
async def test_requests_are_one_short_line_and_probes_none(gateway: Gateway, terminal: Terminal) -> None:
    terminal.configure()
    await gateway.http.get("/health")
    await gateway.http.get("/deals")
    await gateway.http.get("/nothing/" + "%1b[31m" * 2 + "a" * 3_000)
    logging.getLogger("x").warning("the end")
    first, second, last = (COLOR.sub("", line) for line in terminal.lines("the end"))
    assert re.fullmatch(r"\d\d:\d\d:\d\d 401 +\d+ ms  GET /deals  UNAUTHENTICATED", first)
    assert len(second) == terminal_log.WIDTH
    assert second.isprintable()
    assert "404" in second
    assert "…" in second
    assert re.fullmatch(r"\d\d:\d\d:\d\d WARNING: the end  \(x\).*", last)


@pytest.mark.asyncio(loop_scope="module")
async def test_probes_are_shown_where_everything_is(gateway: Gateway, terminal: Terminal) -> None:
    terminal.configure(log_level="DEBUG")
    await gateway.http.get("/health")
    assert [line for line in terminal.lines("/health") if "GET /health" in line]


def test_a_terminal_that_wants_json_gets_it(terminal: Terminal) -> None:
    terminal.configure(log_format="json")
    logging.getLogger("x").warning("worth a line")
    assert terminal.lines("worth a line")[-1].startswith("{")


def test_what_others_wrote_neither_colors_nor_begins_a_line(terminal: Terminal) -> None:
    terminal.configure()
    try:
        raise ValueError("pat_0123456789abcdef.secret-of-43\n12:00:00 forged\x1b[2J")
    except ValueError:
        logging.getLogger("x").exception("of\nthem\x1b[2J")
    shown = terminal.lines("forged")
    assert "secret-of-43" not in "".join(shown)
    assert COLOR.sub("", shown[0]).endswith("ERROR: of?them?[2J  (x)")
    assert all(line.startswith("    ") for line in shown[1:])
    assert all(line.isprintable() for line in shown[1:])


def test_a_line_is_no_wider_than_a_terminal() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    record = RequestLog("r", "graphql", cost=1_234, code="GRAPHQL_VALIDATION_FAILED")
    for name in (None, "Short", "Long" * 100):
        line = terminal_log.request_line(moment, "query meetings", name, 200, 0.0123, record, colored=False)
        assert len(line) <= terminal_log.WIDTH
        assert line.startswith("03:04:05 200      12 ms  query meetings")
        assert line.endswith("cost 1234  GRAPHQL_VALIDATION_FAILED")


def test_no_colors_where_nobody_wants_them(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.configure()
    logging.getLogger("x").error("plain")
    assert terminal.lines("plain")[-1].count("\x1b") == 0


def test_lines_of_no_trouble_are_short_and_others_whole(terminal: Terminal) -> None:
    """Decision 1147."""
    terminal.configure()
    first, second = "01a220ce-45b3-71b8-8bfe-ad175be2f3dc", "11111111-1111-4111-8111-111111111111"
    line = "job job=%s organization=%s kind=%s outcome=%s ms=%.1f"
    logging.getLogger("jobs.worker").info(line, first, second, "integration_sync", "succeeded", 330.1)
    logging.getLogger("jobs.worker").info("worker started kinds=%s", ",".join(["kind"] * 99))
    logging.getLogger("x").info("a" * 80 + " pat_0123456789abcdef.secret-of-43-that-is-cut")
    logging.getLogger("jobs.worker").error("no end of job=%s %s", first, "why " * 40)
    job, started, secret, trouble = terminal.lines("why   (")
    assert "job=01a220ce-45b3 organization=11111111-1111 kind=integration_sync outcome=succ" in job
    assert len(job) <= terminal_log.WIDTH
    assert len(started) == terminal_log.WIDTH
    assert started.endswith("…  (jobs.worker)")
    assert "secret" not in secret
    assert first in trouble
    assert len(trouble) > terminal_log.WIDTH
