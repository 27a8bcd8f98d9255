"""Every operation as another organization, with the identifiers of the first: to it they are missing ones.

The callers are an administrator of the other organization alone, and one of both, who acts in the other.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from contract.errors import GatewayError
from contract.scopes import Role
from contract.vocabulary import CredentialKind
from identity.principal import Principal
from resolvers.shared.access import OPERATIONS
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult
from tests.isolation.cases import CASES, fill, names
from tests.isolation.records import fill_organization, missing, plain, send
from tests.support.gateway import Gateway
from tests.support.world import World

MARK = "Kept of one"
CALLERS = ["admin@two", "of both"]

EMPTY = [
    "analytics_watches",
    "chat_watches",
    "integration_policies",
    "job_workers",
    "login_grants",
    "login_sessions",
    "login_tickets",
    "match_keys",
    "passwords",
    "reminder_watches",
    "report_watches",
]
"""Tables that nothing is in."""
NAMING_NOTHING = {
    "account_aggregates.aggregate_accounts",
    "accounts.create_account",
    "analytics.get_catalog",
    "analytics_queries.run_query",
    "campaign_aggregates.aggregate_campaigns",
    "chat_approvals.list_approvals",
    "chat_threads.create_thread",
    "chat_threads.list_threads",
    "chat_tools.list_tools",
    "chat_usage.list_usage",
    "competitors.create_competitor",
    "competitors.list_competitors",
    "costs.estimate_cost",
    "credentials.create_organization_key",
    "credentials.create_user_token",
    "credentials.list_organization_keys",
    "credentials.list_user_tokens",
    "duplicates.list_duplicates",
    "events.list_changes",
    "events.list_events",
    "events.watch_events",
    "export_jobs.create_export",
    "exports.export_accounts",
    "exports.export_activities",
    "exports.export_campaigns",
    "exports.export_contacts",
    "exports.export_deals",
    "exports.export_leads",
    "exports.export_meetings",
    "feedback.submit_feedback",
    "files.create_file",
    "files.get_usage",
    "imports.list_imports",
    "integration_consent.connect_integration",
    "integration_feeds.connect_feed",
    "integration_policy.get_policy",
    "integration_policy.update_policy",
    "integrations.list_integrations",
    "integrations.list_providers",
    "lead_aggregates.aggregate_leads",
    "leads.confirm_capture",
    "mailboxes.list_mailboxes",
    "members.add_member",
    "members.get_own_member",
    "members.list_members",
    "merging.list_merges",
    "outreach_domains.list_domains",
    "outreach_domains.purchase_domain",
    "pipeline_stages.create_stage",
    "pipeline_stages.list_stages",
    "reports.list_reports",
    "research.create_run",
    "research.list_runs",
    "sales_targets.list_targets",
    "saved_queries.create_saved_query",
    "saved_queries.list_saved_queries",
    "sql_queries.run_sql",
    "tags.create_tag",
    "tags.list_tags",
    "tags.usage_of_tag",
    "uploads.describe_uploads",
    "viewer.get_viewer",
    "webhooks.create_webhook",
    "webhooks.deliveries_of_webhook",
    "webhooks.list_webhooks",
}
"""Operations that take no identifier: they can only be looked at for what they show."""


async def _enter(world: World) -> dict[str, str]:
    """The second organization's own records, and a member of both; the names of the first one's stay open."""
    for organization in (world.one, world.two):
        await world.join("of both", organization, role=Role.ADMIN)
    own = await fill_organization(world, world.two, "admin@two", "Of two")
    return {f"own {name}": identifier for name, identifier in own.items()} | {"name": "Changed"}


def _of_one(world: World, dump: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """What the dump holds of the first organization and its members."""

    def is_of_one(value: Any) -> bool:
        return value == world.one.id or (isinstance(value, str) and (value.endswith("@one") or MARK in value))

    return {table: [row for row in rows if any(map(is_of_one, row))] for table, rows in dump.items()}


@pytest.mark.parametrize(
    "kind",
    [kind if kind is CredentialKind.SESSION else pytest.param(kind, marks=pytest.mark.long) for kind in CredentialKind],
)
async def test_through_the_surfaces(gateway: Gateway, kind: CredentialKind) -> None:
    world = gateway.world
    own = await _enter(world)
    of_one = await fill_organization(world, world.one, "admin@one", MARK)
    nothing = missing(of_one)
    before = _of_one(world, await world.dump())
    # Workers belong to nobody, no reminder of these records is due, and no question or run is worked on.
    assert [table for table in before if not before[table]] == EMPTY
    for subject in CALLERS:
        headers = await world.headers(subject, world.two, kind)
        for name in OPERATIONS:
            for request in CASES[name].requests:
                named = names(request)
                answers = []
                for values in (nothing, of_one):
                    response = await send(gateway, request.filled(own | values), headers)
                    answers.append(plain(response, values, named))
                assert MARK not in answers[1][2], (name, request)
                assert answers[0] == answers[1] or not named, (name, request)
                assert not any(identifier in answers[1][2] for identifier in of_one.values()), (name, request)
    assert _of_one(world, await world.dump()) == before


def test_every_operation_that_takes_an_identifier_was_given_one() -> None:
    assert {name for name, case in CASES.items() if not names(case.requests)} == NAMING_NOTHING


async def _result(name: str, world: World, principal: Principal, arguments: Any) -> Any:
    """What the resolver gives, as plain values."""
    module, _, function = name.partition(".")
    resolver = getattr(import_module(f"resolvers.{module}"), function)
    try:
        result = await resolver(Context(world.services, principal, "request"), *arguments)
    except GatewayError as error:
        return error.code, error.message
    if isinstance(result, PageResult):
        return list(result.rows), result.has_next, result.has_previous, await result.total()
    return result


async def test_through_no_surface(gateway: Gateway) -> None:
    """What lies below a record is called with that record's identifier, as if the way to it were open."""
    world = gateway.world
    own = await _enter(world)
    of_one = await fill_organization(world, world.one, "admin@one", MARK)
    nothing = missing(of_one)
    below = {name: case.direct for name, case in CASES.items() if case.direct is not None}
    assert set(below) == {name for name, case in CASES.items() if case.below}
    for subject in CALLERS:
        authorization = world.session(subject, world.two)["Authorization"]
        principal = await world.services.identity.authenticate(authorization, None)
        inside = await world.services.identity.authenticate(
            world.session("admin@one", world.one)["Authorization"], None
        )
        for name, arguments in below.items():
            theirs = await _result(name, world, principal, fill(arguments, own | of_one))
            assert theirs == await _result(name, world, principal, fill(arguments, own | nothing)), name
            assert MARK not in repr(theirs)
            if names(arguments):
                assert theirs != await _result(name, world, inside, fill(arguments, of_one)), name


