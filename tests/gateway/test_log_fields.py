"""`LOG_FORMAT=json`: every fact of a line is a field, and an error has its frames without a value (decision 874)."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.observability import logs
from gateway.settings import Settings
from transport.errors import report

SECRET = "canary of a customer"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    stream, root = io.StringIO(), logging.getLogger()
    before, level = root.handlers, root.level
    monkeypatch.setattr("sys.stderr", stream)
    logs.configure(Settings(_env_file=None, log_format="json").logs)
    yield stream
    root.handlers = before
    root.setLevel(level)


def _line(written: io.StringIO) -> dict[str, Any]:
    [line] = written.getvalue().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_what_a_line_names_is_a_field_with_its_type(written: io.StringIO) -> None:
    line = "job job=%s organization=%s kind=%s outcome=%s ms=%.1f failed=%s"
    logging.getLogger("jobs.worker").info(line, "j1", "o1", "webhook_delivery", "succeeded", 12.345, None)
    found = _line(written)
    found.pop("timestamp")
    assert found == {
        "event": "job",
        "level": "info",
        "logger": "jobs.worker",
        "job": "j1",
        "organization": "o1",
        "kind": "webhook_delivery",
        "outcome": "succeeded",
        "ms": 12.3,
        "failed": None,
    }


def test_what_has_no_name_stays_in_the_text(written: io.StringIO) -> None:
    logging.getLogger("providers").warning("provider %s failed 100%% method=%s level=%d", "Acme", "GET", 3)
    found = _line(written)
    assert (found["event"], found["method"], found["level"]) == ("provider Acme failed 100% level=3", "GET", "warning")


def _fails(value: str) -> None:
    json.loads(value)


def test_an_internal_error_has_frames_and_no_value(written: io.StringIO) -> None:
    try:
        _fails(SECRET)
    except ValueError as error:
        report(error, "r1")
    found = _line(written)
    assert (found["event"], found["request_id"], found["type"]) == ("internal error", "r1", "JSONDecodeError")
    assert found["frames"][1] == {"file": "tests/gateway/test_log_fields.py", "line": 62, "function": "_fails"}
    assert found["frames"][-1].keys() == {"file", "line", "function"}
    assert found["frames"][-1]["file"] == "decoder.py"
    assert SECRET not in written.getvalue()


def test_an_exception_that_a_library_logs_has_frames_and_no_words(written: io.StringIO) -> None:
    try:
        try:
            _fails(SECRET)
        except ValueError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError:
        logging.getLogger("library").exception("Exception in ASGI application")
    found = _line(written)
    assert (found["event"], found["type"]) == ("Exception in ASGI application", "RuntimeError")
    assert [frame["function"] for frame in found["frames"]].count("_fails") == 1
    assert SECRET not in written.getvalue()
