"""Organizations whose identifiers look alike: each is a tenant of its own, or refused before anything is written."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest
from sqlalchemy import func, select

from identity import directory
from storage.database import Database
from storage.queries import organizations as statements
from storage.tables import Organization
from tests.identity.test_directory import External, external, settings
from tests.support.world import World, bearer

__all__ = ["external", "settings"]

DERIVED = str(uuid5(NAMESPACE_URL, "crm-gateway:organization:acme"))
"""The key that versions before derived for the rows of `acme`."""
CANONICAL = "01890a5d-ac96-774b-bcce-b302099a8057"
ALIKE = [
    "acme",
    DERIVED,
    DERIVED.upper(),
    "ACME",
    "Acme",
    "acme.",
    CANONICAL,
    CANONICAL.upper(),
    CANONICAL.replace("-", ""),
    CANONICAL.replace("-", "").upper(),
    f"{{{CANONICAL}}}",
    f"urn:uuid:{CANONICAL}",
    f"-{CANONICAL}",
    str(UUID(CANONICAL).int),
    str(UUID(int=0)),
    unicodedata.normalize("NFC", "café"),
    unicodedata.normalize("NFD", "café"),
    "straße",
    "strasse",
    "ａｃｍｅ",
    "acme\u200b",
    "ac me",
    "ac  me",
]
UNFIT = [" acme", "acme ", "acme\t", "\nacme", "acme\u00a0", "\u3000acme", "ac\u0000me", "ac\u0001me", "ac\u0085me", ""]
RIGHTS = "deals:manage deals:read pats:create pats:read"


async def _deals(external: External, headers: dict[str, str]) -> list[str]:
    answer = await external.gateway.rest("GET", "/deals", headers)
    assert answer.status_code == 200, answer.text
    return [deal["name"] for deal in answer.json()]


async def test_each_is_a_tenant_of_its_own(external: External) -> None:
    keys = set()
    for number, name in enumerate(ALIKE):
        session = external.session(f"user-{number}", org_id=name, scope=RIGHTS)
        made = await external.gateway.rest("POST", "/deals", session, {"name": f"of {number}"})
        assert made.status_code == 201, (name, made.text)
        keys.add((await external.gateway.rest("GET", made.headers["location"], session)).json()["org_id"])
        assert (await external.viewer(session))["organizations"] == [{"id": name}]
    assert len(keys) == len(ALIKE)
    for number, name in enumerate(ALIKE):
        session = external.session(f"user-{number}", org_id=name, scope=RIGHTS)
        assert await _deals(external, session) == [f"of {number}"], name


async def test_who_belongs_to_one_reaches_no_other(external: External) -> None:
    """With a user token, whose owner first belongs to one and then says to belong to one that looks alike."""
    own = external.session("eve", org_id="eves", scope=RIGHTS)
    token = await external.user_token(own)
    names = [name for name in ALIKE if name.isascii()]
    for name in names:
        victim = external.session("victim", org_id=name, scope=RIGHTS)
        assert (await external.gateway.rest("POST", "/deals", victim, {"name": name})).status_code == 201
    belonging = {"eves"}
    for name in names[1::2]:
        eve = external.session("eve", org_id=name, scope=RIGHTS)
        assert await external.status(eve) == 200
        belonging.add(name)
    for name in names:
        answer = await external.gateway.rest("GET", "/deals", token | {"X-Service-Org": name})
        assert answer.status_code == (200 if name in belonging else 403), name
        assert [deal["name"] for deal in answer.json()] == [name] if name in belonging else True
        exchanged = await external.gateway.http.post("/pat/exchange", headers=token | {"X-Service-Org": name})
        assert exchanged.status_code == (200 if name in belonging else 403)
        if name in belonging:
            assert exchanged.json()["organization_id"] == name
            acting = bearer(exchanged.json()["access_token"])
            assert (await external.viewer(acting))["organization"] == {"id": name}


@pytest.mark.parametrize("name", UNFIT)
async def test_what_no_header_carries_as_it_is_is_refused_and_leaves_nothing(external: External, name: str) -> None:
    await external.viewer(external.session("victim", org_id="acme", scope=RIGHTS))
    for claim in (name, [name], ["acme", name]):
        with external.writes() as writes:
            assert await external.status(external.session("ada", org_id=claim, scope=RIGHTS)) == 401
        assert writes == []
    assert await external.directory() == {"member": [], "memberships": []}


async def test_a_header_names_what_it_says_and_nothing_like_it(external: External) -> None:
    session = external.session("ada", org_id=["acme", "other"], scope=RIGHTS)
    token = await external.user_token(session)
    for headers in (session, token):
        for header in (b"acme", b" acme\t"):
            assert await external.status(headers | {"X-Service-Org": header}) == 200  # type: ignore[dict-item]
        for header in (b"ACME", b"acme\xa0", b"\x85acme", b"acme,other", b"acme\xc2\xa0"):
            assert await external.status(headers | {"X-Service-Org": header}) == 403, header  # type: ignore[dict-item]


async def test_all_seen_for_the_first_time_at_once(external: External) -> None:
    """Several of one name get one tenant, those that look alike one each, whatever comes first."""
    names = [DERIVED, DERIVED.upper(), "acme", DERIVED.replace("-", "")] * 6
    answers = await asyncio.gather(
        *(
            external.gateway.rest(
                "POST", "/deals", external.session(f"u{n}", org_id=name, scope=RIGHTS), {"name": str(n)}
            )
            for n, name in enumerate(names)
        )
    )
    assert [answer.status_code for answer in answers] == [201] * len(names)
    for name in set(names):
        deals = await _deals(external, external.session("u", org_id=name, scope=RIGHTS))
        assert sorted(deals) == sorted(str(n) for n, other in enumerate(names) if other == name)


async def test_of_two_processes_that_see_one_first_both_have_it(database: Database) -> None:
    """Both have looked and found nothing before either writes."""
    held = asyncio.Barrier(2)
    look = statements.organization
    looked = 0

    async def together(session: Any, external_id: str) -> Any:
        nonlocal looked
        found = await look(session, external_id)
        looked += 1
        if looked <= 2:
            await held.wait()
        return found

    statements.organization = together  # type: ignore[assignment]
    try:
        one, two = await asyncio.gather(*(directory._allotted(database, "acme", "acme") for _ in range(2)))
    finally:
        statements.organization = look
    assert one[0] == two[0]
    assert sorted((one[1], two[1])) == [False, True]


async def test_organizations_of_before_stay_where_they_are(world: World) -> None:
    """Rows under a derived key, and under the lower case of an upper-case identifier, as versions before wrote them."""
    database = world.database
    kept = {"acme": DERIVED, CANONICAL.upper(): CANONICAL}
    for name, key in kept.items():
        assert await statements.create_organization(database, name, name, key)
    for name in (*kept, DERIVED, CANONICAL, CANONICAL.replace("-", "")):
        allotted, is_new = await directory._allotted(database, name, name)
        assert (allotted == kept.get(name), is_new) == (name in kept, name not in kept)
    async with database.directory() as session:
        counted = await session.row(select(func.count(), func.count(Organization.id.distinct())))  # type: ignore[attr-defined]
    assert counted is not None
    assert counted[0] == counted[1] == 2 + 5


async def test_the_embedded_directory_tells_them_apart_too(world: World) -> None:
    for name in ALIKE:
        assert await directory.create_organization(world.database, f"Name of {name}", name)
        assert not await directory.create_organization(world.database, "again", name)
    for name in ALIKE[::2]:
        assert await directory.add_member(
            world.database, name, "ada", name="Ada", email="a@a.example", role=None, scopes=["deals:read"]
        )
    rows = await directory.memberships(world.database, "ada")
    assert sorted(row.external_id for row in rows) == sorted(ALIKE[::2])
    assert all(row.organization_name == f"Name of {row.external_id}" for row in rows)


async def test_a_list_says_where_the_member_is_no_more(external: External) -> None:
    """A newer token that lists the organizations ends the others; an older one brings none of them back."""
    both = external.session("ada", 1, org_id=["acme", "other"], scope=RIGHTS)
    token = await external.user_token(both)
    key = await external.gateway.rest("POST", "/organization-pats", both | {"X-Service-Org": "other"}, {"name": "N"})
    one = external.session("ada", 2, org_id=["acme"], scope=RIGHTS)
    assert await external.status(one) == 200
    assert await external.status(token | {"X-Service-Org": "acme"}) == 200
    for _ in range(2):
        assert await external.status(token | {"X-Service-Org": "other"}) == 403
        assert await external.status(bearer(key.json()["pat_key"])) == 401
        assert await external.status(both | {"X-Service-Org": "other"}) == 403
        assert await external.status(external.session("ada", 1, org_id="other", scope=RIGHTS)) == 401
        assert await external.status(external.session("ada", 2, org_id="other", scope=RIGHTS)) == 401
    single = external.session("ada", 3, org_id="acme", scope=RIGHTS)
    again = external.session("ada", 4, org_id=["other", "acme"], scope=RIGHTS)
    assert [await external.status(s) for s in (single, again)] == [200, 200]
    assert await external.status(token | {"X-Service-Org": "other"}) == 200
    assert await external.status(bearer(key.json()["pat_key"])) == 401, "a key that ended with the membership stays so"


async def test_an_empty_list_ends_every_membership_that_a_token_taught(external: External) -> None:
    world = external.gateway.world
    await world.join("ada", world.one, scopes=["deals:read"])
    token = await external.user_token(external.session("ada", 1, org_id="acme", scope=RIGHTS))
    assert await external.status(external.session("ada", 2, org_id=[], scope=RIGHTS)) == 200
    assert await external.status(token | {"X-Service-Org": "acme"}) == 403
    assert await external.status(token | {"X-Service-Org": "org_one"}) == 200, "that one an operator made"


async def test_an_operator_s_removal_outlives_the_sessions_of_before(external: External) -> None:
    session = external.session("ada", 1, org_id="acme", scope=RIGHTS)
    assert await external.status(session) == 200
    assert await directory.remove_member(external.gateway.world.database, "acme", "ada")
    assert await external.status(session) == 401
    assert await external.status(external.session("ada", 3000, org_id="acme", scope=RIGHTS)) == 401
    later = external.session("ada", 3600 + 20, org_id="acme", scope=RIGHTS)  # within the leeway of clocks
    assert await external.status(later) == 200
