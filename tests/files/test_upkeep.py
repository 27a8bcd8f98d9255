"""What the worker does for files: old trash and uploads, and bytes that no row names."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from jobs import files_upkeep
from resolvers.receiving import announce
from storage.base import new_id, now
from storage.queries import files as statements
from storage.tables import Event, File, Folder, Leftover
from tests.records.test_files import call, sent, usage
from tests.records.test_folders import make
from tests.records.test_uploads import TUS, begun, send, set_upload
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

LONG_AGO = now() - timedelta(days=31)


def stored(tenant: Tenant) -> list[str]:
    """What lies in the store of the organization."""
    folder: Path = tenant.gateway.runtime.services.artifacts.folder / tenant.id  # type: ignore[attr-defined]
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


async def turn(tenant: Tenant) -> None:
    database, store = tenant.gateway.world.database, tenant.gateway.runtime.services.artifacts
    while await files_upkeep.prune(database, tenant.id):
        pass
    while await files_upkeep.remove_leftovers(database, store):
        pass


async def put_back(tenant: Tenant, model: type, **values: object) -> None:
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        wanted = model.trashed_at.is_not(None) if model is not Leftover else model.org_id == tenant.id  # type: ignore[attr-defined]
        await session.execute(update(model).where(model.org_id == tenant.id, wanted).values(**values))  # type: ignore[attr-defined]


async def test_the_trash_is_emptied_after_thirty_days(one: Tenant) -> None:
    top = await make(one, "Top")
    low = await make(one, "Low", top)
    kept, gone, inside = await sent(one), await sent(one), await sent(one, fields={"folder_id": low})
    for path in (f"/files/{gone['id']}", f"/folders/{top}"):
        assert (await call(one, "DELETE", path)).status_code == 204
    await turn(one)
    assert len(stored(one)) == 3
    await put_back(one, File, trashed_at=LONG_AGO)
    await put_back(one, Folder, trashed_at=LONG_AGO)
    await turn(one)
    assert [row[0] for row in await one.rows(File.id)] == [kept["id"]]
    assert await one.rows(Folder.id) == []
    assert await usage(one) == (kept["bytes"], 0, 1)
    assert len(stored(one)) == 1
    told = [row[1]["file_id"] for row in await one.rows(Event.type, Event.data) if row[0] == "file_purged"]
    assert sorted(told) == sorted([gone["id"], inside["id"]])


async def test_uploads_that_nobody_goes_on_with_are_ended(one: Tenant) -> None:
    path = await begun(one, 10)
    await send(one, path, 0, b"123")
    assert len(stored(one)) == 1
    await set_upload(one, expires_at=now() - timedelta(seconds=1))
    await turn(one)
    assert await usage(one) == (0, 0, 0)
    assert stored(one) == []
    assert (await call(one, "HEAD", path, extra=TUS)).status_code == 410
    await set_upload(one, expires_at=now() - timedelta(days=8))
    await turn(one)
    assert (await call(one, "HEAD", path, extra=TUS)).status_code == 404


async def test_what_no_row_names_is_removed_after_a_day(one: Tenant) -> None:
    context = await one.gateway.world.context(one.subject(), one.organization)
    name = f"{one.id}/{new_id()}"
    store = one.gateway.runtime.services.artifacts
    await announce(context, name)
    await store.put(name, b"left by a crash")
    await turn(one)
    assert len(stored(one)) == 1
    await put_back(one, Leftover, gone_after=now())
    await turn(one)
    assert stored(one) == []
    assert await one.rows(Leftover.storage_name) == []


async def test_a_store_that_is_away_is_asked_again_later(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await sent(one)
    for path in (f"/files/{made['id']}", f"/files/{made['id']}/trash"):
        await call(one, "DELETE", path)

    async def away(_: str) -> None:
        raise OSError("away")

    with monkeypatch.context() as patch:
        patch.setattr(one.gateway.runtime.services.artifacts, "delete", away)
        await turn(one)
    assert len(stored(one)) == 1
    async with one.gateway.world.database.directory() as session:
        assert one.id not in {org_id for org_id, _ in await statements.leftovers(session, now(), 100)}
    await put_back(one, Leftover, gone_after=now())
    await turn(one)
    assert stored(one) == []
