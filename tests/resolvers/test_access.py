"""The guard itself, and that no operation is without one."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module
from typing import Any, get_type_hints

import pytest

import resolvers
from contract.errors import Forbidden, OrganizationRequired, Unauthenticated
from contract.scopes import ScopeGroup
from contract.vocabulary import CredentialKind
from identity.principal import Organization, Principal
from resolvers.shared.access import OPERATIONS, Rule, requires, rule_of
from resolvers.shared.context import Acting, Context
from storage.queries import listables

HELPERS = {
    "told_at_once.all_wrong",
    "told_at_once.also_wrong",
    "told_at_once.to_member",
    "changes.append_event",
    "lists.page_of",
    "lists.children",
    "lists.by_id",
    "lists.by_key",
}
HELPERS |= {"idempotency.once", "idempotency.same_answer"}
HELPERS |= {"activities.create", "activities.change", "activities.tell", "deals.insert_deal"}
HELPERS |= {"aggregates.aggregated", "analytics_planners.plan_of", "analytics_planners.parsed_plan", "reading.read"}
HELPERS |= {f"analytics_runs.{name}" for name in ("finished", "result_of", "runs_of", "steps_of")}
HELPERS |= {"chat_approvals.approvals_below", "chat_approvals.approvals_of", "chat_previews.preview_of"}
HELPERS |= {"chat_proposals.proposed", "chat_waking.wake"}
HELPERS |= {"chat_runs.events_below", "chat_runs.own_run", "chat_runs.runs_of", "chat_runs.stop_runs"}
HELPERS |= {"chat_threads.active_run", "chat_threads.messages_below", "chat_threads.messages_of"}
HELPERS |= {"chat_threads.runs_below", "chat_threads.threads_of", "chat_tokens.reserved_at_the_door"}
HELPERS |= {
    "saved_queries.visible_of",
    "sql_queries.read_statement",
    "sql_queries.statement_of",
    "analytics_model.read",
}
HELPERS |= {"integrations.visible_of", "integrations.own_to_change", "integration_items.items_of"}
HELPERS |= {"integrations.run_under_way", "integration_items.item_of", "integration_feeds.check_room"}
HELPERS |= {"writing.created_at_once", "writing.create_record", "writing.change_record", "writing.delete_record"}
HELPERS |= {
    "files.add_file",
    "files.to_attachable",
    "folders.to_folder",
    "receiving.announce",
    "receiving.give_up",
    "receiving.receive_file",
    "uploads.completed",
}
HELPERS |= {"mails.checked_addresses", "positions.note_position", "report_schedules.scheduled"}
HELPERS |= {"merging.record_of", "upsert_records.written", "upserts.attempted", "upserts.upsert"}
"""What operations are made of: no surface calls these, so they have no rule of their own."""
PUBLIC = {"media.public_file", "file_contents.signed_file"}
"""What needs no credential (decisions 59 and 393)."""
OF_A_RECORD = {"tags.names_of", "files.records_of_file", "folders.path_of", "merging.merged_from"}
OF_A_RECORD |= {"meeting_sync.is_internal", "meeting_sync.contact_of", "integration_items.seen_at_of_item"}
"""What the surfaces ask for a record that its own operation, which is guarded, gave the caller."""
UNGUARDED = HELPERS | PUBLIC | OF_A_RECORD

ORGANIZATION = Organization("id", "external", "Name")


def _coroutines() -> dict[str, Any]:
    """Every public coroutine function of the package that takes who acts first, by module and name."""
    found = {}
    for module in pkgutil.walk_packages(resolvers.__path__, "resolvers."):
        loaded = import_module(module.name)
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            if function.__module__ != loaded.__name__ or name.startswith("_"):
                continue
            plain = inspect.unwrap(function)
            first = next(iter(inspect.signature(plain).parameters), None)
            if inspect.iscoroutinefunction(plain) and first and get_type_hints(plain).get(first) in (Context, Acting):
                found[f"{module.name.rpartition('.')[2]}.{name}"] = function
    return found


def test_whatever_takes_a_context_is_guarded_or_a_named_helper() -> None:
    found = _coroutines()
    assert sorted(found) == sorted({*OPERATIONS, *UNGUARDED})
    for name, function in found.items():
        assert hasattr(function, "rule") == (name not in UNGUARDED), name


def test_the_registered_rule_is_the_one_that_is_enforced() -> None:
    for name, function in _coroutines().items():
        if name not in UNGUARDED:
            assert rule_of(function) is OPERATIONS[name]


def _caller(*scopes: str, organization: Organization | None = ORGANIZATION) -> Principal:
    return Principal("someone", CredentialKind.SESSION, frozenset(scopes), organization, (ORGANIZATION,))


def test_the_order_of_refusals() -> None:
    rule = Rule(ScopeGroup.ORG_ADMIN)
    with pytest.raises(Unauthenticated):
        rule.enforce(None)
    with pytest.raises(OrganizationRequired):
        rule.enforce(_caller(organization=None))
    with pytest.raises(Forbidden) as refused:
        rule.enforce(_caller("users:manage", "api:read"))
    assert refused.value.required_scopes == ["organizations:manage"]
    assert refused.value.granted_scopes == ["api:read", "users:manage"]
    rule.enforce(_caller("organizations:manage"))


@pytest.mark.parametrize(
    ("rule", "caller", "admitted"),
    [
        (Rule(None, organization=False), None, False),
        (Rule(None, organization=False), _caller(organization=None), True),
        (Rule(None), _caller(organization=None), False),
        (Rule(ScopeGroup.PATS_READ, organization=False), _caller("pats:read", organization=None), True),
        (Rule(ScopeGroup.PATS_READ, organization=False), _caller("pats:create", organization=None), False),
        (Rule(ScopeGroup.PATS_READ), _caller("pats:read", organization=None), False),
        (Rule(ScopeGroup.PATS_READ), _caller("pats:read"), True),
    ],
)
def test_whether_a_caller_is_admitted(rule: Rule, caller: Principal | None, admitted: bool) -> None:
    assert rule.admits(caller) is admitted


def test_the_rule_in_a_line() -> None:
    """Decision 903."""
    assert Rule(None, organization=False).line == "Needs a valid credential."
    assert Rule(ScopeGroup.ORG_ADMIN).line == "Needs ORG_ADMIN, in an organization."
    assert Rule(ScopeGroup.PATS_READ, organization=False).line == "Needs PATS_READ."


async def test_nothing_of_a_refused_operation_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.shared.access.OPERATIONS", {})
    ran = []

    @requires(ScopeGroup.CRM_MANAGE)
    async def change(ctx: Context, word: str) -> str:
        ran.append(word)
        return word.upper()

    services: Any = None
    with pytest.raises(Forbidden):
        await change(Context(services, _caller("deals:read"), "request"), "first")
    assert await change(Context(services, _caller("deals:manage"), "request"), word="second") == "SECOND"
    assert ran == ["second"]


def test_records_are_found_under_one_rule() -> None:
    with pytest.raises(TypeError, match="Deal is found by another resolver already"):
        requires(ScopeGroup.MEETINGS_READ, finds=(listables.DEALS,))
