"""The exchange: a short-lived token that stands for its credential, where and as long as that does (5.7 to 5.10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract.errors import OrganizationHeader, OrganizationMismatch, Unauthenticated
from contract.scopes import Role
from contract.vocabulary import CredentialKind
from identity import secrets
from identity.claims import LEEWAY_SECONDS
from identity.exchange import AccessToken
from identity.tokens import Claims
from storage.base import now
from storage.queries import credentials as statements
from tests.support.gateway import open_gateway
from tests.support.world import World, bearer, issuer

MEMBER, VIEWER = (frozenset(str(scope) for scope in role.scopes) for role in (Role.MEMBER, Role.VIEWER))
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"


async def _exchange(world: World, text: str, service_org: str | None = None) -> AccessToken:
    return await world.services.identity.exchange(text, service_org)


async def _claims(granted: AccessToken) -> Claims:
    return await issuer().verify(granted.access_token)


@pytest.mark.parametrize(
    ("kind", "chosen", "bound"),
    [
        (CredentialKind.ORGANIZATION_KEY, None, "org_one"),
        (CredentialKind.USER_TOKEN, "org_one", "org_one"),
        (CredentialKind.USER_TOKEN, None, None),
    ],
)
async def test_what_the_token_says(world: World, kind: CredentialKind, chosen: str | None, bound: str | None) -> None:
    text = await world.credential("member@one", world.one if kind is CredentialKind.ORGANIZATION_KEY else None)
    granted = await _exchange(world, text, chosen)
    assert (granted.expires_in, granted.organization_id) == (300, bound)
    assert granted.scope == " ".join(sorted(MEMBER))
    parsed = secrets.parse(text)
    assert parsed is not None
    claims = await _claims(granted)
    assert claims.issued_at is not None
    assert claims == Claims(
        subject="member@one",
        organizations=() if bound is None else (bound,),
        scopes=MEMBER,
        name="Name of member@one",
        email="member@one@example.com",
        issued_at=claims.issued_at,
        expires_at=claims.issued_at + 300,
        issuer="urn:test",
        credential_id=parsed.key_id,
        kind=kind.value,
    )


async def test_the_organization_header(world: World) -> None:
    key, token = await world.credential("member@one", world.one), await world.credential("member@one", None)
    with pytest.raises(OrganizationHeader):
        await _exchange(world, key, "org_one")
    with pytest.raises(OrganizationMismatch):
        await _exchange(world, token, "org_two")
    assert (await _exchange(world, token, " org_one ")).organization_id == "org_one"
    assert (await _exchange(world, token, "  ")).organization_id is None


async def test_what_cannot_be_exchanged(world: World) -> None:
    text = await world.credential("member@one", None)
    session = world.session("member@one", world.one)["Authorization"].removeprefix("Bearer ")
    minted = (await _exchange(world, text)).access_token
    for bad in (session, minted, "", "nonsense", f"{text}x", text.replace("pat_", "ak_")):
        with pytest.raises(Unauthenticated, match=r"^Valid credential required$"):
            await _exchange(world, bad)


async def test_the_token_acts_as_its_credential_does(world: World) -> None:
    key, token = await world.credential("member@one", world.one), await world.credential("member@one", None)
    for text, chosen, kind in (
        (key, None, CredentialKind.ORGANIZATION_KEY),
        (token, "org_one", CredentialKind.USER_TOKEN),
    ):
        granted = await _exchange(world, text, chosen)
        direct = await world.services.identity.authenticate(f"Bearer {text}", chosen)
        exchanged = await world.services.identity.authenticate(f"Bearer {granted.access_token}", None)
        assert exchanged.session_ends_at is not None
        assert timedelta() < exchanged.session_ends_at - now() <= timedelta(seconds=granted.expires_in + LEEWAY_SECONDS)
        assert exchanged == replace(direct, is_exchanged=True, session_ends_at=exchanged.session_ends_at)
        assert (direct.kind, direct.organization) == (kind, world.one)


async def test_the_token_is_bound_to_its_organization(world: World) -> None:
    await world.join("member@one", world.two, role=Role.VIEWER)
    key, token = await world.credential("member@one", world.one), await world.credential("member@one", None)
    authenticate = world.services.identity.authenticate
    of_key = f"Bearer {(await _exchange(world, key)).access_token}"
    for named in ("org_one", "org_two"):
        with pytest.raises(OrganizationHeader):
            await authenticate(of_key, named)
    bound = f"Bearer {(await _exchange(world, token, 'org_two')).access_token}"
    assert (await authenticate(bound, None)).scopes == VIEWER
    assert (await authenticate(bound, "org_two")).organization == world.two
    with pytest.raises(OrganizationMismatch):
        await authenticate(bound, "org_one")
    unbound = f"Bearer {(await _exchange(world, token)).access_token}"
    assert (await authenticate(unbound, None)).organization is None
    for named in ("org_one", "org_two", "nowhere"):
        with pytest.raises(OrganizationMismatch):
            await authenticate(unbound, named)


async def test_the_token_follows_its_credential(world: World) -> None:
    await world.join("member@one", world.two, role=Role.VIEWER)
    text = await world.credential("member@one", None)
    minted = f"Bearer {(await _exchange(world, text, 'org_one')).access_token}"
    authenticate = world.services.identity.authenticate
    await world.join("member@one", world.one, scopes=["deals:read"])
    assert (await authenticate(minted, None)).scopes == {"deals:read"}
    await world.leave("member@one", world.one)
    with pytest.raises(OrganizationMismatch):
        await authenticate(minted, None)
    await world.leave("member@one", world.two)
    with pytest.raises(Unauthenticated):
        await authenticate(minted, None)


@pytest.mark.parametrize("kind", [CredentialKind.ORGANIZATION_KEY, CredentialKind.USER_TOKEN])
@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
async def test_the_token_ends_with_its_credential(world: World, kind: CredentialKind, end: str) -> None:
    organization = world.one if kind is CredentialKind.ORGANIZATION_KEY else None
    identifier = "01890a5d-ac96-774b-bcce-b302099a8057"
    text = await world.credential("member@one", organization, id=identifier)
    minted = f"Bearer {(await _exchange(world, text)).access_token}"
    assert await world.services.identity.authenticate(minted, None)
    async with world.database.directory(writing=True) as session:
        org_id = organization and organization.id
        assert await statements.change(session, identifier, org_id=org_id, owner=None, **{end: now()})
    with pytest.raises(Unauthenticated):
        await world.services.identity.authenticate(minted, None)


@pytest.mark.parametrize("left", [90, 300, 301, 0.4])
async def test_the_token_says_that_it_ends_with_its_credential(
    world: World, monkeypatch: pytest.MonkeyPatch, left: float
) -> None:
    moment = now()
    text = await world.credential("member@one", None, expires_at=moment + timedelta(seconds=left))
    monkeypatch.setattr("identity.exchange.now", lambda: moment)
    granted = await _exchange(world, text)
    claims = await _claims(granted)
    assert claims.issued_at is not None
    assert claims.expires_at - claims.issued_at == granted.expires_in == max(1, min(300, int(left)))


async def test_the_token_ends_by_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    minted = (await _exchange(world, await world.credential("member@one", None))).access_token
    later = now() + timedelta(seconds=300 + 31)
    monkeypatch.setattr(issuer(), "_now", later.timestamp)
    with pytest.raises(Unauthenticated):
        await world.services.identity.authenticate(f"Bearer {minted}", None)


async def test_an_expired_credential_ends_to_the_moment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    end = datetime(2026, 5, 1, 12, tzinfo=UTC)
    text = await world.credential("member@one", None, expires_at=end)
    monkeypatch.setattr("identity.exchange.now", lambda: end - timedelta(microseconds=1))
    assert await _exchange(world, text)
    monkeypatch.setattr("identity.exchange.now", lambda: end)
    with pytest.raises(Unauthenticated):
        await _exchange(world, text)


async def test_through_the_application(database_url: str, tmp_path: Path) -> None:
    """Both forms, and what they give works on both surfaces."""
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        world = gateway.world
        text = await world.credential("member@one", None)
        chosen = {"X-Service-Org": "org_one"}
        form = {"grant_type": GRANT, "subject_token": text, "subject_token_type": ACCESS_TOKEN}
        answers = [
            await gateway.http.post("/pat/exchange", headers=bearer(text) | chosen),
            await gateway.http.post("/pat/exchange", headers=chosen, data=form),
        ]
        for answer in answers:
            body = answer.json()
            minted = body.pop("access_token")
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
            assert body == {
                "issued_token_type": ACCESS_TOKEN,
                "token_type": "Bearer",
                "expires_in": 300,
                "scope": " ".join(sorted(MEMBER)),
                "organization_id": "org_one",
            }
            assert (await gateway.rest("GET", "/deals", bearer(minted))).json() == []
            viewer = await gateway.graphql("{ viewer { organization { id } credentialKind } }", bearer(minted))
            assert viewer.json()["data"]["viewer"] == {
                "organization": {"id": "org_one"},
                "credentialKind": "USER_TOKEN",
            }
            assert (
                await gateway.rest("GET", "/deals", bearer(minted) | {"X-Service-Org": "org_two"})
            ).status_code == 403
        for headers, data in ((bearer(text), None), ({}, form)):
            wrong = await gateway.http.post("/pat/exchange", headers=headers | {"X-Service-Org": "org_two"}, data=data)
            assert (wrong.status_code, wrong.json()["detail"]) == (403, "Organization mismatch")
