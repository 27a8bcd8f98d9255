"""Public files, read by whoever knows their key (specification, part 1; decision 59)."""

import re

from contract.errors import NotFound
from resolvers.shared.context import Context
from resolvers.shared.stored_files import StoredFile
from storage.queries import artifacts

_KEY = re.compile(r"[0-9a-f]{32}")


async def public_file(ctx: Context, key: str) -> StoredFile:
    """The file of the key, whoever asks. Raises NotFound for any other key."""
    if _KEY.fullmatch(key) is None:
        raise NotFound()
    found = None
    for server in ctx.services.database.servers:  # a key does not say where its organization lies
        if found is None:
            async with server.directory() as session:
                found = await artifacts.medium(session, key)
    if found is None:
        raise NotFound()
    return StoredFile(
        file_name=found.file_name,
        content_type=found.content_type,
        size=found.bytes,
        sha256=found.sha256,
        _storage_name=found.storage_name,
        _store=ctx.services.artifacts,
    )
