"""Uploads in parts, by the tus protocol: begun, sent, asked for and ended, and what stands in their way."""

from __future__ import annotations

import asyncio
import hashlib
import random
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import delete, update

from contract.limits import FILE_MAX_BYTES, FILES_QUOTA_BYTES, UPLOADS_MAX
from providers.artifacts import Files
from resolvers.shared.measured import MeasuredUploads
from storage.base import new_id, now
from storage.tables import Account, File, FilePiece, FileUpload, Leftover
from tests.isolation.requests import Case, Rest, q
from tests.records.test_files import UPLOAD, call, sent, usage
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

TUS = {"Tus-Resumable": "1.0.0"}
BYTES = {"Content-Type": "application/offset+octet-stream"}
PATH = "/files/uploads"


def metadata(**said: str) -> dict[str, str]:
    pairs = (f"{name} {b64encode(value.encode()).decode()}" for name, value in said.items())
    return {"Upload-Metadata": ",".join(pairs)}


def checksum(data: bytes) -> dict[str, str]:
    return {"Upload-Checksum": f"sha256 {b64encode(hashlib.sha256(data).digest()).decode()}"}


async def begin(tenant: Tenant, length: int, data: bytes | None = None, **more: Any) -> httpx.Response:
    said = metadata(**more.pop("said", {"filename": "a.bin"}))
    extra = {**TUS, **said, "Upload-Length": str(length), **({} if data is None else BYTES), **more.pop("extra", {})}
    return await call(tenant, "POST", PATH, content=data, extra=extra, **more)


async def begun(tenant: Tenant, length: int, **more: Any) -> str:
    response = await begin(tenant, length, **more)
    assert response.status_code == 201, response.text
    path: str = response.headers["location"]
    return path


async def send(
    tenant: Tenant, path: str, offset: int, data: bytes | AsyncIterator[bytes], **more: Any
) -> httpx.Response:
    extra = {**TUS, **BYTES, "Upload-Offset": str(offset), **more.pop("extra", {})}
    return await call(tenant, "PATCH", path, content=data, extra=extra, **more)


async def offset(tenant: Tenant, path: str) -> int:
    response = await call(tenant, "HEAD", path, extra=TUS)
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    return int(response.headers["upload-offset"])


async def set_upload(tenant: Tenant, **values: Any) -> None:
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        await session.execute(update(FileUpload).where(FileUpload.org_id == tenant.id).values(**values))


async def test_an_upload_that_is_begun_again_under_its_key_goes_on(one: Tenant) -> None:
    key = {"Idempotency-Key": "once"}
    first = await begin(one, 4, b"ab", extra=key)
    again = await begin(one, 4, b"ab", extra=key)
    for response in (first, again):
        assert (response.status_code, response.headers["upload-offset"]) == (201, "2")
    assert again.headers["location"] == first.headers["location"]
    done = await send(one, again.headers["location"], 2, b"cd")
    last = await begin(one, 4, b"ab", extra=key)
    assert last.headers["x-file-id"] == done.headers["x-file-id"]
    assert await usage(one) == (4, 0, 1)


