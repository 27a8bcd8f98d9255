"""Folders: a tree without rings, names of siblings, and the trash of whole trees, by both doors."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from contract.criteria import ListQuery
from contract.limits import FOLDER_DEPTH_MAX
from storage.base import new_id
from storage.tables import Event, File, Folder
from tests.isolation.requests import ERRORS, Case, Rest, by_id, of, q
from tests.isolation.surfaces import Surfaces
from tests.records.test_files import call, post, sent
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEYS = ["id", "name", "parent_id", "trashed_at", "created_at", "updated_at", "version"]
CREATE = f"mutation($n: String!, $p: ID) {{ folderCreate(name: $n, parentId: $p) {{ folder {{ id name }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $n: String, $p: ID, $v: Int) {{
  folderUpdate(id: $id, name: $n, parentId: $p, expectedVersion: $v) {{ folder {{ name parentId }} {ERRORS} }} }}"""


async def make(tenant: Tenant, name: str, parent: str | None = None) -> str:
    response = await call(tenant, "POST", "/folders", json={"name": name, "parent_id": parent})
    assert response.status_code == 201, response.text
    made: str = response.json()["id"]
    return made


async def move(tenant: Tenant, folder: str, parent: str | None, **more: Any) -> httpx.Response:
    return await call(tenant, "PATCH", f"/folders/{folder}", json={"parent_id": parent, **more})


async def tree(tenant: Tenant) -> dict[str, str | None]:
    """The names of the folders that are not in the trash, each with that of the one above."""
    rows = await tenant.rows(Folder.id, Folder.name, Folder.parent_id, Folder.trashed_at)
    names = {row[0]: row[1] for row in rows}
    return {row[1]: row[2] and names[row[2]] for row in rows if row[3] is None}


async def test_a_tree_by_both_doors(one: Tenant) -> None:
    response = await call(one, "POST", "/folders", json={"name": " Offers "})
    made = response.json()
    assert (response.status_code, response.headers["location"]) == (201, f"/folders/{made['id']}")
    assert (list(made), made["name"], made["parent_id"], made["version"]) == (KEYS, "Offers", None, 1)
    below = (await one.ask(CREATE, n="2026", p=made["id"]))["folder"]
    await make(one, "2025", made["id"])
    file = await sent(one, fields={"folder_id": below["id"]})
    asked = await one.ask(
        """query($id: ID!) { folder(id: $id) { name parent { name } path { name } folders { totalCount }
        files { nodes { id } } } folders { nodes { name folders { nodes { name } } } } }""",
        id=below["id"],
    )
    assert asked == {
        "folder": {
            "name": "2026",
            "parent": {"name": "Offers"},
            "path": [{"name": "Offers"}, {"name": "2026"}],
            "folders": {"totalCount": 0},
            "files": {"nodes": [{"id": file["id"]}]},
        },
        "folders": {"nodes": [{"name": "Offers", "folders": {"nodes": [{"name": "2025"}, {"name": "2026"}]}}]},
    }
    listed = (await call(one, "GET", f"/folders?parent_id={made['id']}")).json()
    assert [each["name"] for each in listed] == ["2025", "2026"]
    assert [e["id"] for e in (await call(one, "GET", f"/files?folder_id={below['id']}")).json()] == [file["id"]]
    assert (await call(one, "GET", f"/folders?parent_id={new_id()}")).json() == []


async def test_siblings_have_different_names_and_versions_hold(one: Tenant) -> None:
    first, second = await make(one, "A"), await make(one, "B")
    for name in ("a", "\uff21"):
        again = await call(one, "POST", "/folders", json={"name": name})
        assert (again.status_code, again.json()["code"]) == (409, "duplicate")
    [error] = (await one.ask(CREATE, n="a"))["userErrors"]
    assert (error["code"], error["field"]) == ("DUPLICATE", ["name"])
    assert (await move(one, second, None, name="a")).json()["code"] == "duplicate"
    inside = await make(one, "a", first)
    assert (await move(one, inside, None)).json()["code"] == "duplicate"
    assert (await call(one, "PATCH", f"/folders/{first}", json={"name": "a"})).json()["name"] == "a"
    stale = await call(one, "PATCH", f"/folders/{first}", json={"name": "C"}, extra={"If-Match": '"1"'})
    assert stale.status_code == 412
    for body, loc in (
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "N", "parent_id": "x"}, "parent_id"),
    ):
        response = await call(one, "POST", "/folders", json=body)
        assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["body", loc])
    same = [call(one, "POST", "/folders", json={"name": "Same"}) for _ in range(5)]
    assert sorted(a.status_code for a in await asyncio.gather(*same)) == [201, 409, 409, 409, 409]


