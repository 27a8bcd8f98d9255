"""Schemathesis as a process of limited memory, and how much memory the service has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = Path(sys.executable).with_name("schemathesis")
_CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
_ROOT = Path(__file__).parents[2]
_MEMORY_KIB = 4 * 1024 * 1024
_CASES = re.compile(r"^\s*(\d+) generated", re.MULTILINE)


@dataclass(frozen=True)
class Round:
    """One run of schemathesis: its exit code, how many cases it made, and what it said."""

    code: int
    cases: int
    report: str


@dataclass(frozen=True)
class Target:
    """What is tried: an OpenAPI document or GraphQL endpoint, as whom, and records that exist there by their kind."""

    location: str
    headers: Mapping[str, str]
    known: Mapping[str, list[str]]


def run(folder: Path, target: Target, seed: int, *options: str, seconds: float) -> Round:
    """Try the target once through."""
    done = subprocess.run(
        [
            *("sh", "-c", f'ulimit -v {_MEMORY_KIB}; exec "$@"', "sh"),
            *(_SCRIPT, "--config-file", _CONFIGURATION, "run", target.location),
            *(part for name, value in target.headers.items() for part in ("--header", f"{name}: {value}")),
            *("--seed", str(seed), "--checks", "all"),
            *("--continue-on-failure", "--no-color", "--suppress-health-check", "all", *options),
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(_ROOT), "CRM_FUZZ_KNOWN": json.dumps(target.known)},
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
