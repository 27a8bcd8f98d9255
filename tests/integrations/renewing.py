"""Ten runs at once of a process of their own, each of which asks for a token: what each got, as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial

from identity.secrets import Pepper
from jobs.sync.refresh import Renewal
from providers.accounts.google import GoogleAccounts
from providers.accounts.ports import AccountError
from storage.database import Database
from tests.support.google import CLIENT_ID, CLIENT_SECRET


async def main() -> None:
    """Ask, and tell."""
    asked = json.loads(sys.stdin.readline())
    database = Database(asked["database"])
    google = GoogleAccounts(CLIENT_ID, CLIENT_SECRET, asked["google"])
    renewal = Renewal(
        partial(database.reading, asked["org_id"]),
        partial(database.writing, asked["org_id"]),
        Pepper(bytes.fromhex(asked["pepper"])),
        google.oauth,
        asked["id"],
    )

    async def one() -> str:
        try:
            return await renewal.token()
        except AccountError as error:
            return error.code.value

    print("ready", flush=True)
    sys.stdin.readline()
    found = await asyncio.gather(*(one() for _ in range(10)))
    print(json.dumps(found), flush=True)
    await google.close()
    await database.close()


if __name__ == "__main__":
    asyncio.run(main())
