"""From two headers to the caller: what is believed, in which organization, and how soon it ends (specification 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from joserfc.jwk import ECKey
from sqlalchemy import select

from contract.errors import (
    GatewayError,
    OrganizationHeader,
    OrganizationMismatch,
    Unauthenticated,
    Unavailable,
)
from contract.scopes import Role, Scope
from contract.vocabulary import CredentialKind
from identity import authenticate, secrets
from identity.authenticate import Identity
from identity.tokens import EmbeddedIssuer
from storage.base import now
from storage.database import Database
from storage.queries import credentials as statements
from storage.tables import Credential
from tests.support.world import PEPPER, World, issuer

ADMIN, MEMBER, VIEWER = (
    frozenset(str(scope) for scope in role.scopes) for role in (Role.ADMIN, Role.MEMBER, Role.VIEWER)
)
KINDS = list(CredentialKind)


async def caller(world: World, headers: dict[str, str], **changed: str) -> object:
    headers = headers | changed
    return await world.services.identity.authenticate(headers.get("Authorization"), headers.get("X-Service-Org"))


async def test_a_key_acts_in_its_organization(world: World) -> None:
    headers = await world.headers("member@one", world.one, CredentialKind.ORGANIZATION_KEY)
    await world.join("member@one", world.two, role=Role.ADMIN)
    principal = await caller(world, headers)
    assert (principal.subject, principal.kind) == ("member@one", CredentialKind.ORGANIZATION_KEY)
    assert (principal.organization, principal.organizations) == (world.one, (world.one,))
    assert principal.scopes == MEMBER
    assert (principal.name, principal.email) == ("Name of member@one", "member@one@example.com")


async def test_a_key_takes_no_organization_header(world: World) -> None:
    headers = await world.headers("member@one", world.one, CredentialKind.ORGANIZATION_KEY)
    for named in ("org_one", "org_two", "nowhere"):
        with pytest.raises(OrganizationHeader, match=r"^X-Service-Org is not accepted with an organization key$"):
            await caller(world, headers, **{"X-Service-Org": named})


async def test_a_user_token_acts_where_the_header_says(world: World) -> None:
    await world.join("member@one", world.two, role=Role.VIEWER)
    headers = await world.headers("member@one", None, CredentialKind.USER_TOKEN)
    for organization, scopes in ((world.one, MEMBER), (world.two, VIEWER)):
        principal = await caller(world, headers, **{"X-Service-Org": f" {organization.external_id} "})
        assert (principal.organization, principal.scopes) == (organization, scopes)
        assert principal.organizations == (world.one, world.two)
    without = await caller(world, headers)
    assert (without.organization, without.scopes) == (None, MEMBER | VIEWER)


@pytest.mark.parametrize("kind", [CredentialKind.USER_TOKEN, CredentialKind.SESSION])
async def test_an_organization_that_is_not_the_caller_s(world: World, kind: CredentialKind) -> None:
    headers = await world.headers("member@one", None, kind)
    for named in ("org_two", "org_of_nobody", world.one.id, "ORG_ONE", "org_one,org_two", "\0"):
        with pytest.raises(OrganizationMismatch, match=r"^Organization mismatch$"):
            await caller(world, headers, **{"X-Service-Org": named})


async def test_a_session_acts_in_the_organization_of_its_token(world: World) -> None:
    await world.join("member@one", world.two, role=Role.VIEWER)
    principal = await caller(world, world.session("member@one", world.two))
    assert (principal.organization, principal.scopes, principal.kind) == (world.two, VIEWER, CredentialKind.SESSION)
    assert (await caller(world, world.session("member@one", None))).organization is None
    chosen = await caller(world, world.session("member@one", None), **{"X-Service-Org": "org_one"})
    assert (chosen.organization, chosen.scopes) == (world.one, MEMBER)


def _malformed(text: str) -> list[str | None]:
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition(".")
    other = secrets.mint("ak" if prefix == "ak" else "pat")
    return [
        f"Bearer {prefix}_{key_id}.{other.secret}",
        f"Bearer {prefix}_{other.key_id}.{secret}",
        f"Bearer {other.text}",
        f"Bearer {'pat' if prefix == 'ak' else 'ak'}_{rest}",
        f"Bearer {text}x",
        f"Bearer {text[:-1]}",
        f"Bearer {prefix}_{key_id}{secret}",
        f"Bearer {prefix}_{key_id.upper() + 'A'}.{secret}",
        f"Bearer {prefix}_",
        f"Bearer {text} {text}",
        f"Bearer {text},",
        f"Basic {text}",
        f"Bearer{text}",
        text,
        "Bearer",
        "Bearer ",
        "",
        None,
    ]


@pytest.mark.parametrize("kind", [CredentialKind.ORGANIZATION_KEY, CredentialKind.USER_TOKEN])
async def test_what_is_no_credential_is_refused_the_same_way(world: World, kind: CredentialKind) -> None:
    organization = world.one if kind is CredentialKind.ORGANIZATION_KEY else None
    good = await world.credential("admin@one", organization)
    past, ahead = now() - timedelta(seconds=1), now() + timedelta(hours=1)
    bad: list[str | None] = _malformed(good)
    bad.append(f"Bearer {await world.credential('admin@one', organization, expires_at=past)}")
    bad.append(f"Bearer {await world.credential('admin@one', organization, revoked_at=past)}")
    bad.append(f"Bearer {await world.credential('admin@one', organization, revoked_at=ahead)}")
    left = await world.credential("viewer@one", organization)
    await world.leave("viewer@one", world.one)
    bad.append(f"Bearer {left}")
    said = set()
    for authorization in bad:
        for named in (None, "org_one", "org_of_nobody"):
            with pytest.raises(GatewayError) as refused:
                await world.services.identity.authenticate(authorization, named)
            said.add((type(refused.value), str(refused.value)))
    assert said == {(Unauthenticated, "Valid credential required")}
    assert await caller(world, {"Authorization": f"Bearer {good}"})
    assert await caller(world, {"Authorization": f"bearer  {good} "})


async def test_sessions_that_are_not_believed(world: World) -> None:
    stranger = EmbeddedIssuer(ECKey.generate_key("P-256"), "urn:test", "urn:test")
    yesterday = EmbeddedIssuer(issuer()._signing, "urn:test", "urn:test", now=lambda: now().timestamp() - 86_400)
    elsewhere = EmbeddedIssuer(issuer()._signing, "urn:test", "urn:other")
    for other in (stranger, yesterday, elsewhere):
        token = other.mint("admin@one", organization="org_one", scopes=ADMIN, ttl=60)
        with pytest.raises(Unauthenticated, match=r"^Valid credential required$"):
            await caller(world, {"Authorization": f"Bearer {token}"})
    nobody = issuer().mint("nobody", organization="org_one", scopes=ADMIN, ttl=60)
    with pytest.raises(Unauthenticated):
        await caller(world, {"Authorization": f"Bearer {nobody}"})


async def test_a_session_holds_what_the_directory_says_and_not_its_token(world: World) -> None:
    token = issuer().mint("viewer@one", organization="org_one", scopes=ADMIN, ttl=60)
    assert (await caller(world, {"Authorization": f"Bearer {token}"})).scopes == VIEWER
    await world.join("viewer@one", world.one, scopes=["deals:read", "no:such-scope"])
    assert (await caller(world, {"Authorization": f"Bearer {token}"})).scopes == {"deals:read"}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_change_of_scopes_is_followed_at_once(world: World, kind: CredentialKind) -> None:
    headers = await world.headers("member@one", world.one, kind)
    assert (await caller(world, headers)).scopes == MEMBER
    await world.join("member@one", world.one, scopes=[Scope.DEALS_READ])
    assert (await caller(world, headers)).scopes == {"deals:read"}
    await world.join("member@one", world.one, scopes=[])
    assert (await caller(world, headers)).scopes == frozenset()
    await world.join("member@one", world.one, role=Role.ADMIN)
    assert (await caller(world, headers)).scopes == ADMIN


@pytest.mark.parametrize("kind", KINDS)
async def test_the_end_of_the_membership_is_the_end_of_everything(world: World, kind: CredentialKind) -> None:
    headers = await world.headers("member@one", world.one, kind)
    await caller(world, headers)
    await world.leave("member@one", world.one)
    with pytest.raises(Unauthenticated):
        await caller(world, headers)


async def test_a_membership_elsewhere_keeps_what_is_the_member_s_own(world: World) -> None:
    """Decision 17: the keys of the organization that was left are gone for good, the rest goes on in the other."""
    await world.join("member@one", world.two, role=Role.VIEWER)
    key = await world.headers("member@one", world.one, CredentialKind.ORGANIZATION_KEY)
    token = await world.headers("member@one", None, CredentialKind.USER_TOKEN)
    await world.leave("member@one", world.one)
    for headers in (key, world.session("member@one", world.one)):
        with pytest.raises(Unauthenticated):
            await caller(world, headers)
    assert (await caller(world, token, **{"X-Service-Org": "org_two"})).scopes == VIEWER
    assert (await caller(world, token)).scopes == VIEWER
    with pytest.raises(OrganizationMismatch):
        await caller(world, token, **{"X-Service-Org": "org_one"})
    await world.join("member@one", world.one, role=Role.ADMIN)
    with pytest.raises(Unauthenticated):
        await caller(world, key)
    assert (await caller(world, token, **{"X-Service-Org": "org_one"})).scopes == ADMIN


async def test_another_process_sees_a_revocation_on_its_next_call(
    world: World, open_database: Callable[[], Database]
) -> None:
    second = Identity(open_database(), issuer(), PEPPER)
    for organization in (world.one, None):
        text = await world.credential("admin@one", organization)
        assert (await second.authenticate(f"Bearer {text}", None)).subject == "admin@one"
        assert (await world.services.identity.authenticate(f"Bearer {text}", None)).subject == "admin@one"
        minted = await second.exchange(text, None)
        async with world.database.directory(writing=True) as session:
            org_id = organization and organization.id
            [row] = [
                row
                for row in await session.rows(select(Credential.id, Credential.key_id))
                if row.key_id == secrets.parse(text).key_id
            ]
            assert await statements.change(session, row.id, org_id=org_id, owner=None, revoked_at=now())
        for token in (text, minted.access_token):
            with pytest.raises(Unauthenticated):
                await second.authenticate(f"Bearer {token}", None)
        with pytest.raises(Unauthenticated):
            await second.exchange(text, None)
    await second.close()


async def _last_used(world: World) -> list[datetime | None]:
    async with world.database.directory() as session:
        return [row[0] for row in await session.rows(select(Credential.last_used_at))]


async def _settled(identity: Identity) -> None:
    """Wait for the notes that go on beside the calls."""
    await identity.close()


async def test_the_use_is_noted_at_most_once_a_minute(
    world: World, open_database: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = world.services.identity
    other = Identity(open_database(), issuer(), PEPPER)
    text = await world.credential("admin@one", None)
    writes: list[str] = []

    def note(statement: str) -> None:
        if statement.startswith("UPDATE"):
            writes.append(statement)

    for database in (identity.database, other.database):
        database.observers.append(note)
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    for seconds, noted, written in ((0, 0, 1), (1, 0, 1), (59.999999, 0, 1), (60, 60, 2), (119, 60, 2), (121, 121, 3)):
        moment = start + timedelta(seconds=seconds)
        monkeypatch.setattr(authenticate, "now", lambda moment=moment: moment)
        for each in (identity, other):
            for _ in range(3):
                await each.authenticate(f"Bearer {text}", "org_one")
                await _settled(each)  # or the next call may have been read before the note, which it then repeats
        assert await _last_used(world) == [start + timedelta(seconds=noted)]
        assert len(writes) == written


async def test_calls_at_the_same_time_note_the_use_once(world: World) -> None:
    text = await world.credential("admin@one", None)
    identity = world.services.identity
    await asyncio.gather(*(identity.authenticate(f"Bearer {text}", None) for _ in range(20)))
    await _settled(identity)
    [first] = await _last_used(world)
    assert first is not None
    await asyncio.gather(*(identity.authenticate(f"Bearer {text}", None) for _ in range(20)))
    await _settled(identity)
    assert await _last_used(world) == [first]


async def test_a_refused_credential_is_not_used(world: World) -> None:
    text = await world.credential("admin@one", None)
    await world.credential("admin@one", world.one, revoked_at=now())
    for attempt in (f"{text}x", text.replace("pat_", "ak_")):
        with pytest.raises(Unauthenticated):
            await world.services.identity.authenticate(f"Bearer {attempt}", None)
    await _settled(world.services.identity)
    assert await _last_used(world) == [None, None]


async def test_a_note_that_cannot_be_written_costs_no_call(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object) -> None:
        raise Unavailable()

    text = await world.credential("admin@one", None)
    monkeypatch.setattr(statements, "touch", away)
    for _ in range(2):
        assert (await world.services.identity.authenticate(f"Bearer {text}", None)).subject == "admin@one"
        await _settled(world.services.identity)
    assert [record.getMessage() for record in caplog.records] == ["the use of a credential could not be noted"] * 2
    assert text not in caplog.text
    monkeypatch.undo()
    await world.services.identity.authenticate(f"Bearer {text}", None)
    await _settled(world.services.identity)
    assert await _last_used(world) != [None]
