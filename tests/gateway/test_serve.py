from __future__ import annotations

import json
import os
import pty
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn

from contract.demo import SALES
from contract.limits import HEALTH_FACTORS
from gateway.adapters.uvicorn import Multiprocess
from gateway.observability.log_fields import fields_of
from gateway.server.serving import Process, Processes
from tests.support.postgresql import Server
from tests.support.service import SCRIPT, Commands, Service, environment

EXAMPLE = "{ meetings(first: 5) { nodes { subject account { name } } } }"


def test_the_demo_works_as_printed(tmp_path: Path) -> None:
    with Service(tmp_path, "--demo") as service:
        assert service.banner[1:3] == [
            f"  GraphiQL   {service.address}/graphql",
            f"  REST       {service.address}/docs",
        ]
        token, organization = service.value("Token"), service.value("Organization")
        assert service.value("Link").startswith(f"{service.address}/graphql#code=")
        assert token not in service.value("Link")
        headers = {"Authorization": f"Bearer {token}", "X-Service-Org": organization}
        with httpx.Client(base_url=service.address, headers=headers) as client:
            answer = client.post("/graphql", json={"query": EXAMPLE})
            assert answer.status_code == 200
            nodes = answer.json()["data"]["meetings"]["nodes"]
            assert len(nodes) == 5
            assert all(node.keys() == {"subject", "account"} for node in nodes)
            assert any(node["account"] is not None for node in nodes)
            _some_of_everything(client)
            meetings = client.get("/activities/meetings", params={"limit": 500})
            assert (meetings.status_code, len(meetings.json())) == (200, 400)
            assert len(client.get("/organization-pats").json()) == 3
            _as_pasted(service, organization)
        # The organization is in the token: the header may be left out.
        bare = httpx.get(f"{service.address}/deals", headers={"Authorization": f"Bearer {token}"})
        assert (bare.status_code, len(bare.json())) == (200, 60)
        assert service.end() == 0


def _some_of_everything(client: httpx.Client) -> None:
    """Of what people do: who has left owns records still, and tags are on records of each kind."""
    owners = "{ deals(first: 5) { nodes { owner { name state } } } tags { nodes { usage { %s } } } }"
    kinds = "accounts contacts deals leads activities campaigns"
    found = client.post("/graphql", json={"query": owners % kinds}).json()["data"]
    assert {deal["owner"]["state"] for deal in found["deals"]["nodes"]} == {"ACTIVE", "LEFT"}
    assert all(sum(tag["usage"][kind] for tag in found["tags"]["nodes"]) for kind in kinds.split())
    for kind in ("task", "note", "call", "email"):
        assert client.get("/activities", params={"type": kind}).json() != [], kind
    assert client.get("/sales-targets").json() != []


def _as_pasted(service: Service, organization: str) -> None:
    """A shell takes the lines that set something, and what is to be tried gives data."""
    shown = [line for line in service.banner if line.startswith(("export ", "curl "))]
    assert shown[1] == f"export ORG={organization}"
    assert max(map(len, shown)) <= 120
    for command in shown[2:]:
        script = "\n".join([*shown[:2], command])
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        deals = answer if isinstance(answer, list) else answer["data"]["deals"]["nodes"]
        assert (len(deals), all(deal["name"] for deal in deals)) == (3, True)


def test_a_terminal_gets_five_lines_and_the_same_key_at_each_start(tmp_path: Path) -> None:
    first, second = _on_a_terminal(tmp_path), _on_a_terminal(tmp_path)
    assert [line.split()[0] for line in first] == ["Open", "export", "export", "curl", "curl"]
    assert max(map(len, first)) <= 120
    assert re.fullmatch(r"Open http://127\.0\.0\.1:\d+/graphql#code=[\w-]+", first[0])
    assert re.fullmatch(r"export TOKEN=ak_[0-9a-f]{16}\.[\w-]{43}", first[1])
    assert first[1:3] == second[1:3]


def _on_a_terminal(folder: Path) -> list[str]:
    """What a terminal shows on its standard output."""
    ours, theirs = pty.openpty()
    command = [SCRIPT, "serve", "--demo"]
    with (folder / "err").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(folder, PORT="0"), stdout=theirs, stderr=log)
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as shown:
        said = b""
        while said.count(b"\n") < 5:
            said += shown.read(4096)
        process.terminate()
        assert process.wait(60) == 0
    return said.decode().splitlines()