async def test_a_key_made_by_the_same_person_elsewhere_is_out_of_reach(gateway: Gateway) -> None:
    """Being its owner does not help: it is another organization's."""
    world = gateway.world
    await _enter(world)
    await world.credential("of both", world.one, name="Elsewhere")
    here, there = (world.session("of both", organization) for organization in (world.two, world.one))
    [key] = (await gateway.rest("GET", "/organization-pats", there)).json()
    listed = (await gateway.rest("GET", "/organization-pats", here)).json()
    assert [record["name"] for record in listed] == ["Of two"]
    path = f"/organization-pats/{key['id']}"
    assert (await gateway.rest("PATCH", path, here, {"name": "Taken"})).status_code == 404
    assert (await gateway.rest("DELETE", path, here)).status_code == 404
    assert (await gateway.rest("GET", "/organization-pats", there)).json() == [key]
    assert (await gateway.rest("DELETE", path, there)).status_code == 204


async def test_a_cursor_of_another_organization_shows_nothing_of_it(gateway: Gateway) -> None:
    world = gateway.world
    await _enter(world)
    await fill_organization(world, world.one, "admin@one", MARK)
    for field in ("meetings", "accounts", "contacts", "deals", "leads", "events"):
        document = (
            f"query($after: String) {{ {field}(first: 1, after: $after) {{ edges {{ cursor node {{ id }} }} }} }}"
        )
        inside = await gateway.graphql(document, world.session("admin@one", world.one))
        [edge] = inside.json()["data"][field]["edges"]
        outside = await gateway.graphql(document, world.session("admin@two", world.two), after=edge["cursor"])
        assert edge["node"]["id"] not in outside.text
        assert "errors" not in outside.json()
