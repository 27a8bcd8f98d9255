"""The demo's link: a code instead of a token, good once, soon, and on this machine (decision 167)."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from contract.demo import SALES
from gateway.addresses import is_loopback, sockets_at
from gateway.demo.links import LINK_SECONDS, DemoLinks, Invitation
from tests.support.service import Service

ADMIN = Invitation("user_demo_admin", SALES)


def _code(service: Service) -> str:
    link = urlsplit(service.value("Link"))
    assert f"{link.scheme}://{link.netloc}{link.path}" == f"{service.address}/graphql"
    [[code]] = parse_qs(link.fragment, strict_parsing=True).values()
    return code


def _exchange(service: Service, code: Any, **headers: str) -> httpx.Response:
    return httpx.post(f"{service.address}/demo/token", json={"code": code}, headers=headers)


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_a_code_is_exchanged_once_however_many_ask(tmp_path: Path, workers: str) -> None:
    with Service(tmp_path, "--demo", "--workers", workers) as service:
        code = _code(service)
        assert code not in service.value("Token")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: _exchange(service, code), range(16)))
        [taken] = [answer for answer in answers if answer.status_code == 200]
        assert {answer.status_code for answer in answers if answer is not taken} == {404}
        assert taken.headers["cache-control"] == "no-store"
        assert taken.json()["organization"] == service.value("Organization")
        viewer = httpx.post(
            f"{service.address}/graphql",
            json={"query": "{ viewer { subject } }"},
            headers={"Authorization": f"Bearer {taken.json()['token']}"},
        )
        assert viewer.json()["data"] == {"viewer": {"subject": "user_demo_admin"}}
        assert _exchange(service, code).status_code == 404
        assert list((tmp_path / "data" / "demo-links").iterdir()) == []


def test_nobody_else_gets_anything_for_it(tmp_path: Path) -> None:
    with Service(tmp_path, "--demo") as service:
        code = _code(service)
        host = urlsplit(service.address).netloc
        for headers in (
            {"Host": "evil.example"},
            {"Host": f"127.0.0.1.evil.example:{urlsplit(service.address).port}"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://localhost:1"},
            {"Origin": f"http://{host}.evil.example"},
        ):
            refused = _exchange(service, code, **headers)
            assert refused.status_code in (400, 404, 421), headers
            assert "token" not in refused.json()
        for wrong in ("", code[:-1], f"{code}=", "../pepper", "\u0661", "\x00", "a" * 900):
            assert _exchange(service, wrong).status_code == 404
        for other in (None, 1, [code], {"code": code}):
            assert _exchange(service, other).status_code == 400
        address = f"{service.address}/demo/token"
        for body in (b"", b"[]", b"{}", b'{"code": "\\ud800"}', b'"code"', b"\xff", b"{"):
            assert httpx.post(address, content=body).status_code == 400
        assert httpx.post(address, content=b"x" * 5_000).status_code == 413
        assert httpx.get(address, params={"code": code}).status_code == 405
        assert _exchange(service, code, Origin=service.address).status_code == 200
    with Service(tmp_path) as service:
        code = DemoLinks(tmp_path / "data").make(ADMIN)
        assert _exchange(service, code).status_code == 404


@pytest.mark.parametrize("age", [LINK_SECONDS + 1, -60])
def test_a_code_runs_out(tmp_path: Path, age: int) -> None:
    links = DemoLinks(tmp_path)
    code = links.make(ADMIN)
    [file] = (tmp_path / "demo-links").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "demo-links").stat().st_mode & 0o777 == 0o700
    assert code not in file.name + file.read_text()
    made = time.time() - age
    os.utime(file, (made, made))
    assert links.take(code) is None
    assert links.take(links.make(ADMIN)) == ADMIN


def test_codes_that_ran_out_are_swept(tmp_path: Path) -> None:
    links = DemoLinks(tmp_path)
    for _ in range(3):
        links.make(ADMIN)
    for file in (tmp_path / "demo-links").iterdir():
        os.utime(file, (0, 0))
    links.make(ADMIN)
    assert len(list((tmp_path / "demo-links").iterdir())) == 1


@pytest.mark.parametrize(
    ("public", "link"),
    [("https://crm.example", None), ("http://localhost:8080/prefix", "http://localhost:8080/prefix/graphql#code=")],
)
def test_a_public_address_has_no_link_but_on_this_machine(tmp_path: Path, public: str, link: str | None) -> None:
    with Service(tmp_path, "--demo", CRM_PUBLIC_URL=public) as service:
        printed = [line for line in service.banner if line.split()[:1] == ["Link"]]
        assert bool(printed) == (link is not None)
        assert all(line.split()[1].startswith(str(link)) for line in printed)
        assert service.value("Token").startswith("ey")
        assert service.value("Organization") == SALES


@pytest.mark.parametrize(
    ("authority", "is_ours"),
    [
        *(
            (name, True)
            for name in ("localhost", "LOCALHOST:8000", "a.localhost", "127.0.0.1:1", "127.9.9.9", "[::1]:80")
        ),
        *((name, False) for name in ("", ":80", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "[::]")),
        *((name, False) for name in ("xlocalhost", "10.0.0.1", "[::1", "127.1", "evil.example@127.0.0.2:x", "crm")),
    ],
)
def test_what_is_this_machine(authority: str, is_ours: bool) -> None:
    assert is_loopback(authority) is is_ours


@pytest.mark.parametrize(
    ("authority", "is_named"),
    [
        *((name, True) for name in ("crm.example", "127.0.0.1:8000", "localhost:1", "a-b.c", "x" * 253)),
        *((name, False) for name in ("", "*", "*.example", "a b", "a;script-src *", "a, b", "a\n", "[::1]:80", "a:b")),
        *((name, False) for name in ("'none'", "é", "a/b", "a:", "-a", "a.", "x" * 254, "a:123456", "a\r\nX: y")),
    ],
)
def test_which_hosts_a_policy_names(authority: str, is_named: bool) -> None:
    assert sockets_at(authority) == ([f"ws://{authority}", f"wss://{authority}"] if is_named else [])
