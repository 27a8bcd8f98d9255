"""Statements on the files of an organization and the keys under which they are public."""

from collections.abc import Iterable
from secrets import token_hex

from sqlalchemy import Text, bindparam, delete, select
from sqlmodel import col

from storage.expressions import AnyColumn, AnySelect
from storage.rows import MediumRow
from storage.tables import Artifact, Medium
from storage.tenancy.sessions import TenantSession


def new_key() -> str:
    """A key that cannot be guessed: 128 random bits."""
    return token_hex(16)


async def publish(session: TenantSession, *artifacts: Artifact) -> list[str]:
    """Insert the files' rows and make each of them public; their keys, in the same order.

    The bytes have to be in the store already. In one transaction all of them become public, or none.
    """
    await session.insert(*artifacts)
    media = [
        Medium(
            key=new_key(),
            org_id=session.org_id,
            artifact_id=artifact.id,
            storage_name=artifact.storage_name,
            file_name=artifact.file_name,
            content_type=artifact.content_type,
            bytes=artifact.bytes,
            sha256=artifact.sha256,
        )
        for artifact in artifacts
    ]
    await session.insert(*media)
    return [medium.key for medium in media]


async def remove_before(session: TenantSession, subject_id: str, revision: int) -> list[str]:
    """Remove the files of older revisions, which are public no longer; the names to be deleted from the store then."""
    found = await session.rows(
        delete(Artifact)
        .where(
            col(Artifact.org_id) == session.org_id,
            col(Artifact.subject_id) == subject_id,
            col(Artifact.revision) < revision,
        )
        .returning(col(Artifact.storage_name))
    )
    return [row.storage_name for row in found]


async def medium(session: TenantSession, key: str) -> MediumRow | None:
    """The public file of a key, whatever its organization: in a session of the directory. None for any other key."""
    rows = await session.fetch("medium", _medium, media_key=key)
    return rows[0] if rows else None


def _medium() -> AnySelect:
    columns: Iterable[AnyColumn] = (
        col(Medium.storage_name),
        col(Medium.file_name),
        col(Medium.content_type),
        col(Medium.bytes),
        col(Medium.sha256),
    )
    return select(*columns).where(col(Medium.key) == bindparam("media_key", type_=Text))
