"""Another look at callers finds out by their rows alone whether they stand as they did (decision 1196)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from sqlalchemy import Update, select, update
from sqlmodel import col

from contract.errors import GatewayError
from contract.login import TicketKind
from contract.scopes import Role
from identity import authenticate, exchange
from identity.authenticate import Identity
from identity.claims import Claims
from identity.login_grants import Asked, LoginGrants
from identity.logins import Logins, make_links
from identity.standing import Standing, unchanged
from identity.tokens import InvalidToken
from storage.base import now
from storage.tables import Credential, LoginGrant, Organization
from tests.support.world import World, bearer, issuer

WHO = "member@one"
Change = Callable[[World], Awaitable[object]]


@dataclass
class Provider:
    """An external issuer; it takes each text for the claims of the member of that name, while it has its key."""

    issuer: str = "urn:provider"
    has_key: bool = True
    ends_at: int = field(default_factory=lambda: int(time.time()) + 60)

    async def verify(self, token: str) -> Claims:
        found = self.known(token)
        if found is None:
            raise InvalidToken("not its own")
        return found

    def known(self, token: str) -> Claims | None:
        if not self.has_key or token.count(".") == 2:
            return None
        scopes = frozenset(str(scope) for scope in Role.MEMBER.scopes)
        return Claims(token, ("org_one",), scopes, f"Name of {token}", None, 1, self.ends_at, self.issuer)


async def _login(world: World) -> str:
    [link] = (await make_links(world.database, [WHO], TicketKind.LOGIN_LINK, now() + timedelta(seconds=30))).values()
    signed = await Logins(world.database, None).follow(link)
    assert signed is not None
    asked = Asked("board", "https://board.example/", "x" * 43)
    grants = LoginGrants(world.database, issuer(), None)
    await grants.code(signed.visitor, asked)
    async with world.database.directory() as session:
        grant_id = await session.scalar(select(LoginGrant.id))
    scopes = sorted(Role.MEMBER.scopes)
    return issuer().mint(WHO, organization="org_one", scopes=scopes, ttl=60, grant_id=grant_id)


async def _exchanged(world: World) -> str:
    text = await world.credential(WHO, None, expires_at=now() + timedelta(hours=1))
    return (await world.services.identity.exchange(text, "org_one")).access_token


async def _key(world: World) -> str:
    return await world.credential(WHO, world.one, expires_at=now() + timedelta(hours=1))


async def _token(world: World) -> str:
    return await world.credential(WHO, None, expires_at=now() + timedelta(hours=1))


async def _session(world: World) -> str:
    return world.session(WHO, world.one)["Authorization"].removeprefix("Bearer ")


async def _external(_: World) -> str:
    return WHO


KINDS = {
    "session": _session,
    "login": _login,
    "key": _key,
    "token": _token,
    "exchanged": _exchanged,
    "external": _external,
}


async def _changed(world: World, statement: Update) -> None:
    async with world.database.directory(writing=True) as session:
        await session.execute(statement)


async def _nothing(_: World) -> None:
    return None


async def _left(world: World) -> None:
    await world.leave(WHO, world.one)


async def _narrowed(world: World) -> None:
    await world.join(WHO, world.one, role=Role.VIEWER)


async def _joined(world: World) -> None:
    await world.join(WHO, world.two, role=Role.VIEWER)


async def _suspended(world: World) -> None:
    await _changed(world, update(Organization).where(col(Organization.id) == world.one.id).values(suspended_at=now()))


async def _revoked(world: World) -> None:
    await _changed(world, update(Credential).values(revoked_at=now()))


async def _used(world: World) -> None:
    await _changed(world, update(Credential).values(last_used_at=now() - timedelta(seconds=61)))


async def _logged_out(world: World) -> None:
    await _changed(world, update(LoginGrant).values(ended_at=now()))


CREDENTIALS = {"key", "token", "exchanged"}
CHANGES: dict[Change, set[str]] = {
    _nothing: set(),
    _left: set(KINDS),
    _narrowed: set(KINDS),
    _suspended: set(KINDS),
    _joined: set(KINDS) - {"key"},
    _revoked: CREDENTIALS,
    _used: CREDENTIALS,
    _logged_out: {"login"},
}
"""What may happen, and what does not stand by it as it did."""


Stood = tuple[Identity, tuple[str, str | None], Standing]
"""Who looks behind requests, a credential with the organization beside it, and what it stands for."""


async def _begun(world: World, kind: str) -> Stood:
    identity = world.services.identity.aside()
    identity.external = Provider() if kind == "external" else None
    named = "org_one" if kind == "token" else None
    credential = (bearer(await KINDS[kind](world))["Authorization"], named)
    for _ in range(2):  # of which the first notes the use
        standing = await identity.standing(*credential)
        await identity.close()
    return identity, credential, standing


async def _all(world: World) -> dict[str, Stood]:
    """One of each kind, once all have told of the member what they know."""
    begun = {kind: await _begun(world, kind) for kind in KINDS}
    return {
        kind: (identity, credential, await identity.standing(*credential))
        for kind, (identity, credential, _) in begun.items()
    }


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
async def test_who_stands_as_before(world: World, change: Change) -> None:
    stood = await _all(world)
    await change(world)
    same = await unchanged([before for _, _, before in stood.values()])
    assert {kind for kind, is_same in zip(stood, same, strict=True) if not is_same} == CHANGES[change]
    for kind, (identity, credential, before) in stood.items():
        if kind not in CHANGES[change]:
            assert (await identity.standing(*credential)).principal == before.principal
        elif change in (_left, _revoked, _suspended, _logged_out) and kind != "external":
            with pytest.raises(GatewayError):
                await identity.standing(*credential)


async def test_time_is_no_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ends of credentials and tokens, the minute after which a use is noted, and a provider's keys."""
    stood = await _all(world)

    async def others() -> set[str]:
        same = await unchanged([standing for _, _, standing in stood.values()])
        return {kind for kind, is_same in zip(stood, same, strict=True) if not is_same}

    assert await others() == set()
    minute, hour = (now() + timedelta(seconds=seconds) for seconds in (61, 3_601))
    with monkeypatch.context() as patched:
        patched.setattr(authenticate, "now", lambda: minute)
        assert await others() == {"key", "token"}
    with monkeypatch.context() as patched:
        patched.setattr(exchange, "now", lambda: hour)
        assert await others() == CREDENTIALS
    with monkeypatch.context() as patched:
        patched.setattr(world.services.identity.embedded, "_now", lambda: time.time() + 3_700)
        assert await others() == {"session", "login", "exchanged"}
    external = stood["external"][0].external
    assert isinstance(external, Provider)
    external.has_key = False
    assert await others() == {"external"}


async def test_many_cost_a_statement_for_each_kind_of_rows(world: World) -> None:
    statements: list[str] = []
    for number in (1, 10):
        identity, stood = world.services.identity.aside(), []
        for kind in ("session", "key", "token", "login") * number:
            _, credential, _ = await _begun(world, kind)
            stood.append(await identity.standing(*credential))
        await identity.close()
        world.database.observers.append(statements.append)
        assert await unchanged(stood) == [True] * len(stood)
        assert len(statements) == 3
        world.database.observers.clear()
        statements.clear()
    assert await unchanged([]) == []
