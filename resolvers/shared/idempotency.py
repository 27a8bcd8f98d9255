"""A write under an Idempotency-Key is made once; who repeats it is told what it gave (decisions 110 to 114).

The first write of an operation begins one transaction, which takes the key and ends when the operation does, with its
result: all of it is committed, or nothing. Where two arrive at the same time, the second waits for the first.
"""

import asyncio
import hmac
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from inspect import signature
from typing import Any, TypeVar

from contract.errors import Conflict, KeyInUse, Path, Problem, Problems, Unavailable
from contract.limits import IDEMPOTENCY_HOURS, IDEMPOTENCY_KEY_MAX
from identity.encryption import seal, unseal
from resolvers.shared.context import Context, Key
from resolvers.shared.positions import note_position
from resolvers.shared.result_codec import canonical, dumps, loads
from storage.base import new_id, now
from storage.clusters import servers_of
from storage.database import Database
from storage.joined_rows import WrittenRow
from storage.queries import idempotency as statements
from storage.tables import IdempotencyKey
from storage.tenancy.sessions import TenantSession

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
KEPT = timedelta(hours=IDEMPOTENCY_HOURS)
LEASE = timedelta(seconds=60)
"""The time that a write in several transactions holds its key; one that ended without a word is taken over after it."""
WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.1
_FORM = re.compile(rf"[\x21-\x7e]{{1,{IDEMPOTENCY_KEY_MAX}}}", re.ASCII)
_PLACES = ("field", "stored")
"""Arguments that say where in the request another one stood, which differs between the surfaces, or where its bytes lie
by now, which differs between two that are the same."""

R = TypeVar("R")
Resolver = Callable[..., Awaitable[R]]


class _Taken(Exception):
    """Another request has the key."""


_AT: Path = ("header", HEADER)


def read_key(text: str, at: Path = _AT) -> Key:
    """The key that the request has there. Raises Problems for one of no acceptable form."""
    if _FORM.fullmatch(text) is None:
        words = f"{HEADER} must be 1 to {IDEMPOTENCY_KEY_MAX} visible ASCII characters"
        raise Problems([Problem(at, words, "idempotency_key")])
    return Key(text, at)


def key_needed() -> Problems:
    """Makes the refusal that a write that costs money answers without a key."""
    words = f"{HEADER} is required here, so that a repeated request never buys twice"
    return Problems([Problem(_AT, words, "missing")])


@dataclass(frozen=True, slots=True)
class _Claim:
    """A key in its scope, and what it is used for.

    `family` stands for the key and its scope, and begins the `id` of each write of that operation under it.
    """

    family: str
    id: str
    arguments: str
    question: str
    """The operation, where it has several writes; empty for a single one, which other requests may ask for too."""

    @property
    def fingerprint(self) -> str:
        """The text that has to be the same where the key is used again."""
        return f"{self.arguments}:{self.question}"


def _claim(
    ctx: Context, key: Key, name: str, resolver: Resolver[object], args: Iterable[object], kwargs: Mapping[str, object]
) -> _Claim:
    caller, pepper = ctx.caller, ctx.services.identity.pepper
    organization = None if caller.organization is None else caller.organization.id
    credential = caller.credential_id or f"session of {caller.subject}"
    family = digest(pepper, [organization, credential, name, key.text])
    bound = signature(resolver).bind(ctx, *args, **kwargs)
    bound.apply_defaults()
    _, *arguments = bound.arguments.items()
    compared = {n: value for n, value in arguments if n not in _PLACES}
    place = digest(pepper, [family, key.place])
    return _Claim(family, f"{family}:{place}", digest(pepper, compared), key.question.hex() if key.is_shared else "")


def digest(pepper: bytes, value: object) -> str:
    """The keyed hash that stands for a value of plain data."""
    return hmac.digest(pepper, b"idempotency:" + canonical(value), "sha256").hex()


