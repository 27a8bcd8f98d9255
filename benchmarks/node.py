"""Whether Mercurius can take part: it needs Node and its packages, which are installed here where they are missing."""

from __future__ import annotations

import shutil
import subprocess

from benchmarks.data import ROOT

FOLDER = ROOT / "benchmarks" / "mercurius"
_LEAST = 20
"""The version of Node that `package.json` asks for."""


def missing() -> str:
    """Why Mercurius cannot take part; nothing where it can."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()  # noqa: S607  # the one on the path
    if int(version.lstrip("v").split(".")[0]) < _LEAST:
        return f"node is {version}, and has to be {_LEAST} or newer"
    if not (FOLDER / "node_modules").exists():
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--no-progress"]
        installed = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
        if installed.returncode:
            return f"npm ci: {installed.stderr.strip()[-500:]}"
    return ""