def test_a_second_start_is_quick_and_keeps_the_data(tmp_path: Path) -> None:
    with Service(tmp_path, "--demo") as first:
        assert first.end() == 0
    before = _history(tmp_path)
    with Service(tmp_path, "--demo", afresh=True) as second:
        headers = {"Authorization": f"Bearer {second.value('Token')}"}
        made = httpx.post(f"{second.address}/deals", headers=headers, json={"name": "Kept"})
        assert made.status_code == 201
        assert second.end() == 0
    assert "graceful shutdown exceeded" not in second.log.read_text()
    with Service(tmp_path, "--demo", afresh=True) as third:
        headers = {"Authorization": f"Bearer {third.value('Token')}"}
        kept = httpx.get(f"{third.address}/deals/{made.json()['id']}", headers=headers)
        assert (kept.status_code, kept.json()["name"]) == (200, "Kept")
    assert _history(tmp_path) == before
    assert _imports() * 2 > min(second.work, third.work)


def _imports() -> float:
    """Seconds of the processor that it takes to load what a service needs; .ci/run has the start itself in seconds."""
    server = "gateway.server.serving, gateway.server.http_protocol, gateway.server.websocket_protocol"
    modules = f"gateway.app, {server}, gateway.demo.data, jobs.kinds, aiosqlite"
    child = subprocess.Popen([sys.executable, "-c", f"import {modules}; import gateway.commands.serve"])
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0
    child.returncode = 0
    return used.ru_utime + used.ru_stime


def _history(folder: Path) -> list[tuple[object, ...]]:
    """What the demo data consists of, but for what its calendar brings while it is served."""
    with sqlite3.connect(f"file:{folder / 'data' / 'crm.sqlite3'}?mode=ro", uri=True) as connection:
        rows = connection.execute(
            """
            SELECT (SELECT count(*) FROM organizations), (SELECT count(*) FROM memberships),
                   (SELECT count(*) FROM activities WHERE type = 'meeting'
                    AND id NOT IN (SELECT meeting_id FROM synced_meetings WHERE meeting_id IS NOT NULL)),
                   (SELECT count(*) FROM credentials),
                   (SELECT count(*) FROM health_snapshots),
                   (SELECT count(*) FROM (SELECT DISTINCT account_id, snapshot_at FROM health_snapshots)),
                   (SELECT count(*) FROM health_factors)
            """
        ).fetchall()
    connection.close()
    return rows


@pytest.mark.long
def test_two_first_starts_at_once_make_one_demo(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    with ThreadPoolExecutor(2) as pool:
        starts = [pool.submit(Service, tmp_path, "--demo") for _ in range(2)]
        services = [start.result() for start in starts]
    with services[0], services[1]:
        for service in services:
            headers = {"Authorization": f"Bearer {services[0].value('Token')}"}  # of the one, good for the other
            answer = httpx.post(f"{service.address}/graphql", headers=headers, json={"query": EXAMPLE})
            assert len(answer.json()["data"]["meetings"]["nodes"]) == 5
        assert [service.end() for service in services] == [0, 0]
    # 40 and 6 accounts without every tenth, four times.
    snapshots = (36 + 6) * 4
    assert _history(tmp_path) == [(2, 5, 440, 3, snapshots, snapshots, snapshots * HEALTH_FACTORS)]


@pytest.mark.long
def test_two_demos_at_once_on_postgresql_too(postgresql: Server, tmp_path: Path) -> None:
    postgresql.create("two_demos")
    url = postgresql.url("two_demos")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    commands = Commands()
    with ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(commands.run, tmp_path / name, "seed", "--demo", CRM_DATABASE_URL=url)
            for name in ("one", "two")
        ]
        outcomes = [run.result() for run in runs]
        assert [outcome.code for outcome in outcomes] == [0, 0]
        said = sorted(outcome.err.splitlines()[-1] for outcome in outcomes)
        assert said == ["The demo data is there already.", "The demo data is written."]
        token = commands.run(
            tmp_path / "one", "token", "--user", "user_demo_admin", "--org", SALES, CRM_DATABASE_URL=url
        ).out.strip()
    with Service(tmp_path / "one", CRM_DATABASE_URL=url) as service:
        query = "{ accounts(first: 40) { nodes { healthHistory { totalCount } } } organizationKeys { name } }"
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.post(f"{service.address}/graphql", headers=headers, json={"query": query}).json()
        assert "errors" not in answer
        counts = [node["healthHistory"]["totalCount"] for node in answer["data"]["accounts"]["nodes"]]
        assert sorted(counts) == [0] * 4 + [4] * 36
        assert len(answer["data"]["organizationKeys"]) == 2 + 2  # one to show for each of the two peppers
    postgresql.drop("two_demos")


