"""Reads and changes the policy for all connections of an organization."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StrictStr

from contract.domains import domain_of
from contract.integrations import INTERNAL_DOMAINS_MAX, IntegrationProvider, SyncVisibility
from contract.scopes import ScopeGroup
from jobs.queue import enqueue, hasten
from jobs.sync import kept
from jobs.sync.notices import KIND
from jobs.sync.rules import internal_domains
from resolvers.integration_views import SettingsView
from resolvers.integrations import SettingsChange
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, never_null, not_null
from storage.queries import integrations as statements
from storage.queries import sync
from storage.tables import IntegrationPolicy
from storage.tenancy.sessions import TenantSession

_DOMAIN_MAX = 253


def _domain(text: str) -> str:
    plain = text.strip().lower().rstrip(".")
    if domain_of(plain) != plain.removeprefix("www.") or "_" in plain:
        raise ValueError("must be the name of a host, such as example.com")
    return plain


_Domain = Annotated[StrictStr, Field(min_length=1, max_length=_DOMAIN_MAX), AfterValidator(_domain)]


class PolicyUpdate(Input):
    """Changes to the policy; null for `internal_domains` takes them from the members' addresses."""

    model_config = ConfigDict(json_schema_extra=never_null("internal_domains"))

    internal_domains: Annotated[list[_Domain], Field(max_length=INTERNAL_DOMAINS_MAX)] | None = None
    allowed_providers: list[IntegrationProvider] | None = None
    defaults: SettingsChange | None = None
    widest_visibility: SyncVisibility | None = None
    expected_version: StrictInt | None = None


@dataclass(frozen=True, slots=True)
class PolicyView:
    """The policy with the domains of colleagues as they are now."""

    row: IntegrationPolicy
    internal_domains: list[str]

    @property
    def allowed_providers(self) -> list[IntegrationProvider]:
        return [provider for provider in IntegrationProvider if provider.value in self.row.allowed_providers]

    @property
    def defaults(self) -> SettingsView:
        """The settings that a new connection starts with."""
        row = self.row
        visibility = SyncVisibility(row.default_visibility)
        return SettingsView(visibility, row.default_auto_create, row.default_take_internal)

    @property
    def version(self) -> int:
        return self.row.version


@requires(ScopeGroup.CRM_READ)
async def get_policy(ctx: Context) -> PolicyView:
    """The policy."""
    async with ctx.reading() as session:
        return await _view(session, await statements.policy(session))


async def _view(session: TenantSession, policy: IntegrationPolicy) -> PolicyView:
    people = {} if policy.internal_domains is not None else await statements.addresses(session)
    return PolicyView(policy, internal_domains(policy, people.values()))


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def update_policy(ctx: Context, input: PolicyUpdate, *, seen: Collection[int] | None = None) -> PolicyView:
    """Change the policy. Raises PreconditionFailed or Problems."""
    fields = input.given()
    not_null(fields, *fields.keys() - {"internal_domains", "expected_version"})
    version = fields.pop("expected_version", None)
    wanted = _columns(input, fields)
    async with ctx.writing() as session:
        for integration_id in await statements.complete_ids(session):  # their places in the queue come before the lock
            await hasten(session, KIND, integration_id)
        policy = await sync.lock(session)
        changes.expect(policy, version, seen)
        differences = changes.differences(policy, wanted)
        if differences:
            policy = await session.update(policy, **differences, version=policy.version + 1)
            if differences.keys() & {"internal_domains", "widest_visibility"}:
                await statements.want_all(session)
            if "widest_visibility" in differences:  # what stays of no connection any more (decision 1165)
                await enqueue(session, kept.KIND, {})
            told = {"changed": sorted(differences)}
            await changes.append_event(ctx, session, "integration_policy_updated", told, area="admin")
        view = await _view(session, policy)
    ctx.forget()
    return view


def _columns(input: PolicyUpdate, fields: dict[str, object]) -> dict[str, object]:
    """The changes as the table has them."""
    found: dict[str, object] = {}
    if "internal_domains" in fields:
        domains = input.internal_domains
        found["internal_domains"] = None if domains is None else list(dict.fromkeys(domains))
    if input.allowed_providers is not None:
        found["allowed_providers"] = [p.value for p in IntegrationProvider if p in input.allowed_providers]
    if input.widest_visibility is not None:
        found["widest_visibility"] = input.widest_visibility.value
    if input.defaults is not None:
        given = input.defaults.given()
        not_null(given, *given, at=("input", "defaults"))
        names = {
            "visibility": "default_visibility",
            "auto_create_contacts": "default_auto_create",
            "take_internal": "default_take_internal",
        }
        found |= {names[name]: getattr(value, "value", value) for name, value in given.items()}
    return found
