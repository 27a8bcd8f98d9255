"""The bytes of files: for who may read them, and for whoever has a link that somebody signed (decision 393)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from time import perf_counter
from typing import Annotated
from unicodedata import category

from pydantic import Field, StrictBool, StrictInt

from contract.errors import Expired, InvalidState, NotFound
from contract.limits import FILE_LINK_SECONDS, FILE_LINK_SECONDS_LEAST, FILE_LINK_SECONDS_MAX
from contract.scopes import ScopeGroup
from identity.file_links import read_signed, signed_path
from providers.artifacts import Pieces
from providers.content_types import SHOWN
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import ExactInput
from resolvers.shared.lists import may_read
from resolvers.shared.stored_files import StoredFile
from storage.base import as_uuid, now
from storage.tables import File


class LinkAsked(ExactInput):
    """For how long a link works, and whether it shows the file in place of saving it."""

    ttl_seconds: Annotated[StrictInt, Field(ge=FILE_LINK_SECONDS_LEAST, le=FILE_LINK_SECONDS_MAX)] = FILE_LINK_SECONDS
    inline: StrictBool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A link, and when it ends."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Content(StoredFile):
    """Holds what is told of a file of a record."""

    may_be_shown: bool
    _rest: Callable[[float], Awaitable[None]]

    async def read(self, start: int, length: int) -> Pieces:
        """The bytes from there on, with way made for others. Raises as the base class does."""
        return _Considerate(await StoredFile.read(self, start, length), self._rest)


class _Considerate:
    """Pieces that make way for other organizations: each takes a thread, the loop and the processor for a moment."""

    def __init__(self, pieces: Pieces, rest: Callable[[float], Awaitable[None]]) -> None:
        self._pieces = pieces
        self._rest = rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun = perf_counter()
        async for piece in self._pieces:
            read = perf_counter() - begun
            yield piece
            await self._rest(read)
            begun = perf_counter()

    async def aclose(self) -> None:
        await self._pieces.aclose()


@requires(ScopeGroup.CRM_READ)
async def read_file(ctx: Context, file_id: str) -> Content:
    """The content of a file, those in the trash included. Raises NotFound."""
    file = await _file(ctx, ctx.org_id, file_id)
    if file is None or not may_read(ctx, file.needs):
        raise NotFound()
    return _content(ctx, file)


@requires(ScopeGroup.CRM_READ, writes=True)
async def create_link(ctx: Context, file_id: str, input: LinkAsked) -> Link:
    """A link that works without a credential until it ends. Raises NotFound, and InvalidState for one in the trash."""
    file = await _file(ctx, ctx.org_id, file_id)
    if file is None or not may_read(ctx, file.needs):
        raise NotFound(field=("id",))
    if file.trashed_at is not None:
        raise InvalidState("The file is in the trash", field=("id",))
    ends = now().replace(microsecond=0) + timedelta(seconds=input.ttl_seconds)
    path = signed_path(ctx.services.identity.pepper, ctx.org_id, file.id, ends, is_inline=input.inline)
    return Link(f"{ctx.services.public_url}{path}", ends)


async def signed_file(ctx: Context, token: str) -> tuple[Content, bool]:
    """The content that a link leads to, and whether it is to be shown, whoever asks.

    Raises NotFound for what was not signed here and for a file that is in the trash or gone, Expired.
    """
    signed = read_signed(ctx.services.identity.pepper, token)
    if signed is None:
        raise NotFound()
    org_id, file_id = as_uuid(signed.org_id), as_uuid(signed.file_id)
    if signed.ends <= now():
        raise Expired("The link has expired")
    file = None if org_id is None or file_id is None else await _file(ctx, org_id, file_id)
    if file is None or file.trashed_at is not None:
        raise NotFound()
    return _content(ctx, file), signed.is_inline


async def _file(ctx: Context, org_id: str, file_id: str) -> File | None:
    canonical = as_uuid(file_id)
    if canonical is None:
        return None
    async with ctx.services.database.reading(org_id) as session:
        return await session.find(File, id=canonical)


def _content(ctx: Context, file: File) -> Content:
    # Without what controls a terminal, or turns the order of the letters around it.
    name = "".join(c for c in file.name if category(c) not in ("Cc", "Cf"))
    return Content(
        name,
        file.content_type,
        file.bytes,
        file.sha256,
        file.storage_name,
        ctx.services.artifacts,
        may_be_shown=file.content_type in SHOWN,
        _rest=partial(ctx.services.lanes.make_way, file.org_id),
    )
