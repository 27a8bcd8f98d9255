"""A little of everything, for `./run lowest`: whether the service works with the libraries that are installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from gateway.packages import PACKAGES, ROOT
from reports.files import render_all
from tests.support.live import CREATE, going
from tests.support.reports import content
from tests.support.service import SCRIPT, environment

pytestmark = pytest.mark.long

_IMPORTS = """
import importlib, pkgutil, sys
import obstore.store, redis.asyncio  # the extras

def fail(name):
    raise

for package in sys.argv[1:]:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.", onerror=fail):
        if not found.name.endswith("__main__") and ".migrations." not in found.name:
            importlib.import_module(found.name)
print(len(sys.modules))
"""


def test_every_module_can_be_imported() -> None:
    """Except for migrations, which the other tests run."""
    command = [sys.executable, "-c", _IMPORTS, *PACKAGES]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert int(made.stdout) > 350


def test_the_printed_schema_is_the_committed_one() -> None:
    made = subprocess.run([SCRIPT, "schema", "print"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == (ROOT / "schema" / "schema.graphql").read_text()


async def test_a_service_answers_through_both_surfaces(tmp_path: Path, database_url: str) -> None:
    async with going(tmp_path, database_url) as live:
        created = (await live.ask(CREATE, name="First"))["dealCreate"]["deal"]
        found = await live.ask("query($id: ID!) { deal(id: $id) { name account { name } } }", id=created["id"])
        assert found == {"deal": {"name": "First", "account": None}}
        async with httpx.AsyncClient(base_url=live.service.address, headers=live.token()) as client:
            answer = await client.get(f"/deals/{created['id']}")
            assert (answer.status_code, answer.json()["name"]) == (200, "First"), answer.text
            assert (await client.get("/health")).status_code == 200


def test_a_database_is_made_and_migrated(tmp_path: Path) -> None:
    subprocess.run([SCRIPT, "migrate"], cwd=tmp_path, env=environment(tmp_path), check=True, capture_output=True)
    assert (tmp_path / "data").is_dir()


def test_a_report_is_rendered() -> None:
    files = {file.kind.value: file.data for file in render_all(content())}
    assert {data[:2] for data in files.values()} == {b"%P", b"PK"}
    assert len(files) == 3
