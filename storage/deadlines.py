"""Limits how long one statement may take: PostgreSQL ends it without help, SQLite is interrupted (decision 87)."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

from storage.adapters.aiosqlite import interrupt
from storage.adapters.sqlalchemy import driver_of

_TIMER = "crm_timer"


async def to_the_end(driver: Any, work: Coroutine[Any, Any, Any], seconds: float | None) -> Any:
    """Returns what a statement of SQLite's driver gives, interrupted after so many seconds, or with its caller.

    A cancelled caller waits until it has ended, since the driver's thread is busy with it until then.
    """
    task = asyncio.ensure_future(work)
    timer = asyncio.get_running_loop().call_later(seconds, interrupt, driver) if seconds else None
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        interrupt(driver)
        await asyncio.wait([task])
        task.exception()  # asked for, or else the loop would log it
        raise
    finally:
        if timer is not None:
            timer.cancel()


def watch(engine: Engine, seconds: float) -> None:
    """The same for the statements that SQLAlchemy sends to SQLite."""

    def begin(connection: Any, *_: Any) -> None:
        driver = driver_of(connection.connection)
        _stop(connection.info)
        connection.info[_TIMER] = asyncio.get_running_loop().call_later(seconds, interrupt, driver)

    def end(connection: Any, *_: Any) -> None:
        _stop(connection.info)

    def fail(context: Any) -> None:
        if context.connection is None or context.connection.invalidated:
            return
        _stop(context.connection.info)
        if isinstance(context.original_exception, asyncio.CancelledError):
            interrupt(driver_of(context.connection.connection))

    event.listen(engine, "before_cursor_execute", begin)
    event.listen(engine, "after_cursor_execute", end)
    event.listen(engine, "handle_error", fail)


def _stop(info: dict[str, Any]) -> None:
    timer = info.pop(_TIMER, None)
    if timer is not None:
        timer.cancel()
