"""Every write through every surface under an idempotency key: again it is answered alike, and nothing is done."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import httpx
import pytest

from contract.scopes import Role
from identity.principal import Organization
from resolvers.shared.access import OPERATIONS
from storage.base import new_id
from storage.queries import organizations as directory
from tests.isolation.cases import CASES, Graph, Rest
from tests.isolation.records import fill_organization, send, settle
from tests.isolation.requests import FIRST, OF_CONSENT
from tests.support.gateway import Gateway
from tests.support.schemas import built
from tests.support.world import Headers

built()  # the fields and paths register what they serve
WRITES = [name for name, rule in OPERATIONS.items() if rule.writes]
REPLAYED = "idempotency-replayed"
BRINGING_BYTES = "files.create_file"
"""What has its bytes in the store before the key is looked at: those of the second are noted, to be removed later."""

_numbers = count(1)


@dataclass
class Place:
    """A new organization with a record of every kind, and its administrator."""

    organization: Organization
    headers: Headers
    records: dict[str, str]


async def _begun(gateway: Gateway, name: str, place: Place) -> None:
    """What comes before the operation is done."""
    if name in FIRST:
        await send(gateway, CASES[FIRST[name]].requests[0].filled(place.records), place.headers)


async def _place(gateway: Gateway) -> Place:
    world, number = gateway.world, next(_numbers)
    organization = Organization(new_id(), f"org_{number}", f"Organization {number}")
    await directory.create_organization(world.database, organization.name, organization.external_id, organization.id)
    subject = await world.join(f"admin@{number}", organization, role=Role.ADMIN)
    records = await fill_organization(world, organization, subject, f"mark{number}")
    records |= {f"own {name}": identifier for name, identifier in records.items()} | {"name": "Changed"}
    return Place(organization, world.session(subject, organization), records)


def _said(response: httpx.Response) -> tuple[int, dict[str, str], bytes]:
    """The answer without what is each request's own: its id, what it cost of what is left, and how far the log goes."""
    own = ("x-request-id", REPLAYED, "x-request-cost", "content-length", "x-position")
    headers = {n: v for n, v in response.headers.items() if n not in own and not n.startswith("ratelimit-")}
    content, _, _ = response.content.partition(b',"extensions":')
    return response.status_code, headers, content


def _worked(response: httpx.Response) -> bool:
    return response.is_success and b'"errors":[{' not in response.content and b'"code"' not in response.content


def test_every_mutation_but_one_is_made_once() -> None:
    mutations = {name for name, case in CASES.items() if any(request.writes for request in case.requests)}
    # A question has a key of its own, which leads back to its answer; a part of an upload has its offset.
    assert set(WRITES) == mutations - {"webhooks.try_webhook", "analytics_runs.ask", "upload_parts.append"}


@pytest.mark.long
async def test_the_second_answer_is_the_first_and_nothing_is_done(gateway: Gateway) -> None:
    """Each request in the organization that the last one left behind, or where it cannot work there, in a new one."""
    place = await _place(gateway)
    worked: set[tuple[str, type[Rest | Graph]]] = set()
    for name in WRITES:
        for request in CASES[name].requests:
            key = {"Idempotency-Key": new_id()}
            filled = request.filled(place.records)
            await _begun(gateway, name, place)
            first = await send(gateway, filled, place.headers | key)
            if not _worked(first):
                place = await _place(gateway)
                filled = request.filled(place.records)
                await _begun(gateway, name, place)
                first = await send(gateway, filled, place.headers | key)
            await settle(gateway)
            before = await gateway.world.dump(place.organization)
            second = await send(gateway, filled, place.headers | key)
            assert REPLAYED not in first.headers
            if _worked(first):
                worked.add((name, type(request)))
                assert second.headers[REPLAYED] == "true", (name, request)
                assert _said(second) == _said(first), (name, request)
            else:  # the key is free, and the same goes wrong again
                assert REPLAYED not in second.headers, (name, request, second.text)
            after = await gateway.world.dump(place.organization)
            if name == BRINGING_BYTES:
                before, after = ({**kept, "file_leftovers": []} for kept in (before, after))
            assert after == before, (name, request)
    assert worked == {(name, type(r)) for name in WRITES if name not in OF_CONSENT for r in CASES[name].requests}
