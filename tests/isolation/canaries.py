"""Organizations whose every text is a canary, and a look for canaries of others in any byte.

A canary names its organization by number: `cnry7q2` is of the second filling of organization 7. It has letters and
digits alone, so that JSON, addresses and pages write it as it is.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from typing import Any

from sqlalchemy import JSON, ColumnElement, Text, UniqueConstraint, cast, literal, update
from sqlmodel import SQLModel, col

from contract.scopes import Role
from contract.vocabulary import CredentialKind
from identity.principal import Organization
from storage.base import Tenant, new_id, with_copies
from storage.columns import Kind, columns_of
from storage.queries import organizations as directory
from storage.tables import (
    Activity,
    Competitor,
    CXReportRevision,
    Deal,
    ResearchResult,
    SalesTarget,
    Webhook,
    WebhookWatch,
)
from storage.tenancy.guard import SHARED_TABLES
from tests.isolation.records import fill_organization
from tests.support.world import Headers, World

_CANARY = re.compile(rb"cnry(\d+)q")
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ENCODED = re.compile(rb"[A-Za-z0-9_-]{12,}")
_numbers = count(1)

NO_TEXT_OF_A_PERSON = {
    "activities": {"type", "source", "direction"},
    "analytics_conversations": {"subject"},
    "analytics_events": {"type"},
    "analytics_runs": {
        *("subject", "key_hash", "fingerprint", "status", "planner", "plan", "sql", "parameters", "columns", "chart"),
        *("error_code", "error"),
    },
    "artifacts": {"kind", "storage_name", "content_type"},
    "campaigns": {"status", "timezone", "provider", "provider_sync"},
    "chat_approvals": {
        *("call_id", "subject", "tool", "operation", "arguments_sha256", "record_kind", "status", "decided_by"),
        "result_kind",
    },
    "chat_events": {"subject", "type"},
    "chat_messages": {"subject", "role"},
    "chat_runs": {
        *("subject", "request_id", "status", "provider", "model", "time_zone", "credential_kind", "granted_scopes"),
        "error_code",
    },
    "chat_steps": {"subject"},
    "chat_threads": {"subject"},
    "contacts": {"match_name"},
    "credentials": {"kind", "key_id", "secret_hash", "hint"},
    "deal_cell_deltas": {"currency", "status"},
    "deal_cells": {"currency", "status"},
    "deals": {"currency", "folded_currency", "status", "geo_scope"},
    "enrollments": {"status"},
    "events": {"type", "area", "actor", "request_id"},
    "exports": {"kind", "format", "status", "needs", "definition", "last_id", "after_id", "pieces"},
    "external_keys": {"kind"},
    "feedback": {"subject", "kind", "request_id"},
    "file_leftovers": {"storage_name"},
    "file_links": {"kind"},
    "file_pieces": {"storage_name"},
    "file_uploads": {"attach_to", "sha256", "state"},
    "files": {"storage_name", "needs"},
    "health_factors": {"key", "label", "explanation"},
    "health_snapshots": {"trend", "formula_version"},
    "feed_contents": set(),
    "integration_accounts": {"provider", "account_key"},
    "integration_policies": {"internal_domains", "allowed_providers", "default_visibility", "widest_visibility"},
    "integrations": {
        *("provider", "owner_id", "account_key", "status", "problem_code", "visibility", "shown", "folded_owner_id"),
    },
    "imports": {"kind", "status"},
    "jobs": {"key", "status"},
    "leads": {"status", "source"},
    "mailboxes": {"status"},
    "mails": {"status"},
    "meeting_cell_deltas": {"source"},
    "meeting_cells": {"source"},
    "match_groups": {"kind", "sign", "counted_by"},
    "match_keys": {"kind", "key"},  # empty
    "merged_ids": {"kind"},
    "merges": {"kind", "from_ids", "links", "choice", "moved", "before"},
    "media": {"key", "storage_name", "content_type"},
    "memberships": {"role", "scopes"},
    "not_duplicates": {"kind"},
    "model_usage": {"day", "subject", "provider", "model"},
    "outreach_domains": {"status"},
    "pipeline_stages": {"type"},
    "record_changes": {"subject_kind", "type", "former_owner"},
    "report_runs": {"status", "formats", "file_ids"},
    "reports": {"kind", "parameters", "schedule"},
    "research_results": {"status"},
    "research_runs": {"status"},
    "saved_queries": {"query", "sql", "dialect", "owner_id", "name_key", "question_key", "verified_by"},
    "sales_targets": {"currency", "currency_key"},
    "sync_items": {"hash", "body", "external_id"},
    "sync_occurrences": {"kind", "recurrence", "outcome", "reason", "decision"},
    "sync_runs": {"mode", "status", "problem"},
    "sync_streams": {"kind", "external_id"},
    "synced_meetings": {"uid_hash", "recurrence", "time_zone", "overridden", "participants", "deal_candidates"},
    "tag_links": {"kind"},
    "tags": {"color"},
    "webhooks": {"types", "areas"},
}
"""Columns of text or JSON with words of the service, what it computed, a color or a currency, and so no canary."""


def tables_of_organizations() -> Iterator[Any]:
    """The model of every table with rows of an organization, those included that the directory shares."""
    for mapper in SQLModel._sa_registry.mappers:
        if issubclass(mapper.class_, Tenant) or mapper.local_table.name in SHARED_TABLES:
            yield mapper.class_


def texts(model: Any) -> list[Any]:
    """The columns of a table that can hold what a person wrote."""
    closed = NO_TEXT_OF_A_PERSON.get(model.__tablename__, set()) | _vocabularies(model)
    return [c for c in model.__table__.columns if isinstance(c.type, Text | JSON) and c.name not in closed]


def _unique(model: Any) -> set[str]:
    """The columns of which two rows may not hold the same, alone or with others."""
    constraints = [c for c in model.__table__.constraints if isinstance(c, UniqueConstraint)]
    found = [*constraints, *(index for index in model.__table__.indexes if index.unique)]
    return {column.name for each in found for column in each.columns}


def _vocabularies(model: Any) -> set[str]:
    """The columns that a table declares to hold one of a few words."""
    try:
        return {fact.name for fact in columns_of(model) if not isinstance(fact.kind, Kind)}
    except TypeError:  # it has columns that say nothing of themselves
        return set()


def _alone(model: Any, mark: str) -> ColumnElement[str]:
    """A canary that no other row of the table has: the row's identifier stands behind it."""
    return literal(f"{mark} ").concat(cast(col(model.id), Text))


