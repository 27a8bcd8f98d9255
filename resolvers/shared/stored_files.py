"""Reads the bytes of files that whoever asks may have."""

from dataclasses import dataclass

from contract.errors import NotFound, Unavailable
from providers.artifacts import ArtifactMissing, Artifacts, Pieces


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Holds what is told of a file whose bytes may be read."""

    file_name: str
    content_type: str
    size: int
    sha256: str
    _storage_name: str
    _store: Artifacts

    async def read(self, start: int, length: int) -> Pieces:
        """Read the bytes from there on, which the caller closes. Raises NotFound, or Unavailable."""
        try:
            return await self._store.open(self._storage_name, start, length)
        except ArtifactMissing:
            raise NotFound() from None
        except OSError as error:
            raise Unavailable() from error
