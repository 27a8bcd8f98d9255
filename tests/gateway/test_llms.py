"""/llms.txt: in the form of llmstxt.org, and true to the schema, the paths, the scopes and the errors."""

from __future__ import annotations

import re

from contract.scopes import ScopeGroup
from gateway.llms import llms_text
from rest_compat.routes import OPERATIONS
from tests.support.gateway import Gateway
from tests.support.schemas import built, printed

BUILT = built()
TEXT = llms_text(BUILT.graphql)


def _items(title: str) -> list[str]:
    [section] = [part for part in TEXT.split("\n## ")[1:] if part.startswith(f"{title}\n")]
    return [line[2:] for line in section.splitlines() if line.startswith("- ")]


def test_it_has_the_form() -> None:
    lines = TEXT.splitlines()
    assert re.findall(r"^# .*$", TEXT, re.MULTILINE) == [lines[0]] == ["# CRM gateway"]
    assert lines[2].startswith("> ")
    assert re.findall(r"^## (.*)$", TEXT, re.MULTILINE)[-1] == "Optional"
    for title in ("Documents", "Surfaces", "Optional"):
        assert all(re.fullmatch(r"\[/[^\]]+\]\([^)]+\): .+", item) for item in _items(title))


def test_it_lists_every_operation_of_the_schema() -> None:
    schema = printed()
    roots = {"queries": schema.query_type, "mutations": schema.mutation_type, "subscriptions": schema.subscription_type}
    for kind, root in roots.items():
        title = f"GraphQL {kind}"
        assert root is not None
        listed = {item.partition(": ")[0][1:].partition("(")[0] for item in _items(title)}
        assert {name.rstrip("`:") for name in listed} == set(root.fields)
        for item in _items(title):
            assert re.fullmatch(r"`\w+(\(.*\))?: [\w!\[\]]+`: \S.*\.", item), item


def test_it_lists_every_path_and_every_group() -> None:
    assert [item.partition("`:")[0][1:] for item in _items("REST paths")] == [
        f"{o.method} {o.path}" for o in OPERATIONS
    ]
    groups = dict(item.split(": any of ") for item in _items("Scope groups"))
    assert groups == {group.name: ", ".join(sorted(group.value)) for group in ScopeGroup}


def test_it_names_every_code_once() -> None:
    codes = _items("Error codes")
    assert len(set(codes)) == len(codes)
    assert "FORBIDDEN (REST: 403 `forbidden`)" in codes
    assert "INTERNAL (REST: 500 `internal`)" in codes


async def test_it_is_served_as_text_and_its_links_lead_somewhere(gateway: Gateway) -> None:
    answer = await gateway.http.get("/llms.txt")
    assert (answer.status_code, answer.text) == (200, TEXT)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    for path in re.findall(r"\]\(([^)]+)\)", TEXT):
        method = "POST" if path == "graphql" else "GET"
        assert (await gateway.http.request(method, f"/{path}")).status_code not in (404, 405, 500)
