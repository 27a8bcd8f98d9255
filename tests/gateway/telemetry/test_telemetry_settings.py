"""What is wrong with the settings of traces and reports of errors is said, and what is secret in them is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.observability.doctor_settings import of_settings
from gateway.settings import Settings
from gateway.shown_settings import shown
from tests.support.service import Outcome, environment

Command = Callable[..., Outcome]
DSN = "https://0123456789abcdef@errors.example/42"

_WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from gateway.cli import main
main()
"""


@pytest.mark.parametrize(
    ("module", "setting", "extra", "command"),
    [
        ("opentelemetry.sdk", {"CRM_OTEL": "1"}, "otel", "doctor"),
        ("opentelemetry.exporter.otlp.proto.http", {"CRM_OTEL": "1"}, "otel", "serve"),
        ("sentry_sdk", {"CRM_SENTRY_DSN": DSN}, "sentry", "doctor"),
    ],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, module: str, setting: dict[str, str], extra: str, command: str
) -> None:
    words = [sys.executable, "-c", _WITHOUT, module, command]
    done = subprocess.run(words, env=environment(tmp_path, **setting), capture_output=True, text=True, check=False)
    [name] = setting
    assert (done.returncode, done.stderr) == (
        78,
        f"{name}: needs the extra {extra}: pip install 'crm-gateway[{extra}]'\n",
    )


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER must be one of otlp, console, none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be http/protobuf"),
    ],
)
def test_a_way_out_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError, match=words):
        Settings(_env_file=None, otel=True)
    assert not Settings(_env_file=None).otel  # whoever traces nothing may have these variables for others


@pytest.mark.parametrize(
    "dsn",
    [
        "nonsense",
        "https://errors.example/42",
        "https://key@errors.example/project",
        "ftp://key@errors.example/42",
        "https://key@/42",
    ],
)
def test_a_dsn_that_is_none_is_refused(command: Command, dsn: str) -> None:
    done = command("config", "show", CRM_SENTRY_DSN=dsn)
    said = "CRM_SENTRY_DSN: must be a DSN: https://KEY@HOST/PROJECT, where the project is a number\n"
    assert (done.code, done.out, done.err) == (78, "", said)


def test_a_dsn_is_shown_without_its_key(command: Command) -> None:
    done = command("config", "show", CRM_SENTRY_DSN=DSN, CRM_OTEL="1")
    assert done.code == 0
    assert "https://***@errors.example/42" in done.out
    assert "0123456789abcdef" not in done.out + done.err
    assert shown(Settings(_env_file=None, sentry_dsn=DSN))["CRM_SENTRY_DSN"] == "https://***@errors.example/42"


def test_doctor_says_where_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**settings: object) -> dict[str, tuple[bool, str]]:
        findings = of_settings(Settings(_env_file=None, **settings), [])
        return {one.name: (one.ok, one.message) for one in findings if one.name in ("traces", "errors")}

    assert found() == {"traces": (True, "off"), "errors": (True, "told to nobody")}
    monkeypatch.setitem(os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://key@collector.example:4318")
    assert found(otel=True, sentry_dsn=DSN) == {
        "traces": (True, "told to collector.example"),
        "errors": (True, "told to errors.example"),
    }
    assert found(sentry_dsn="http://k@errors.example/1")["errors"] == (False, "told to errors.example")
    monkeypatch.setitem(os.environ, "OTEL_TRACES_EXPORTER", "console")
    assert found(otel=True)["traces"] == (True, "told to console")
