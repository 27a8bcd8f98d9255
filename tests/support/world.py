"""Two organizations with members of each role, real services over a database, and the headers to call them with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from typing import Any

from joserfc.jwk import ECKey
from sqlalchemy import select
from sqlmodel import SQLModel, col

from contract.scopes import Role
from contract.vocabulary import CredentialKind, TaggedKind
from identity import secrets
from identity.authenticate import Identity
from identity.budget import Metered, sizes_of
from identity.pairs import MemoryPairs
from identity.principal import Organization
from identity.tokens import EmbeddedIssuer
from providers.artifacts import ArtifactMissing, Pieces, checked
from providers.notifications import Notification
from resolvers.shared.context import Context, Services
from resolvers.shared.tagging import put_names
from storage.base import Tenant, new_id
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.queries import artifacts, members
from storage.queries import organizations as directory
from storage.queries.tags import copy_names
from storage.tables import Artifact, Credential, Lead
from tests.support.founding import found

PEPPER = bytes(32)
Headers = dict[str, str]


@cache
def issuer() -> EmbeddedIssuer:
    """One for the whole run."""
    return EmbeddedIssuer(ECKey.generate_key("P-256"), "urn:test", "urn:test")


@dataclass
class Recorder:
    """A workflow actor that keeps what it is handed."""

    handed: list[Notification] = field(default_factory=list)

    def hand(self, notification: Notification) -> None:
        self.handed.append(notification)

    async def close(self) -> None:
        pass


@dataclass
class Shelf:
    """An artifact store in memory; `away` makes it one that cannot be reached."""

    files: dict[str, bytes] = field(default_factory=dict)
    away: bool = False
    opened: int = 0
    closed: int = 0

    async def put(self, name: str, data: bytes) -> None:
        self.files[checked(name)] = data

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        self.files[checked(name)] = b"".join([piece async for piece in pieces])

    async def open(self, name: str, start: int, length: int) -> Pieces:
        if self.away:
            raise OSError("away")
        if name not in self.files:
            raise ArtifactMissing(name)
        self.opened += 1
        return _Shelved(self, self.files[name][start : start + length])

    async def delete(self, name: str) -> None:
        self.files.pop(checked(name), None)


@dataclass
class _Shelved:
    shelf: Shelf
    data: bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.data), 7):
            yield self.data[start : start + 7]

    async def aclose(self) -> None:
        self.shelf.closed += 1


@dataclass
class World:
    """The organizations `one` and `two`. In each there is a member per role: `viewer@one` and so on."""

    database: Database
    services: Services
    notifications: Recorder
    shelf: Shelf
    one: Organization
    two: Organization

    async def join(
        self, subject: str, organization: Organization, *, role: Role | None = None, scopes: Iterable[str] | None = None
    ) -> str:
        """Make someone a member with the role's scopes, or with exactly these; the subject."""
        granted = scopes if scopes is not None else (role.scopes if role else ())
        name, email = _called(subject)
        async with self.database.directory(writing=True) as session:
            await directory.put_member(session, subject, name=name, email=email)
        async with self.database.writing(organization.id) as session:
            await members.put_membership(
                session, subject, role=role, scopes=[str(scope) for scope in granted], name=name, email=email
            )
        return subject

    async def leave(self, subject: str, organization: Organization) -> None:
        """End a membership."""
        async with self.database.writing(organization.id) as session:
            await members.remove_membership(session, subject)

    def session(self, subject: str, organization: Organization | None) -> Headers:
        """A session token; its organization is the active one."""
        external = None if organization is None else organization.external_id
        minted = self.services.identity.embedded.mint(subject, organization=external, scopes=(), ttl=3600)
        return bearer(minted)

    async def credential(self, subject: str, organization: Organization | None, **values: Any) -> str:
        """The text of a new organization key, or without an organization of a user token."""
        minted = secrets.mint("pat" if organization is None else "ak")
        kind = CredentialKind.USER_TOKEN if organization is None else CredentialKind.ORGANIZATION_KEY
        row = {
            "kind": kind.value,
            "key_id": minted.key_id,
            "secret_hash": secrets.stored(minted.secret, self.services.identity.pepper),
            "hint": minted.hint,
            "name": f"made for {subject}",
            "org_id": None if organization is None else organization.id,
            "owner_subject": subject,
        }
        async with self.database.directory(writing=True) as session:
            await session.insert(Credential(**(row | values)))
        return minted.text

    async def headers(
        self, subject: str, organization: Organization | None, kind: CredentialKind = CredentialKind.SESSION
    ) -> Headers:
        """What makes a request one of this member in this organization, by this kind of credential."""
        if kind is CredentialKind.SESSION:
            return self.session(subject, organization)
        if kind is CredentialKind.ORGANIZATION_KEY:
            return bearer(await self.credential(subject, organization))
        chosen = {} if organization is None else {"X-Service-Org": organization.external_id}
        return bearer(await self.credential(subject, None)) | chosen

    async def context(self, subject: str, organization: Organization | None) -> Context:
        """What a resolver gets for a request of this member."""
        principal = await self.services.identity.authenticate(
            self.session(subject, organization)["Authorization"], None
        )
        return Context(self.services, principal, new_id())

    async def add(self, organization: Organization, *records: Any) -> None:
        """Insert rows, each after the one before, so that it can refer to it."""
        async with self.database.writing(organization.id) as session:
            for record in records:
                await session.insert(record)

    async def tag(self, organization: Organization, *leads: Lead) -> None:
        """Make tags of the texts that the leads were inserted with, as a capture does."""
        async with self.database.writing(organization.id) as session:
            for lead in leads:  # each may have tags of those before it
                await put_names(session, TaggedKind.LEAD, lead.id, lead.tags)
            await copy_names(session, col(Lead.id).in_([lead.id for lead in leads]))

    async def publish(
        self,
        organization: Organization,
        data: bytes,
        *,
        name: str = "Report.pdf",
        revision: int = 1,
        subject: str | None = None,
    ) -> str:
        """Make a file of these bytes public; its key."""
        artifact = Artifact(
            subject_id=subject or new_id(),
            kind="PDF",
            revision=revision,
            storage_name=f"{organization.id}/{new_id()}.pdf",
            file_name=name,
            content_type="application/pdf",
            bytes=len(data),
            sha256=sha256(data).hexdigest(),
        )
        await self.services.artifacts.put(artifact.storage_name, data)
        async with self.database.writing(organization.id) as session:
            [key] = await artifacts.publish(session, artifact)
        return key

    async def dump(self, *organizations: Organization) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table, without when a credential was last used: what a refusal must not change.

        Of the organizations' tables those of the two, or of these.
        """
        content: dict[str, list[tuple[Any, ...]]] = {}
        for mapper in sorted(SQLModel._sa_registry.mappers, key=lambda mapper: str(mapper.local_table)):
            model = mapper.class_
            columns = [getattr(model, c.key) for c in mapper.column_attrs if c.key != "last_used_at"]
            rows: list[tuple[Any, ...]] = []
            if issubclass(model, Tenant):
                for organization in organizations or (self.one, self.two):
                    async with self.database.reading(organization.id) as session:
                        found = await session.rows(select(*columns).where(model.org_id == organization.id))
                    rows += [tuple(row) for row in found]
            else:
                async with self.database.directory() as session:
                    rows = [tuple(row) for row in await session.rows(select(*columns))]
            content[str(mapper.local_table)] = sorted(rows, key=repr)
        return content


def _called(subject: str) -> tuple[str, str]:
    """The name and the e-mail address of a subject."""
    return f"Name of {subject}", f"{subject}@example.com"


def bearer(token: str) -> Headers:
    """The header of a credential."""
    return {"Authorization": f"Bearer {token}"}


async def new_world(
    database: Database, services: Services, recorder: Recorder | None = None, shelf: Shelf | None = None
) -> World:
    """The world over an empty migrated database; these services stay the caller's.

    Where there are several servers, the second organization lies on another than the directory's.
    """
    organizations = [Organization(new_id(), f"org_{name}", f"Organization {name}") for name in ("one", "two")]
    clusters = [None, None if database.clusters is None else next(iter(database.clusters.others))]
    for organization, cluster in zip(organizations, clusters, strict=True):
        name = organization.external_id.removeprefix("org_")
        people = [(role, subject, *_called(subject)) for role in Role for subject in (f"{role.value}@{name}",)]
        await found(database, organization, people, cluster)
    return World(database, services, recorder or Recorder(), shelf or Shelf(), *organizations)


@asynccontextmanager
async def open_world(database: Database, services: Services | None = None) -> AsyncIterator[World]:
    """The world over a fresh migrated database, which stays the caller's to close, with these services or its own."""
    recorder, shelf = Recorder(), Shelf()
    services = services or Services(
        database,
        Identity(database, issuer(), PEPPER),
        recorder,
        shelf,
        ChangeFeed(database),
        budget=Metered(MemoryPairs(sizes_of())),
    )
    yield await new_world(database, services, recorder, shelf)
    await services.children.close()
    await services.identity.close()
