"""The artifact stores: one behaviour, as files and as objects of a server that speaks S3."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from providers.artifacts import (
    CHUNK,
    ArtifactMissing,
    Artifacts,
    Files,
    artifacts_at,
    check_artifacts_address,
)
from tests.support.s3 import Bucket, s3_server

NAME = "0192aa/report.pdf"
DATA = bytes(range(256)) * 4_000


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_server() as bucket:
        yield bucket


@pytest.fixture(params=["files", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artifacts:
    if request.param == "files":
        return artifacts_at("", tmp_path / "artifacts")
    bucket: Bucket = request.getfixturevalue("bucket")
    monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.url)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    return artifacts_at("s3://reports/crm", tmp_path)


async def read(store: Artifacts, start: int, length: int) -> list[bytes]:
    async with aclosing(await store.open(NAME, start, length)) as pieces:
        return [piece async for piece in pieces]


async def test_put_read_delete(store: Artifacts) -> None:
    await store.put(NAME, DATA)
    pieces = await read(store, 0, len(DATA))
    assert b"".join(pieces) == DATA
    assert max(map(len, pieces)) < len(DATA)  # never all of it at once
    assert b"".join(await read(store, 5, 10)) == DATA[5:15]
    assert b"".join(await read(store, len(DATA) - 3, 3)) == DATA[-3:]
    await store.put(NAME, b"another")
    assert b"".join(await read(store, 0, 7)) == b"another"
    await store.delete(NAME)
    with pytest.raises(ArtifactMissing):
        await store.open(NAME, 0, 7)
    await store.delete(NAME)


async def test_an_empty_file(store: Artifacts) -> None:
    await store.put(NAME, b"")
    assert await read(store, 0, 0) == []


async def _pieces(*pieces: bytes, then: Exception | None = None) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    if then is not None:
        raise then


@pytest.mark.parametrize("size", [0, 10, 3 * 1024 * 1024, 21 * 1024 * 1024])
async def test_a_stream_is_stored_as_it_comes(store: Artifacts, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    await store.put_stream(NAME, _pieces(*(data[start : start + 100_003] for start in range(0, size, 100_003))))
    assert b"".join(await read(store, 0, size)) == data


@pytest.mark.parametrize("size", [10, 21 * 1024 * 1024])
async def test_what_breaks_a_stream_off_is_raised_and_nothing_is_kept(store: Artifacts, size: int) -> None:
    pieces = (b"x" * 1024 * 1024 for _ in range(size // (1024 * 1024) + 1))
    with pytest.raises(KeyError, match="broken"):
        await store.put_stream(NAME, _pieces(*pieces, then=KeyError("broken")))
    with pytest.raises(ArtifactMissing):
        await store.open(NAME, 0, 1)
    if isinstance(store, Files):
        assert list((store.folder / NAME).parent.iterdir()) == []


async def _at_once(_seconds: float) -> None:
    """Nobody else wants anything."""


async def test_a_file_grows_behind_what_counts_of_it(tmp_path: Path) -> None:
    store, seen = Files(tmp_path / "artifacts"), list[bytes]()
    big = os.urandom(3 * 1024 * 1024 + 7)
    await store.append(NAME, 0, _pieces(b"one", big), seen.append, _at_once)
    path = store.folder / NAME
    inode = path.stat().st_ino
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(KeyError, match="broken"):
        await store.append(
            NAME, 3 + len(big), _pieces(b"lost" * 1024 * 1024, then=KeyError("broken")), seen.append, _at_once
        )
    await store.append(NAME, 3 + len(big), _pieces(b"two"), seen.append, _at_once)
    assert path.read_bytes() == b"one" + big + b"two"
    assert path.stat().st_ino == inode
    assert b"".join(seen[:2] + seen[-1:]) == b"one" + big + b"two"
    for start, error in ((0, FileExistsError), (10 * len(big), OSError)):
        with pytest.raises(error):
            await store.append(NAME, start, _pieces(b"x"), seen.append, _at_once)
    assert path.read_bytes() == b"one" + big + b"two"


async def test_a_growing_file_rests_behind_each_batch(tmp_path: Path) -> None:
    """Decision 1157: what comes next is not written before the store has rested for what was written last."""
    store, rests, written = Files(tmp_path / "artifacts"), list[float](), list[int]()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        written.append(len(seen))
        await asyncio.sleep(0.01)
        assert len(seen) == written[-1]

    seen: list[bytes] = []
    await store.append(NAME, 0, _pieces(*[os.urandom(256 * 1024)] * 16), seen.append, rest)
    assert (len(rests), written, len(seen)) == (3, [4, 8, 12], 16)
    assert all(seconds > 0 for seconds in rests)


async def test_nobody_writes_any_more_once_growing_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, begun, go_on, write = Files(tmp_path / "artifacts"), asyncio.Event(), threading.Event(), os.pwrite
    loop = asyncio.get_running_loop()

    def slowly(descriptor: int, data: bytes, place: int) -> int:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(10)
        return write(descriptor, data, place)

    monkeypatch.setattr(os, "pwrite", slowly)
    growing = asyncio.create_task(
        store.append(NAME, 0, _pieces(b"x" * 2 * 1024 * 1024, b"y"), lambda _piece: None, _at_once)
    )
    await begun.wait()
    growing.cancel()
    await asyncio.sleep(0.05)
    assert not growing.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await growing


async def test_a_reader_may_leave_at_any_time(store: Artifacts) -> None:
    await store.put(NAME, DATA)
    unread = await store.open(NAME, 0, len(DATA))
    await unread.aclose()
    begun = await store.open(NAME, 0, len(DATA))
    async for piece in begun:
        assert 0 < len(piece) < len(DATA)
        break
    await begun.aclose()


@pytest.mark.parametrize(
    "name", ["", "../x", "/x", "a/../b", "a//b", "A.pdf", "a\\b", "a.b.c", ".hidden", "a/", "ä", "a\n"]
)
async def test_names_lead_nowhere_else(store: Artifacts, name: str) -> None:
    for attempt in (store.put(name, b""), store.open(name, 0, 1), store.delete(name)):
        with pytest.raises(ValueError, match="not the name of an artifact"):
            await attempt


async def test_files_are_for_the_service_alone_and_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Files(tmp_path / "artifacts")
    await store.put(NAME, DATA)
    path = tmp_path / "artifacts" / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, store.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def broken(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="no space left"):
        await store.put(NAME, b"half")
    assert path.read_bytes() == DATA
    assert [file.name for file in path.parent.iterdir()] == ["report.pdf"]


async def test_a_file_that_lost_bytes_is_no_whole_file(tmp_path: Path) -> None:
    store = Files(tmp_path)
    await store.put(NAME, DATA)
    with (tmp_path / NAME).open("r+b") as file:
        file.truncate(CHUNK)
    with pytest.raises(OSError, match="shorter"):
        await read(store, 0, len(DATA))


@pytest.mark.parametrize("store", ["s3"], indirect=True)
async def test_objects_lie_below_the_prefix_and_requests_are_signed(store: Artifacts, bucket: Bucket) -> None:
    await store.put(NAME, DATA)
    await read(store, 5, 10)
    assert list(bucket.objects) == [f"/reports/crm/{NAME}"]
    assert [(method, path) for method, path, _ in bucket.requests] == [
        ("PUT", f"/reports/crm/{NAME}"),
        ("GET", f"/reports/crm/{NAME}"),
    ]
    for _, _, authorization in bucket.requests:
        assert authorization is not None
        assert re.fullmatch(r"AWS4-HMAC-SHA256 Credential=key/\d{8}/eu-central-1/s3/aws4_request", authorization)


@pytest.mark.parametrize("store", ["s3"], indirect=True)
async def test_a_store_that_refuses(store: Artifacts, bucket: Bucket) -> None:
    bucket.failing = True
    for attempt in (store.put(NAME, DATA), store.open(NAME, 0, 1), store.delete(NAME)):
        with pytest.raises(OSError, match="artifact store") as refused:
            await attempt
        assert "secret" not in str(refused.value)
        assert bucket.url not in str(refused.value)


@pytest.mark.parametrize("address", ["", "file:///var/lib/crm", "file://localhost/x", "s3://bucket", "s3://bucket/a/b"])
def test_addresses(address: str) -> None:
    check_artifacts_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "x",
        "/var/lib",
        "file://",
        "file:///",
        "file://host/x",
        "s3://",
        "s3://k:s@bucket",
        "http://x/y",
        "s3://[",
        "gs://b",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ValueError, match="must be file:///FOLDER or s3://BUCKET/PREFIX"):
        check_artifacts_address(address)


def test_files_where_the_address_says(tmp_path: Path) -> None:
    store = artifacts_at(f"file://{tmp_path}/with%20blank", Path("elsewhere"))
    assert isinstance(store, Files)
    assert store.folder == tmp_path / "with blank"


def test_the_packages_of_s3_are_loaded_where_it_is_set_only() -> None:
    script = "import sys; import gateway.app; sys.exit(any('obstore' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
