"""Small company web sites on loopback, and research runs over them in a gateway that works."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.gateway import Gateway, open_gateway
from tests.support.web import Asked, Reply, Web, open_web

HTML = {"Content-Type": "text/html; charset=utf-8"}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HOME = """<!doctype html><html lang="en"><head><title>Harbor Coffee</title><meta name="theme-color" content="#0b5d4e">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="Coffee by the sea">
<style>a { color: #c8102e; background: #fff }</style></head><body><img src="/logo.png" alt="Harbor Coffee logo">
<h1>Coffee by the sea</h1><a href="mailto:hello@harbor.example">Write to us</a> <a href="tel:+15550100">Call us</a>
<a href="/contact">Contact</a> <a href="/help">Help</a> <a href="/private/faq">FAQ</a> <a href="/about">About us</a>
<a href="/privacy">Privacy</a></body></html>"""
CONTACT = "<html lang=en><title>Contact</title><h1>Contact</h1><form><label>Message<textarea></textarea></label></form>"
PLAIN = "<html lang=en><title>Page</title><h1>Page</h1>"
ROBOTS = "User-agent: *\nDisallow: /private/\n"


def site(**replies: Reply | Callable[[Asked], Reply]) -> dict[str, Reply | Callable[[Asked], Reply]]:
    """The company's pages, by path; `contact=...` puts another one at /contact, and `home` at the root."""
    pages: dict[str, Reply | Callable[[Asked], Reply]] = {
        "/robots.txt": Reply(ROBOTS.encode(), headers={"Content-Type": "text/plain"}),
        "/": Reply(HOME.encode(), headers=HTML),
        "/contact": Reply(CONTACT.encode(), headers=HTML),
        "/help": Reply(PLAIN.encode(), headers=HTML),
        "/about": Reply(b"gone", 404, HTML),
        "/privacy": Reply(PLAIN.encode(), headers=HTML),
        "/logo.png": Reply(PNG, headers={"Content-Type": "image/png"}),
    }
    return pages | {"/" if name == "home" else f"/{name}": reply for name, reply in replies.items()}


@asynccontextmanager
async def open_company(**replies: Reply | Callable[[Asked], Reply]) -> AsyncIterator[Web]:
    """The company's web site."""
    async with open_web(site(**replies)) as web:
        yield web


@asynccontextmanager
async def open_working(database_url: str, data_dir: Path) -> AsyncIterator[Gateway]:
    """A gateway that runs jobs and may call this machine."""
    async with open_gateway(database_url, data_dir, outbound_allow_loopback=True) as gateway, gateway.runtime.working():
        yield gateway


RUN = """query($id: ID!) { researchRun(id: $id) { status completedAt resultCount results { nodes {
  id companyName domain status score factors error cxReport { revision copyBlobs analysis brand bpoPrefix
  artifacts { kind revision url bytes sha256 contentType renderedAt } render { id kind status error } } } } } }"""


async def begin(gateway: Gateway, *targets: tuple[str, str | None], name: str = "Cafés") -> str:
    """The identifier of a new run of the first organization."""
    body = await ask(
        gateway,
        "mutation($i: ResearchRunInput!) { researchRunCreate(input: $i) { run { id status resultCount } userErrors"
        " { message field } } }",
        i={"name": name, "targets": [{"companyName": company, "domain": domain} for company, domain in targets]},
    )
    payload = body["researchRunCreate"]
    assert payload["userErrors"] == []
    assert (payload["run"]["status"], payload["run"]["resultCount"]) == ("QUEUED", len(targets))
    return str(payload["run"]["id"])


async def ask(gateway: Gateway, document: str, **variables: Any) -> dict[str, Any]:
    """What the first organization's member is answered, without errors."""
    world = gateway.world
    response = await gateway.graphql(document, world.session("member@one", world.one), **variables)
    body = response.json()
    assert "errors" not in body, body
    data: dict[str, Any] = body["data"]
    return data


async def until(gateway: Gateway, run_id: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The run, once it is as the test wants it, which is soon."""
    async with asyncio.timeout(40):
        while True:
            run: dict[str, Any] = (await ask(gateway, RUN, id=run_id))["researchRun"]
            if done(run):
                return run
            await asyncio.sleep(0.1)


def ended(run: dict[str, Any]) -> bool:
    """Nothing of the run is left to do, rendering included, and the files are as new as the job that is shown."""
    reports = [result["cxReport"] for result in run["results"]["nodes"] if result["cxReport"]]
    return run["completedAt"] is not None and all(map(_is_rendered, reports))


def _is_rendered(report: dict[str, Any]) -> bool:
    # Both are parts of one answer and not of one statement, so a job may be seen to end before its files are.
    revisions = {artifact["revision"] for artifact in report["artifacts"]}
    status = report["render"]["status"]
    return status == "FAILED" or (status == "SUCCEEDED" and revisions == {report["revision"]})
