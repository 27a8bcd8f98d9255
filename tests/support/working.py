"""`crm-gateway` with kinds of work that only tests have; everything else is as it is run.

`diary` writes a line when it begins and another, with its success, when it ends `seconds` later.
"""

from __future__ import annotations

import asyncio
import os

from gateway.cli import main
from jobs.work import Run, work
from storage.tables import Account


@work("diary")
async def diary(run: Run, seconds: float) -> None:
    async with run.writing() as session:
        await session.insert(Account(name=f"began {os.getpid()}"))
    await asyncio.sleep(seconds)
    async with run.finishing() as session:
        await session.insert(Account(name=f"ended {os.getpid()}"))


if __name__ == "__main__":
    main()
