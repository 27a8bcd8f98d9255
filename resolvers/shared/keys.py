"""Holds the keys that records have in other systems to one record each (decision 410)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from contract.errors import Duplicate
from storage.base import Record
from storage.db_errors import is_duplicate
from storage.queries.external_keys import ids_by_key
from storage.tenancy.sessions import TenantSession

KEY = "external_key"
TAKEN = "is that of another record"


async def check_key(
    session: TenantSession, model: type[Record], fields: Mapping[str, object], own: str | None = None
) -> None:
    """Raise Duplicate where the given key leads to another record than this one."""
    key = fields.get(KEY)
    if isinstance(key, str) and (await ids_by_key(session, model, [key])).get(key) not in (None, own):
        raise _taken()


@contextmanager
def of_one_record(fields: Mapping[str, object]) -> Iterator[None]:
    """While a record with these fields is written. Raises Duplicate where another one took its key meanwhile."""
    try:
        yield
    except Exception as error:
        if fields.get(KEY) is not None and is_duplicate(error):
            raise _taken() from None
        raise


def _taken() -> Duplicate:
    return Duplicate(f"The key {TAKEN}", field=("input", KEY))
