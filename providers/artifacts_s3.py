"""Artifacts in a store that speaks S3. Region, endpoint and credentials are the usual `AWS_*` variables."""

import os
from collections.abc import AsyncIterator
from datetime import timedelta

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from providers.artifacts import CHUNK, ArtifactMissing, Pieces, checked

_RETRY = timedelta(seconds=20)
_DEADLINE = timedelta(seconds=30)
PART_BYTES = 8 * 1024 * 1024


class ObjectStore:
    """A bucket, or what lies below a prefix of it."""

    def __init__(self, address: str) -> None:
        endpoint = os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""
        self._store = S3Store.from_url(
            address,
            disable_bulk_delete=True,  # one object at a time goes by a plain DELETE, which every store knows
            # Whoever names an endpoint without encryption means it; the default endpoints all have it.
            client_options={"allow_http": endpoint.startswith("http://"), "timeout": _DEADLINE},
            retry_config={"max_retries": 3, "retry_timeout": _RETRY},
        )

    async def check(self) -> None:
        """Ask for an object that nobody has made."""
        try:
            await obstore.head_async(self._store, "ready")
        except FileNotFoundError:
            return
        except BaseError as error:
            raise OSError("the artifact store did not answer") from error

    async def put(self, name: str, data: bytes) -> None:
        """Store the object in one request, which the store takes whole or not at all."""
        try:
            await obstore.put_async(self._store, checked(name), data, use_multipart=False)
        except BaseError as error:
            raise OSError("the artifact store refused a file") from error

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """A small object in one request; of a larger one its parts, which are an object once all of them are there."""
        first: list[bytes] = []
        size = 0
        async for piece in pieces:
            first.append(piece)
            size += len(piece)
            if size > PART_BYTES:
                break
        else:
            await self.put(name, b"".join(first))
            return

        broken: BaseException | None = None

        async def every() -> AsyncIterator[bytes]:
            nonlocal broken
            for piece in first:
                yield piece
            try:
                async for piece in pieces:
                    yield piece
            except BaseException as error:
                broken = error
                raise

        try:
            await obstore.put_async(
                self._store, checked(name), every(), use_multipart=True, chunk_size=PART_BYTES, max_concurrency=2
            )
        except Exception as error:
            if broken is not None:  # which the library puts into words of its own
                raise broken from None
            raise OSError("the artifact store refused a file") from error

    async def open(self, name: str, start: int, length: int) -> Pieces:
        try:
            found = await obstore.get_async(
                self._store, checked(name), options={"range": (start, start + length)} if length else None
            )
        except FileNotFoundError:
            raise ArtifactMissing(name) from None
        except BaseError as error:
            raise OSError("the artifact store did not answer") from error
        return _ObjectPieces(found, length)

    async def delete(self, name: str) -> None:
        try:
            await obstore.delete_async(self._store, checked(name))
        except FileNotFoundError:
            return
        except BaseError as error:
            raise OSError("the artifact store did not answer") from error


class _ObjectPieces:
    def __init__(self, found: "obstore.GetResult", length: int) -> None:
        self._found: obstore.GetResult | None = found
        self._length = length

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._found is None or not self._length:
            return
        try:
            async for piece in self._found.stream(min_chunk_size=CHUNK):
                yield bytes(piece)
        except BaseError as error:
            raise OSError("the artifact store broke off") from error

    async def aclose(self) -> None:
        """Drop the answer, and with it its connection."""
        self._found = None
