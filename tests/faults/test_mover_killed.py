"""`kill -9` of `crm-gateway organization move`: whoever calls meanwhile, through either door, loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy.engine import URL

from tests.faults.load import Load, until, writing
from tests.support.forking import Forked
from tests.support.live import Live, going
from tests.support.moving import NAMES, three_servers
from tests.support.service import Commands, environment

pytestmark = pytest.mark.long

ACCOUNTS = 30
PAGES = """query($after: String, $first: Int!) {{
  {name}(first: $first, after: $after) {{ nodes {{ {shown} }} pageInfo {{ endCursor hasNextPage }} }}
}}"""
ACCOUNT = "mutation($name: String!) { accountCreate(input: {name: $name}) { account { id } } }"
EXPORT = "mutation { dataExportCreate(input: {kind: ACCOUNT}) { dataExport { id } userErrors { code } } }"
EXPORTED = "query($id: ID!) { dataExport(id: $id) { status rows file { id } } }"


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, URL]]:
    with three_servers() as urls:
        yield urls


def text(url: URL) -> str:
    return url.render_as_string(hide_password=False)


@dataclass
class Moving:
    """A service whose organizations may lie on three servers, and the command that moves one of them."""

    live: Live
    folder: Path
    settings: dict[str, str]

    def begin(self, to: str) -> Forked:
        """The command, under way."""
        where = environment(self.live.folder, **self.settings)
        return Forked(["organization", "move", "org_one", to], self.folder, where, self.folder / "out", self.said)

    @property
    def said(self) -> Path:
        return self.folder / "err"

    async def move(self, to: str) -> None:
        """Give the command, and again, as its documentation has it, where writers left it no moment."""
        for _ in range(10):
            code = await asyncio.to_thread(self.begin(to).wait)
            if code == 0:
                return
            assert "leave no moment" in self.said.read_text(), self.said.read_text()
        raise AssertionError("never moved")

    async def kill(self, to: str, words: str) -> None:
        """Give it, and kill it once it has said this."""
        self.said.write_text("")
        command = self.begin(to)
        await until(lambda: words in self.said.read_text() or command.poll() is not None)
        command.kill()
        await asyncio.to_thread(command.wait)

    async def keeps_it(self) -> None:
        """The organization is not deleted under a move, whose rest nobody could end then."""
        delete = ("org", "delete", "org_one", "--yes", "org_one")
        done = await asyncio.to_thread(lambda: Commands().run(self.folder, *delete, **self.settings))
        assert (done.code, "organization move" in done.err) == (1, True), done


@dataclass
class Reader:
    """Reads a list page by page without a pause."""

    live: Live
    walks: int = 0
    wrong: list[Any] = field(default_factory=list)

    async def read(self) -> None:
        while True:
            names = [node["name"] async for node in nodes(self.live, "accounts", 7, "name")]
            if sorted(names) != sorted(f"Account {number}" for number in range(ACCOUNTS)):
                self.wrong.append(names)
            self.walks += 1


async def nodes(live: Live, name: str, first: int, shown: str) -> AsyncIterator[Any]:
    """Every node of a list, each page by the cursor of the one before it."""
    after, document = None, PAGES.format(name=name, shown=shown)
    while True:
        page = (await live.ask(document, after=after, first=first))[name]
        for node in page["nodes"]:
            yield node
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


@asynccontextmanager
async def moving(urls: dict[str, URL], folder: Path) -> AsyncIterator[Moving]:
    ordinary = {name: text(urls[name].set(username="crm")) for name in NAMES}
    settings = {
        "CRM_DATA_DIR": str(folder / "data"),
        "CRM_DATABASE_URL": ordinary["directory"],
        "CRM_CLUSTERS": ",".join(f"{name}={ordinary[name]}" for name in NAMES[1:]),
        "CRM_MOVE_ADDRESSES": ",".join(f"{name}={text(urls[name])}" for name in NAMES),
    }
    (folder / "mover").mkdir()
    async with going(folder, ordinary["directory"], worker=True, **settings) as live:
        yield Moving(live, folder / "mover", settings)


async def exported(live: Live) -> str:
    """The file of an export, which a job of the worker has made."""
    while True:
        try:
            made = (await live.ask(EXPORT))["dataExportCreate"]
            break
        except AssertionError as error:
            if "UNAVAILABLE" not in str(error):  # the moment of the switch
                raise
    assert made["userErrors"] == []
    export: Any = None

    async def is_done() -> bool:
        nonlocal export
        export = (await live.ask(EXPORTED, id=made["dataExport"]["id"]))["dataExport"]
        return bool(export["status"] == "SUCCEEDED")

    await until(is_done)
    assert export["rows"] == ACCOUNTS
    return str(export["file"]["id"])


async def test_nothing_is_lost(urls: dict[str, URL], tmp_path: Path) -> None:
    """Between two servers of which neither is the directory's; under both doors, with pages, jobs and their files."""
    async with moving(urls, tmp_path) as moves:
        live = moves.live
        async with httpx.AsyncClient(base_url=live.service.address, headers=live.token(), timeout=60) as client:
            for number in range(ACCOUNTS):
                await live.ask(ACCOUNT, name=f"Account {number}")
            reader, files = Reader(live), [await exported(live)]
            reading = asyncio.create_task(reader.read())
            try:
                async with writing(live, clients=3) as load:
                    await moves.move("north")
                    for words in ("Copying from north", "Switching."):
                        await moves.kill("south", words)
                        if words != "Switching.":  # behind that there is a moment where writes wait for the command
                            files.append(await exported(live))
                            await moves.keeps_it()
                            await load.until(len(load.acknowledged) + 10)
                        await moves.move("south")
                        files.append(await exported(live))
                        await moves.move("north")
                        await load.until(len(load.acknowledged) + 10)
            finally:
                reading.cancel()
                ended = (await asyncio.gather(reading, return_exceptions=True))[0]
            assert isinstance(ended, asyncio.CancelledError), ended
            assert (reader.wrong, reader.walks > 0) == ([], True)
            for file in files:
                assert (await client.get(f"/files/{file}/content")).text.count("Account") == ACCOUNTS
        assert load.outcomes.keys() <= {200, 201, 503}, load.outcomes
        await kept(load)
        assert "Traceback" not in live.service.log.read_text()


async def kept(load: Load) -> None:
    """What was acknowledged is there, and the log tells of each once."""
    deals = {node["id"]: node["name"] async for node in nodes(load.live, "deals", 100, "id name")}
    assert load.acknowledged.items() <= deals.items()
    assert len(deals) - len(load.acknowledged) <= load.outcomes[503]
    log = [node async for node in nodes(load.live, "events", 100, "type data")]
    assert sorted(node["data"]["deal_id"] for node in log if node["type"] == "deal_created") == sorted(deals)
