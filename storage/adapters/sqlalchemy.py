"""SQLAlchemy below its documented surface: its bridge to greenlets, its pool, and what it makes of a statement.

The pool is asked directly because handing a connection out through the library costs as much as a small statement.
tests/adapters/test_sqlalchemy.py says what each of these has to look like.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.engine import Dialect
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlalchemy.util import greenlet_spawn

__all__ = [
    "bind_processor",
    "bound_type",
    "driver_of",
    "greenlet_spawn",
    "idle_connections",
    "plain_type",
    "pool_of",
    "positions",
]


def pool_of(engine: AsyncEngine) -> Any:
    """The pool, whose `connect` gives a connection at once where one is idle, and else needs `greenlet_spawn`."""
    return engine.sync_engine.pool


def idle_connections(pool: Any) -> int:
    """Counts the connections that the pool has at hand."""
    idle: int = pool.checkedin()
    return idle


def driver_of(pooled: Any) -> Any:
    """The asynchronous driver's own connection in one of the pool, past SQLAlchemy's synchronous face of it."""
    return pooled.driver_connection


def positions(compiled: Any) -> Sequence[str]:
    """The names of the parameters of a compiled statement, in the order in which the driver takes them."""
    return compiled.positiontup or ()


def bound_type(compiled: Any, name: str) -> TypeEngine[Any]:
    """The type of a parameter of a compiled statement."""
    kind: TypeEngine[Any] = compiled.binds[name].type
    return kind


def plain_type(kind: Any) -> Any:
    """The type that a type of our own wraps; any other as it is."""
    return kind.impl_instance if isinstance(kind, TypeDecorator) else kind


def bind_processor(kind: Any, dialect: Dialect) -> Any:
    """Finds what makes of a value what the driver takes; None where that is the value itself."""
    return kind.dialect_impl(dialect).bind_processor(dialect)
