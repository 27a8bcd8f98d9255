"""How long one operation may take, whichever door it came by (decision 87)."""

import asyncio
from types import TracebackType

from contract.errors import TimedOut
from contract.limits import REQUEST_SECONDS


class Deadline:
    """Ends what runs in it when the time is over; a transaction is rolled back then. Raises TimedOut at its end."""

    __slots__ = ("_limit",)

    async def __aenter__(self) -> None:
        """Begin to count."""
        self._limit = asyncio.timeout(REQUEST_SECONDS)
        await self._limit.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting."""
        try:
            await self._limit.__aexit__(kind, error, trace)
        except TimeoutError as late:
            raise TimedOut() from late