async def test_a_file_comes_in_parts(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    folder = (await call(one, "POST", "/folders", json={"name": "F"})).json()["id"]
    data = random.Random(1).randbytes(3_000)
    digest = hashlib.sha256(data).hexdigest()
    said = {"filename": "x/Übung.bin", "filetype": "text/html", "folder_id": folder, "attach_to": account.id}
    response = await begin(one, len(data), said={**said, "sha256": digest, "more": "x"})
    path = response.headers["location"]
    assert (response.status_code, path.startswith(f"{PATH}/")) == (201, True)
    assert {"tus-resumable": "1.0.0", "upload-offset": "0"}.items() <= dict(response.headers).items()
    assert response.headers["upload-expires"].endswith("GMT")
    assert await usage(one) == (0, 3_000, 0)
    head = await call(one, "HEAD", path, extra=TUS)
    assert (head.headers["upload-length"], "filename" in head.headers["upload-metadata"]) == ("3000", True)
    first = await send(one, path, 0, data[:1_000])
    assert (first.status_code, first.headers["upload-offset"], "x-file-id" in first.headers) == (204, "1000", False)
    second = await send(one, path, 1_000, data[1_000:1_001], extra=checksum(data[1_000:1_001]))
    assert second.headers["upload-offset"] == "1001"
    nothing = await send(one, path, 1_001, b"")
    assert (nothing.status_code, nothing.headers["upload-offset"]) == (204, "1001")
    last = await send(one, path, 1_001, data[1_001:])
    assert (last.status_code, last.headers["upload-offset"]) == (204, "3000")
    file = (await call(one, "GET", f"/files/{last.headers['x-file-id']}")).json()
    assert {k: file[k] for k in ("name", "content_type", "bytes", "sha256", "folder_id", "uploaded_by")} == {
        "name": "Übung.bin",
        "content_type": "application/octet-stream",
        "bytes": 3_000,
        "sha256": digest,
        "folder_id": folder,
        "uploaded_by": one.subject(),
    }
    assert (await call(one, "GET", f"/files/{file['id']}/content")).content == data
    assert [e["id"] for e in (await call(one, "GET", f"/files?attached_to={account.id}")).json()] == [file["id"]]
    assert await usage(one) == (3_000, 0, 1)
    assert await one.rows(FilePiece.start) == []
    assert all(row[0] <= now() for row in await one.rows(Leftover.gone_after))
    told = await call(one, "HEAD", path, extra=TUS)
    assert (told.headers["upload-offset"], told.headers["x-file-id"]) == ("3000", file["id"])
    assert (await send(one, path, 3_000, b"")).headers["x-file-id"] == file["id"]
    assert (await call(one, "DELETE", path, extra=TUS)).status_code == 404


def inodes(tenant: Tenant) -> dict[str, int]:
    """The files that the tenant has in the store, each with what stays the same while bytes stay where they are."""
    store = tenant.gateway.runtime.services.artifacts
    assert isinstance(store, Files)
    folder = store.folder / tenant.id
    return {path.name: path.stat().st_ino for path in folder.iterdir()} if folder.exists() else {}


async def test_each_byte_is_written_once(one: Tenant) -> None:
    """Decision 990: all parts go into one file, also behind one that broke off, and behind one that was wrong."""
    data = random.Random(2).randbytes(500_000)
    path = await begun(one, len(data), said={"filename": "a", "sha256": hashlib.sha256(data).hexdigest()})

    async def breaks() -> Any:
        yield data[1_000:200_000]
        raise RuntimeError("the line")

    assert (await send(one, path, 0, data[:1_000])).status_code == 204
    [(name, inode)] = inodes(one).items()
    assert (await send(one, path, 1_000, breaks())).status_code == 500  # type: ignore[arg-type]  # without a length
    there = await offset(one, path)
    assert there == 200_000
    wrong = await send(one, path, there, b"x" * 100, extra=checksum(b"y"))
    assert (wrong.status_code, await offset(one, path)) == (460, there)
    done = await send(one, path, there, data[there:])
    assert inodes(one) == {name: inode}
    content = await call(one, "GET", f"/files/{done.headers['x-file-id']}/content")
    assert content.content == data
    assert [row[0] for row in await one.rows(File.storage_name)] == [f"{one.id}/{name}"]
    assert await one.rows(Leftover.storage_name) == []


async def test_a_part_makes_way_for_other_organizations(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 1157: behind each MiB that was written, while more comes."""
    rests: list[str] = []
    worked_on: list[int] = []
    pacing = one.gateway.runtime.services.pacing

    async def make_way(organization: str, seconds: float) -> None:
        assert seconds > 0
        rests.append(organization)
        worked_on.append(pacing.others() - pacing._aside)

    monkeypatch.setattr(one.gateway.runtime.services.lanes, "make_way", make_way)
    data = random.Random(3).randbytes(256 * 1024)
    path = await begun(one, 12 * len(data))

    async def comes() -> AsyncIterator[bytes]:
        for _ in range(12):
            yield data

    done = await send(one, path, 0, comes())  # without a length
    assert done.headers["upload-offset"] == str(12 * len(data))
    assert rests == [one.id] * 2
    assert worked_on == [0, 0], "nobody waits for a request that rests"


async def test_the_bytes_of_another_process_are_measured_at_the_end(one: Tenant) -> None:
    data = random.Random(3).randbytes(300_000)
    path = await begun(one, len(data))
    for first in (0, 100_000, 200_000):
        object.__setattr__(one.gateway.runtime.services, "measured", MeasuredUploads())
        done = await send(one, path, first, data[first : first + 100_000])
    file = (await call(one, "GET", f"/files/{done.headers['x-file-id']}")).json()
    assert file["sha256"] == hashlib.sha256(data).hexdigest()


async def test_what_came_counts_once_nothing_more_comes(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.upload_coming.UPLOAD_IDLE_SECONDS", 0.01)
    path, going_on = await begun(one, 8), asyncio.Event()

    async def slowly() -> Any:
        yield b"1234"
        await going_on.wait()
        yield b"5678"

    sending = asyncio.create_task(send(one, path, 0, slowly()))  # type: ignore[arg-type]  # without a length
    async with asyncio.timeout(10):
        while await offset(one, path) != 4:  # noqa: ASYNC110  # as clients ask
            await asyncio.sleep(0.01)
    going_on.set()
    assert (await sending).headers["upload-offset"] == "8"


async def test_an_upload_whose_bytes_were_not_put_back_says_so(one: Tenant) -> None:
    path = await begun(one, 4)
    await send(one, path, 0, b"ab")
    async with one.gateway.world.database.writing(one.id) as session:
        await session.execute(delete(FilePiece).where(FilePiece.org_id == one.id))
    lost = await send(one, path, 2, b"cd")
    assert (lost.status_code, lost.json()["code"]) == (409, "invalid_state")
    assert await one.rows(File.id) == []


async def test_what_is_spoken_here_is_said(one: Tenant) -> None:
    response = await call(one, "OPTIONS", PATH)
    assert response.status_code == 204
    assert {
        "tus-version": "1.0.0",
        "tus-extension": "creation,creation-with-upload,expiration,checksum,termination",
        "tus-max-size": str(1024**3),
        "tus-checksum-algorithm": "sha256",
    }.items() <= dict(response.headers).items()


async def test_the_first_part_may_come_at_once_and_an_empty_file_is_there_at_once(one: Tenant) -> None:
    whole = await begin(one, 3, b"abc")
    assert (whole.status_code, whole.headers["upload-offset"]) == (201, "3")
    content = await call(one, "GET", f"/files/{whole.headers['x-file-id']}/content")
    assert (content.content, content.headers["content-type"]) == (b"abc", "text/plain; charset=utf-8")
    part = await begin(one, 5, b"ab")
    assert (part.headers["upload-offset"], await offset(one, part.headers["location"])) == ("2", 2)
    empty = await begin(one, 0, said={})
    file = (await call(one, "GET", f"/files/{empty.headers['x-file-id']}")).json()
    assert (file["name"], file["bytes"]) == ("file", 0)
    made = (await one.ask(UPLOAD, i={"name": "b.txt", "bytes": 2}))["upload"]
    assert (made["url"], made["offset"], made["bytes"]) == (f"{PATH}/{made['id']}", 0, 2)
    assert (await send(one, made["url"], 0, b"hi")).headers["upload-offset"] == "2"
    assert (await one.ask(UPLOAD, i={"name": "c", "bytes": 0}))["userErrors"] == []
    assert len(await one.rows(File.id)) == 4
    override = {**BYTES, **TUS, "Upload-Offset": "2", "X-HTTP-Method-Override": "PATCH"}
    assert (await call(one, "POST", part.headers["location"], content=b"cde", extra=override)).status_code == 204


async def test_what_is_wrong_changes_nothing(one: Tenant, two: Tenant) -> None:
    path = await begun(one, 10)
    assert (await send(one, path, 0, b"12345")).status_code == 204
    before = await one.rows(FileUpload.received, FileUpload.state)
    for response, status, code in (
        (await send(one, path, 4, b"5"), 409, "conflict"),
        (await send(one, path, 6, b"5"), 409, "conflict"),
        (await send(one, path, 5, b"678901"), 413, "payload_too_large"),
        (await send(one, path, 5, b"678", extra=checksum(b"x")), 460, "checksum_mismatch"),
        (await send(one, path, 5, b"678", extra={"Upload-Checksum": "md5 abc"}), 400, "bad_request"),
        (await send(one, path, 5, b"678", extra={"Upload-Checksum": "sha256 abc"}), 400, "bad_request"),
        (await send(one, path, 5, b"678", extra={"Tus-Resumable": "0.2.2"}), 412, "precondition_failed"),
        (await send(one, path, 5, b"6", extra={"Content-Type": "text/plain"}), 415, "unsupported_media_type"),
        (await send(one, f"{PATH}/{new_id()}", 0, b"6"), 404, "not_found"),
        (await send(two, path, 5, b"6"), 404, "not_found"),
        (await call(two, "DELETE", path, extra=TUS), 404, "not_found"),
        (await call(one, "HEAD", path), 412, None),
        (await call(two, "HEAD", path, extra=TUS), 404, None),
    ):
        assert response.status_code == status, response.text
        assert code is None or response.json()["code"] == code
        assert (response.headers["tus-resumable"], response.headers["tus-version"]) == ("1.0.0", "1.0.0")
    for header in ({"Upload-Offset": "-1"}, {"Upload-Offset": "x"}):
        assert (await send(one, path, 5, b"6", extra=header)).json()["detail"][0]["loc"] == ["header", "Upload-Offset"]
    assert await one.rows(FileUpload.received, FileUpload.state) == before == [(5, "open")]

    async def chunks() -> Any:
        yield b"678901"

    chunked = await send(one, path, 5, chunks())  # type: ignore[arg-type]  # without a length
    assert chunked.status_code == 413
    assert await offset(one, path) == 5
    bare = {**TUS, **metadata(filename="a")}
    assert (await call(one, "POST", PATH, extra=bare)).json()["detail"][0]["loc"] == ["header", "Upload-Length"]
    for said, loc in (
        ({"folder_id": new_id()}, "folder_id"),
        ({"attach_to": new_id()}, "attach_to"),
        ({"sha256": "x"}, "sha256"),
        ({"filename": "x" * 256}, "name"),
    ):
        refused = await begin(one, 1, said=said)
        assert refused.status_code == 422
        assert refused.json()["detail"][0]["loc"][:3] == ["header", "Upload-Metadata", loc]
    bad = await call(one, "POST", PATH, extra={**TUS, "Upload-Length": "1", "Upload-Metadata": "filename %%"})
    assert bad.json()["detail"][0]["loc"] == ["header", "Upload-Metadata"]
    for large in (1024**3 + 1, 2**53, 10**20):
        assert (await begin(one, large)).status_code == 413, large
    [error] = (await one.ask(UPLOAD, i={"name": "a", "bytes": -1}))["userErrors"]
    assert (error["code"], error["field"]) == ("VALIDATION", ["input", "bytes"])
    assert await usage(one) == (0, 10, 0)


async def test_the_declared_hash_is_compared_at_the_end(one: Tenant) -> None:
    path = await begun(one, 4, said={"filename": "a", "sha256": hashlib.sha256(b"true").hexdigest()})
    assert (await send(one, path, 0, b"fa")).status_code == 204
    wrong = await send(one, path, 2, b"ke")
    assert (wrong.status_code, wrong.json()["code"]) == (460, "checksum_mismatch")
    assert (await call(one, "HEAD", path, extra=TUS)).status_code == 404
    assert await usage(one) == (0, 0, 0)
    assert await one.rows(File.id) == []
    assert all(row[0] <= now() for row in await one.rows(Leftover.gone_after))


async def test_ended_and_expired_ones_give_their_place_back(one: Tenant) -> None:
    path, other = await begun(one, 10), await begun(one, 20)
    await send(one, path, 0, b"123")
    assert await usage(one) == (0, 30, 0)
    assert (await call(one, "DELETE", path, extra=TUS)).status_code == 204
    for method in ("HEAD", "DELETE"):
        assert (await call(one, method, path, extra=TUS)).status_code == 404
    assert await usage(one) == (0, 20, 0)
    await set_upload(one, expires_at=now() - timedelta(seconds=1))
    gone = await send(one, other, 0, b"1")
    assert (gone.status_code, gone.json()["code"]) == (410, "gone")
    assert (await call(one, "HEAD", other, extra=TUS)).status_code == 410
    await begun(one, 1)
    assert await usage(one) == (0, 1, 0)
    assert (await call(one, "HEAD", other, extra=TUS)).status_code == 410
    assert (await call(one, "DELETE", other, extra=TUS)).status_code == 410


async def test_an_upload_does_not_expire_while_a_part_comes(one: Tenant) -> None:
    path = await begun(one, 10)
    late = {"expires_at": now() - timedelta(seconds=1), "holder": new_id(), "held_until": now() + timedelta(minutes=1)}
    await set_upload(one, **late)
    await begun(one, 1)
    assert await offset(one, path) == 0
    assert await usage(one) == (0, 11, 0)


async def test_two_senders_never_mix(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.upload_parts.UPLOAD_WAIT_SECONDS", 0.2)
    path = await begun(one, 8)
    going_on, is_there = asyncio.Event(), asyncio.Event()

    async def slowly() -> Any:
        yield b"1234"
        is_there.set()
        await going_on.wait()
        yield b"5678"

    first = asyncio.create_task(send(one, path, 0, slowly()))  # type: ignore[arg-type]  # without a length
    await is_there.wait()
    held = await send(one, path, 0, b"abcd")
    assert (held.status_code, held.json()["code"], held.headers["retry-after"]) == (423, "locked", "1")
    await set_upload(one, held_until=now() - timedelta(seconds=1))
    assert (await send(one, path, 0, b"abcd")).headers["upload-offset"] == "4"
    going_on.set()
    assert (await first).status_code == 423
    done = await send(one, path, 4, b"efgh")
    content = await call(one, "GET", f"/files/{done.headers['x-file-id']}/content")
    assert content.content == b"abcdefgh"
    assert await usage(one) == (8, 0, 1)
    answers = await asyncio.gather(*(begin(one, 1, b"x") for _ in range(5)))
    assert [answer.status_code for answer in answers] == [201] * 5


async def test_the_quota_is_exact(one: Tenant) -> None:
    limits = one.gateway.runtime.services.files
    for name in ("one", "all"):
        object.__setattr__(limits, name, 100)
    try:
        answers = await asyncio.gather(*(begin(one, 30) for _ in range(50)))
        assert sorted(answer.status_code for answer in answers) == [201] * 3 + [413] * 47
        refused = next(answer for answer in answers if answer.status_code == 413).json()
        assert (refused["code"], "100" in refused["detail"]) == ("quota_exceeded", True)
        error = await one.error(UPLOAD, i={"name": "a", "bytes": 30})
        assert (error["extensions"]["code"], "100" in error["message"]) == ("QUOTA_EXCEEDED", True)
        made = await sent(one, b"x" * 10)
        full = await call(one, "POST", "/files", files={"file": ("a", b"x", "text/plain")})
        assert (full.status_code, full.json()["code"]) == (413, "quota_exceeded")
        assert await one.ask("{ fileUsage { bytes files quota largestFile } }") == {
            "bytes": 100,
            "files": 1,
            "quota": 100,
            "largestFile": 100,
        }
        assert (await begin(one, 101)).json()["code"] == "payload_too_large"
        for path in (f"/files/{made['id']}", f"/files/{made['id']}/trash"):
            assert (await call(one, "DELETE", path)).status_code == 204
        together = await asyncio.gather(
            *(call(one, "POST", "/files", files={"file": ("a", b"x" * 6, "text/plain")}) for _ in range(4))
        )
        assert sorted(answer.status_code for answer in together) == [201, 413, 413, 413]
    finally:
        object.__setattr__(limits, "one", FILE_MAX_BYTES)
        object.__setattr__(limits, "all", FILES_QUOTA_BYTES)


async def test_so_many_are_under_way_at_most(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert UPLOADS_MAX == 50
    monkeypatch.setattr("resolvers.uploads.UPLOADS_MAX", 1)
    await begun(one, 1)
    refused = await begin(one, 1)
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")


async def test_what_it_was_for_may_be_gone_by_the_end(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    folder = (await call(one, "POST", "/folders", json={"name": "F"})).json()["id"]
    path = await begun(one, 2, said={"folder_id": folder, "attach_to": account.id})
    assert (await call(one, "DELETE", f"/folders/{folder}")).status_code == 204
    await one.ask("mutation($i: ID!) { accountDelete(id: $i) { deletedId } }", i=account.id)
    done = await send(one, path, 0, b"hi")
    file = (await call(one, "GET", f"/files/{done.headers['x-file-id']}")).json()
    assert (file["folder_id"], done.status_code) == (None, 204)


RECORD = RecordType(
    typename="FileUpload",
    name="upload",
    group="CRM_MANAGE",
    is_node=False,
    row=lambda ids, mark: FileUpload(
        **dict.fromkeys(("name", "declared_type", "details", "uploaded_by"), mark),
        bytes=10,
        received=1,
        expires_at=now() + timedelta(days=1),
    ),
    cases={
        "uploads.create_upload": Case(
            "CRM_MANAGE",
            (
                Rest("POST", PATH, {"file": "<name>"}),
                q(UPLOAD, i={"name": "<name>", "bytes": 5, "folderId": "<folder>", "attachTo": ["<account>"]}),
            ),
        ),
        "uploads.get_upload": Case("CRM_MANAGE", (Rest("HEAD", f"{PATH}/<upload>"),)),
        "uploads.end_upload": Case("CRM_MANAGE", (Rest("DELETE", f"{PATH}/<upload>"),)),
        "uploads.describe_uploads": Case("CRM_MANAGE", (Rest("OPTIONS", PATH),)),
        "upload_parts.append": Case("CRM_MANAGE", (Rest("PATCH", f"{PATH}/<upload>"),)),
    },
    paths={
        ("OPTIONS", PATH): ("CRM_MANAGE", True, 204, "Mutation.fileUploadCreate"),
        ("POST", PATH): ("CRM_MANAGE", True, 201, "Mutation.fileUploadCreate"),
        ("HEAD", f"{PATH}/{{upload_id}}"): ("CRM_MANAGE", True, 200, "Mutation.fileUploadCreate"),
        ("PATCH", f"{PATH}/{{upload_id}}"): ("CRM_MANAGE", True, 204, "Mutation.fileUploadCreate"),
        ("DELETE", f"{PATH}/{{upload_id}}"): ("CRM_MANAGE", True, 204, "Mutation.fileUploadCreate"),
    },
)
