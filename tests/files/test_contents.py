"""The content of files: every range, tags, what may be shown, and links that somebody signed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import unquote

import pytest

from resolvers import file_contents
from storage.base import new_id, now
from tests.records.test_files import LINK, call, sent
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

DATA = bytes(range(23))


async def test_every_range(one: Tenant) -> None:
    path = f"/files/{(await sent(one, DATA, 'a.bin'))['id']}/content"
    whole = await call(one, "GET", path)
    tag = whole.headers["etag"]
    assert (whole.content, whole.headers["accept-ranges"], tag[0]) == (DATA, "bytes", '"')
    size = len(DATA)
    asked = [(f"bytes={a}-{b}", DATA[a : b + 1]) for a in range(size) for b in range(a, size + 2, 3)]
    asked += [(f"bytes={a}-", DATA[a:]) for a in range(size)] + [(f"bytes=-{n}", DATA[-n:]) for n in range(1, 30)]
    for header, expected in asked:
        response = await call(one, "GET", path, extra={"Range": header})
        start = size - len(expected) if header.startswith("bytes=-") else int(header[6:].split("-")[0])
        said = f"bytes {start}-{start + len(expected) - 1}/{size}"
        assert (response.status_code, response.content, response.headers["content-range"]) == (206, expected, said)
    for header in ("bytes=0-1,3-4", "bytes=5-2", "items=0-1", "bytes=x"):
        assert (await call(one, "GET", path, extra={"Range": header})).content == DATA
    for header in ("bytes=23-", "bytes=99-100", "bytes=-0"):
        response = await call(one, "GET", path, extra={"Range": header})
        assert (response.status_code, response.headers["content-range"]) == (416, f"bytes */{size}")
    ranged = {"Range": "bytes=0-1"}
    assert (await call(one, "GET", path, extra=ranged | {"If-Range": tag})).status_code == 206
    assert (await call(one, "GET", path, extra=ranged | {"If-Range": '"other"'})).content == DATA
    for seen in (tag, f'"x", {tag}', "*"):
        response = await call(one, "GET", path, extra={"If-None-Match": seen})
        assert (response.status_code, response.content, response.headers["etag"]) == (304, b"", tag)
    head = await call(one, "HEAD", path)
    assert (head.content, head.headers["content-length"], head.headers["etag"]) == (b"", str(size), tag)
    assert (await call(one, "GET", f"/files/{new_id()}/content")).status_code == 404


async def test_what_may_be_shown(one: Tenant) -> None:
    for data, is_shown in (
        (b"%PDF-1.7", True),
        (b"GIF89a..", True),
        (b"plain", True),
        (b"<html><script>alert(1)</script>", False),
        (b'<svg xmlns="http://www.w3.org/2000/svg" onload="x">', False),
        (b"\0\1", False),
    ):
        path = f"/files/{(await sent(one, data, 'a.pdf'))['id']}/content"
        usual, shown = [await call(one, "GET", f"{path}{query}") for query in ("", "?inline=true")]
        assert usual.headers["content-disposition"].startswith("attachment; ")
        assert shown.headers["content-disposition"].startswith("inline; " if is_shown else "attachment; ")
        for response in (usual, shown):
            assert response.headers["content-security-policy"] == "sandbox; default-src 'none'"
            assert response.headers["x-content-type-options"] == "nosniff"


async def _link(tenant: Tenant, file: str, **asked: Any) -> str:
    response = await call(tenant, "POST", f"/files/{file}/links", json=asked)
    assert response.status_code == 201, response.text
    url: str = response.json()["url"]
    return url


async def test_a_link_works_without_a_credential_until_it_ends(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    http = one.gateway.http
    file = (await sent(one, b"%PDF-1.7", "Übung.pdf"))["id"]
    url = await _link(one, file)
    response = await http.get(url)
    assert (response.status_code, response.content) == (200, b"%PDF-1.7")
    assert unquote(response.headers["content-disposition"]).endswith("Übung.pdf")
    assert (await http.get(url, headers={"Range": "bytes=0-3"})).content == b"%PDF"
    assert (await http.head(url)).headers["content-length"] == "8"
    shown = await http.get(await _link(one, file, inline=True, ttl_seconds=60))
    assert shown.headers["content-disposition"].startswith("inline")
    made = await one.ask(LINK, id=file, s=604_800, i=False)
    assert (await http.get(made["url"])).status_code == 200
    for seconds in (59, 604_801, -1):
        refused = await call(one, "POST", f"/files/{file}/links", json={"ttl_seconds": seconds})
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "ttl_seconds"])
        [error] = (await one.ask(LINK, id=file, s=seconds))["userErrors"]
        assert (error["code"], error["field"]) == ("VALIDATION", ["ttlSeconds"])

    start, token = url.rsplit("/", 1)
    parts = token.split(".")
    for place in range(len(parts)):
        changed = [
            part if n != place else part[:-1] + ("0" if part[-1] != "0" else "1") for n, part in enumerate(parts)
        ]
        assert (await http.get(f"{start}/{'.'.join(changed)}")).status_code == 404, place
    for other in ("", "x", token[:-1], f"{token}=", f"{token}.x", token.upper(), f"{token}/"):
        assert (await http.get(f"{start}/{other}")).status_code == 404

    later = now() + timedelta(seconds=301)
    with monkeypatch.context() as patch:
        patch.setattr(file_contents, "now", lambda: later)
        gone = await http.get(url)
    assert (gone.status_code, gone.json()["code"]) == (410, "gone")
    identity = one.gateway.runtime.services.identity
    with monkeypatch.context() as patch:
        patch.setattr(identity, "pepper", bytes(31) + b"x")
        assert (await http.get(url)).status_code == 404
    assert (await call(one, "DELETE", f"/files/{file}")).status_code == 204
    assert (await http.get(url)).status_code == 404
    assert (await call(one, "POST", f"/files/{file}/links")).json()["code"] == "invalid_state"
    assert (await call(one, "POST", f"/files/{file}/restore")).status_code == 200
    assert (await http.get(url)).status_code == 200
    assert token not in caplog.text


async def test_a_store_that_is_away(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    file = (await sent(one, b"text", "a"))["id"]

    async def away(*_: object) -> None:
        raise OSError("away")

    store = one.gateway.runtime.services.artifacts
    monkeypatch.setattr(store, "open", away)
    monkeypatch.setattr(store, "put_stream", away)
    for response in (
        await call(one, "GET", f"/files/{file}/content"),
        await call(one, "POST", "/files", files={"file": ("a", b"x", "x/y")}),
    ):
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json()["code"] == "unavailable"
