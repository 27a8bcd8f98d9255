"""Public files, read by whoever knows their key (specification, part 1; decision 59)."""

import re
from dataclasses import dataclass

from contract.errors import NotFound, Unavailable
from providers.artifacts import ArtifactMissing, Artifacts, Pieces
from resolvers.shared.context import Context
from storage.queries import artifacts

_KEY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file that is public."""

    file_name: str
    content_type: str
    size: int
    sha256: str
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


async def public_file(ctx: Context, key: str) -> PublicFile:
    """The file of the key, whoever asks. Raises NotFound for any other key."""
    if _KEY.fullmatch(key) is None:
        raise NotFound()
    async with ctx.services.database.directory() as session:
        found = await artifacts.medium(session, key)
    if found is None:
        raise NotFound()
    return PublicFile(
        file_name=found.file_name,
        content_type=found.content_type,
        size=found.bytes,
        sha256=found.sha256,
        _storage_name=found.storage_name,
        _store=ctx.services.artifacts,
    )
