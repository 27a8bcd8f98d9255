"""Web sites and logos that are meant to break the service: they break a child process, and one job at most."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import pytest

import jobs.cx.site
import jobs.render
import jobs.research
from jobs import attempts
from jobs.cx.pages import read_page
from jobs.cx.signals import assess
from jobs.cx.site import Site, linked_pages
from providers.children.errors import OutOfMemory
from providers.children.pool import Children
from reports.rendering import DRAWING, is_drawable
from tests.support.companies import HOME, HTML, ask, begin, ended, open_company, open_working, until
from tests.support.gateway import Gateway
from tests.support.reports import data_uri
from tests.support.web import Reply

_XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
_ALL = '<rect width="100%" height="100%"/>'
TALL = f'<svg {_XMLNS} viewBox="0 0 1 2000000"><path d="M0 0"/></svg>'
LAYERS = f"<svg {_XMLNS} viewBox='0 0 100 2000'>" + "<g opacity='.5'>" * 90 + _ALL + "</g>" * 90 + "</svg>"
"""One in another, each a picture of its own."""
LOGOS = {
    "ratio": TALL,
    "width and height": f'<svg {_XMLNS} width="1" height="2000000">{_ALL}</svg>',
    "share of a box": f'<svg {_XMLNS} viewBox="0 0 10 10" height="2000000%">{_ALL}</svg>',
    "layers": LAYERS,
    "bomb": '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><svg>&b;</svg>',
}


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_working(database_url, tmp_path / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_PAUSE", 0.05)


def home(*logos: str) -> Reply:
    images = "".join(f'<img src="/logo-{number}.svg" alt="logo">' for number, _ in enumerate(logos))
    return Reply(HOME.replace('<img src="/logo.png" alt="Harbor Coffee logo">', images).encode(), headers=HTML)


def image(text: str) -> Reply:
    return Reply(text.encode(), headers={"Content-Type": "image/svg+xml"})


async def edit(gateway: Gateway, run: dict[str, Any], patch: dict[str, Any]) -> Any:
    headers = gateway.world.session("member@one", gateway.world.one)
    path = f"/customer-intelligence/runs/{run['id']}/results/{run['results']['nodes'][0]['id']}/cx-report"
    return await gateway.rest("PATCH", path, headers, patch)


async def is_well(gateway: Gateway) -> bool:
    return bool((await gateway.http.get("/ready")).status_code == 200)


async def _researched(gateway: Gateway) -> dict[str, Any]:
    async with open_company() as web:
        run_id = await begin(gateway, ("Harbor Coffee", f"127.0.0.1:{web.port}"))
        return {"id": run_id} | await until(gateway, run_id, ended)


async def test_a_site_s_logo_that_asks_for_terabytes(gateway: Gateway) -> None:
    """The company is scored, and its report rendered without it."""
    logos = {"logo-0.svg": image(TALL), "logo-1.svg": image(LAYERS)}
    async with open_company(home=home(TALL, LAYERS), **logos) as web:
        run_id = await begin(gateway, ("Harbor Coffee", f"127.0.0.1:{web.port}"))
        run = await until(gateway, run_id, ended)
        assert web.paths[-2:] == ["/logo-0.svg", "/logo-1.svg"]
    report = run["results"]["nodes"][0]["cxReport"]
    assert "logo" not in report["brand"]
    assert (report["render"]["status"], len(report["artifacts"])) == ("SUCCEEDED", 3)
    assert await is_well(gateway)


def test_links_that_take_long_to_look_through() -> None:
    """They are looked through where the page is read, in a child: what the service does with them is little."""
    base = "https://acme.example/" + "c/" * 1_900
    body = f'<base href="{base}">' + "".join(f"<a href='{n:04}'>{'a-' * 100}</a>" for n in range(1_000))
    began = process_time()
    pages = [read_page(body.encode(), url="https://acme.example/", kind=kind, headers={}) for kind in ("home", "x")]
    reading = process_time() - began
    began = process_time()
    linked_pages(pages[0])
    assess(Site(tuple(pages), 0))
    assert process_time() - began < reading / 2
    assert len(pages[0].links) == 1_000


def test_the_first_base_counts() -> None:
    """Each after it would make the addresses longer."""
    body = b"<base target=x><base href=/a/>" + b"<base href=b/>" * 50_000 + b"<a href=c>c</a>"
    found = read_page(body, url="https://acme.example/", kind="home", headers={})
    assert [link.url for link in found.links] == ["https://acme.example/a/c"]


def test_addresses_that_nobody_calls_are_no_links() -> None:
    long = "a" * 4_000
    body = f'<base href="/{long[:3_000]}/"><a href="{long}">1</a><a href="{long[:2_000]}">2</a><a href="/help">3</a>'
    found = read_page(body.encode(), url="https://acme.example/", kind="home", headers={})
    assert [link.url for link in found.links] == ["https://acme.example/help"]
    many = read_page(b"<script src=x></script>" * 40_000, url="https://acme.example/", kind="home", headers={})
    assert len(many.scripts) == 1_000


async def test_logos_that_cannot_be_drawn() -> None:
    children = Children()
    try:
        for logo in LOGOS.values():
            try:
                assert not await children.run(DRAWING, is_drawable, data_uri(logo))
            except OutOfMemory:
                assert logo == LAYERS
    finally:
        await children.close()


async def test_an_edit_s_logo_that_asks_for_terabytes(gateway: Gateway) -> None:
    run = await _researched(gateway)
    refused = await edit(gateway, run, {"brand_patch": {"logo": data_uri(TALL)}})
    assert refused.status_code == 422
    assert "20 times as wide as high" in refused.text
    # Whether this one can be drawn is found out when it is.
    assert (await edit(gateway, run, {"brand_patch": {"logo": data_uri(LAYERS)}})).status_code == 202
    [result] = (await until(gateway, run["id"], ended))["results"]["nodes"]
    assert (result["cxReport"]["revision"], result["cxReport"]["render"]["status"]) == (2, "SUCCEEDED")
    assert await is_well(gateway)


async def test_a_rendering_that_needs_too_much_fails_its_job_and_says_why(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await _researched(gateway)
    with monkeypatch.context() as patched:
        patched.setattr(jobs.render, "RENDERING", replace(jobs.render.RENDERING, memory_bytes=36 << 20))
        assert (await edit(gateway, run, {"bpo_prefix": "Too much"})).status_code == 202
        [result] = (await until(gateway, run["id"], ended))["results"]["nodes"]
        assert result["cxReport"]["render"]["status"] == "FAILED"
        assert result["cxReport"]["render"]["error"] == "The rendering needed more memory than it may have"
    assert (await edit(gateway, run, {"bpo_prefix": "Well"})).status_code == 202
    [result] = (await until(gateway, run["id"], ended))["results"]["nodes"]
    assert (result["cxReport"]["revision"], result["cxReport"]["render"]["status"]) == (3, "SUCCEEDED")


async def test_children_that_are_killed_fail_one_job_after_its_attempts(gateway: Gateway) -> None:
    run = await _researched(gateway)

    async def killing() -> None:
        while True:
            for pid in gateway.runtime.ports.children.pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.002)

    killer = asyncio.create_task(killing())
    try:
        assert (await edit(gateway, run, {"bpo_prefix": "Killed"})).status_code == 202
        [result] = (await until(gateway, run["id"], ended))["results"]["nodes"]
    finally:
        killer.cancel()
    assert result["cxReport"]["render"]["status"] == "FAILED"
    assert result["cxReport"]["render"]["error"] == "The rendering ended with a fault of its process"
    assert result["cxReport"]["artifacts"] == run["results"]["nodes"][0]["cxReport"]["artifacts"]
    assert await is_well(gateway)
    assert (await edit(gateway, run, {"bpo_prefix": "Alive"})).status_code == 202
    [result] = (await until(gateway, run["id"], ended))["results"]["nodes"]
    assert result["cxReport"]["render"]["status"] == "SUCCEEDED"


async def test_a_page_that_a_child_cannot_bear_fails_its_company_only(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs.cx.site, "READING", replace(jobs.cx.site.READING, result_bytes=50_000))
    monkeypatch.setattr(jobs.research, "_TRIES", 1)
    page = b"".join(b"<a href='/%d/%s'>x</a>" % (number, b"y" * 500) for number in range(1_000))
    async with open_company(home=Reply(page, headers=HTML)) as hostile, open_company() as good:
        run_id = await begin(gateway, *((str(web.port), f"127.0.0.1:{web.port}") for web in (hostile, good)))
        run = await until(gateway, run_id, ended)
    assert [(result["status"], result["error"]) for result in run["results"]["nodes"]] == [
        ("FAILED", "Reading a page of 127.0.0.1 needed more memory than it may have"),
        ("SCORED", None),
    ]
    assert (await ask(gateway, "{ __typename }"))["__typename"] == "Query"


@pytest.mark.parametrize("field", [b"<input>", b"<select></select>", b"<textarea></textarea>"])
def test_the_fields_of_a_form_do_not_look_through_what_is_above_them(
    field: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is above a field is not gone through for each."""
    from lxml import html

    calls = 0
    plain = html.HtmlElement.iterancestors

    def counted(self: Any, *tags: str) -> Any:
        nonlocal calls
        calls += 1
        return plain(self, *tags)

    for kind in (html.HtmlElement, html.InputElement, html.SelectElement, html.TextareaElement):
        monkeypatch.setattr(kind, "iterancestors", counted, raising=False)
    page = read_page(b"<div>" * 200 + b"<label>" + field * 500, url="http://site.example/", kind="home", headers={})
    assert (page.fields, page.fields_labelled, calls) == (500, 500, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"<" * 1_000_000,
        b"<div>" * 100_000 + b"x",
        b"<table><tr><td>" * 50_000,
        b"<a href=/x>" * 80_000,
        b"<p a='" + b"&" * 900_000,
        b"\xff\xfe" + b"<\x00p\x00>\x00" * 100_000,
        b"<meta charset=utf-16><p>" + b"\xd8\x00" * 100_000,
        b"<meta charset=x-user-defined-" + b"a" * 1_000 + b"><title>A",
        b"<!--" * 200_000,
        b"<title>" * 100_000,
        b"<style>" + b"#fff" * 200_000,
    ],
    ids=lambda body: body[:20].decode("latin-1"),
)
def test_pages_that_are_hostile_are_read_or_read_as_empty(body: bytes) -> None:
    assert read_page(body, url="http://site.example/", kind="home", headers={}).size == len(body)
