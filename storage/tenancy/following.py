"""Sessions that a replica may answer (decision 996)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from storage.statements import AnyRow, AnyValue, CompiledStatement
from storage.tenancy.sessions import ReadingSession

if TYPE_CHECKING:
    from storage.database import Database


class FollowingSession(ReadingSession):
    """Reads that a replica may answer which has the organization's change log up to this number."""

    def __init__(self, database: "Database", organization: str | None, at_least: int) -> None:
        super().__init__(database, organization)
        self._at_least = at_least

    async def _send(self, prepared: CompiledStatement, parameters: list[AnyValue]) -> Sequence[AnyRow]:
        if (replicas := self._database.replicas) is not None:
            records = await replicas.read(self.org_id, prepared, parameters, self._at_least)
            if records is not None:
                return records
        return await super()._send(prepared, parameters)
