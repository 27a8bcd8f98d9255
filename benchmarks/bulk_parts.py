"""The parts of the bulk benchmark: files, upserts and merges, imports and duplicates, exports, reports, match keys."""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
import statistics
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import uvloop
from sqlalchemy import make_url

from benchmarks.bulk_driver import CHUNK, Beside, Caller, Figures, milliseconds
from benchmarks.contestants import Contestant
from benchmarks.data import Place
from benchmarks.turns import in_turns
from contract.bulk_vocabulary import ExportKind
from resolvers.export_rows import EXPORTED
from storage.match_triggers import CONTACTS, removal
from storage.tables import Contact

_PART = 64 * CHUNK
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Bench:
    """A running gateway, a bare application beside it, and whom to ask."""

    one: Caller
    beside: Beside
    bare: Contestant
    place: Place
    another: Callable[[str, Iterable[str]], AbstractContextManager[Caller]]
    """Makes a gateway over another copy of the data, by its name, once these statements have changed it."""
    figures: Figures
    scratch: Path
    is_quick: bool

    def of(self, full: int, quick: int) -> int:
        """A size."""
        return quick if self.is_quick else full


def files(bench: Bench) -> None:
    """An upload in parts and a download, beside what bare Starlette does on the same disk."""
    size = bench.of(1024, 16) * CHUNK
    content = os.urandom(CHUNK) * (_PART // CHUNK)
    bare = http.client.HTTPConnection("127.0.0.1", bench.bare.port, timeout=600)

    def upload() -> str:
        _, headers, _ = bench.one.send(
            "POST", "/files/uploads", Tus_Resumable="1.0.0", Upload_Length=str(size), Upload_Metadata="filename YQ=="
        )
        path = str(headers["Location"]).partition("127.0.0.1")[2].partition("/")[2] or str(headers["Location"])
        path = path if path.startswith("/") else f"/{path}"
        for offset in range(0, size, _PART):
            part = memoryview(content)[: min(_PART, size - offset)]
            status, headers, body = bench.one.send(
                "PATCH",
                path,
                bytes(part),
                Tus_Resumable="1.0.0",
                Upload_Offset=str(offset),
                Content_Type="application/offset+octet-stream",
            )
            if status != 204:
                raise RuntimeError(f"{status} {body[:500]!r}")
        return str(headers["X-File-Id"])

    def bare_upload() -> None:
        (bench.scratch / "bare").unlink(missing_ok=True)
        for offset in range(0, size, _PART):
            bare.request("PATCH", "/file", bytes(memoryview(content)[: min(_PART, size - offset)]))
            bare.getresponse().read()

    with bench.beside.measured("upload"):
        begun = time.perf_counter()
        file_id = upload()
        ours = time.perf_counter() - begun
    theirs = milliseconds(bare_upload) / 1_000
    bench.figures.told("upload: MiB/s", size / CHUNK / ours)
    bench.figures.at_least("upload: of bare Starlette", theirs / ours, 0.5)
    stranger = Caller(bench.bare, "")
    with bench.beside.measured("download"):
        taken = bench.one.drained(f"/files/{file_id}/content")[1]
    bench.figures.told("download: MiB/s", size / CHUNK / taken)
    bench.figures.at_least("download: of a FileResponse", stranger.drained("/file")[1] / taken, 0.7)
    bench.beside.meanwhile("download", lambda: bench.one.drained(f"/files/{file_id}/content"))

    def upload_and_purge() -> None:
        made = upload()
        bench.one.send("DELETE", f"/files/{made}")
        bench.one.send("DELETE", f"/files/{made}/trash")

    bench.beside.meanwhile("upload", upload_and_purge)
    bench.one.send("DELETE", f"/files/{file_id}")
    bench.one.send("DELETE", f"/files/{file_id}/trash")


def _contacts(number: int, **more: object) -> dict[str, Any]:
    keys = [next(_numbers) for _ in range(number)]
    rows = [
        {"external_key": f"k{key}", "last_name": f"Name{key}", "email": f"p{key}@people.example", **more}
        for key in keys
    ]
    return {"rows": rows}


def upserts(bench: Bench) -> None:
    """A thousand contacts at once, and one by one; and merges of records with many links."""
    number = bench.of(1_000, 50)
    bodies = [_contacts(number) for _ in range(6)]
    bench.one.json("POST", "/contacts/upsert", _contacts(number))
    with bench.beside.measured("upsert"):
        taken = milliseconds(lambda: bench.one.json("POST", "/contacts/upsert", bodies.pop()), 5)
    bench.figures.at_most(f"upsert of {number:,} contacts, ms", taken, 700)
    create = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { contact { id } userErrors { message } } }"

    def one_by_one() -> None:
        for row in _contacts(number)["rows"]:
            given = {"externalKey": row["external_key"], "lastName": row["last_name"], "email": row["email"]}
            bench.one.field(create, i=given)

    bench.figures.at_least("upsert: times as fast as single mutations", milliseconds(one_by_one) / taken, 15)
    bench.beside.meanwhile("upsert", lambda: bench.one.json("POST", "/contacts/upsert", _contacts(number)))
    links = bench.of(2_000, 100)
    merges = [_to_merge(bench, links) for _ in range(3)]
    with bench.beside.measured("merge"):
        taken = milliseconds(lambda: bench.one.json("POST", "/merges", merges.pop()), 3)
    bench.figures.at_most(f"merge with {links:,} links, ms", taken, 500)
    merges = [_to_merge(bench, links) for _ in range(bench.of(12, 2))]
    bench.beside.meanwhile(
        "merge", lambda: bench.one.json("POST", "/merges", merges.pop()) if merges else time.sleep(0.05)
    )


