"""The shortest way from Python to the gateway: httpx for queries, mutations, pages and, as server-sent events, news.

CRM_URL and CRM_TOKEN say where the gateway is and who calls it, as `./run` prints them. Needs httpx and nothing else.
"""

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import httpx

BASE = os.environ.get("CRM_URL", "http://127.0.0.1:8000")
HEADERS = {"Authorization": f"Bearer {os.environ.get('CRM_TOKEN', '')}"}


def ask(client: httpx.Client, query: str, **variables: Any) -> Any:
    """The data of a query or mutation. Raises for what the gateway refuses."""
    answer = client.post("/graphql", json={"query": query, "variables": variables})
    body = answer.json()
    if "errors" in body:
        raise RuntimeError(body["errors"])
    return body["data"]


def accounts(client: httpx.Client) -> Iterator[str]:
    """The names of all accounts, page by page."""
    query = """query($after: String) {
      accounts(first: 4, after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } }"""
    after = None
    while True:
        page = ask(client, query, after=after)["accounts"]
        yield from (account["name"] for account in page["nodes"])
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def events(client: httpx.Client, after: str | None = None) -> Iterator[Any]:
    """The deals that are created from now on, or behind the cursor of an event seen before."""
    query = """subscription($after: String) { events(types: ["deal_created"], after: $after) { cursor data } }"""
    body = {"query": query, "variables": {"after": after}}
    with client.stream("POST", "/graphql", json=body, headers={"Accept": "text/event-stream"}, timeout=60) as answer:
        rest = ""
        for text in answer.iter_text():  # lines end in LF alone: iter_lines() would cut texts that have U+2028
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))["data"]["events"]


def say(what: str, found: Any) -> None:
    print(json.dumps({what: found}), flush=True)


with httpx.Client(base_url=BASE, headers=HEADERS) as client:
    say("viewer", ask(client, "{ viewer { name } }")["viewer"]["name"])

    create = "mutation($name: String!) { dealCreate(input: {name: $name}) { deal { id } userErrors { code field } } }"
    say("problems", ask(client, create, name="")["dealCreate"]["userErrors"])

    say("accounts", list(accounts(client)))

    threading.Timer(0.8, ask, (client, create), {"name": "By Python"}).start()
    say("event", next(events(client))["data"]["name"])
