"""The same random operations on SQLite and on PostgreSQL, through both surfaces: the same answers, and the same rows.

CRM_PARITY says how many operations, CRM_PARITY_SEED which ones; a failure names the first that differs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from rest_compat.openapi import openapi_document
from tests.fuzz.graphql_requests import GraphQLRequests
from tests.fuzz.playing import MEMBER, Got, Player, Sent, playing
from tests.fuzz.rest_requests import RestRequests
from tests.fuzz.values import Values
from tests.support.postgresql import Server
from tests.support.schemas import built

OPERATIONS = int(os.environ.get("CRM_PARITY", "300"))
SEED = int(os.environ.get("CRM_PARITY_SEED", "1"))
WITHOUT = frozenset(("/ready", "/pat/exchange"))
"""How long a look took and tokens that end are answers of the moment."""


class Script:
    """Requests that are made as they are played, from what was answered before."""

    def __init__(self, seed: int) -> None:
        # Who asks is never named: having deactivated themselves they would be refused everything.
        self.values = Values(Random(seed), spared=frozenset((MEMBER,)))
        self.graphql = GraphQLRequests(built().graphql, self.values)
        self.rest = RestRequests(openapi_document(), self.values, without=WITHOUT)

    def requests(self, count: int) -> Iterator[Sent]:
        """The first ones ask for every field once."""
        for made, body in zip(range(count), self.graphql.every(), strict=False):
            del made
            yield _graphql(body)
            count -= 1
        for _ in range(count):
            if self.values.chance(30):
                request = self.rest.request()
                yield Sent(request.method, request.path, request.body, request.headers)
            else:
                yield _graphql(self.graphql.request(writing=self.values.chance(40)))

    def learn(self, got: Got) -> None:
        """What later requests may ask for."""
        # Not of JSON Lines, nor of what HEAD is told.
        if got.content and got.headers.get("content-type", "").partition(";")[0] == "application/json":
            self.values.learn(json.loads(got.content))


def _graphql(body: object) -> Sent:
    return Sent("POST", "/graphql", json.dumps(body).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def urls(
    sqlite_template: Path, postgresql: Server, postgresql_template: str, tmp_path: Path
) -> Iterator[tuple[str, str]]:
    """Addresses of a migrated database of either kind."""
    shutil.copyfile(sqlite_template, tmp_path / "crm.db")
    (tmp_path / "crm.db").chmod(0o600)
    postgresql.create("parity", template=postgresql_template)
    yield f"sqlite+aiosqlite:///{tmp_path / 'crm.db'}", postgresql.url("parity")
    postgresql.drop("parity")


async def test_both_databases_give_the_same_answers(urls: tuple[str, str], tmp_path: Path) -> None:
    script, played, statuses = Script(SEED), [], Counter[str]()
    sqlite, postgresql = urls
    async with playing(sqlite, tmp_path / "data") as player:
        for number, sent in enumerate(script.requests(OPERATIONS), 1):
            got = await player.play(number, sent)
            assert sound(got), f"seed {SEED}, operation {number}\n{sent}\n{got}"
            script.learn(got)
            played.append((sent, got))
            statuses[_kind(sent, got)] += 1
        rows = await player.rows()
    async with playing(postgresql, tmp_path / "other data") as player:
        await _replay(player, played)
        assert await player.rows() == rows
    # Neither surface answers with refusals alone.
    assert statuses["rest served"] > (statuses["rest served"] + statuses["rest refused"]) * 0.1, statuses
    assert statuses["graphql served"] > OPERATIONS * 0.2, statuses


async def _replay(player: Player, played: list[tuple[Sent, Got]]) -> None:
    for number, (sent, expected) in enumerate(played, 1):
        got = await player.play(number, sent)
        told = f"seed {SEED}, operation {number}\n{sent}\nSQLite {expected}\nPostgreSQL {got}"
        assert _alike(got) == _alike(expected) or _raced(got, expected), told


OF_THE_DATABASE = re.compile(
    rb'"(?:AnalyticsCatalog_)?(?:dialect|functions)":("[a-z]*"|\[[^\]]*\])|"\w*duration(?:_ms|Ms)":\d+'
    rb'|"AnalyticsSql_(?:text|dialect|digest)":"(?:[^"\\]|\\.)*"|"AnalyticsSql_parameters":\[[^\]]*\]'
    rb'|"sql":\{"text":"(?:[^"\\]|\\.)*","parameters":\[[^\]]*\]|"digest":"[0-9a-f]{64}"'
)
"""What says which SQL is spoken, in the catalogue and in a statement that was run, and how long that took."""


def _alike(got: Got) -> Got:
    """An answer without those, and without its length where it has them."""
    content = OF_THE_DATABASE.sub(b"", got.content)
    headers = {name: value for name, value in got.headers.items() if content == got.content or name != "content-length"}
    return replace(got, content=content, headers=headers)


def _raced(got: Got, other: Got) -> bool:
    """Whether another of two root fields failed first, which leaves no data and is told: that is of the moment."""
    answers = [json.loads(each.content) for each in (got, other) if each.content.startswith(b'{"data":null,"errors":')]
    failed = [[error["path"][0] for error in answer["errors"]] for answer in answers]
    return len(failed) == 2 and all(len(paths) == 1 for paths in failed) and failed[0] != failed[1]


def sound(got: Got) -> bool:
    """Neither a 5xx nor an error that is masked."""
    return got.status < 500 and b'"INTERNAL"' not in got.content


def _kind(sent: Sent, got: Got) -> str:
    if sent.path != "/graphql":
        return "rest served" if got.status < 300 else "rest refused"
    return "graphql refused" if b'"errors":' in got.content else "graphql served"