def _to_merge(bench: Bench, links: int) -> dict[str, Any]:
    """Two accounts, one of which has so many contacts."""
    into, gone = (bench.one.field(_ACCOUNT, i={"name": f"Merged {next(_numbers)}"})["account"]["id"] for _ in range(2))
    for start in range(0, links, 1_000):
        bench.one.json("POST", "/contacts/upsert", _contacts(min(1_000, links - start), account_id=gone))
    return {"kind": "account", "into": into, "from": [gone]}


_ACCOUNT = "mutation($i: AccountCreateInput!) { accountCreate(input: $i) { account { id } userErrors { message } } }"


def imports(bench: Bench) -> None:
    """A hundred thousand contacts from a file, and groups of duplicates among twice as many."""
    number = bench.of(100_000, 500)

    def imported() -> float:
        keys = [next(_numbers) for _ in range(number)]
        rows = (
            f"i{key},First{key % 997},Last{key % 5_003},p{key % (number - number // 50)}@in.example" for key in keys
        )
        data = "\n".join(["external_key,first_name,last_name,email", *rows]).encode()
        file_id = _sent(bench, data)
        begun = time.perf_counter()
        made = bench.one.json("POST", "/imports", {"file_id": file_id, "kind": "contact"})
        done = bench.one.done(f"/imports/{made['import_id']}", lambda found: found["finished_at"] is not None)
        if (done["status"], done["created"]) != ("completed", number):
            raise RuntimeError(str(done))
        return time.perf_counter() - begun

    with bench.beside.measured("import"):
        bench.figures.at_most(f"import of {number:,} contacts, s", imported(), 120)
    second: list[float] = []

    def once_more() -> None:
        if second:
            time.sleep(0.05)
        else:
            second.append(imported())

    bench.beside.meanwhile("import", once_more)
    path = "/duplicates?kind=contact&limit=20"
    if not bench.one.json("GET", path):
        raise RuntimeError("there are no groups")
    with bench.beside.measured("duplicates"):
        taken = milliseconds(lambda: bench.one.json("GET", path), 20)
    bench.figures.at_most(f"groups of duplicates among {2 * number:,} contacts, ms a page", taken, 50)
    bench.beside.meanwhile("duplicates", lambda: bench.one.json("GET", path))


def _sent(bench: Bench, data: bytes) -> str:
    mark = uuid.uuid4().hex
    disposition = 'Content-Disposition: form-data; name="file"; filename="a.csv"'
    body = f"--{mark}\r\n{disposition}\r\n\r\n".encode() + data + f"\r\n--{mark}--\r\n".encode()
    status, _, content = bench.one.send("POST", "/files", body, Content_Type=f"multipart/form-data; boundary={mark}")
    if status != 201:
        raise RuntimeError(f"{status} {content[:500]!r}")
    return str(json.loads(content)["id"])


def exports(bench: Bench) -> None:
    """All deals as JSON Lines, as a stream and as a job, beside what driver and encoder do alone."""
    path = "/export/deals?format=jsonl"
    with bench.beside.measured("export"):
        first, taken, _, lines = bench.one.drained(path)
    firsts = [first, *(bench.one.drained("/export/deals?format=jsonl&status=won")[0] for _ in range(2))]
    alone, counted = _alone(bench)
    if counted != lines:
        raise RuntimeError(f"{lines} of {counted} deals")
    bench.figures.at_least(f"export of {lines:,} deals, rows/s", lines / taken, 40_000)
    bench.figures.at_least("export: of driver rows and orjson", alone / taken, 0.5)
    bench.figures.at_most("export: first byte, ms", sorted(firsts)[1] * 1_000, 100)
    bench.beside.meanwhile("export", lambda: bench.one.drained(path))
    with bench.beside.measured("export as a job"):
        begun = time.perf_counter()
        made = bench.one.json("POST", "/exports", {"kind": "deal", "format": "jsonl"})
        done = bench.one.done(f"/exports/{made['export_id']}", lambda found: found["finished_at"] is not None)
        taken = time.perf_counter() - begun
    if (done["complete"], done["rows"]) != (True, lines):
        raise RuntimeError(str(done))
    bench.figures.told("export as a job, rows/s", lines / taken)


