"""GET /media/{key}: whoever knows the key reads the file, whole or in part, and nobody else (decisions 59 and 60)."""

from __future__ import annotations

from hashlib import sha256

import httpx
import pytest

from rest_compat.file_answers import disposition
from storage.base import new_id
from storage.queries import artifacts
from tests.rest_compat.conftest import REQUEST_ID
from tests.support.world import World

DATA = b"%PDF-1.7 and one hundred bytes of nothing".ljust(100, b".")
TAG = f'"{sha256(DATA).hexdigest()}"'
KEPT = {
    "etag": TAG,
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "cross-origin",
    "content-security-policy": "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors *",
}
HEADERS = KEPT | {
    "accept-ranges": "bytes",
    "x-content-type-options": "nosniff",
    "content-disposition": 'inline; filename="Bericht Munchen - r1.pdf"; '
    "filename*=UTF-8''Bericht%20M%C3%BCnchen%20-%20r1.pdf",
    "content-type": "application/pdf",
}


@pytest.fixture
async def key(world: World) -> str:
    """Of a public file of organization one."""
    return await world.publish(world.one, DATA, name="Bericht München - r1.pdf")


async def test_the_whole(client: httpx.AsyncClient, world: World, key: str) -> None:
    response = await client.get(f"/media/{key}")
    assert (response.status_code, response.content) == (200, DATA)
    assert dict(response.headers) == HEADERS | {"content-length": "100"}
    assert (world.shelf.opened, world.shelf.closed) == (1, 1)


async def test_head_reads_nothing(client: httpx.AsyncClient, world: World, key: str) -> None:
    response = await client.head(f"/media/{key}")
    assert response.status_code == 200
    assert dict(response.headers) == HEADERS | {"content-length": "100"}
    for asked in ("bytes=0-9", "bytes=100-"):
        whole = await client.head(f"/media/{key}", headers={"Range": asked})
        assert (whole.status_code, whole.headers["content-length"]) == (200, "100")
        assert "content-range" not in whole.headers
    assert world.shelf.opened == 0


@pytest.mark.parametrize("known", ["{}", "W/{}", '"other", {}', "*"])
async def test_a_current_copy(client: httpx.AsyncClient, world: World, key: str, known: str) -> None:
    headers = {"If-None-Match": known.format(TAG), "Range": "bytes=0-1"}
    response = await client.get(f"/media/{key}", headers=headers)
    assert (response.status_code, response.content) == (304, b"")
    assert dict(response.headers) == KEPT
    assert world.shelf.opened == 0


async def test_another_copy(client: httpx.AsyncClient, key: str) -> None:
    assert (await client.get(f"/media/{key}", headers={"If-None-Match": '"other"'})).content == DATA


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=0-9", 0, 10),
        ("bytes=90-", 90, 100),
        ("bytes=-10", 90, 100),
        ("bytes=-500", 0, 100),
        ("bytes=99-500", 99, 100),
        ("BYTES = 5-5", 5, 6),
    ],
)
async def test_a_part(client: httpx.AsyncClient, world: World, key: str, asked: str, start: int, end: int) -> None:
    response = await client.get(f"/media/{key}", headers={"Range": asked, "If-Range": TAG})
    assert (response.status_code, response.content) == (206, DATA[start:end])
    size = {"content-length": str(end - start), "content-range": f"bytes {start}-{end - 1}/100"}
    assert dict(response.headers) == HEADERS | size
    assert (world.shelf.opened, world.shelf.closed) == (1, 1)


@pytest.mark.parametrize(
    ("asked", "if_range"),
    [
        ("bytes=0-1,4-5", None),
        ("bytes=9-1", None),
        ("bytes=-", None),
        ("bytes=x-1", None),
        ("items=0-1", None),
        ("bytes=\u0660-1".encode(), None),
        ("bytes=0-1", '"other"'),
        ("bytes=0-1", f"W/{TAG}"),
        ("bytes=0-1", "Sat, 21 Nov 2026 09:30:00 GMT"),
    ],
)
async def test_the_whole_where_a_part_makes_no_sense(
    client: httpx.AsyncClient, key: str, asked: str | bytes, if_range: str | None
) -> None:
    headers = {"Range": asked} | ({} if if_range is None else {"If-Range": if_range})
    response = await client.get(f"/media/{key}", headers=headers)
    assert (response.status_code, response.content) == (200, DATA)
    assert "content-range" not in response.headers