async def test_nothing_goes_below_itself_or_too_deep(one: Tenant) -> None:
    assert FOLDER_DEPTH_MAX == 16
    ids: list[str] = []
    for number in range(FOLDER_DEPTH_MAX):
        ids.append(await make(one, f"{number}", ids[-1] if ids else None))
    too_deep = await call(one, "POST", "/folders", json={"name": "17", "parent_id": ids[-1]})
    assert (too_deep.status_code, too_deep.json()["code"]) == (409, "invalid_state")
    for target in (ids[0], ids[5]):
        ring = await move(one, ids[0], target)
        assert (ring.status_code, ring.json()["code"]) == (409, "invalid_state")
    other = await make(one, "other")
    assert (await move(one, ids[1], other)).status_code == 200
    assert (await move(one, ids[0], other)).status_code == 200
    deep = await make(one, "deep", ids[0])
    assert (await move(one, other, deep)).json()["code"] == "invalid_state"
    assert (await move(one, ids[1], deep)).json()["code"] == "invalid_state"
    assert (await move(one, ids[2], None)).status_code == 200
    rows = await one.rows(Folder.id, Folder.depth)
    assert {i: depth for i, depth in rows if i in ids[2:]} == {i: n + 1 for n, i in enumerate(ids[2:])}


async def test_two_opposite_moves_make_no_ring(one: Tenant) -> None:
    for _ in range(5):
        left, right = await make(one, new_id()), await make(one, new_id())
        answers = await asyncio.gather(move(one, left, right), move(one, right, left))
        assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_a_tree_goes_into_the_trash_and_comes_back_as_it_was(one: Tenant) -> None:
    top = await make(one, "Top")
    middle = await make(one, "Middle", top)
    gone_before = await make(one, "Before", middle)
    low = await make(one, "Low", middle)
    in_low, alone = await sent(one, fields={"folder_id": low}), await sent(one, fields={"folder_id": middle})
    assert (await call(one, "DELETE", f"/folders/{gone_before}")).status_code == 204
    assert (await call(one, "DELETE", f"/files/{alone['id']}")).status_code == 204
    assert (await call(one, "DELETE", f"/folders/{middle}")).status_code == 204
    assert await tree(one) == {"Top": None}
    assert (await call(one, "GET", "/files")).json() == []
    for method, path in (("DELETE", f"/folders/{middle}"), ("PATCH", f"/folders/{middle}")):
        refused = await call(one, method, path, json={"name": "N"} if method == "PATCH" else None)
        assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    assert (await post(one, fields={"folder_id": low})).status_code == 422
    again = await make(one, "middle", top)
    taken = await call(one, "POST", f"/folders/{middle}/restore")
    assert (taken.status_code, taken.json()["code"]) == (409, "duplicate")
    assert (await move(one, again, top, name="Another")).status_code == 200
    back = await call(one, "POST", f"/folders/{middle}/restore")
    assert (back.status_code, back.json()["parent_id"], back.json()["trashed_at"]) == (200, top, None)
    assert await tree(one) == {"Top": None, "Another": "Top", "Middle": "Top", "Low": "Middle"}
    assert [e["id"] for e in (await call(one, "GET", "/files")).json()] == [in_low["id"]]
    assert (await call(one, "POST", f"/folders/{middle}/restore")).json()["code"] == "invalid_state"
    restored = await call(one, "POST", f"/files/{alone['id']}/restore")
    assert restored.json()["folder_id"] == middle

    for folder in (low, top):
        assert (await call(one, "DELETE", f"/folders/{folder}")).status_code == 204
    lifted = await call(one, "POST", f"/folders/{low}/restore")
    assert lifted.json()["parent_id"] is None
    assert (await call(one, "POST", f"/files/{alone['id']}/restore")).json()["folder_id"] is None
    assert {row[0]: row[1] for row in await one.rows(Folder.name, Folder.depth) if row[0] in ("Low", "Middle")} == {
        "Low": 1,
        "Middle": 2,
    }
    told = sorted(row[0] for row in await one.rows(Event.type) if row[0].startswith("folder"))
    assert told.count("folder_deleted") == 4
    assert told.count("folder_restored") == 2


