"""Takes bytes into the store: noted before they are written, so that nothing lies there for good that no row names."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StrictStr, WithJsonSchema

from contract.errors import Unavailable
from contract.http_errors import TooLarge
from contract.limits import (
    FILE_NAME_MAX,
    LEFTOVER_HOURS,
    ONE_REQUEST_FILE_MAX_BYTES,
)
from contract.scopes import ScopeGroup
from resolvers.shared.access import Rule
from resolvers.shared.context import Context
from resolvers.shared.inputs import shown, storable, trimmed
from resolvers.shared.measured import Measured
from storage.base import new_id, now
from storage.queries import files as statements

_SHA256 = re.compile(r"[0-9a-f]{64}")


def _without_path(name: object) -> object:
    """Keep what follows the last slash: programs send the folders that a file came from (decision 390)."""
    return name[max(name.rfind("/"), name.rfind("\\")) + 1 :] if isinstance(name, str) else name


def _sha256(text: str) -> str:
    lower = text.strip().lower()
    if not _SHA256.fullmatch(lower):
        raise ValueError("must be a SHA-256 in hexadecimal")
    return lower


FileName = Annotated[
    str, trimmed(FILE_NAME_MAX), AfterValidator(storable), AfterValidator(shown), BeforeValidator(_without_path)
]
Sha256 = Annotated[
    StrictStr,
    AfterValidator(_sha256),
    WithJsonSchema({"type": "string", "pattern": "^[0-9A-Fa-f]{64}$"}),
]


@dataclass(frozen=True, slots=True)
class Received:
    """A file that is in the store, and that no row names yet."""

    storage_name: str
    bytes: int
    sha256: str
    content_type: str


def new_name(ctx: Context) -> str:
    """A name in the store that nothing has."""
    return f"{ctx.org_id}/{new_id()}"


async def announce(ctx: Context, *names: str) -> None:
    """Note that bytes of these names may come to lie in the store."""
    async with ctx.services.database.writing(ctx.org_id) as session:
        await statements.note_leftovers(session, names, now() + timedelta(hours=LEFTOVER_HOURS))


async def receive_file(ctx: Context, pieces: AsyncIterator[bytes], declared: str | None) -> Received:
    """Store a file that comes in one request. Raises TooLarge, Unavailable, and what reading its pieces raises."""
    Rule(ScopeGroup.CRM_MANAGE).enforce(ctx.principal)
    name, measured = new_name(ctx), Measured()
    most = min(ONE_REQUEST_FILE_MAX_BYTES, ctx.services.files.one)

    async def looked_at() -> AsyncIterator[bytes]:
        async for piece in pieces:
            measured.add(piece)
            if measured.bytes > most:
                raise TooLarge(f"The file is larger than {most} bytes; send it in parts to /files/uploads")
            yield piece

    await announce(ctx, name)
    try:
        await ctx.services.artifacts.put_stream(name, looked_at())
    except OSError as error:
        raise Unavailable() from error
    return Received(name, measured.bytes, measured.sha256, measured.kind(declared))


async def give_up(ctx: Context, *names: str) -> None:
    """Have what was stored removed soon: nothing will name it."""
    async with ctx.services.database.writing(ctx.org_id) as session:
        await statements.hasten_leftovers(session, names)
