"""An external identity provider through the whole application: what the service learns from its session tokens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey
from sqlalchemy import select

from contract.scopes import Role
from storage.tables import Member, Membership, Organization
from tests.identity.test_jwks import Provider, listening
from tests.support.gateway import Gateway, open_gateway
from tests.support.world import Headers, bearer

UUID_ORGANIZATION = "01890A5D-AC96-774B-BCCE-B302099A8057"


@dataclass
class External:
    """The application in front of a provider, and the provider's tokens."""

    gateway: Gateway
    provider: Provider
    key: ECKey
    began: int = field(default_factory=lambda: int(time.time()) - 3600)

    def session(self, subject: str, issued: int | None = 0, **claims: Any) -> Headers:
        """A token of the provider, issued that many seconds after the test's beginning."""
        payload = {"iss": self.provider.url, "sub": subject, "exp": self.began + 7200, "aud": "anything"}
        if issued is not None:
            payload["iat"] = self.began + issued
        header = {"alg": "ES256", "kid": self.key.thumbprint()}
        return bearer(jwt.encode(header, payload | claims, self.key, algorithms=["ES256"]))

    async def viewer(self, headers: Headers) -> dict[str, Any]:
        """Who the service takes the caller for."""
        document = "{ viewer { subject name email scopes organization { id } organizations { id } } }"
        answer = await self.gateway.graphql(document, headers)
        assert answer.status_code == 200, answer.text
        viewer: dict[str, Any] = answer.json()["data"]["viewer"]
        return viewer

    async def scopes(self, headers: Headers) -> list[str]:
        scopes: list[str] = (await self.viewer(headers))["scopes"]
        return scopes

    async def status(self, headers: Headers) -> int:
        return (await self.gateway.graphql("{ viewer { subject } }", headers)).status_code

    async def user_token(self, session: Headers) -> Headers:
        made = await self.gateway.rest("POST", "/user-pats", session, {"name": "N"})
        assert made.status_code == 201, made.text
        return bearer(made.json()["pat_key"])

    async def directory(self) -> dict[str, list[Any]]:
        """What is remembered of `ada`."""
        async with self.gateway.world.database.directory() as session:
            named = await session.rows(select(Member.name, Member.email).where(Member.subject == "ada"))
            member_of = await session.rows(
                select(Organization.external_id, Membership.scopes, Membership.role, Membership.token_issued_at)
                .join(Membership, Membership.org_id == Organization.id)
                .where(Membership.subject == "ada")
                .order_by(Organization.external_id)
            )
        return {"member": [tuple(row) for row in named], "memberships": [tuple(row) for row in member_of]}

    @contextmanager
    def writes(self) -> Iterator[list[str]]:
        """The statements meanwhile that change the directory."""
        seen: list[str] = []

        def note(statement: str) -> None:
            if statement.startswith(("INSERT", "UPDATE", "DELETE")) and "last_used_at" not in statement:
                seen.append(statement)

        observers = self.gateway.world.database.observers
        observers.append(note)
        try:
            yield seen
        finally:
            observers.remove(note)


@pytest.fixture
def settings() -> dict[str, Any]:
    """Settings beside the provider's address; a test may bring others."""
    return {}


@pytest.fixture
async def external(database_url: str, tmp_path: Path, settings: dict[str, Any]) -> AsyncIterator[External]:
    provider, key = Provider(), ECKey.generate_key("P-256")
    provider.gate.set()
    async with listening(provider):
        provider.serve(key)
        provider.discoverable()
        async with open_gateway(database_url, tmp_path / "data", oidc_issuer=provider.url, **settings) as gateway:
            yield External(gateway, provider, key)


async def test_a_session_teaches_who_belongs_where(external: External) -> None:
    session = external.session(
        "ada", org_id="acme", scope="deals:read pats:create", name="Ada", email="ada@example.org"
    )
    assert await external.viewer(session) == {
        "subject": "ada",
        "name": "Ada",
        "email": "ada@example.org",
        "scopes": ["deals:read", "pats:create"],
        "organization": {"id": "acme"},
        "organizations": [{"id": "acme"}],
    }
    assert await external.directory() == {
        "member": [("Ada", "ada@example.org")],
        "memberships": [("acme", ["deals:read", "pats:create"], None, external.began)],
    }
    assert (await external.gateway.rest("GET", "/deals", session)).json() == []
    token = await external.user_token(session)
    assert await external.viewer(token | {"X-Service-Org": "acme"}) == await external.viewer(session)
    assert (await external.gateway.rest("GET", "/deals", token)).status_code == 400