async def once(
    ctx: Context, key: Key, name: str, resolver: Resolver[R], args: Iterable[object], kwargs: Mapping[str, object]
) -> R:
    """Runs the resolver once with these arguments, and returns its result, or that of the first time.

    Raises Problems where the key was used for something else, and KeyInUse where the first is still under way after a
    while. A resolver that raises leaves the key as if it had never been used.
    """
    key.uses += 1
    key.is_held = False
    claim = _claim(ctx, key, name, resolver, args, kwargs)
    async with _turn(ctx, key, claim):
        until = asyncio.get_running_loop().time() + WAIT_SECONDS
        while True:
            found = await _found(ctx, claim, key)
            if found is not None and found.result is not None:
                key.replayed += 1
                await note_position(ctx)
                key.first = key.first or (claim.id, None)
                earlier: R = _opened(ctx, claim, found.result)
                return earlier
            if found is None:
                attempt = _Attempt(ctx, key, claim)
                try:
                    result = await attempt.finish(await resolver(attempt, *args, **kwargs))
                except _Taken as taken:
                    await attempt.abandon(taken)
                    continue
                except BaseException as error:
                    await attempt.abandon(error)
                    raise
                ctx.forget()
                if attempt.position is not None:
                    ctx.reached(attempt.position)
                key.done += 1
                key.first = key.first or (claim.id, attempt.organization)
                return result
            if asyncio.get_running_loop().time() > until:
                key.is_held = True
                raise KeyInUse()
            await asyncio.sleep(_POLL_SECONDS)


def ask(ctx: Context, key: Key, question: object, *, is_shared: bool) -> None:
    """Tell the key which operation it came with, and whether that has several fields (decision 110)."""
    try:
        key.question = bytes.fromhex(digest(ctx.services.identity.pepper, question))
    except (TypeError, RecursionError):  # no text stands for it, so it is like no other one
        key.question = secrets.token_bytes(32)
    key.is_shared = is_shared


async def same_answer(ctx: Context, key: Key, answer: bytes) -> bytes:
    """The answer that the question had the first time, where the request did nothing; else this one, which is kept.

    What hangs on a result may have changed since, and who asks for something else of it is told how it is now.
    """
    if key.first is None:
        return answer
    pepper, (claim_id, organization) = ctx.services.identity.pepper, key.first
    name, asked = f"answer to {claim_id}", key.question
    if key.is_replayed:
        sealed = None
        for server in _servers(ctx):  # two at most
            async with server.directory() as session:
                sealed = sealed or await statements.kept_answer(session, claim_id)
        if sealed is not None:
            kept = unseal(pepper, name, sealed)
            if kept.startswith(asked):
                return kept[len(asked) :]
    if key.is_done:
        with suppress(Exception):  # what was written stands, and its result is kept already
            async with _transaction(ctx, organization) as session:
                await statements.keep_answer(session, claim_id, seal(pepper, name, asked + answer))
    return answer


def _transaction(ctx: Context, organization: str | None) -> AbstractAsyncContextManager[TenantSession]:
    database = ctx.services.database
    return database.directory(writing=True) if organization is None else database.writing(organization, ctx.reached)


@asynccontextmanager
async def _turn(ctx: Context, key: Key, claim: _Claim) -> AsyncIterator[None]:
    """One request at a time in this process: the others wait here, where they hold no connection."""
    lock = ctx.services.turns.setdefault(claim.family, asyncio.Lock())
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await lock.acquire()
    except TimeoutError:
        key.is_held = True
        raise KeyInUse() from None
    try:
        yield
    finally:
        lock.release()


def _servers(ctx: Context) -> Sequence[Database]:
    """The servers that may have a key of the caller's: a write on the directory leaves it there."""
    organization = ctx.caller.organization
    return servers_of(ctx.services.database, None if organization is None else organization.id)


async def _found(ctx: Context, claim: _Claim, key: Key) -> WrittenRow | None:
    """The key's row; None where the key is free. Raises Problems where it was used for something else."""
    rows: list[WrittenRow] = []
    for server in _servers(ctx):  # two at most
        async with server.directory() as session:
            rows += await statements.find(session, claim.family, claim.id)
    moment = now()
    held = [row for row in rows if row.expires_at > moment and (row.settled or row.leased_until > moment)]
    for row in held:
        if row.id == claim.id:
            if not hmac.compare_digest(row.fingerprint.partition(":")[0], claim.arguments):
                raise _reused(key, "with other arguments")
            return row
    if any(row.fingerprint.partition(":")[2] != claim.question for row in held):
        raise _reused(key, "by another request")
    return None


