"""The position of a write, and what a read asks for, on both databases without a replica (decision 995)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from storage.base import new_id
from tests.support.live import CREATE, Live, going
from tests.support.streams import begun

READ = "{ deals(first: 5) { nodes { name } } }"
EVENTS = "{ events(first: 500) { edges { cursor node { type } } } }"
WRONG = "X-Read-After must be a position, the cursor of an event, or none"


async def _asked(live: Live, http: httpx.AsyncClient, query: str, **more: Any) -> Any:
    """The answer to a GraphQL request, with what else its body has."""
    return await http.post(live.graphql_url, json={"query": query, **more})


async def _over_a_websocket(live: Live, payload: dict[str, Any]) -> Any:
    async with begun(live.service.address, live.token()) as socket:
        await socket.say(type="subscribe", id="1", payload=payload)
        return (await socket.hear())["payload"]


async def test_writes_answer_their_position_and_reads_take_it(database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url) as live, httpx.AsyncClient(headers=live.token(), timeout=30) as http:
        deals = f"{live.service.address}/deals"
        first = await http.post(deals, json={"name": "one"})
        position = int(first.headers["x-position"])
        second = await _asked(live, http, CREATE, variables={"name": "two"})
        assert second.json()["extensions"]["position"] == position + 1 == int(second.headers["x-position"])
        keyed = {"Idempotency-Key": new_id()}
        third = [await http.post(deals, json={"name": "three"}, headers=keyed) for _ in range(2)]
        assert [answer.headers["x-position"] for answer in third] == [str(position + 2)] * 2
        told = await _over_a_websocket(live, {"query": CREATE, "variables": {"name": "four"}})
        assert told["extensions"]["position"] == position + 3
        wrong = await http.post(deals, json={"name": ""})
        assert (wrong.status_code, "x-position" in wrong.headers) == (422, False)

        events = (await _asked(live, http, EVENTS)).json()["data"]["events"]["edges"]
        for asked in (str(position), "0", "none", "9" * 18, events[-1]["cursor"]):
            listed = await http.get(deals, headers={"X-Read-After": asked})
            assert len(listed.json()) == 4
            assert "x-position" not in listed.headers
            by_header = await http.post(live.graphql_url, json={"query": READ}, headers={"X-Read-After": asked})
            by_extension = await _asked(live, http, READ, extensions={"readAfter": asked})
            assert by_header.json()["data"] == by_extension.json()["data"]
            assert "position" not in by_header.json()["extensions"]
        assert (await _asked(live, http, READ, extensions={"readAfter": position})).status_code == 200
        answer = await _over_a_websocket(live, {"query": READ, "extensions": {"readAfter": position}})
        assert len(answer["data"]["deals"]["nodes"]) == 4


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_what_is_no_position_is_refused(database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url) as live, httpx.AsyncClient(headers=live.token(), timeout=30) as http:
        for asked in ("-1", "1.5", "9" * 19, "None", "newest", "WyJ4Il0"):
            answer = await http.get(f"{live.service.address}/deals?limit=x", headers={"X-Read-After": asked})
            assert answer.status_code == 422
            found = [(each["loc"], each["msg"]) for each in answer.json()["detail"]]
            assert (["header", "X-Read-After"], WRONG) in found
            assert ["query", "limit"] in [place for place, _ in found], "all that is wrong, as one list"
            answer = await http.post(live.graphql_url, json={"query": READ}, headers={"X-Read-After": asked})
            assert (answer.status_code, answer.json()["errors"][0]["message"]) == (400, WRONG)
        for wrong in (True, 1.5, [1], {}):
            answer = await _asked(live, http, READ, extensions={"readAfter": wrong})
            assert answer.status_code == 400
            assert "extensions.readAfter must be" in answer.json()["errors"][0]["message"]
        both = {"query": READ, "extensions": {"readAfter": "2"}}
        answer = await http.post(live.graphql_url, json=both, headers={"X-Read-After": "1"})
        assert answer.json()["errors"][0]["message"] == "X-Read-After and extensions.readAfter differ"
        nobody = await http.get(
            f"{live.service.address}/deals", headers={"X-Read-After": "-1", "Authorization": "Bearer no"}
        )
        assert nobody.status_code == 401, "the caller comes first"
