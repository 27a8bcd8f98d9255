"""Ten runs at once of a process of their own, of each of some connections: which tokens they got, as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial

from contract.integrations import IntegrationProvider
from gateway.account_providers import accounts_of
from gateway.settings import Settings
from identity.secrets import Pepper
from jobs.sync.refresh import Renewal
from providers.accounts.ports import AccountError
from providers.calls import Calls
from storage.database import Database


async def main() -> None:
    """Ask, and tell: for one connection after the other, each once the word is given."""
    asked = json.loads(sys.stdin.readline())
    database = Database(asked["database"])
    accounts = accounts_of(Settings(_env_file=None, **asked["settings"]), Calls())
    found = []
    for provider, identifier in asked["connections"]:
        renewal = Renewal(
            partial(database.reading, asked["org_id"]),
            partial(database.writing, asked["org_id"]),
            Pepper(bytes.fromhex(asked["pepper"])),
            accounts.providers[IntegrationProvider(provider)].oauth,
            identifier,
        )
        print("ready", flush=True)
        sys.stdin.readline()
        found.append(await asyncio.gather(*(_token(renewal) for _ in range(10))))
    print(json.dumps(found), flush=True)
    await accounts.close()
    await database.close()


async def _token(renewal: Renewal) -> str:
    try:
        return await renewal.token()
    except AccountError as error:
        return error.code.value


if __name__ == "__main__":
    asyncio.run(main())
