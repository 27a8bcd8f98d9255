"""Every operation × every scope alone, none and all × every kind of credential, through every surface.

What is refused would have had an effect: real records, good values. What is let through has none: records that do not
exist, values that are not acceptable. So nothing may change, whatever the verdict.
"""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from typing import Any

import httpx
import pytest
from graphql import FieldNode, OperationDefinitionNode, parse

import rest_compat.routes as routes
from contract.errors import Forbidden, NotInPerson, Problems
from contract.limits import SQL_WAITING_OF_ONE_MAX
from contract.vocabulary import CredentialKind
from resolvers.shared.access import OPERATIONS, rule_of
from resolvers.shared.context import Context
from schema.declare import rules_of
from tests.isolation.cases import CASES, Case, Graph, Rest
from tests.isolation.records import fill_organization, missing, send
from tests.support.gateway import Gateway
from tests.support.rules import GROUPS, SCOPES, passes
from tests.support.schemas import built
from tests.support.world import Headers, World

CALLERS: dict[str, set[str]] = {**{scope: {scope} for scope in SCOPES}, "none": set(), "all": set(SCOPES)}


def resolver(name: str) -> Any:
    module, _, function = name.partition(".")
    return getattr(import_module(f"resolvers.{module}"), function)


def groups(case: Case, request: Rest | Graph) -> list[str | None]:
    """The groups that the request has to pass; GraphQL may come to the operation through others."""
    below = case.below if isinstance(request, Graph) else ()
    return [*(CASES[name].group for name in below), case.group]


def test_every_operation_has_its_row_and_every_row_its_operation() -> None:
    built()  # the fields and paths register what they serve
    assert sorted(CASES) == sorted(OPERATIONS)
    declared = {
        name: (rule.group and rule.group.name, rule.organization, rule.in_person) for name, rule in OPERATIONS.items()
    }
    assert declared == {name: (case.group, case.organization, case.in_person) for name, case in CASES.items()}


def test_every_path_is_in_the_row_of_its_operation() -> None:
    written = {
        (name, request.method, request.path.partition("?")[0].replace("<", "{").replace(">", "}").replace("own ", ""))
        for name, case in CASES.items()
        for request in case.requests
        if isinstance(request, Rest)
    }
    served = {(o.method, o.path): o.resolver for o in routes.OPERATIONS if o.resolver is not None}
    kinds = {f"{{campaign}}/{verb}": f"{{running campaign}}/{verb}" for verb in ("pause", "resume")}
    kinds |= {
        "{target}": "{sales target}",
        "{saved_query}": "{saved query}",
        "{report}": "{saved report}",
        "/report-runs/{run}": "/report-runs/{report run}",
        "/analytics/runs/{run}": "/analytics/runs/{question}",
        "/chat/runs/{run}": "/chat/runs/{chat run}",
        "/channels/{channel}": "/channels/C1",  # a name of the provider's
    }
    expected = set()
    for (method, path), function in served.items():
        path = re.sub(r"\{(\w+)_id\}", r"{\1}", path)
        for parameter, kind in kinds.items():
            path = path.replace(parameter, kind)
        if function.__module__ == "resolvers.tasks":  # on the paths of activities of every type
            path = path.replace("{activity}", "{task}")
        path = path.replace("{id}", "{key}" if "organization" in path else "{token}")
        expected.add((f"{function.__module__.rpartition('.')[2]}.{function.__name__}", method, path))
    assert written == expected


def test_every_field_of_query_and_mutation_is_called_by_a_row() -> None:
    schema = built().graphql
    called = set()
    for case in CASES.values():
        for request in case.requests:
            if isinstance(request, Graph):
                [definition] = parse(request.document).definitions
                assert isinstance(definition, OperationDefinitionNode)
                root = definition.operation.value.capitalize()
                fields = definition.selection_set.selections
                called |= {f"{root}.{field.name.value}" for field in fields}  # type: ignore[attr-defined]
                assert all(isinstance(field, FieldNode) for field in fields)
    assert called == set(rules_of(schema))


