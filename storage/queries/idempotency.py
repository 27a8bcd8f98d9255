"""Statements on idempotency keys: claim one in the transaction of the business, and find what it gave.

Sessions of an organization and of the directory will do; each sees the keys of its own side.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Executable, Text, bindparam, case, delete, select, update
from sqlmodel import col

from storage.expressions import AnyColumn, AnySelect
from storage.joined_rows import WrittenRow
from storage.queries.records import insert_missing
from storage.tables import IdempotencyKey
from storage.tenancy.sessions import TenantSession

_BATCH = 1_000


async def find(session: TenantSession, family: str, key_id: str) -> Sequence[WrittenRow]:
    """The rows whose ids begin with the family's digits and a colon, as committed (a session of the directory).

    What a write gave comes with the one row that is asked for; of the others only whether it is there, as `settled`.
    """
    return await session.fetch("idempotency_key", _found, key_id=key_id, begin=f"{family}:", end=f"{family};")


def _found() -> AnySelect:
    key_id, begin, end = (bindparam(name, type_=Text) for name in ("key_id", "begin", "end"))
    is_it = col(IdempotencyKey.id) == key_id
    columns: tuple[AnyColumn, ...] = (
        col(IdempotencyKey.id),
        col(IdempotencyKey.fingerprint),
        col(IdempotencyKey.leased_until),
        col(IdempotencyKey.expires_at),
        col(IdempotencyKey.result).is_not(None).label("settled"),
        case((is_it, col(IdempotencyKey.result))).label("result"),
    )
    return select(*columns).where(col(IdempotencyKey.id) >= begin, col(IdempotencyKey.id) < end)


async def kept_answer(session: TenantSession, key_id: str) -> bytes | None:
    """Reads the answer that the client got; None where nothing is kept (a session of the directory)."""
    rows = await session.fetch("idempotency_answer", _answer, key_id=key_id)
    return rows[0].answer if rows else None


def _answer() -> AnySelect:
    return select(col(IdempotencyKey.answer)).where(col(IdempotencyKey.id) == bindparam("key_id", type_=Text))


async def claim(session: TenantSession, key: IdempotencyKey, moment: datetime) -> bool:
    """Take the key for this transaction, also from an attempt whose lease ran out, or after it has expired.

    Waits for a transaction that is just claiming it. False where another write has it.
    """
    if await insert_missing(session, key):
        return True
    unfinished = col(IdempotencyKey.result).is_(None) & (col(IdempotencyKey.leased_until) <= moment)
    free = unfinished | (col(IdempotencyKey.expires_at) <= moment)
    names = ("fingerprint", "holder", "leased_until", "expires_at", "result", "answer")
    taken = update(IdempotencyKey).where(*_one(session, key.id), free).values({n: getattr(key, n) for n in names})
    return await _changes(session, taken)


async def settle(session: TenantSession, key_id: str, holder: str, result: bytes) -> bool:
    """Keep what the write gave. False where another attempt has taken the key over."""
    held = (*_one(session, key_id), col(IdempotencyKey.holder) == holder)
    return await _changes(session, update(IdempotencyKey).where(*held).values(result=result))


async def keep_answer(session: TenantSession, key_id: str, answer: bytes) -> None:
    """Keep what the client was told."""
    await _changes(session, update(IdempotencyKey).where(*_one(session, key_id)).values(answer=answer))


async def release(session: TenantSession, key_id: str, holder: str) -> None:
    """Give a key back whose write failed."""
    await session.execute(delete(IdempotencyKey).where(*_one(session, key_id), col(IdempotencyKey.holder) == holder))


async def expired(session: TenantSession, moment: datetime) -> Sequence[str]:
    """A batch of the keys that have expired (a session of the directory)."""
    statement = select(col(IdempotencyKey.id)).where(col(IdempotencyKey.expires_at) <= moment).limit(_BATCH)
    return [row.id for row in await session.rows(statement)]


async def forget(session: TenantSession, ids: Sequence[str], moment: datetime) -> None:
    """Delete those of them that have expired; one may have been taken anew (a session of the directory)."""
    gone = (col(IdempotencyKey.id).in_(ids), col(IdempotencyKey.expires_at) <= moment)
    await session.execute(delete(IdempotencyKey).where(*gone))


def _one(session: TenantSession, key_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    own = col(IdempotencyKey.org_id)
    return (col(IdempotencyKey.id) == key_id, own == session.org_id if session.org_id else own.is_(None))


async def _changes(session: TenantSession, statement: Executable) -> bool:
    return bool(await session.execute(statement))