def _alone(bench: Bench) -> tuple[float, int]:
    """Seconds, and rows, of a driver that reads the same columns in the same batches, and orjson."""
    names = [name for name in EXPORTED[ExportKind.DEAL].plain if name != "tags"]
    columns = ", ".join(names)
    ask = f"SELECT {columns} FROM deals WHERE org_id = {{}} AND id > {{}} ORDER BY id LIMIT 1000"  # noqa: S608  # our own names
    place = names.index("id")

    def write(rows: Any) -> int:
        return sum(len(orjson.dumps(dict(zip(names, row, strict=True)), default=_plain)) for row in rows)

    async def by_asyncpg() -> int:
        url = make_url(bench.place.gateway_url)
        database = await asyncpg.connect(host=url.query["host"], user=url.username, database=url.database)
        await database.execute(f"SET crm.org_id = '{bench.one.organization}'")
        total, after = 0, uuid.UUID(int=0)
        while rows := await database.fetch(ask.format("$1", "$2"), uuid.UUID(bench.one.organization), after):
            write(rows)
            total, after = total + len(rows), rows[-1][place]
        await database.close()
        return total

    def by_sqlite() -> int:
        database = sqlite3.connect(str(make_url(bench.place.gateway_url).database))
        total, after = 0, ""
        while rows := database.execute(ask.format("?", "?"), (bench.one.organization, after)).fetchall():
            write(rows)
            total, after = total + len(rows), rows[-1][place]
        database.close()
        return total

    begun = time.perf_counter()
    total = by_sqlite() if bench.place.dialect == "sqlite" else uvloop.run(by_asyncpg())
    return time.perf_counter() - begun, total


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)


def reports(bench: Bench) -> None:
    """A report over all deals."""
    made = bench.one.json("POST", "/reports", {"name": "Pipeline", "kind": "pipeline_by_stage"})
    path = f"/reports/{made['id']}/rows"
    total = sum(row[2] for row in bench.one.json("GET", path)["rows"])
    with bench.beside.measured("report"):
        taken = milliseconds(lambda: bench.one.json("GET", path), 5)
    bench.figures.at_most(f"report over {total:,} deals, ms", taken, 400)
    bench.beside.meanwhile("report", lambda: bench.one.json("GET", path))


_CONTACT = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { contact { id } userErrors { message } } }"
_CHANGE = "mutation($id: ID!, $i: ContactUpdateInput!) { contactUpdate(id: $id, input: $i) { userErrors { message } } }"


def _taken_out(dialect: str) -> Iterator[str]:
    """The statements that take away what match keys take: the triggers, and the indexes that are there for them."""
    yield from removal(dialect, CONTACTS)
    for index in Contact.metadata.tables[CONTACTS.table].indexes:  # nine
        if {"match_name", "match_phone"} & set(index.columns.keys()):
            yield f"DROP INDEX {index.name}"


def keys(bench: Bench) -> None:
    """Measures what match keys cost single writes: beside a gateway whose database has none of it, in turns.

    The turns are short, and each is compared with its neighbour: what else the machine does meanwhile is in both.
    """
    number, rounds = bench.of(60, 5), bench.of(120, 1)

    def turn(caller: Caller) -> tuple[float, float]:
        """Takes the seconds in which contacts are made, and changed."""
        begun = time.perf_counter()
        ids = _made(caller, number)
        between = time.perf_counter()
        for contact in ids:
            caller.field(_CHANGE, id=contact, i={"lastName": f"M{next(_numbers)}"})
        return between - begun, time.perf_counter() - between

    with ExitStack() as stack:
        changed = (("kept", ()), ("bare", _taken_out(bench.place.dialect)))
        callers = [stack.enter_context(bench.another(name, changes)) for name, changes in changed]
        own, bare = callers
        taken = in_turns(rounds, partial(turn, own), partial(turn, bare))
    for at, what in enumerate(("contacts made", "names of contacts changed")):
        bench.figures.told(f"{what}, a second", number / statistics.median(mine[at] for mine, _ in taken))
        ratios = [other[at] / mine[at] for mine, other in taken]
        bench.figures.at_least(f"{what}: of the rate without match keys", statistics.median(ratios), 0.95)


def _made(caller: Caller, number: int) -> list[str]:
    """Makes contacts whose names and numbers come in no order, as people's do; none comes twice."""
    rows = [
        {"lastName": f"N{n}", "email": f"n{n}@keys.example", "phone": f"+49 30 {n:07}"}
        for n in (next(_numbers) * 6_180_339 % 10_000_000 for _ in range(number))
    ]
    return [caller.field(_CONTACT, i=row)["contact"]["id"] for row in rows]


PARTS: dict[str, Callable[[Bench], None]] = {
    "files": files,
    "upserts": upserts,
    "imports": imports,
    "exports": exports,
    "reports": reports,
    "keys": keys,
}