async def test_an_organization_s_rows_have_one_key(external: External) -> None:
    """The provider's identifier where it can be one, else one that is made up (decision 5)."""
    rights, keys = "deals:manage", {}
    for name in ("acme", UUID_ORGANIZATION.lower(), UUID_ORGANIZATION, "acme"):
        made = await external.gateway.rest(
            "POST", "/deals", external.session("ada", org_id=name, scope=rights), {"name": "N"}
        )
        assert made.status_code == 201, made.text
        record = await external.gateway.rest(
            "GET", made.headers["location"], external.session("ada", org_id=name, scope=rights)
        )
        key = record.json()["org_id"]
        assert keys.setdefault(name, key) == key == str(UUID(key))
    assert keys[UUID_ORGANIZATION.lower()] == UUID_ORGANIZATION.lower()
    assert len(set(keys.values())) == 3


async def test_a_newer_session_changes_what_credentials_may(external: External) -> None:
    token = await external.user_token(external.session("ada", org_id="acme", scope="deals:read pats:create"))
    made = await external.gateway.rest(
        "POST",
        "/organization-pats",
        external.session("ada", org_id="acme", scope="deals:read pats:create"),
        {"name": "N"},
    )
    credentials = [token | {"X-Service-Org": "acme"}, bearer(made.json()["pat_key"])]
    for issued, scopes in ((1, ["deals:manage"]), (2, []), (3, ["activities:read", "api:read"])):
        assert await external.scopes(external.session("ada", issued, org_id="acme", scope=" ".join(scopes))) == scopes
        for credential in credentials:
            assert await external.scopes(credential) == scopes


async def test_an_older_session_is_good_for_itself_and_teaches_nothing(external: External) -> None:
    newest = external.session("ada", 10, org_id="acme", scope="deals:read pats:create", name="Ada")
    token = await external.user_token(newest) | {"X-Service-Org": "acme"}
    remembered = await external.directory()
    for issued in (9, 0, None):
        older = external.session("ada", issued, org_id="acme", scope="deals:manage", name="Eve")
        with external.writes() as writes:
            assert await external.scopes(older) == ["deals:manage"]
        assert writes == []
        assert await external.directory() == remembered
        assert await external.scopes(token) == ["deals:read", "pats:create"]


async def test_an_older_session_for_another_organization_leaves_the_name(external: External) -> None:
    await external.viewer(
        external.session("ada", 10, org_id="acme", scope="deals:read", name="Ada", email="new@a.example")
    )
    older = external.session("ada", 5, org_id="other", scope="api:read", name="Old", email="old@a.example")
    assert (await external.viewer(older))["organization"] == {"id": "other"}
    assert await external.directory() == {
        "member": [("Ada", "new@a.example")],
        "memberships": [
            ("acme", ["deals:read"], None, external.began + 10),
            ("other", ["api:read"], None, external.began + 5),
        ],
    }


async def test_what_is_known_is_not_written_again(external: External) -> None:
    claims = {"org_id": "acme", "scope": "deals:read", "name": "Ada", "email": "ada@example.org"}
    with external.writes() as first:
        await external.viewer(external.session("ada", **claims))
    assert len(first) > 0
    with external.writes() as again:
        for _ in range(3):
            await external.viewer(external.session("ada", **claims))
            assert (await external.gateway.rest("GET", "/deals", external.session("ada", **claims))).status_code == 200
        await external.viewer(external.session("ada", org_id="acme", scope="deals:read deals:read no:such-scope"))
    assert again == []
    with external.writes() as changed:
        await external.viewer(external.session("ada", **(claims | {"name": "Ada L."})))
    assert len(changed) > 0
    assert (await external.directory())["member"] == [("Ada L.", "ada@example.org")]


async def test_several_organizations_and_scopes_as_an_array(external: External) -> None:
    both = external.session("ada", org_id=["acme", "other"], scope=["deals:read", "pats:create", "no:such-scope"])
    viewer = await external.viewer(both)
    assert (viewer["organization"], viewer["organizations"]) == (None, [{"id": "acme"}, {"id": "other"}])
    assert viewer["scopes"] == ["deals:read", "pats:create"]
    refused = await external.gateway.rest("GET", "/deals", both)
    assert (refused.status_code, refused.json()["detail"]) == (400, "Active organization required")
    for name in ("acme", "other"):
        assert (await external.viewer(both | {"X-Service-Org": name}))["organization"] == {"id": name}
    assert await external.status(both | {"X-Service-Org": "third"}) == 403
    token = await external.user_token(both)
    one = external.session("ada", 1, org_id="other", scope=["activities:read"])
    assert await external.scopes(one) == ["activities:read"]
    assert await external.status(one | {"X-Service-Org": "acme"}) == 403
    assert await external.scopes(token | {"X-Service-Org": "acme"}) == ["deals:read", "pats:create"]
    assert await external.scopes(token | {"X-Service-Org": "other"}) == ["activities:read"]


