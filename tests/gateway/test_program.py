"""How this program is begun again (decision 1192): as it was begun, wherever it lies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.packages import ROOT
from gateway.server import program

_SAID = """
import sys, warnings
from gateway.server import program
print(*program.command("gateway", "worker"), sep="\\n")
print(sys.flags, sorted({*sys.warnoptions}))
"""


@pytest.mark.parametrize("options", [[], ["-W", "error", "-X", "dev"], ["-I"], ["-s", "-E", "-b"], ["-OO", "-B"]])
def test_it_is_begun_with_the_same_options(options: list[str]) -> None:
    def said(given: list[str]) -> list[str]:
        words = [sys.executable, *given, "-c", _SAID]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()

    [*words, flags] = said(["-P", *options])
    assert (words[0], words[-4:]) == (sys.executable, ["-P", "-m", "gateway", "worker"])
    assert said(words[1:-3]) == [*words, flags]


@pytest.mark.parametrize("first", ["", str(ROOT), "."])
def test_a_program_that_is_not_installed_is_found_from_everywhere(first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [first, *sys.path])
    monkeypatch.setenv("PYTHONPATH", "other")
    assert program.environment()["PYTHONPATH"] == os.pathsep.join([str(ROOT), "other"])
    monkeypatch.setenv("PYTHONPATH", program.environment()["PYTHONPATH"])
    assert program.environment()["PYTHONPATH"] == os.pathsep.join([str(ROOT), "other"])


def test_nothing_else_is_found_beside_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for path in ([str(tmp_path), str(ROOT)], []):
        monkeypatch.setattr(sys, "path", path)
        assert "PYTHONPATH" not in program.environment()