_OF_OTHERS = {"NOT_FOUND", "VALIDATION"}
"""What somebody else's question, conversation or run comes to, who may ask of his own."""


def _refused(response: httpx.Response, request: Rest | Graph, asked: list[str | None], scopes: set[str]) -> bool:
    """Whether the answer is a refusal for want of a scope, which is then said in the documented words."""
    required = next((sorted(GROUPS[group]) for group in asked if group and not passes(group, scopes)), None)
    expected = {"required_scopes": required, "granted_scopes": sorted(scopes)} if required else {}
    words = "Insufficient permissions" if required else NotInPerson.message
    if isinstance(request, Rest):
        if response.status_code != 403 or request.method == "HEAD":
            return response.status_code == 403
        identifier = response.headers["x-request-id"]
        assert response.json() == {
            "detail": words,
            "code": "forbidden",
            "request_id": identifier,
            **expected,
        }
        return True
    assert response.status_code == 200, response.text
    errors = response.json().get("errors", [])
    forbidden = [e for e in errors if e["extensions"]["code"] == "FORBIDDEN"]
    others = {e["extensions"]["code"] for e in errors} - {"FORBIDDEN"}
    is_own = "analytics" in request.document or "chat" in request.document
    is_subscription = request.document.startswith("subscription")
    is_asked = (is_subscription and is_own) or "integration" in request.document
    assert not others or (is_asked and not forbidden and others <= _OF_OTHERS), errors
    for error in forbidden:
        assert error["message"] == words
        identifier = response.headers["x-request-id"]
        assert error["extensions"] == {"code": "FORBIDDEN", "request_id": identifier, **expected}
    return bool(forbidden)


async def _callers(gateway: Gateway) -> list[tuple[set[str], CredentialKind, Headers]]:
    """A member per set of scopes, with a credential of every kind, those of one member in a row."""
    world, callers = gateway.world, []
    for name, scopes in CALLERS.items():
        await world.join(f"{name}@one", world.one, scopes=sorted(scopes))
        callers += [(scopes, kind, await world.headers(f"{name}@one", world.one, kind)) for kind in CredentialKind]
    return callers


def _fits(case: Case, kind: CredentialKind) -> bool:
    return not case.in_person or kind is not CredentialKind.ORGANIZATION_KEY


def _one_per_surface(case: Case) -> list[Rest | Graph]:
    """The first request of the row by each surface: the others differ in the records that they name."""
    return list({type(request): request for request in reversed(case.requests)}.values())


async def _kept(world: World) -> dict[str, list[Any]]:
    """All rows but those that say that a statement was tried (decision 271)."""
    rows = {table: kept for table, kept in (await world.dump()).items() if table != "event_counters"}
    return rows | {"events": [row for row in rows["events"] if "sql_query_run" not in row]}


@pytest.mark.long_on("postgresql")
async def test_the_matrix(gateway: Gateway) -> None:
    """Every operation × every scope, the kinds of credential taking turns."""
    await _check_all(gateway, len(CredentialKind))


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_whole_matrix(gateway: Gateway) -> None:
    """Every operation × every scope × every kind of credential."""
    await _check_all(gateway, 1)