@pytest.mark.parametrize("asked", ["bytes=100-", "bytes=500-600", "bytes=-0"])
async def test_a_part_behind_the_end(client: httpx.AsyncClient, key: str, asked: str) -> None:
    response = await client.get(f"/media/{key}", headers={"Range": asked})
    assert (response.status_code, response.headers["content-range"]) == (416, "bytes */100")
    assert response.json() == {
        "detail": "Range not satisfiable",
        "code": "range_not_satisfiable",
        "request_id": REQUEST_ID,
    }


async def test_an_empty_file(client: httpx.AsyncClient, world: World) -> None:
    key = await world.publish(world.one, b"")
    response = await client.get(f"/media/{key}")
    assert (response.status_code, response.content, response.headers["content-length"]) == (200, b"", "0")
    assert (await client.get(f"/media/{key}", headers={"Range": "bytes=0-"})).status_code == 416


async def test_every_other_key(client: httpx.AsyncClient, world: World, key: str) -> None:
    for other in (artifacts.new_key(), key.upper(), key[:-1], f"{key}0", "%00", "x" * 5_000, f"..%2f{key}"):
        response = await client.get(f"/media/{other}")
        assert response.status_code == 404
        assert response.json() == {"detail": "Not found", "code": "not_found", "request_id": REQUEST_ID}
    assert world.shelf.opened == 0


async def test_no_credential_is_looked_at(client: httpx.AsyncClient, world: World, key: str) -> None:
    headers = {"Authorization": "Bearer nonsense", "X-Service-Org": world.two.external_id}
    assert (await client.get(f"/media/{key}", headers=headers)).content == DATA
    assert (await client.post(f"/media/{key}")).status_code == 405


async def test_a_file_that_the_store_has_not_and_a_store_that_is_away(
    client: httpx.AsyncClient, world: World, key: str
) -> None:
    world.shelf.away = True
    response = await client.get(f"/media/{key}")
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    world.shelf.away = False
    world.shelf.files.clear()
    assert (await client.get(f"/media/{key}")).status_code == 404


async def test_older_revisions_go_together_with_their_keys(client: httpx.AsyncClient, world: World) -> None:
    subject = new_id()
    old, new = [
        await world.publish(world.one, b"%d" % revision, revision=revision, subject=subject) for revision in (1, 2)
    ]
    async with world.database.writing(world.two.id) as session:
        assert await artifacts.remove_before(session, subject, 3) == []
    async with world.database.writing(world.one.id) as session:
        [removed] = await artifacts.remove_before(session, subject, 2)
    assert world.shelf.files[removed] == b"1"
    assert (await client.get(f"/media/{old}")).status_code == 404
    assert (await client.get(f"/media/{new}")).content == b"2"


def test_keys_are_random() -> None:
    keys = {artifacts.new_key() for _ in range(1_000)}
    assert len(keys) == 1_000
    assert {len(key) for key in keys} == {32}
    assert sum(bin(int(key, 16)).count("1") for key in keys) / 1_000 == pytest.approx(64, abs=2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.pdf", "attachment; filename=\"a.pdf\"; filename*=UTF-8''a.pdf"),
        ('"; x=\r\n.pdf', "attachment; filename=\"x=.pdf\"; filename*=UTF-8''%22%3B%20x%3D%0D%0A.pdf"),
        ("日本.pdf", "attachment; filename=\"pdf\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.pdf"),
        ("日本", "attachment; filename=\"file\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC"),
    ],
)
def test_names_in_headers(name: str, expected: str) -> None:
    assert disposition(name, inline=False) == expected
