"""Node.js for the tests that run packages of npm."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def node_for(folder: Path, untried: str) -> str:
    """Return the path of Node.js, with the folder's locked packages installed.

    Without Node.js the test is skipped, and fails in CI; `untried` says what was not done then.
    """
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        if "CI" in os.environ:
            pytest.fail(f"Node.js is missing, and {untried}: install it (Debian: nodejs npm).")
        pytest.skip(f"Node.js is missing; {untried}")
    installed = folder / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (folder / "package-lock.json").stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-progress"], cwd=folder, check=True, timeout=300)
    return found
