"""One lead, two services as processes of their own over one database, and a client at each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest

from tests.support.service import Service

ROUNDS = 12
CONVERT = """mutation($input: LeadConvertInput!) { leadConvert(input: $input) {
  lead { id status version convertedAt } account { id } contact { id } deal { id name } userErrors { code } } }"""
COUNTS = "{ accounts { totalCount } contacts { totalCount } deals { totalCount } leads { totalCount } }"


@pytest.mark.long
def test_two_clients_at_once_make_one_lead_and_convert_it_once(tmp_path: Path, database_url: str) -> None:
    settings = {"CRM_DATABASE_URL": database_url, "CRM_RATE_LIMIT": "off"}
    with Service(tmp_path, "--demo", **settings) as first, Service(tmp_path, "--demo", **settings) as second:
        headers = {"Authorization": f"Bearer {first.value('Token')}"}
        with (
            httpx.Client(base_url=first.address, headers=headers, timeout=30) as one,
            httpx.Client(base_url=second.address, headers=headers, timeout=30) as two,
            ThreadPoolExecutor(2) as threads,
        ):
            together, clients = Barrier(2), (one, two)

            def at_once(call: Callable[[httpx.Client, int], Any]) -> list[Any]:
                def run(number: int) -> Any:
                    together.wait(30)
                    return call(clients[number], number)

                return list(threads.map(run, range(2)))

            before = _counts(one)
            for number in range(ROUNDS):
                card = {"card_id": f"raced {number}", "name": "Ada Park", "company": f"Raced {number}"}
                made = at_once(
                    lambda client, _, card=card: client.post("/cards/captures/confirm", json=card).raise_for_status()
                )
                leads = [answer.json()["lead_id"] for answer in made]
                assert leads[0] == leads[1]
                done = at_once(lambda client, which, lead=leads[0]: _convert(client, lead, f"Deal {which}"))
                assert done[0] == done[1]
                assert (done[0]["userErrors"], done[0]["lead"]["version"]) == ([], 2)
            assert _counts(two) == {noun: count + ROUNDS for noun, count in before.items()}
            events = two.post(
                "/graphql", json={"query": '{ events(first: 500, types: ["lead_converted"]) { nodes { id } } }'}
            )
            assert len(events.json()["data"]["events"]["nodes"]) == ROUNDS


def _convert(client: httpx.Client, lead: str, deal: str) -> Any:
    variables = {"input": {"leadId": lead, "dealName": deal}}
    answer = client.post("/graphql", json={"query": CONVERT, "variables": variables}).raise_for_status().json()
    assert "errors" not in answer, answer
    return answer["data"]["leadConvert"]


def _counts(client: httpx.Client) -> dict[str, int]:
    answer = client.post("/graphql", json={"query": COUNTS}).raise_for_status().json()
    return {noun: found["totalCount"] for noun, found in answer["data"].items()}
