"""The audits of GraphQL over HTTP, by the package graphql-http, against a started service."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.node import node_for
from tests.support.service import Service

HERE = Path(__file__).resolve().parent
AUDITS = 61


@pytest.fixture(scope="module")
def node() -> str:
    return node_for(HERE, "nothing was audited")


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
