"""Files in an object store behave as those in a folder: whole, in parts, by ranges, as exports, and gone if purged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.files_upkeep import remove_leftovers
from providers.artifacts import artifacts_at
from storage.tables import Deal
from tests.records.test_export_jobs import content, exported
from tests.records.test_files import call, sent
from tests.records.test_uploads import begun, checksum, offset, send
from tests.support.s3 import Bucket, s3_server
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def bucket(one: Tenant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bucket]:
    """The store of the service meanwhile."""
    runtime = one.gateway.runtime
    before = runtime.services.artifacts
    with s3_server() as bucket:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL": bucket.url,
        }.items():
            monkeypatch.setenv(name, value)
        store = artifacts_at("s3://files/crm", tmp_path)
        for holder in (runtime.services, runtime.ports):
            object.__setattr__(holder, "artifacts", store)
        yield bucket
        for holder in (runtime.services, runtime.ports):
            object.__setattr__(holder, "artifacts", before)


async def test_a_file_in_parts(one: Tenant, bucket: Bucket) -> None:
    data = bytes(range(256)) * 40
    path = await begun(one, len(data))
    assert (await send(one, path, 0, data[:1_000])).status_code == 204
    assert (await send(one, path, 1_000, data[1_000:2_000], extra=checksum(b"other"))).status_code == 460
    assert await offset(one, path) == 1_000
    bucket.failing = True
    away = await send(one, path, 1_000, data[1_000:])
    assert (away.status_code, away.headers["retry-after"]) == (503, "1")
    bucket.failing = False
    assert await offset(one, path) == 1_000
    done = await send(one, path, 1_000, data[1_000:])
    file_id = done.headers["x-file-id"]
    file = (await call(one, "GET", f"/files/{file_id}")).json()
    assert (file["bytes"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    for start, end in ((0, 0), (999, 1_000), (len(data) - 1, len(data) - 1), (0, len(data) - 1)):
        part = await call(one, "GET", f"/files/{file_id}/content", extra={"Range": f"bytes={start}-{end}"})
        assert (part.status_code, part.content) == (206, data[start : end + 1])
    for gone in (f"/files/{file_id}", f"/files/{file_id}/trash"):
        assert (await call(one, "DELETE", gone)).status_code == 204
    while await remove_leftovers(one.gateway.world.database, one.gateway.runtime.ports.artifacts):
        pass
    assert not [name for name in bucket.objects if one.id in name], "the store has what the table says"


async def test_a_file_in_one_request_and_an_export(one: Tenant, bucket: Bucket) -> None:
    file = await sent(one, b"text", "a.txt")
    assert (await call(one, "GET", f"/files/{file['id']}/content")).content == b"text"
    await one.add(Deal(name="d"))
    done = await exported(one, columns=["name"])
    assert (done["complete"], await content(one, done)) == (True, b"name\r\nd\r\n")
    assert any(data == b"name\r\nd\r\n" for data in bucket.objects.values())