def _reused(key: Key, words: str) -> Problems:
    return Problems([Problem(key.at, f"{HEADER} was used before, {words}", "idempotency_key_reused")])


def _opened(ctx: Context, claim: _Claim, sealed: bytes) -> Any:  # Any: what the resolver gave the first time
    try:
        return loads(unseal(ctx.services.identity.pepper, claim.id, sealed))
    except (LookupError, TypeError):
        raise Conflict("What the request gave was kept by another version of the service") from None


class _Attempt(Context):
    """The context of one try: its transactions are parts of one, which has the claim in it."""

    def __init__(self, ctx: Context, key: Key, claim: _Claim) -> None:
        super().__init__(ctx.services, ctx.principal, ctx.request_id, via=ctx.via)
        self._claim = claim
        self._before = key.before
        self._holder = new_id()
        self._transaction: AbstractAsyncContextManager[TenantSession] | None = None
        self._session: TenantSession | None = None
        self.organization: str | None = None
        self._is_claimed = self._is_committed = False
        self._effects: list[Callable[[], None]] = []

    def reading(self) -> AbstractAsyncContextManager[TenantSession]:
        """Reads that see what this attempt has written."""
        return super().reading() if self._session is None else self.writing()

    def writing(self) -> AbstractAsyncContextManager[TenantSession]:
        """A part of the transaction."""
        return self._part(self.org_id)

    def directory(self) -> AbstractAsyncContextManager[TenantSession]:
        """A part of the transaction on the directory."""
        return self._part(None)

    def after_commit(self, effect: Callable[[], None]) -> None:
        """Have the effect wait for the commit."""
        self._effects.append(effect)

    async def commit(self) -> None:
        """Commit what was done so far, with the claim; what follows is a new transaction under the same claim."""
        transaction, self._transaction, self._session = self._transaction, None, None
        if transaction is not None:
            await transaction.__aexit__(None, None, None)
            self._is_committed = True
        effects, self._effects = self._effects, []
        for effect in effects:
            effect()

    async def finish(self, result: R) -> R:
        """Keep the result and commit; the result as those who repeat the request will have it."""
        text = dumps(result)
        caller = self.caller
        session = await self._begun(None if caller.organization is None else caller.organization.id)
        sealed = seal(self.services.identity.pepper, self._claim.id, text)
        if not await statements.settle(session, self._claim.id, self._holder, sealed):
            raise Unavailable()  # it took longer than its lease, and another request has taken over
        await self.commit()
        kept: R = loads(text)
        return kept

    async def abandon(self, error: BaseException) -> None:
        """Undo what is not committed, and give the key back. Raises what the database makes of the error, if it does"""
        transaction, self._transaction, self._session = self._transaction, None, None
        try:
            if transaction is not None:
                await transaction.__aexit__(type(error), error, error.__traceback__)
        finally:
            if self._is_committed and isinstance(error, Exception):
                with suppress(Exception):  # its lease will run out
                    async with _transaction(self, self.organization) as session:
                        await statements.release(session, self._claim.id, self._holder)

    @asynccontextmanager
    async def _part(self, organization: str | None) -> AsyncIterator[TenantSession]:
        session = await self._begun(organization)
        async with session.within():
            yield session

    async def _begun(self, organization: str | None) -> TenantSession:
        """The transaction, begun where it is not; the first of an attempt claims the key, or raises _Taken."""
        if self._session is None:
            if not self._is_claimed:
                self.organization = organization
            transaction = _transaction(self, self.organization)
            self._session = await transaction.__aenter__()
            self._transaction = transaction  # not before: what has not begun is not to be ended
            if not self._is_claimed:
                moment = now()
                key = IdempotencyKey(
                    id=self._claim.id,
                    org_id=self.organization,
                    fingerprint=self._claim.fingerprint,
                    holder=self._holder,
                    leased_until=moment + LEASE,
                    expires_at=moment + KEPT,
                )
                if not await statements.claim(self._session, key, moment):
                    raise _Taken
                self._is_claimed = True
                if self._before is not None:
                    await self._before(self._session)
        return self._session
