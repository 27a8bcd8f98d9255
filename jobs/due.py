"""Does what organizations have due: each for itself, so that what goes wrong with one's is nobody else's trouble."""

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

from contract.error_origin import origin_of
from storage.base import now
from storage.clusters import found_on_servers
from storage.database import Database
from storage.queries.records import lock_organization
from storage.queries.watches import Watch, organizations_to_look_at, put_off

_log = logging.getLogger(__name__)
_AFTER_TROUBLE = timedelta(minutes=1)


async def do_due(database: Database, table: Watch, work: Callable[[str], Awaitable[None]]) -> None:
    """Do the work for each organization that may have something due; a read alone where none has.

    Where it fails, a line says so, the organization is looked at again a minute later, and the next one follows
    (decision 993). Raises where the database itself is away: that cannot be noted either.
    """
    found = await found_on_servers(database, lambda session: organizations_to_look_at(session, table, now()))
    for org_id in found:  # transactions of each organization's own, as everything is
        try:
            await work(org_id)
        except Exception as error:
            async with database.writing(org_id) as session:
                await lock_organization(session)
                await put_off(session, table, now() + _AFTER_TROUBLE)
            _log.error(
                "what is due could not be done; it is tried again organization=%s of=%s type=%s at=%s",
                org_id,
                str(table.__tablename__).removesuffix("_watches"),
                type(error).__name__,
                origin_of(error),
            )