async def test_a_session_without_an_organization(external: External) -> None:
    session = external.session("ada", scope="deals:read")
    assert (await external.viewer(session))["organizations"] == []
    assert (await external.gateway.rest("GET", "/deals", session)).status_code == 400
    assert await external.directory() == {"member": [], "memberships": []}


async def test_first_calls_at_the_same_time(external: External) -> None:
    """A browser's first requests come together, and they all learn the same."""
    sessions = [external.session(name, org_id=["acme", "other"], scope="api:read") for name in ("ada", "bob", "ada")]
    answers = await asyncio.gather(*(external.viewer(session) for session in sessions for _ in range(5)))
    assert {viewer["subject"] for viewer in answers} == {"ada", "bob"}
    for viewer in answers:
        assert viewer["organizations"] == [{"id": "acme"}, {"id": "other"}]
    assert [row[0] for row in (await external.directory())["memberships"]] == ["acme", "other"]


@pytest.mark.parametrize("settings", [{"oidc_org_claim": "tenant", "oidc_scope_claim": "permissions"}])
async def test_claims_of_other_names(external: External) -> None:
    session = external.session("ada", org_id="not this", tenant="acme", scope="api:manage", permissions=["deals:read"])
    viewer = await external.viewer(session)
    assert (viewer["organization"], viewer["scopes"]) == ({"id": "acme"}, ["deals:read"])


@pytest.mark.parametrize("settings", [{"oidc_audience": "crm"}])
async def test_the_audience(external: External) -> None:
    assert await external.status(external.session("ada", org_id="acme", aud=["crm", "other"])) == 200
    assert await external.status(external.session("ada", org_id="acme")) == 401


async def test_the_embedded_provider_s_sessions_are_not_believed_beside_it(external: External) -> None:
    world = external.gateway.world
    assert await external.status(world.session("admin@one", world.one)) == 401
    for organization in (world.one, None):
        text = await world.credential("admin@one", organization)
        assert await external.status(bearer(text)) == 200
        exchanged = await external.gateway.http.post("/pat/exchange", headers=bearer(text))
        assert await external.status(bearer(exchanged.json()["access_token"])) == 200


async def test_a_token_of_the_provider_cannot_pose_as_a_credential(external: External) -> None:
    world = external.gateway.world
    text = await world.credential("admin@one", world.one)
    key_id = text.removeprefix("ak_").partition(".")[0]
    posing = external.session("ada", org_id="acme", scope="api:read", crm_cred=key_id, crm_kind="organization_key")
    viewer = await external.viewer(posing)
    assert (viewer["subject"], viewer["organization"], viewer["scopes"]) == ("ada", {"id": "acme"}, ["api:read"])


async def test_what_the_provider_did_not_sign(external: External) -> None:
    good = external.session("ada", org_id="acme", scope="api:read")
    head, payload, _ = good["Authorization"].split(".")
    other = External(external.gateway, external.provider, ECKey.generate_key("P-256"))
    for bad in (other.session("ada", org_id="acme"), {"Authorization": f"{head}.{payload}."}):
        assert await external.status(bad) == 401
    expired = external.session("ada", org_id="acme", exp=external.began)
    assert await external.status(expired) == 401
    assert await external.directory() == {"member": [], "memberships": []}


async def test_the_embedded_directory_s_members_are_left_alone(external: External) -> None:
    """A subject that both know: what its sessions say now counts, as for everybody."""
    world = external.gateway.world
    await world.join("ada", world.one, role=Role.ADMIN)
    session = external.session("ada", org_id="org_one", scope="deals:read")
    viewer = await external.viewer(session)
    assert (viewer["organization"], viewer["scopes"]) == ({"id": "org_one"}, ["deals:read"])
    record = await external.directory()
    assert record["memberships"] == [("org_one", ["deals:read"], None, external.began)]


async def test_a_provider_that_went_away(external: External) -> None:
    """Its last good keys are kept."""
    keys = external.gateway.runtime.keys
    assert keys is not None
    session = external.session("ada", org_id="acme")
    assert await external.status(session) == 200
    external.provider.answers.clear()
    assert await keys.refresh() is False
    assert await external.status(session) == 200
    ready = (await external.gateway.http.get("/ready")).json()
    [line] = [check for check in ready["checks"] if check["name"] == "identity_provider"]
    assert line["ok"] is True
    assert line["message"].startswith("keys loaded; the last call failed (unusable) ")