def test_an_interrupt_ends_it_gracefully(tmp_path: Path) -> None:
    with Service(tmp_path) as service, httpx.Client() as client:
        assert service.banner == [
            f"CRM gateway on {service.address}",
            f"  GraphiQL   {service.address}/graphql",
            f"  REST       {service.address}/docs",
        ]
        assert client.get(f"{service.address}/health").json() == {"status": "ok", "version": "0.0.1"}
        assert service.end(signal.SIGINT) == 0  # the client's connection is kept alive meanwhile
    log = service.log.read_text()
    assert "Traceback" not in log
    assert "graceful shutdown exceeded" not in log


def test_a_taken_port_is_said_and_changes_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = subprocess.run(
            [SCRIPT, "serve", "--demo", "--port", port],
            check=False,
            env=environment(tmp_path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert outcome.stderr == f"Cannot listen on 127.0.0.1 port {port}: Address already in use\n"
    assert not (tmp_path / "data").exists()


def test_nothing_is_printed_before_it_listens(tmp_path: Path) -> None:
    """The first byte on stdout is worth a connection at once."""
    process = subprocess.Popen(
        [SCRIPT, "serve", "--port", "0", "--host", "::1"],
        env=environment(tmp_path),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        found = re.fullmatch(r"CRM gateway on (http://\[::1\]:\d+)\n", line)
        assert found is not None
        assert httpx.get(f"{found[1]}/ready").status_code == 200
    finally:
        process.terminate()
        assert process.wait(60) == 0
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.long
def test_several_processes_answer_on_one_socket(tmp_path: Path) -> None:
    with Service(tmp_path, "--demo", "--workers", "2") as service:
        headers = {"Authorization": f"Bearer {service.value('Token')}"}
        end = time.monotonic() + 30
        while len(service.processes()) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        for _ in range(20):  # a connection each, so that either may take it
            answer = httpx.post(f"{service.address}/graphql", headers=headers, json={"query": EXAMPLE})
            assert len(answer.json()["data"]["meetings"]["nodes"]) == 5
        workers = service.processes()
        assert len(workers) == 2
        began = time.monotonic()
        assert service.end() == 0
        assert time.monotonic() - began < 10
        assert [worker for worker in workers if _lives(worker)] == []
    assert "Traceback" not in service.log.read_text()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_supervisor_that_takes_a_place(number: int, tmp_path: Path) -> None:
    """Decision 1192: it ends as at any other time, and leaves no folder of metrics."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [SCRIPT, "serve", "--workers", "2"]
    surroundings = environment(tmp_path, PORT="0", TMPDIR=str(folder))
    process = subprocess.Popen(command, env=surroundings, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    words = Path(f"/proc/{process.pid}/cmdline")
    while "supervising" not in words.read_text():
        time.sleep(0.001)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, list(folder.iterdir())) == (0, [])
    assert "Traceback" not in said


def _supervised(monkeypatch: pytest.MonkeyPatch, turns: list[list[Any]]) -> Processes:
    """A supervisor of the first of these, which have the next ones in their place each time that it looks."""
    monkeypatch.setattr(Multiprocess, "__init__", lambda *_: None)
    monkeypatch.setattr("gateway.server.serving.signal", SimpleNamespace(SIGINT=2, SIGTERM=15, signal=lambda *_: None))
    supervisor = Processes(uvicorn.Config("x"), [])
    supervisor.processes, *followed = turns
    monkeypatch.setattr(
        Multiprocess, "keep_subprocess_alive", lambda one: setattr(one, "processes", followed.pop(0)), raising=False
    )
    return supervisor


def _process(pid: int, exit_code: int | None = None, lived: float = 0.0) -> SimpleNamespace:
    process = SimpleNamespace(exitcode=exit_code, is_alive=lambda: exit_code is None)
    return SimpleNamespace(pid=pid, process=process, lived=lived, look=lambda: None)


def test_a_process_that_died_is_warned_of(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Decision 1148: its number and its exit code are fields."""
    lives, died, successor = _process(1), _process(2, -9), _process(3)
    supervisor = _supervised(monkeypatch, [[lives, died], [lives, successor], [lives, successor]])
    supervisor.keep_subprocess_alive()
    supervisor.keep_subprocess_alive()
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert fields_of(record) == {"process": 2, "exit_code": -9, "successor": 3}


def test_processes_that_cannot_begin_are_tried_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 1202: the first at once, then after pauses that double, and each that could at once."""
    clock, lived, began = [1000.0], [0.5], list[float]()
    monkeypatch.setattr("gateway.server.serving.time", SimpleNamespace(monotonic=lambda: clock[0]))
    supervisor = _supervised(monkeypatch, [[_process(0, 1)]])

    def replace(one: Processes) -> None:
        began.append(clock[0])
        one.processes = [_process(len(began), 1, lived[0])]  # type: ignore[list-item]  # as much of it as is asked

    monkeypatch.setattr(Multiprocess, "keep_subprocess_alive", replace)

    def pauses(seconds: int) -> list[float]:
        del began[:]
        for _ in range(2 * seconds):
            supervisor.keep_subprocess_alive()
            clock[0] += 0.5
        return [later - earlier for earlier, later in pairwise(began)]

    assert pauses(125) == [1, 2, 4, 8, 16, 30, 30, 30]
    lived[0] = 20
    assert pauses(80)[-8:] == [0.5] * 8


def test_who_served_and_dies_waits_for_no_pause_of_those_that_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 1202: else nobody would serve meanwhile, though each process could."""
    young, old, other = _process(1, 1, 0.5), _process(2, -9, 60), _process(2, None, 60)
    for served, replaced in ((other, False), (old, True)):
        supervisor = _supervised(
            monkeypatch, [[young, other], [_process(3, 1, 0.5), served], [_process(4), _process(5)]]
        )
        supervisor.keep_subprocess_alive()
        supervisor.keep_subprocess_alive()
        assert ([process.pid for process in supervisor.processes] == [4, 5]) is replaced


def test_a_process_knows_its_supervisor_from_the_beginning() -> None:
    """Decision 1195: asked by the process itself, it may be gone by then."""
    assert Process(uvicorn.Config("x"), [])._supervisor == os.getpid()


def test_a_process_says_how_long_it_lived(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not how long ago it was made: it may take long to find that it cannot begin (decision 1202)."""
    clock, runs = [0.0], [True]
    monkeypatch.setattr("gateway.server.serving.time", SimpleNamespace(monotonic=lambda: clock[0]))
    process = Process(uvicorn.Config("x"), [])
    monkeypatch.setattr(process, "process", SimpleNamespace(is_alive=lambda: runs[0]))
    for begun, seconds, lived in ((False, 3, 0), (True, 50, 0), (True, 2, 0), (True, 3, 3)):
        clock[0] += seconds
        process.look()
        assert process.lived == lived
        process.child_conn.send(begun)
    runs[0] = False
    clock[0] += 30
    process.look()
    assert process.lived == 3


def test_a_process_is_judged_by_what_it_owes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks while others are replaced, which may take longer than a process may be silent (decision 129)."""
    clock = [0.0]
    monkeypatch.setattr("gateway.server.serving.time", SimpleNamespace(monotonic=lambda: clock[0]))
    process = Process(uvicorn.Config("x"), [])
    monkeypatch.setattr(process, "process", SimpleNamespace(is_alive=lambda: True))
    clock[0] += 100
    assert process.is_alive(60)
    clock[0] += 100
    process.child_conn.send(True)  # it had answered meanwhile
    assert process.is_alive(60)
    clock[0] += 59
    assert process.is_alive(60)
    clock[0] += 2
    assert not process.is_alive(60)
    process.child_conn.send(True)
    assert process.is_alive(60)
    questions = 0
    while process.child_conn.poll():
        assert process.child_conn.recv() == b"ping"
        questions += 1
    assert questions == 3
    monkeypatch.setattr(process, "process", SimpleNamespace(is_alive=lambda: False))
    assert not process.is_alive(60)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_pending_migrations_can_be_left_alone(tmp_path: Path) -> None:
    with Service(tmp_path, "--no-migrate") as service:
        ready = httpx.get(f"{service.address}/ready")
        assert ready.status_code == 503
        assert {check["name"]: check["ok"] for check in ready.json()["checks"]}["migrations"] is False
        assert httpx.get(f"{service.address}/health").status_code == 200
        assert service.end() == 0


def test_the_public_address_is_the_printed_one(tmp_path: Path) -> None:
    public = "https://crm.example/base/"
    process = subprocess.Popen(
        [SCRIPT, "serve"],
        env=environment(tmp_path, PORT="0", CRM_PUBLIC_URL=public),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"CRM gateway on {public.rstrip('/')}\n"
        assert process.stdout.readline() == f"  GraphiQL   {public.rstrip('/')}/graphql\n"
    finally:
        process.terminate()
        assert process.wait(60) == 0
        assert process.stdout is not None
        process.stdout.close()
