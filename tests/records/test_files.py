"""Files: sent in one request, found, moved, attached and thrown away, by both doors."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import httpx
import pytest

from contract.criteria import ListQuery
from contract.limits import FILES_ON_RECORD_MAX
from storage.base import new_id, now
from storage.tables import Account, Event, File, FileLink, FileUsage, Leftover
from tests.isolation.requests import ERRORS, Case, Rest, by_id, of, q
from tests.isolation.surfaces import Surfaces
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant
from tests.support.world import Headers

pytestmark = pytest.mark.asyncio(loop_scope="session")

PDF = b"%PDF-1.7\nan offer"
KEYS = [
    *("id", "name", "content_type", "bytes", "sha256", "folder_id", "uploaded_by", "trashed_at", "created_at"),
    *("updated_at", "version"),
]
UPDATE = f"""mutation($id: ID!, $name: String, $folder: ID, $version: Int) {{
  fileUpdate(id: $id, name: $name, folderId: $folder, expectedVersion: $version) {{
    file {{ name folderId version }} {ERRORS} }} }}"""
ATTACH = f"mutation($id: ID!, $r: ID!) {{ fileAttach(id: $id, recordId: $r) {{ file {{ id }} {ERRORS} }} }}"
DETACH = f"mutation($id: ID!, $r: ID!) {{ fileDetach(id: $id, recordId: $r) {{ file {{ id }} {ERRORS} }} }}"
LINK = f"""mutation($id: ID!, $s: Int, $i: Boolean) {{
  fileLinkCreate(id: $id, ttlSeconds: $s, inline: $i) {{ url expiresAt {ERRORS} }} }}"""
RESTORE = f"mutation($id: ID!) {{ fileRestore(id: $id) {{ file {{ id folderId trashedAt }} {ERRORS} }} }}"
UPLOAD = f"""mutation($i: FileUploadInput!) {{
  fileUploadCreate(input: $i) {{ upload {{ id url offset bytes expiresAt }} {ERRORS} }} }}"""


async def call(tenant: Tenant, method: str, path: str, headers: Headers | None = None, **more: Any) -> httpx.Response:
    given = {**(headers or tenant.headers()), **more.pop("extra", {})}
    return await tenant.gateway.http.request(method, path, headers=given, **more)


async def post(
    tenant: Tenant,
    data: bytes = PDF,
    name: str = "offer.pdf",
    fields: dict[str, Any] | None = None,
    kind: str = "application/octet-stream",
    **more: Any,
) -> httpx.Response:
    return await call(tenant, "POST", "/files", files={"file": (name, data, kind)}, data=fields or {}, **more)


async def sent(tenant: Tenant, *args: Any, **more: Any) -> dict[str, Any]:
    response = await post(tenant, *args, **more)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


async def usage(tenant: Tenant) -> tuple[int, int, int]:
    [found] = await tenant.rows(FileUsage.bytes, FileUsage.reserved, FileUsage.files)
    return found[0], found[1], found[2]


async def test_a_file_comes_in_one_request_and_is_found_by_both_doors(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    fields = {"attach_to": account.id, "sha256": sha256(PDF).hexdigest().upper(), "more": "x"}
    response = await post(one, fields=fields, kind="text/html")
    made = response.json()
    assert (response.status_code, response.headers["location"]) == (201, f"/files/{made['id']}")
    assert response.headers["x-ignored-fields"] == "more"
    assert list(made) == KEYS
    assert {k: made[k] for k in KEYS[1:8]} == {
        "name": "offer.pdf",
        "content_type": "application/pdf",
        "bytes": len(PDF),
        "sha256": sha256(PDF).hexdigest(),
        "folder_id": None,
        "uploaded_by": one.subject(),
        "trashed_at": None,
    }
    shown = await call(one, "GET", f"/files/{made['id']}")
    assert (shown.json(), shown.headers["etag"]) == (made, '"1"')
    asked = await one.ask(
        """query($id: ID!, $a: ID!) { file(id: $id) { name bytes contentType contentPath folder { id }
        attachedTo { __typename id } uploadedByMember { name } }
        account(id: $a) { files(first: 5) { totalCount nodes { id } } }
        files(filter: {attachedTo: $a, contentType: {startsWith: "application/"}}) { nodes { id } } }""",
        id=made["id"],
        a=account.id,
    )
    assert asked == {
        "file": {
            "name": "offer.pdf",
            "bytes": len(PDF),
            "contentType": "application/pdf",
            "contentPath": f"/files/{made['id']}/content",
            "folder": None,
            "attachedTo": [{"__typename": "Account", "id": account.id}],
            "uploadedByMember": {"name": "The member"},
        },
        "account": {"files": {"totalCount": 1, "nodes": [{"id": made["id"]}]}},
        "files": {"nodes": [{"id": made["id"]}]},
    }
    assert [e["id"] for e in (await call(one, "GET", f"/files?attached_to={account.id}")).json()] == [made["id"]]
    assert (await call(one, "GET", f"/files?attached_to={new_id()}")).json() == []
    content = await call(one, "GET", f"/files/{made['id']}/content")
    assert (content.content, content.headers["content-type"]) == (PDF, "application/pdf")
    [item] = (await call(one, "GET", f"/accounts/{account.id}/timeline?kind=file")).json()
    assert (item["kind"], item["file_id"], item["actor"]) == ("file", made["id"], one.subject())
    feed = await one.ask(
        "query($a: ID!) { account(id: $a) { timeline(kinds: [FILE]) { nodes { id kind file { name } } } } }",
        a=account.id,
    )
    assert feed["timeline"]["nodes"] == [{"id": item["id"], "kind": "FILE", "file": {"name": "offer.pdf"}}]
    assert await usage(one) == (len(PDF), 0, 1)
    assert await one.rows(Leftover.storage_name) == []
    told = await one.rows(Event.type, Event.data)
    assert told == [("file_uploaded", {"file_id": made["id"], "attached_to": [account.id]})]


async def test_what_is_sent_is_a_file_whatever_its_name(one: Tenant) -> None:
    for name, kept in {
        "../../etc/passwd": "passwd",
        "C:\\Docs\\a.txt": "a.txt",
        "Angebot für Zoë.pdf": "Angebot für Zoë.pdf",
        "x" * 255: "x" * 255,
        "\u202egnp.exe": "\u202egnp.exe",
    }.items():
        made = await sent(one, b"text", name)
        assert (made["name"], made["content_type"]) == (kept, "text/plain")
        said = (await call(one, "GET", f"/files/{made['id']}/content")).headers["content-disposition"]
        assert said.startswith("attachment; filename=")
        assert "\u202e" not in said
        assert "%E2%80%AE" not in said
    empty = await sent(one, b"", "empty.txt")
    assert (empty["bytes"], empty["sha256"]) == (0, sha256().hexdigest())
    content = await call(one, "GET", f"/files/{empty['id']}/content")
    assert (content.status_code, content.content, content.headers["content-length"]) == (200, b"", "0")


@pytest.mark.parametrize(
    ("fields", "name", "loc"),
    [
        ({"folder_id": new_id()}, "a", ["body", "folder_id"]),
        ({"attach_to": [new_id()]}, "a", ["body", "attach_to", 0]),
        ({"attach_to": [new_id()] * 21}, "a", ["body", "attach_to"]),
        ({"sha256": "0" * 64}, "a", ["body", "sha256"]),
        ({"sha256": "nonsense"}, "a", ["body", "sha256"]),
        ({}, "x" * 256, ["body", "file"]),
        ({}, "a/", ["body", "file"]),
        ({}, " \u200b ", ["body", "file"]),
    ],
)
async def test_what_is_wrong_is_told_at_its_part_and_nothing_is_kept(
    one: Tenant, fields: dict[str, Any], name: str, loc: list[Any]
) -> None:
    response = await post(one, name=name, fields=fields)
    assert response.status_code == 422, response.text
    assert response.json()["detail"][0]["loc"] == loc
    if len(name) > 255:
        assert response.json()["detail"][0]["msg"] == "must have at most 255 characters"
    assert await one.rows(File.id) == []
    [(moment,)] = await one.rows(Leftover.gone_after)
    assert moment <= now()


async def test_what_is_no_form_with_a_file_is_refused(one: Tenant) -> None:
    async def raw(body: bytes, kind: str = "multipart/form-data; boundary=b") -> httpx.Response:
        return await call(one, "POST", "/files", content=body, extra={"Content-Type": kind})

    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    assert (await raw(b"{}", "application/json")).status_code == 415
    assert (await raw(b"", "multipart/form-data")).status_code == 415
    assert (await raw(b"", f"multipart/form-data; boundary={'b' * 300}")).status_code == 415
    for body, loc in {
        b"": ["body"],
        b"nonsense": ["body"],
        head + b"cut": ["body"],
        b"--b--\r\n": ["body", "file"],
        b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n--b--\r\n': ["body", "file"],
        head + b"1\r\n" + head + b"2\r\n--b--\r\n": ["body", "file"],
    }.items():
        response = await raw(body)
        assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, loc), body
    field = b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + b"x" * 70_000
    assert (await raw(field + b"\r\n--b--\r\n")).status_code == 413
    assert await one.rows(File.id) == []


async def test_a_larger_file_is_sent_in_parts(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.receiving.ONE_REQUEST_FILE_MAX_BYTES", 1_000)
    assert (await post(one, b"x" * 1_000)).status_code == 201
    response = await post(one, b"x" * 1_001)
    assert (response.status_code, response.json()["code"]) == (413, "payload_too_large")
    assert "/files/uploads" in response.json()["detail"]
    declared = {"Content-Length": str(2**40), "Content-Type": "multipart/form-data; boundary=b"}
    early = await call(one, "POST", "/files", content=b"", extra=declared)
    assert (early.status_code, "/files/uploads" in early.json()["detail"]) == (413, True)
    assert await usage(one) == (1_000, 0, 1)


async def test_a_key_makes_one_file(one: Tenant) -> None:
    key = {"Idempotency-Key": new_id()}
    first, again = [await post(one, extra=key) for _ in range(2)]
    assert (first.json(), again.headers["idempotency-replayed"]) == (again.json(), "true")
    assert (await post(one, b"other", extra=key)).status_code == 422
    assert await usage(one) == (len(PDF), 0, 1)
    assert len(await one.rows(Leftover.storage_name)) == 2


async def test_a_file_is_renamed_moved_and_attached(one: Tenant, two: Tenant) -> None:
    account, other = Account(name="A"), Account(name="B")
    await one.add(account)
    await two.add(other)
    made = await sent(one)
    path = f"/files/{made['id']}"
    folder = (await call(one, "POST", "/folders", json={"name": "Offers"})).json()["id"]
    changed = await call(one, "PATCH", path, json={"name": "x/new.pdf", "folder_id": folder})
    assert (changed.json()["name"], changed.json()["folder_id"], changed.headers["etag"]) == ("new.pdf", folder, '"2"')
    assert (await call(one, "PATCH", path, json={"name": "a"}, extra={"If-Match": '"1"'})).status_code == 412
    [error] = (await one.ask(UPDATE, id=made["id"], name="a", version=1))["userErrors"]
    assert (error["code"], error["field"]) == ("PRECONDITION_FAILED", ["expectedVersion"])
    [error] = (await one.ask(UPDATE, id=made["id"], folder=new_id()))["userErrors"]
    assert (error["code"], error["field"]) == ("VALIDATION", ["folderId"])
    top = await one.ask(UPDATE, id=made["id"], folder=None)
    assert (top["file"], top["userErrors"]) == ({"name": "new.pdf", "folderId": None, "version": 3}, [])
    for _ in range(2):
        assert (await call(one, "PUT", f"/records/{account.id}{path}")).status_code == 204
    assert len(await one.rows(FileLink.id)) == 1
    for record, file in ((new_id(), made["id"]), (other.id, made["id"]), (account.id, new_id()), ("x", "y")):
        assert (await call(one, "PUT", f"/records/{record}/files/{file}")).status_code == 404
    [error] = (await one.ask(ATTACH, id=made["id"], r=new_id()))["userErrors"]
    assert (error["code"], error["field"]) == ("NOT_FOUND", ["recordId"])
    for _ in range(2):
        assert (await call(one, "DELETE", f"/records/{account.id}{path}")).status_code == 204
    assert (await call(one, "DELETE", f"/records/{account.id}/files/{new_id()}")).status_code == 204
    assert await one.rows(FileLink.id) == []
    assert (await one.ask(ATTACH, id=made["id"], r=account.id))["userErrors"] == []
    gone = await one.ask("mutation($i: ID!) { accountDelete(id: $i) { deletedId userErrors { code } } }", i=account.id)
    assert gone["deletedId"] == account.id
    assert await one.rows(FileLink.id) == []
    assert (await call(one, "GET", path)).status_code == 200
    types = [row[0] for row in await one.rows(Event.type) if row[0].startswith("file")]
    assert sorted(types) == [
        *("file_attached", "file_attached", "file_detached", "file_updated", "file_updated", "file_uploaded"),
    ]


async def test_a_record_has_so_many_files_at_most(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert FILES_ON_RECORD_MAX == 200
    monkeypatch.setattr("resolvers.files.FILES_ON_RECORD_MAX", 1)
    account = Account(name="A")
    await one.add(account)
    first, second = await sent(one), await sent(one)
    paths = [f"/records/{account.id}/files/{file['id']}" for file in (first, second)]
    answers = await asyncio.gather(*(call(one, "PUT", path) for path in paths))
    assert sorted(answer.status_code for answer in answers) == [204, 409]
    refused = await post(one, fields={"attach_to": account.id})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "attach_to", 0])


async def test_the_trash(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    made = await sent(one, fields={"attach_to": account.id})
    path = f"/files/{made['id']}"
    assert (await call(one, "POST", f"{path}/restore")).json()["code"] == "invalid_state"
    assert (await call(one, "DELETE", f"{path}/trash")).json()["code"] == "invalid_state"
    assert (await call(one, "DELETE", path)).status_code == 204
    assert (await call(one, "DELETE", path)).json()["code"] == "invalid_state"
    assert (await call(one, "GET", path)).json()["trashed_at"] is not None
    assert (await call(one, "GET", f"{path}/content")).content == PDF
    for response in (
        await call(one, "PATCH", path, json={"name": "a"}),
        await call(one, "PUT", f"/records/{new_id()}{path}"),
        await call(one, "POST", f"{path}/links"),
    ):
        assert response.status_code in (404, 409)
    lists = """query($a: ID!) { account(id: $a) { files { nodes { id } } } files { nodes { id } }
      bin: files(filter: {trashed: true}) { nodes { id } } }"""
    gone = await one.ask(lists, a=account.id)
    assert gone == {"account": {"files": {"nodes": []}}, "files": {"nodes": []}, "bin": {"nodes": [{"id": made["id"]}]}}
    assert [e["id"] for e in (await call(one, "GET", "/files?trashed=true")).json()] == [made["id"]]
    assert await usage(one) == (len(PDF), 0, 1)
    back = await one.ask(RESTORE, id=made["id"])
    assert back["file"] == {"id": made["id"], "folderId": None, "trashedAt": None}
    assert (await one.ask(lists, a=account.id))["account"]["files"]["nodes"] == [{"id": made["id"]}]
    assert (await call(one, "DELETE", path)).status_code == 204
    purged = await one.ask("mutation($i: ID!) { filePurge(id: $i) { deletedId userErrors { code } } }", i=made["id"])
    assert purged == {"deletedId": made["id"], "userErrors": []}
    assert (await call(one, "GET", path)).status_code == 404
    assert await usage(one) == (0, 0, 0)
    assert await one.rows(FileLink.id) == []
    assert len(await one.rows(Leftover.storage_name)) == 1


async def _compared(surfaces: Surfaces) -> None:
    """Each path beside its twin, on files of their own."""
    http, headers = surfaces.gateway.http, surfaces.headers
    account = (await surfaces.graphql('mutation { accountCreate(input: {name: "A"}) { account { id } } }'))["account"]
    made = []
    for _ in range(2):
        response = await http.post("/files", headers=headers, files={"file": ("a.pdf", PDF, "x/y")})
        assert (response.status_code, list(response.json())) == (201, KEYS)
        made.append(response.json()["id"])
    by_path, by_graph = made
    shown = "name contentType bytes sha256 folderId uploadedBy trashedAt version"

    async def same() -> None:
        rest = (await surfaces.rest("GET", f"/files/{by_path}")).json()
        graph = await surfaces.graphql(f"query($id: ID!) {{ file(id: $id) {{ {shown} }} }}", id=by_graph)
        names = dict(zip(shown.split(), [*KEYS[1:8], "version"], strict=True))
        for camel, key in names.items():
            assert (rest[key] is None) == (graph[camel] is None) if key == "trashed_at" else rest[key] == graph[camel]

    await same()
    await surfaces.rest("PATCH", f"/files/{by_path}", {"name": "b"})
    await surfaces.change("fileUpdate", "$id: ID!, $n: String -> id: $id, name: $n", "file { id }", id=by_graph, n="b")
    await same()
    both = "$id: ID!, $r: ID! -> id: $id, recordId: $r"
    assert (await surfaces.rest("PUT", f"/records/{account['id']}/files/{by_path}")).status_code == 204
    await surfaces.change("fileAttach", both, "file { id }", id=by_graph, r=account["id"])
    listed = {e["id"] for e in (await surfaces.rest("GET", f"/files?attached_to={account['id']}")).json()}
    page = await surfaces.graphql(
        "query($a: ID!) { files(filter: {attachedTo: $a}) { nodes { id } } }", a=account["id"]
    )
    assert listed == {e["id"] for e in page["nodes"]} == set(made)
    assert (await surfaces.rest("DELETE", f"/records/{account['id']}/files/{by_path}")).status_code == 204
    await surfaces.change("fileDetach", both, "file { id }", id=by_graph, r=account["id"])
    links = [(await surfaces.rest("POST", f"/files/{by_path}/links", {"ttl_seconds": 60})).json()["url"]]
    given = "$id: ID!, $s: Int -> id: $id, ttlSeconds: $s"
    links.append((await surfaces.change("fileLinkCreate", given, "url", id=by_graph, s=60))["url"])
    assert [(await http.get(link)).content for link in links] == [PDF, PDF]
    content = (await surfaces.graphql("query($id: ID!) { file(id: $id) { contentPath } }", id=by_graph))["contentPath"]
    assert (await surfaces.rest("GET", content)).content == PDF
    for verb, field, selection in (("DELETE", "fileDelete", "deletedId"), ("POST", "fileRestore", "file { id }")):
        path = f"/files/{by_path}" + ("" if verb == "DELETE" else "/restore")
        assert (await surfaces.rest(verb, path)).status_code in (200, 204)
        await surfaces.change(field, "$id: ID! -> id: $id", selection, id=by_graph)
        await same()
    await surfaces.rest("DELETE", f"/files/{by_path}")
    await surfaces.change("fileDelete", "$id: ID! -> id: $id", "deletedId", id=by_graph)
    assert (await surfaces.rest("DELETE", f"/files/{by_path}/trash")).status_code == 204
    await surfaces.change("filePurge", "$id: ID! -> id: $id", "deletedId", id=by_graph)
    assert (await surfaces.rest("GET", "/files?trashed=true")).json() == []


_ONE = "/files/<file>"
_PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    ("GET", "/files"): ("CRM_READ", True, 200, "Query.files"),
    ("POST", "/files"): ("CRM_MANAGE", True, 201, "Mutation.fileUploadCreate"),
    ("GET", "/files/{file_id}"): ("CRM_READ", True, 200, "Query.file"),
    ("PATCH", "/files/{file_id}"): ("CRM_MANAGE", True, 200, "Mutation.fileUpdate"),
    ("DELETE", "/files/{file_id}"): ("CRM_MANAGE", True, 204, "Mutation.fileDelete"),
    ("GET", "/files/{file_id}/content"): ("CRM_READ", True, 200, "Query.file"),
    ("POST", "/files/{file_id}/links"): ("CRM_READ", True, 201, "Mutation.fileLinkCreate"),
    ("POST", "/files/{file_id}/restore"): ("CRM_MANAGE", True, 200, "Mutation.fileRestore"),
    ("DELETE", "/files/{file_id}/trash"): ("CRM_MANAGE", True, 204, "Mutation.filePurge"),
    ("PUT", "/records/{record_id}/files/{file_id}"): ("CRM_MANAGE", True, 204, "Mutation.fileAttach"),
    ("DELETE", "/records/{record_id}/files/{file_id}"): ("CRM_MANAGE", True, 204, "Mutation.fileDetach"),
}
RECORD = RecordType(
    typename="File",
    name="file",
    row=lambda ids, mark: File(
        **dict.fromkeys(("name", "content_type", "sha256", "uploaded_by"), mark), bytes=1, storage_name=new_id()
    ),
    cases={
        "files.get_file": Case("CRM_READ", (Rest("GET", _ONE), of("file", "name"))),
        "files.list_files": Case(
            "CRM_READ",
            (
                Rest("GET", "/files"),
                q("query($a: ID!) { files(filter: {attachedTo: $a}) { nodes { name } totalCount } }", a="<account>"),
            ),
        ),
        "files.files_of_record": Case(
            "CRM_READ",
            (*(of(kind, "files { nodes { name } totalCount }") for kind in ("account", "contact", "deal", "lead")),),
            below=("accounts.get_account",),
            direct=("<account>", ListQuery()),
        ),
        "files.get_usage": Case("CRM_READ", (q("{ fileUsage { bytes files quota largestFile } }"),)),
        "files.create_file": Case("CRM_MANAGE", (Rest("POST", "/files", {"file": "<name>"}),)),
        "files.update_file": Case(
            "CRM_MANAGE",
            (
                Rest("PATCH", _ONE, {"name": "<name>"}),
                q(UPDATE, id="<file>", name="<name>"),
                q(UPDATE, id="<own file>", folder="<folder>"),
            ),
        ),
        "files.attach_file": Case(
            "CRM_MANAGE", (Rest("PUT", "/records/<record>/files/<file>"), q(ATTACH, id="<file>", r="<account>"))
        ),
        "files.detach_file": Case(
            "CRM_MANAGE", (Rest("DELETE", "/records/<record>/files/<file>"), q(DETACH, id="<file>", r="<account>"))
        ),
        "files.delete_file": Case("CRM_MANAGE", (Rest("DELETE", _ONE), by_id("fileDelete", "file", "deletedId"))),
        "files.restore_file": Case(
            "CRM_MANAGE", (Rest("POST", f"{_ONE}/restore"), by_id("fileRestore", "file", "file { id }"))
        ),
        "files.purge_file": Case(
            "CRM_MANAGE", (Rest("DELETE", f"{_ONE}/trash"), by_id("filePurge", "file", "deletedId"))
        ),
        "file_contents.read_file": Case("CRM_READ", (Rest("GET", f"{_ONE}/content"),)),
        "file_contents.create_link": Case("CRM_READ", (Rest("POST", f"{_ONE}/links"), q(LINK, id="<file>"))),
    },
    paths=_PATHS,
    keys={
        **{
            (path, method): KEYS
            for (method, path), (_, _, status, _) in _PATHS.items()
            if status != 204 and not path.endswith(("/content", "/links"))
        },
        ("/files/{file_id}/links", "POST"): ["url", "expires_at"],
    },
    compared=dict.fromkeys([twin for *_, twin in _PATHS.values() if twin], _compared),
)
