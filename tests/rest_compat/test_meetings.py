"""GET /activities/meetings, to the letter of specification 2.1 and 4.1."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from contract.vocabulary import CredentialKind
from storage.tables import Account, Activity, Contact, Deal, PipelineStage
from tests.support.world import World

PATH = "/activities/meetings"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


@pytest.fixture
async def rows(world: World) -> dict[str, Any]:
    """Six meetings, made in this order; `call` is no meeting, and the other organization has one at noon too."""
    stage = PipelineStage(name="Open")
    account = Account(name="Acme", domain="acme.example")
    contact = Contact(first_name="Ada", last_name=None, email="ada@acme.example")
    deal = Deal(name="Renewal", stage_id=stage.id)
    meetings = {
        "noon": Activity(subject="noon", due_at=NOON, created_at=_at(-50), account_id=account.id, owner_id="rep"),
        "noon_newer": Activity(subject="noon_newer", due_at=NOON, created_at=_at(-40), deal_id=deal.id),
        "later": Activity(subject="later", due_at=_at(1.5), created_at=_at(-30), contact_id=contact.id, owner_id=""),
        "earlier": Activity(subject="earlier", due_at=_at(-1), created_at=_at(-20), account_id=account.id),
        "never": Activity(subject="never", created_at=_at(-10), deal_id=deal.id, owner_id="rep"),
        "never_newer": Activity(subject="never_newer", created_at=_at(-5)),
    }
    call = Activity(type="call", subject="call", due_at=NOON)
    await world.add(world.one, stage, account, contact, deal, *meetings.values(), call)
    await world.add(world.two, Activity(subject="foreign", due_at=NOON))
    return {"stage": stage, "account": account, "contact": contact, "deal": deal, **meetings}


async def _subjects(world: World, client: httpx.AsyncClient, query: str = "") -> list[str]:
    response = await client.get(f"{PATH}?{query}", headers=world.session("viewer@one", world.one))
    assert response.status_code == 200, response.text
    return [meeting["subject"] for meeting in response.json()]


async def test_the_order_has_nulls_last_in_both_directions(
    world: World, client: httpx.AsyncClient, rows: dict[str, Any]
) -> None:
    descending = ["later", "noon_newer", "noon", "earlier", "never_newer", "never"]
    ascending = ["earlier", "noon_newer", "noon", "later", "never_newer", "never"]
    assert await _subjects(world, client) == descending
    for order in ("asc", "ASC", "aSc"):
        assert await _subjects(world, client, f"order={order}") == ascending
    for order in ("desc", "DESC", "", "ascending", "asc%20", "due_at", "%00"):
        assert await _subjects(world, client, f"order={order}") == descending
    assert await _subjects(world, client, "order=asc&order=desc") == descending


PARAMETERS = {
    "from=2026-03-01T12:00:00Z": ["later", "noon_newer", "noon"],
    "from=2026-03-01T12:00:00": ["later", "noon_newer", "noon"],
    "from=2026-03-01T12:00:00.000001Z": ["later"],
    "to=2026-03-01T12:00:00Z": ["noon_newer", "noon", "earlier"],
    "to=2026-03-01T11:59:59.999999Z": ["earlier"],
    "from=2026-03-01T14:00:00%2B02:00": ["later", "noon_newer", "noon"],
    "from=2026-03-01T14:00:00+02:00": ["later", "noon_newer", "noon"],
    "from=2026-03-01T14:00:01+02:00": ["later"],
    "from=2026-03-01+12:00": ["later", "noon_newer", "noon"],
    "from=2026-03-01+14:00+02:00": ["later", "noon_newer", "noon"],
    "from=2026-03-01T07:00:00-05:00": ["later", "noon_newer", "noon"],
    "from=2026-03-01&to=2026-03-02": ["later", "noon_newer", "noon", "earlier"],
    "to=2026-03-01": [],
    "from=2026-03-02&to=2026-03-01": [],
    "from=2026-03-01T12:00:00Z&to=2026-03-01T12:00:00Z": ["noon_newer", "noon"],
    "from=2026-03-01t12:00:00z&to=2026-03-01T12:00:00z": ["noon_newer", "noon"],  # decision 218
    "from=2026-03-01t14:00:00%2B02:00": ["later", "noon_newer", "noon"],
    "from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z": ["later", "noon_newer", "noon", "earlier"],
    "owner_id=rep": ["noon", "never"],
    "owner_id=REP": [],
    "owner_id=": ["later"],
    "owner_id=%00": [],
    "owner_id=%ED%A0%80": [],
    "account_id={account}": ["noon", "earlier"],
    "account_id={ACCOUNT}": ["noon", "earlier"],
    "account_id=01890a5d-ac96-774b-bcce-b302099a8057": [],
    "account_id=no-uuid": [],
    "account_id=": [],
    "account_id=%00": [],
    "deal_id={deal}": ["noon_newer", "never"],
    "deal_id=x'%20OR%201=1--": [],
    "unlinked_account=true": ["later", "noon_newer", "never_newer", "never"],
    "unlinked_account=1&unlinked_deal=YES": ["later", "never_newer"],
    "unlinked_deal=On": ["later", "noon", "earlier", "never_newer"],
    "unlinked_account=false&unlinked_deal=0": ["later", "noon_newer", "noon", "earlier", "never_newer", "never"],
    "unlinked_account=true&account_id={account}": [],
    "unlinked_deal=true&deal_id={deal}": [],
    "unlinked_deal=true&account_id={account}": ["noon", "earlier"],
    "unlinked_account=no&account_id={account}": ["noon", "earlier"],
    "limit=2": ["later", "noon_newer"],
    "limit=2&offset=1": ["noon_newer", "noon"],
    "limit=2&offset=5": ["never"],
    "limit=0": [],
    "limit=-0": [],
    "limit=002": ["later", "noon_newer"],
    "limit=9&limit=1": ["later"],
    "offset=6": [],
    "offset=99999999999999999999999999": [],
    "limit=99999999999999999999": ["later", "noon_newer", "noon", "earlier", "never_newer", "never"],
    "nonsense=1&Limit=1&from_=x&FROM=x": ["later", "noon_newer", "noon", "earlier", "never_newer", "never"],
    "order=asc&from=2026-03-01T11:00:00Z&limit=1&offset=1": ["noon_newer"],
}


async def test_parameters(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    account, deal = rows["account"].id, rows["deal"].id
    found = {
        query: await _subjects(
            world,
            client,
            query.replace("{account}", account).replace("{deal}", deal).replace("{ACCOUNT}", account.upper()),
        )
        for query in PARAMETERS
    }
    assert found == PARAMETERS


BAD_PARAMETERS = {
    query: (["query", name], kind)
    for query, name, kind in [
        ("from=", "from", "value_error"),
        ("from=yesterday", "from", "value_error"),
        ("from=2026-02-30", "from", "value_error"),
        ("from=2026-13-01T00:00:00Z", "from", "value_error"),
        ("from=2026-03-01T25:00:00Z", "from", "value_error"),
        ("from=1772366400", "from", "value_error"),
        ("from=2026-03-01T12:00:00+99:00", "from", "value_error"),
        ("from=0001-01-01T00:00:00%2B14:00", "from", "value_error"),
        ("from=2026-03-01%00", "from", "value_error"),
        ("to=2026-03-01T12:00:00ZZ", "to", "value_error"),
        ("to=9999-12-31T23:59:59-01:00", "to", "value_error"),
        ("limit=-1", "limit", "greater_than_equal"),
        ("limit=-99999999999999999999999", "limit", "greater_than_equal"),
        ("limit=ten", "limit", "int_parsing"),
        ("limit=", "limit", "int_parsing"),
        ("limit=1.0", "limit", "int_parsing"),
        ("limit=1e2", "limit", "int_parsing"),
        ("limit=1_0", "limit", "int_parsing"),
        ("limit=%D9%A1", "limit", "int_parsing"),
        ("limit=0x10", "limit", "int_parsing"),
        ("limit=null", "limit", "int_parsing"),
        ("offset=-1", "offset", "greater_than_equal"),
        ("offset=x", "offset", "int_parsing"),
        ("unlinked_account=maybe", "unlinked_account", "bool_parsing"),
        ("unlinked_account=", "unlinked_account", "bool_parsing"),
        ("unlinked_deal=2", "unlinked_deal", "bool_parsing"),
        ("limit=0&from=never", "from", "value_error"),
    ]
}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_bad_parameters(world: World, client: httpx.AsyncClient) -> None:
    found = {}
    for query in BAD_PARAMETERS:
        response = await client.get(f"{PATH}?{query}", headers=world.session("viewer@one", world.one))
        assert response.status_code == 422, query
        [problem] = response.json()["detail"]
        found[query] = (problem["loc"], problem["type"])
    assert found == BAD_PARAMETERS


async def test_all_bad_parameters_come_in_one_list(world: World, client: httpx.AsyncClient) -> None:
    query = "from=x&to=y&limit=-1&offset=z&unlinked_deal=q"
    response = await client.get(f"{PATH}?{query}", headers=world.session("viewer@one", world.one))
    assert response.status_code == 422
    assert response.json() == {
        "detail": [
            {"loc": ["query", "from"], "msg": "must be an ISO 8601 date or time", "type": "value_error"},
            {"loc": ["query", "to"], "msg": "must be an ISO 8601 date or time", "type": "value_error"},
            {
                "loc": ["query", "unlinked_deal"],
                "msg": "must be true or false",
                "type": "bool_parsing",
            },
            {
                "loc": ["query", "limit"],
                "msg": "must be at least 0",
                "type": "greater_than_equal",
            },
            {
                "loc": ["query", "offset"],
                "msg": "must be a whole number",
                "type": "int_parsing",
            },
        ]
    }


async def test_the_object(world: World, client: httpx.AsyncClient) -> None:
    stage = PipelineStage(name="Open")
    account = Account(name="Acme", domain=None)
    contact = Contact(first_name="Ada", last_name="Ümlaut", email=None)
    deal = Deal(name="Renewal", stage_id=stage.id)
    details = {"transcript": "…", "attendees": [{"name": "Ada", "email": None}], "started_at": "any text"}
    full = Activity(
        subject="Full",
        body="line\nline",
        due_at=datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC),
        completed_at=datetime(2026, 3, 1, 13, tzinfo=UTC),
        duration_minutes=45,
        details=details,
        account_id=account.id,
        deal_id=deal.id,
        contact_id=contact.id,
        owner_id="rep",
        source="zoom",
        created_at=datetime(2026, 2, 1, tzinfo=UTC),
    )
    bare = Activity(created_at=datetime(2026, 2, 2, 0, 0, 0, 1, tzinfo=UTC))
    await world.add(world.one, stage, account, contact, deal, full, bare)
    response = await client.get(PATH, headers=world.session("viewer@one", world.one))
    assert response.json() == [
        {
            "id": full.id,
            "type": "meeting",
            "subject": "Full",
            "body": "line\nline",
            "due_at": "2026-03-01T12:00:00.250000Z",
            "completed_at": "2026-03-01T13:00:00Z",
            "duration_minutes": 45,
            "metadata": details,
            "account_id": account.id,
            "deal_id": deal.id,
            "contact_id": contact.id,
            "owner_id": "rep",
            "source": "zoom",
            "direction": None,
            "created_at": "2026-02-01T00:00:00Z",
            "accounts": {"id": account.id, "name": "Acme", "domain": None},
            "deals": {"id": deal.id, "name": "Renewal", "stage_id": stage.id},
            "contacts": {"id": contact.id, "first_name": "Ada", "last_name": "Ümlaut", "email": None},
        },
        {
            "id": bare.id,
            "type": "meeting",
            "subject": None,
            "body": None,
            "due_at": None,
            "completed_at": None,
            "duration_minutes": None,
            "metadata": None,
            "account_id": None,
            "deal_id": None,
            "contact_id": None,
            "owner_id": None,
            "source": "manual",
            "direction": None,
            "created_at": "2026-02-02T00:00:00.000001Z",
            "accounts": None,
            "deals": None,
            "contacts": None,
        },
    ]
    assert list(response.json()[0]["metadata"]) == ["transcript", "attendees", "started_at"]


async def test_the_default_is_200_and_the_cap_500(world: World, client: httpx.AsyncClient) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    meetings = [Activity(subject=str(n), due_at=start + timedelta(minutes=n)) for n in range(502)]
    async with world.database.writing(world.one.id) as session:
        await session.insert(*meetings)
    subjects = [str(n) for n in range(502)]
    assert await _subjects(world, client, "order=asc") == subjects[:200]
    assert await _subjects(world, client, "order=asc&limit=500") == subjects[:500]
    assert await _subjects(world, client, "order=asc&limit=501") == subjects[:500]
    assert await _subjects(world, client, "order=asc&limit=9999&offset=500") == subjects[500:]


@pytest.mark.parametrize("kind", CredentialKind)
async def test_every_kind_of_credential(
    world: World, client: httpx.AsyncClient, rows: dict[str, Any], kind: CredentialKind
) -> None:
    response = await client.get(f"{PATH}?limit=1", headers=await world.headers("viewer@two", world.two, kind))
    assert [meeting["subject"] for meeting in response.json()] == ["foreign"]


async def test_nothing_is_read_for_a_limit_of_0(
    world: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = world.session("viewer@one", world.one)
    monkeypatch.setattr(type(world.database), "reading", lambda *_: pytest.fail("a transaction"))
    for path in (PATH, "/deals"):
        response = await client.get(f"{path}?limit=0", headers=headers)
        assert (response.status_code, response.json()) == (200, [])


async def test_head_has_the_headers_of_get(world: World, client: httpx.AsyncClient, rows: dict[str, Any]) -> None:
    headers = world.session("viewer@one", world.one)
    got, headed = await client.get(PATH, headers=headers), await client.head(PATH, headers=headers)
    assert headed.status_code == 200
    for answer in (got, headed):  # between the two the budget changes
        del answer.headers["ratelimit-remaining"], answer.headers["ratelimit-reset"]
    assert headed.headers == got.headers
    assert (await client.head(PATH)).status_code == 401
