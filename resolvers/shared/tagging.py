"""Gives records tags by their names; those that there are not are made (decision 241)."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field

from contract.errors import Path, Problem, Problems
from contract.limits import ORGANIZATION_TAGS_MAX, TAG_MAX, TAGS_MAX
from contract.normal_form import folded
from contract.vocabulary import TaggedKind
from resolvers.shared.inputs import shown, storable, trimmed
from storage.base import Record
from storage.new_rows import model_of, new_row
from storage.queries import tags as statements
from storage.tables import Tag, TagLink
from storage.tenancy.sessions import TenantSession

Name = Annotated[str, trimmed(TAG_MAX), AfterValidator(storable), AfterValidator(shown)]
Names = Annotated[list[Name], Field(max_length=TAGS_MAX)]

_AT: Path = ("input", "tags")
"""The path at which inputs name the tags of a record."""


async def tag_new(session: TenantSession, record: Record, names: Sequence[str]) -> None:
    """Give a record that this transaction has inserted its first tags (decision 246).

    Raises Problems where the organization has no room for them.
    """
    kind = statements.kind_of(model_of(record))
    if names and kind is not None:
        await _link(session, kind, record.id, await made(session, names, _AT))


async def put_names(session: TenantSession, kind: TaggedKind, record_id: str, names: Sequence[str]) -> list[str]:
    """Have a record these tags and no others; their names as the tags have them."""
    tags = await made(session, names, _AT)
    await statements.unlink(session, [record_id])
    await _link(session, kind, record_id, tags)
    return [tag.name for tag in tags.values()]


async def _link(session: TenantSession, kind: TaggedKind, record_id: str, tags: dict[str, Tag]) -> None:
    links = [
        new_row(TagLink, kind=kind.value, record_id=record_id, tag_id=tag.id, position=n)
        for n, tag in enumerate(tags.values())
    ]
    await statements.link(session, links)


async def made(session: TenantSession, names: Sequence[str], at: Path) -> dict[str, Tag]:
    """The tags of these names in their order, by what they fold to; those that there are not are made now.

    Raises Problems at this path where the organization has no room for them.
    """
    keys = list(dict.fromkeys(map(folded, names)))
    found: dict[str, Tag] = {}
    while missing := [key for key in keys if key not in found]:  # again only where another deleted one meanwhile
        found |= await statements.named(session, missing)
        if new := [name for name in names if folded(name) not in found]:
            await check_room(session, len(set(map(folded, new))), at)
            found |= await statements.make_missing(session, new)
    return {key: found[key] for key in keys}


async def check_room(session: TenantSession, more: int, at: Path) -> None:
    """Raise Problems at this path where the organization has no room for so many more tags."""
    if await statements.number(session) + more > ORGANIZATION_TAGS_MAX:
        raise Problems([Problem(at, f"there can be at most {ORGANIZATION_TAGS_MAX} tags", "too_long")])