@dataclass
class Side:
    """One organization, the callers that act for it, and the identifiers of what it was last filled with."""

    world: World
    number: int
    organization: Organization
    callers: dict[CredentialKind, Headers] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    filled: int = 0
    written: int = 0

    @property
    def member(self) -> str:
        return f"admin@{self.canary(0)}"

    def canary(self, number: int) -> str:
        return f"cnry{self.number}q{number}"

    def fresh(self) -> str:
        """A canary for something new."""
        self.written += 1
        return f"{self.canary(self.filled)}w{self.written}"

    async def fill(self) -> None:
        """New records of every kind, with a canary in every text."""
        self.filled += 1
        mark = self.canary(self.filled)
        self.ids = await fill_organization(self.world, self.organization, self.member, mark)
        async with self.world.database.writing(self.organization.id) as session:
            own = self.organization.id
            for model in tables_of_organizations():
                unique = _unique(model)
                for column in texts(model):
                    if isinstance(column.type, Text) and column.nullable:
                        name = getattr(model, column.name)
                        blank = update(model).where(col(model.org_id) == own, col(name).is_(None))
                        text = _alone(model, mark) if column.name in unique else mark
                        await session.execute(blank.values({column.name: text}))
            for model, values in (
                (Activity, {"details": {"location": mark}}),
                (Competitor, {"aliases": [mark], "domains": [mark]}),
                (CXReportRevision, {"analysis": {"summary": mark}}),
                (Deal, {"competitors": [mark]}),
                (ResearchResult, {"factors": [{"name": mark, "score": 50, "weight": 1, "finding": mark}]}),
                # No two rows have the same: the identifier goes with the word.
                (SalesTarget, dict.fromkeys(("owner_id", "owner_key"), _alone(SalesTarget, mark))),
            ):
                of_own = update(model).where(col(model.org_id) == own)
                await session.execute(of_own.values(with_copies(model, values)))

    async def hear(self, url: str) -> None:
        """Have the organization's events told to this address."""
        webhook = Webhook(url=url, areas=["crm", "outreach", "admin"], cursor=0, created_by=self.member)
        watch = WebhookWatch(org_id=self.organization.id, webhook_id=webhook.id)
        await self.world.add(self.organization, webhook, watch)


async def new_side(world: World) -> Side:
    """An organization of its own, filled, with an administrator and a credential of every kind."""
    number = next(_numbers)
    canary = f"cnry{number}q0"
    organization = Organization(new_id(), f"org{canary}", f"Organization {canary}")
    await directory.create_organization(world.database, organization.name, organization.external_id, organization.id)
    side = Side(world, number, organization)
    await world.join(side.member, organization, role=Role.ADMIN)
    await side.fill()
    for kind in CredentialKind:
        side.callers[kind] = await world.headers(side.member, organization, kind)
    return side


@dataclass
class Watch:
    """Who owns which identifier, learned on the way; it says what in some bytes is not for the side that got them."""

    owners: dict[bytes, int] = field(default_factory=dict)

    def learn(self, side: Side, content: bytes = b"") -> None:
        """Identifiers that the side made, or that it was told of first."""
        for identifier in side.ids.values():
            if _UUID.fullmatch(identifier.encode()):
                self.owners.setdefault(identifier.encode(), side.number)
        for found in _UUID.findall(content):
            self.owners.setdefault(found, side.number)

    def strange(self, side: Side, content: bytes, *, sent: Iterable[str] = ()) -> set[bytes]:
        """Canaries of others in the bytes, and identifiers of others that the side did not name itself."""
        named = {text.encode() for text in sent}
        found = set()
        for layer in layers(content):
            lower = layer.lower()
            found |= {match[0] for match in _CANARY.finditer(lower) if int(match[1]) != side.number}
            found |= {
                identifier
                for identifier in _UUID.findall(lower)
                if identifier not in named and self.owners.get(identifier, side.number) != side.number
            }
        return found


def layers(content: bytes) -> Iterator[bytes]:
    """The bytes, and what they hold in base64, in a ZIP archive or deflated, as cursors, sheets and PDF files do."""
    yield content
    for run in _ENCODED.findall(content):
        yield urlsafe_b64decode(run[: len(run) // 4 * 4])
    if content.startswith(b"PK"):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    if content.startswith(b"%PDF"):
        for start in re.finditer(rb"stream\r?\n", content):
            try:
                yield zlib.decompressobj().decompress(content[start.end() :])
            except zlib.error:
                continue