async def _check_all(gateway: Gateway, turns: int) -> None:
    world = gateway.world
    records = await fill_organization(world, world.one, "admin@one", "Kept")
    records |= {f"own {name}": identifier for name, identifier in records.items()} | {"name": "Changed"}
    nothing = missing(records) | {"name": "", "domain": "nowhere", "own column": ""}
    callers = await _callers(gateway)
    before = await _kept(world)

    # More at once, on a machine that does other things too, may wait longer for a connection than one has to, and of
    # an organization's statements one more is refused.
    turns_at_the_gateway = asyncio.Semaphore(SQL_WAITING_OF_ONE_MAX)

    async def check(name: str, request: Rest | Graph, scopes: set[str], kind: CredentialKind, headers: Headers) -> None:
        asked = groups(CASES[name], request)
        allowed = all(passes(group, scopes) for group in asked) and _fits(CASES[name], kind)
        values = nothing if allowed and request.writes else records
        async with turns_at_the_gateway:
            response = await send(gateway, request.filled(values), headers)
        refused = _refused(response, request, asked, scopes)
        assert refused != allowed, (name, request, sorted(scopes), response.text)
        assert allowed or "Kept" not in response.text

    requests = [(name, request) for name, case in CASES.items() for request in _one_per_surface(case)]
    for number, (name, request) in enumerate(requests):
        async with asyncio.TaskGroup() as group:
            for place, (scopes, kind, headers) in enumerate(callers):
                if (number + place + place // turns) % turns == 0:
                    group.create_task(check(name, request, scopes, kind, headers))
    assert await _kept(world) == before


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_rule_stands_on_the_resolver_itself(gateway: Gateway) -> None:
    """Without any surface before it, so that an operation which lies below another is not guarded by that one alone."""
    world = gateway.world
    for scopes, kind, headers in await _callers(gateway):
        principal = await world.services.identity.authenticate(headers["Authorization"], headers.get("X-Service-Org"))
        assert principal.scopes == scopes
        for name, case in CASES.items():
            context = Context(world.services, principal, "request")
            assert rule_of(resolver(name)) is OPERATIONS[name]
            refused = False
            try:
                await resolver(name)(context)
            except (Forbidden, NotInPerson):
                refused = True
            except (TypeError, Problems):
                pass  # behind the guard the arguments are looked at, and there are none
            assert refused != (passes(case.group, scopes) and _fits(case, kind)), (name, scopes, kind)


NARROWER = [
    "accounts(first: 5) { nodes { name %s } }",
    "accounts(first: 5) { edges { node { name %s } } }",
    "contacts(first: 5) { nodes { lastName account { name %s } } }",
    "deals(first: 5) { nodes { name account { name %s } } }",
    "deals(first: 5) { nodes { contacts(first: 5) { nodes { account { name %s } } } } }",
    "deals(first: 5) { nodes { contacts(first: 5) { edges { node { account { name %s } } } } } }",
    "dealBoard { columns { deals(first: 5) { nodes { account { name %s } } } } }",
]
BELOW_AN_ACCOUNT = [
    "meetings(first: 5) { nodes { subject } }",
    "health { score }",
    "healthHistory(first: 5) { nodes { score } }",
    "contacts(first: 5) { nodes { meetings(first: 5) { nodes { subject } } } }",
    "deals(first: 5) { nodes { meetings(first: 5) { nodes { subject } } } }",
    "found: meetings(first: 5) { totalCount }",
    "... on Account { ... { health { factors { explanation } } } }",
]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("scope", ["api:read", "leads:read", "activities:read"])
async def test_what_is_narrower_stays_so_whatever_the_way_to_it(gateway: Gateway, scope: str) -> None:
    """Meetings and health below records that more callers may read, reached through lists, edges and fragments."""
    world = gateway.world
    await fill_organization(world, world.one, "admin@one", "Kept")
    headers = world.session(await world.join("reader@one", world.one, scopes=[scope]), world.one)
    for way in NARROWER:
        for below in BELOW_AN_ACCOUNT:
            response = await gateway.graphql(f"{{ {way % below} }}", headers)
            errors = response.json().get("errors", [])
            if scope == "activities:read":
                assert errors == []
                continue
            assert {error["extensions"]["code"] for error in errors} == {"FORBIDDEN"}, (way, below)
            assert all(e["extensions"]["required_scopes"] == sorted(GROUPS["MEETINGS_READ"]) for e in errors)
            for hidden in ("subject", "score", "explanation", "totalCount"):
                assert f'"{hidden}":' not in response.text
    node = "query($id: ID!) { node(id: $id) { id ... on Meeting { subject } } }"
    [record] = (await gateway.rest("GET", "/activities/meetings", world.session("admin@one", world.one))).json()
    found = (await gateway.graphql(node, headers, id=record["id"])).json()["data"]["node"]
    assert found == ({"id": record["id"], "subject": "Kept"} if scope == "activities:read" else None)
