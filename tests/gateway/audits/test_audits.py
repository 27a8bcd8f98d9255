"""The audits of GraphQL over HTTP, by the package graphql-http, against a started service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.service import Service

HERE = Path(__file__).resolve().parent
AUDITS = 61


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        if "CI" in os.environ:
            pytest.fail("Node.js is missing, and nothing was audited: install it (Debian: nodejs npm).")
        pytest.skip("Node.js is missing; nothing was audited")
    installed = HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < (HERE / "package-lock.json").stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-progress"], cwd=HERE, check=True, timeout=300)
    return found


@pytest.mark.parametrize("settings", [{}, {"CRM_CORS_ORIGINS": "https://app.example"}], ids=["as it is", "with CORS"])
def test_every_audit_passes(node: str, tmp_path: Path, settings: dict[str, str]) -> None:
    with Service(tmp_path, "--no-worker", **settings) as service:
        ran = subprocess.run(
            [node, "audit.mjs", f"{service.address}/graphql"],
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    results = json.loads(ran.stdout)
    assert [f"{r['id']} {r['name']}: {r['reason']}" for r in results if r["status"] != "ok"] == []
    assert len({r["id"] for r in results}) == AUDITS
