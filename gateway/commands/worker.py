"""`worker`: only the job worker, any number of them beside any number of `serve --no-worker`."""

import asyncio
import signal

from gateway import logs
from gateway.commands.outcome import say, settings
from gateway.runtime import Runtime
from gateway.settings import Settings
from storage import migrate


def worker() -> None:
    """Run background jobs, without the HTTP service."""
    configuration = settings()
    logs.configure(configuration)
    asyncio.run(_work(configuration))


async def _work(configuration: Settings) -> None:
    await migrate.upgrade(configuration.database_url.get_secret_value())
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    runtime = Runtime(configuration)
    async with runtime.running(), runtime.working():
        say("Working on background jobs.")
        await ended.wait()