async def test_only_so_much_goes_at_once(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.folders.FOLDER_TREE_MAX", 2)
    folder = await make(one, "F")
    await sent(one, fields={"folder_id": folder})
    await sent(one, fields={"folder_id": folder})
    refused = await call(one, "DELETE", f"/folders/{folder}")
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    assert [row[0] for row in await one.rows(File.trashed_at)] == [None, None]


async def test_a_folder_with_too_much_in_it_stays_as_deep_as_it_is(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("resolvers.folders", "storage.queries.folders"):
        monkeypatch.setattr(f"{module}.FOLDER_TREE_MAX", 2)
    top, other, deeper = await make(one, "T"), await make(one, "O"), await make(one, "D")
    inner = [await make(one, f"I{n}", top) for n in range(3)]
    leaf = await make(one, "L", inner[0])
    refused = await move(one, top, other)
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    assert (await move(one, deeper, other)).status_code == 200
    assert (await move(one, inner[1], inner[0])).status_code == 200
    depths = dict(await one.rows(Folder.id, Folder.depth))
    assert depths == {top: 1, other: 1, deeper: 2, inner[0]: 2, inner[1]: 3, inner[2]: 2, leaf: 3}


async def _compared(surfaces: Surfaces) -> None:
    """Each path beside its twin."""
    response = await surfaces.rest("POST", "/folders", {"name": "A"})
    by_path = response.json()["id"]
    arguments = "$n: String!, $p: ID -> name: $n, parentId: $p"
    made = await surfaces.change("folderCreate", arguments, "folder { id }", n="B", p=None)
    by_graph = made["folder"]["id"]
    shown = "name parentId trashedAt version"

    async def same(*but: str) -> None:
        rows = {row["id"]: row for row in (await surfaces.rest("GET", "/folders")).json()}
        page = await surfaces.graphql(f"{{ folders {{ nodes {{ id {shown} }} }} }}")
        nodes = {node["id"]: node for node in page["nodes"]}
        assert rows.keys() == nodes.keys()
        assert all(rows[i]["version"] == nodes[i]["version"] == rows[by_path]["version"] for i in rows)
        assert all(rows[i]["name"] == nodes[i]["name"] for i in rows)

    await same()
    await surfaces.rest("PATCH", f"/folders/{by_path}", {"name": "C"})
    changed = "$id: ID!, $n: String -> id: $id, name: $n"
    await surfaces.change("folderUpdate", changed, "folder { id }", id=by_graph, n="D")
    await same()
    assert (await surfaces.rest("DELETE", f"/folders/{by_path}")).status_code == 204
    await surfaces.change("folderDelete", "$id: ID! -> id: $id", "deletedId", id=by_graph)
    assert (await surfaces.rest("GET", "/folders")).json() == []
    assert (await surfaces.rest("POST", f"/folders/{by_path}/restore")).status_code == 200
    await surfaces.change("folderRestore", "$id: ID! -> id: $id", "folder { id }", id=by_graph)
    await same()


_ONE = "/folders/<folder>"
_PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    ("GET", "/folders"): ("CRM_READ", True, 200, "Query.folders"),
    ("POST", "/folders"): ("CRM_MANAGE", True, 201, "Mutation.folderCreate"),
    ("PATCH", "/folders/{folder_id}"): ("CRM_MANAGE", True, 200, "Mutation.folderUpdate"),
    ("DELETE", "/folders/{folder_id}"): ("CRM_MANAGE", True, 204, "Mutation.folderDelete"),
    ("POST", "/folders/{folder_id}/restore"): ("CRM_MANAGE", True, 200, "Mutation.folderRestore"),
}
RECORD = RecordType(
    typename="Folder",
    name="folder",
    row=lambda ids, mark: Folder(name=mark),
    cases={
        "folders.get_folder": Case("CRM_READ", (of("folder", "name path { name }"),)),
        "folders.list_folders": Case(
            "CRM_READ",
            (
                Rest("GET", "/folders?parent_id=<folder>"),
                q("query($p: ID) { folders(parentId: $p) { nodes { name } totalCount } }", p="<folder>"),
            ),
        ),
        "folders.folders_in_folder": Case(
            "CRM_READ",
            (of("folder", "folders { nodes { name } }"),),
            below=("folders.get_folder",),
            direct=("<folder>", ListQuery()),
        ),
        "folders.files_in_folder": Case(
            "CRM_READ",
            (of("folder", "files { nodes { name } }"),),
            below=("folders.get_folder",),
            direct=("<folder>", ListQuery()),
        ),
        "folders.create_folder": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/folders", {"name": "<name>"}),
                q(CREATE, n="<name>", p="<folder>"),
            ),
        ),
        "folders.update_folder": Case(
            "CRM_MANAGE",
            (
                Rest("PATCH", _ONE, {"name": "<name>"}),
                q(UPDATE, id="<folder>", n="<name>"),
                q(UPDATE, id="<own second folder>", p="<folder>"),
            ),
        ),
        "folders.delete_folder": Case(
            "CRM_MANAGE", (Rest("DELETE", _ONE), by_id("folderDelete", "folder", "deletedId"))
        ),
        "folders.restore_folder": Case(
            "CRM_MANAGE", (Rest("POST", f"{_ONE}/restore"), by_id("folderRestore", "folder", "folder { id }"))
        ),
    },
    paths=_PATHS,
    keys={(path, method): KEYS for (method, path), said in _PATHS.items() if said[2] != 204},
    compared=dict.fromkeys([twin for *_, twin in _PATHS.values() if twin], _compared),
)
