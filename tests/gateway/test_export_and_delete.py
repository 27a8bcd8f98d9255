"""Everything of an organization, written out or deleted: every table is looked at, found from the metadata."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import SQLModel

from storage.base import new_id
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import organization_rows
from storage.tables import Account
from tests.gateway.test_administration import gateway, run
from tests.gateway.test_made_credentials import KEYS, TOKENS, holds, minted
from tests.support.connections import taken_from
from tests.support.gateway import Gateway
from tests.support.service import Outcome

__all__ = ["gateway", "run"]
Command = Callable[..., Outcome]
KEPT = {"job_workers", "members", "organizations", "passwords", "login_sessions", "login_grants", "login_tickets"}
"""The tables whose rows belong to no organization by a key."""


def test_every_table_is_exported_or_follows_from_others() -> None:
    named = {table.name for table in organization_rows.tables()}
    assert named | KEPT == set(SQLModel.metadata.tables)
    assert named > organization_rows.DERIVED
    columns = {f"{table.name}.{column.name}" for table in organization_rows.tables() for column in table.columns}
    assert columns > organization_rows.SECRET
    shown = {name for table in organization_rows.tables() for name in organization_rows.exported(table)}
    assert not {name for name in shown if "secret" in name or "sealed" in name}


async def _filled(gateway: Gateway, folder: Path) -> dict[str, Any]:
    """Members' keys, a file, a deal, many accounts and a job, in both organizations: what a secret of them is."""
    made: dict[str, Any] = {}
    for name, organization in (("one", gateway.world.one), ("two", gateway.world.two)):
        admin = f"admin@{name}"
        session = gateway.world.session(admin, organization)
        made[name] = {
            "session": session,
            "key": await minted(gateway, KEYS, session),
            "token": await minted(gateway, TOKENS, session),
        }
        accounts = [
            new_row(Account, org_id=organization.id, name=f"{name} {n}", domain=f"{n}.{name}.example")
            for n in range(600)
        ]
        await gateway.world.add(organization, *accounts)
        made_deal = await gateway.rest(
            "POST", "/deals", session, {"name": "Großes Ding", "value": 12.5, "currency": "EUR"}
        )
        assert made_deal.status_code == 201, made_deal.text
        part = ("offer.txt", b"of " + name.encode(), "text/plain")
        sent = await gateway.http.post("/files", headers=session, files={"file": part})
        assert sent.status_code == 201, sent.text
    return made


async def _rows(database: Database, org_id: str) -> dict[str, int]:
    return {
        table.name: sum([len(page) async for page in organization_rows.pages(database, org_id, table)])
        for table in organization_rows.tables()
    }


async def test_an_export_has_every_row_and_file_and_no_secret(gateway: Gateway, run: Any, tmp_path: Path) -> None:
    made = await _filled(gateway, tmp_path)
    org = gateway.world.one
    folder = tmp_path / "new" / "export"
    told = json.loads((await run("org", "export", org.external_id, "--to", str(folder), "--json")).out)
    assert json.loads((folder / "manifest.json").read_text()) == told
    there = await _rows(gateway.world.database, org.id)
    expected = {name: number for name, number in there.items() if name not in organization_rows.DERIVED}
    assert told["rows"] == expected | {"organizations": 1}
    assert there["accounts"] == 600
    for name, number in told["rows"].items():
        lines = (folder / f"{name}.jsonl").read_text().splitlines()
        assert len(lines) == number
        assert all(json.loads(line).get("org_id", org.id) == org.id for line in lines)
    [deal] = [json.loads(line) for line in (folder / "deals.jsonl").read_text().splitlines()]
    assert (deal["name"], deal["value"]) == ("Großes Ding", "12.5")
    assert len({json.loads(line)["id"] for line in (folder / "accounts.jsonl").read_text().splitlines()}) == 600
    [file] = [json.loads(line) for line in (folder / "files.jsonl").read_text().splitlines()]
    assert (folder / "files" / file["storage_name"]).read_bytes() == b"of one"
    assert (told["files"], told["missing_files"]) == (1, [])
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for name in ("one", "two"):
        assert made[name]["key"]["pat_key"].rpartition(".")[2].encode() not in everything
    assert b"secret_hash" not in everything
    assert b"two" not in (folder / "accounts.jsonl").read_bytes()
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in [folder, *folder.rglob("*")]}
    assert modes == {(True, 0o700), (False, 0o600)}
    await run("org", "export", org.external_id, "--to", "/dev/null/x", code=1)
    again = await run("org", "export", org.external_id, "--to", str(folder), code=1)
    assert again.err == f"{folder} is there already: name a folder that is not.\n"


async def test_a_deleted_organization_leaves_no_row_and_no_file(gateway: Gateway, run: Any, tmp_path: Path) -> None:
    made = await _filled(gateway, tmp_path)
    database, one, two = gateway.world.database, gateway.world.one, gateway.world.two
    [kept] = await organization_rows.stored_names(database, two.id)
    [gone] = await organization_rows.stored_names(database, one.id)
    store = gateway.runtime.ports.artifacts
    before, others = await _rows(database, one.id), await _rows(database, two.id)
    for typed in (["--yes", one.external_id + "x"], ["--yes", ""], []):
        outcome = await run("org", "delete", one.external_id, *typed, code=1)
        assert await _rows(database, one.id) == before, outcome.err
    outcome = await run("org", "delete", one.external_id, "--yes", one.name, "--json")
    assert json.loads(outcome.out)["files"] == 1
    assert json.loads(outcome.out)["rows"] > 600
    assert set((await _rows(database, one.id)).values()) == {0}
    assert await _rows(database, two.id) == others
    content = await gateway.world.dump(two)
    assert one.id not in repr(content)
    assert one.external_id not in repr(content["organizations"])
    assert {row[0] for row in content["members"]} == {row[1] for row in content["memberships"]}
    with pytest.raises(LookupError):
        await store.open(gone, 0, 1)
    await (await store.open(kept, 0, 1)).aclose()
    for caller in (made["one"]["session"], {"Authorization": f"Bearer {made['one']['key']['pat_key']}"}):
        assert not await holds(gateway, caller)
    assert await holds(gateway, made["two"]["session"])
    again = await run("org", "delete", one.external_id, "--yes", one.name, code=1)
    assert again.err == f"There is no organization {one.external_id}.\n"


async def test_what_a_job_wrote_meanwhile_goes_with_the_organization(gateway: Gateway, tmp_path: Path) -> None:
    await _filled(gateway, tmp_path)
    database, one, two = gateway.world.database, gateway.world.one, gateway.world.two
    others = await _rows(database, two.id)
    async with database.directory(writing=True) as session:  # as if nothing had been deleted before
        await organization_rows.delete_organization(session, one.id, [])
    assert set((await _rows(database, one.id)).values()) == {0}
    assert await _rows(database, two.id) == others


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_whole_tables_are_deleted_over_a_connection_that_gives_way(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes a statement back lies on the disk there: it is as large as a table (decision 1203)."""
    database = gateway.world.database
    found = taken_from(database.connections, monkeypatch)
    await organization_rows.delete_rows(database, new_id())
    assert len(found) >= len(organization_rows.tables())
    assert all(taken.at_hand is database.connections.give_way for taken, _ in found)
