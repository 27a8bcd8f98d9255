"""Schemathesis as a process of limited memory, and how much memory the service has."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = Path(sys.executable).with_name("schemathesis")
_CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
_MEMORY_KIB = 4 * 1024 * 1024
_CASES = re.compile(r"^\s*(\d+) generated", re.MULTILINE)


@dataclass(frozen=True)
class Round:
    """One run of schemathesis: its exit code, how many cases it made, and what it said."""

    code: int
    cases: int
    report: str


def run(folder: Path, location: str, headers: Mapping[str, str], seed: int, *options: str, seconds: float) -> Round:
    """Try the service at this OpenAPI document or GraphQL endpoint, with these headers on every request."""
    done = subprocess.run(
        [
            *("sh", "-c", f'ulimit -v {_MEMORY_KIB}; exec "$@"', "sh"),
            *(_SCRIPT, "--config-file", _CONFIGURATION, "run", location),
            *(part for name, value in headers.items() for part in ("--header", f"{name}: {value}")),
            *("--seed", str(seed), "--checks", "all"),
            *("--continue-on-failure", "--no-color", "--suppress-health-check", "all", *options),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    found = _CASES.search(done.stdout)
    return Round(done.returncode, int(found[1]) if found else 0, done.stdout)


def resident(pid: int) -> int:
    """The memory of a process in MB, as the kernel counts it."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) // 1024
