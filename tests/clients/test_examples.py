"""The examples, built against the printed schema and run against a started service: what real clients see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.node import node_for
from tests.support.service import Service

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TYPESCRIPT = EXAMPLES / "typescript"
PROBLEMS = [{"code": "VALIDATION", "field": ["input", "name"]}]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("clients"), "--demo", CRM_RATE_LIMIT="off") as service:
        yield service


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the built examples; the operations are compiled against the committed schema."""
    node_for(TYPESCRIPT, "no client was run")
    for name in ("build", "src/gql", "src/__generated__"):
        shutil.rmtree(TYPESCRIPT / name, ignore_errors=True)
    made = subprocess.run(["npm", "run", "build"], cwd=TYPESCRIPT, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stdout + made.stderr
    return TYPESCRIPT / "build"


def run(service: Service, *command: str | Path) -> dict[str, Any]:
    """What the example says, by name."""
    surroundings = {"CRM_URL": service.address, "CRM_TOKEN": service.value("Token")}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | surroundings)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found: dict[str, Any] = {}
    for line in ran.stdout.splitlines():
        found |= json.loads(line)
    return found


def ask(service: Service, query: str) -> Any:
    headers = {"Authorization": f"Bearer {service.value('Token')}"}
    body = httpx.post(f"{service.address}/graphql", json={"query": query}, headers=headers).json()
    assert "errors" not in body, body
    return body["data"]


def accounts(service: Service) -> list[str]:
    names = [node["name"] for node in ask(service, "{ accounts(first: 500) { nodes { name } } }")["accounts"]["nodes"]]
    assert len(names) > 12  # several pages of four
    return names


@pytest.mark.parametrize(
    ("example", "name"),
    [("apollo", "By Apollo"), ("urql", "By urql"), ("websocket", "By graphql-ws"), ("event-stream", "By graphql-sse")],
)
def test_a_client_in_typescript(service: Service, built: Path, example: str, name: str) -> None:
    missed = {"missed": "While away"} if example == "websocket" else {}
    assert run(service, "node", built / f"{example}.js") == {
        "viewer": "Ada Admin",
        "problems": PROBLEMS,
        "accounts": accounts(service),
        "event": name,
        **missed,
    }


def test_relay(service: Service, built: Path) -> None:
    query = (
        "{ accounts(first: 1, orderBy: {field: NAME, direction: ASC}) { nodes { contacts { nodes { firstName } } } } }"
    )
    [account] = ask(service, query)["accounts"]["nodes"]
    names = [contact["firstName"] for contact in account["contacts"]["nodes"]]
    assert len(names) > 1  # several pages of one
    assert run(service, "node", built / "relay.js") == {
        "viewer": "Ada Admin",
        "contacts": names,
        "problems": PROBLEMS,
        "event": "By Relay",
    }


def test_python(service: Service) -> None:
    assert run(service, sys.executable, EXAMPLES / "python" / "gateway.py") == {
        "viewer": "Ada Admin",
        "problems": PROBLEMS,
        "accounts": accounts(service),
        "event": "By Python",
    }
