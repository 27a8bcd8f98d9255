"""The bytes of files: for who may read them, and for whoever has a link that somebody signed (decision 393)."""

import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from unicodedata import category

from pydantic import Field, StrictBool, StrictInt

from contract.errors import Expired, InvalidState, NotFound, Unavailable
from contract.limits import FILE_LINK_SECONDS, FILE_LINK_SECONDS_LEAST, FILE_LINK_SECONDS_MAX
from contract.scopes import ScopeGroup
from providers.artifacts import ArtifactMissing, Artifacts, Pieces
from providers.content_types import SHOWN
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.shared.lists import may_read
from storage.base import as_uuid, now
from storage.tables import File

SIGNED = "/files/signed/"
_VERSION = "v1"
_TOKEN = re.compile(r"v1\.([0-9a-f]{32})\.([0-9a-f]{32})\.([0-9]{1,12})\.([01])\.([A-Za-z0-9_-]{43})", re.ASCII)


class LinkAsked(Input):
    """For how long a link works, and whether it shows the file in place of saving it."""

    ttl_seconds: Annotated[StrictInt, Field(ge=FILE_LINK_SECONDS_LEAST, le=FILE_LINK_SECONDS_MAX)] = FILE_LINK_SECONDS
    inline: StrictBool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A link, and when it ends."""

    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Content:
    """A file whose bytes may be read."""

    file_name: str
    content_type: str
    size: int
    sha256: str
    may_be_shown: bool
    _storage_name: str
    _store: Artifacts

    async def read(self, start: int, length: int) -> Pieces:
        """The bytes from there on, which the caller closes. Raises NotFound, or Unavailable."""
        try:
            return await self._store.open(self._storage_name, start, length)
        except ArtifactMissing:
            raise NotFound() from None
        except OSError as error:
            raise Unavailable() from error


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
    said = [_VERSION, *(i.replace("-", "") for i in (ctx.org_id, file.id)), str(int(ends.timestamp()))]
    text = ".".join([*said, "1" if input.inline else "0"])
    return Link(f"{ctx.services.public_url}{SIGNED}{text}.{_signature(ctx, text)}", ends)


async def signed_file(ctx: Context, token: str) -> tuple[Content, bool]:
    """The content that a link leads to, and whether it is to be shown, whoever asks.

    Raises NotFound for what was not signed here and for a file that is in the trash or gone, Expired.
    """
    found = _TOKEN.fullmatch(token)
    text, _, signature = token.rpartition(".")
    if found is None or not hmac.compare_digest(signature, _signature(ctx, text)):
        raise NotFound()
    org_id, file_id = as_uuid(found[1]), as_uuid(found[2])
    if datetime.fromtimestamp(int(found[3]), UTC) <= now():
        raise Expired("The link has expired")
    file = None if org_id is None or file_id is None else await _file(ctx, org_id, file_id)
    if file is None or file.trashed_at is not None:
        raise NotFound()
    return _content(ctx, file), found[4] == "1"


def _signature(ctx: Context, text: str) -> str:
    """Sign the text by a key of today's pepper, which proves that it was made here."""
    key = hmac.digest(bytes(ctx.services.identity.pepper), b"links to files", "sha256")
    return urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")).rstrip(b"=").decode()


async def _file(ctx: Context, org_id: str, file_id: str) -> File | None:
    canonical = as_uuid(file_id)
    if canonical is None:
        return None
    async with ctx.services.database.reading(org_id) as session:
        return await session.find(File, id=canonical)


def _content(ctx: Context, file: File) -> Content:
    may_be_shown = file.content_type in SHOWN
    store = ctx.services.artifacts
    # Without what controls a terminal, or turns the order of the letters around it.
    name = "".join(c for c in file.name if category(c) not in ("Cc", "Cf"))
    return Content(name, file.content_type, file.bytes, file.sha256, may_be_shown, file.storage_name, store)
