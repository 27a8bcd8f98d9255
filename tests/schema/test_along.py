"""Lists below one record come in its statement, and say what they would have said on their own (decision 247)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
import pytest_asyncio

from contract.scopes import ScopeGroup
from storage.database import Database
from storage.queries import along
from storage.tables import Account, Activity, Contact, Deal, DealContact, PipelineStage
from tests.support.gateway import Gateway
from tests.support.statements import statements
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, 12, 30, 15, 120_000, tzinfo=UTC)
REQUEST = re.compile(r'"request_id":"[^"]*"')
REFRESH = "mutation($id: ID!) { accountHealthRefresh(id: $id) { snapshot { id } } }"
HEALTH = "health { id score trend snapshotAt formulaVersion factors { id key score weight value explanation } }"


@dataclass
class Grown:
    """An organization, its deals, and the account and a contact of the first."""

    tenant: Tenant
    deals: list[str]
    account: str
    contact: str

    @property
    def database(self) -> Database:
        return self.tenant.gateway.world.database


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def grown(gateway: Gateway) -> Grown:
    """An organization with a deal that has everything below it, one that has nothing, and others around them."""
    tenant = await new_tenant(gateway)
    account = Account(name='Größe "\\" 漢字\u2028 𝄞', domain="big.example")
    other, stage = Account(name="other"), PipelineStage(name="stage", position=0)
    await tenant.add(account, other, stage)
    contacts = [Contact(last_name=f"n{k}", title=[None, "", "a\tb\n"][k], account_id=account.id) for k in range(3)]
    await tenant.add(*contacts)
    deals = [
        Deal(name="one", account_id=account.id, value=Decimal("123456789012345.1200"), close_date=date(2027, 2, 28)),
        Deal(name="two", account_id=account.id, value=Decimal("0.0001")),
        Deal(name="three", account_id=account.id, stage_id=stage.id),
        Deal(name="bare"),
        Deal(name="of another", account_id=other.id),
    ]
    await tenant.add(*deals)
    for k, contact in enumerate(contacts):
        linked_at = START + timedelta(microseconds=k)
        await tenant.add(DealContact(deal_id=deals[0].id, contact_id=contact.id, linked_at=linked_at, role="buyer"))
        await tenant.add(
            Activity(
                subject=f"m{k}",
                due_at=[START, None, datetime(2, 1, 1, tzinfo=UTC)][k],
                body="long",
                deal_id=deals[0].id,
                contact_id=contact.id,
                account_id=account.id,
            )
        )
    await tenant.add(DealContact(deal_id=deals[4].id, contact_id=contacts[0].id))
    for _ in range(2):
        await tenant.ask(REFRESH, id=account.id)
    return Grown(tenant, [deal.id for deal in deals], account.id, contacts[0].id)


DETAIL = f"""query($id: ID!) {{ deal(id: $id) {{ id name value currency closeDate createdAt
    account {{ id name {HEALTH} }} contacts {{ nodes {{ id firstName lastName email title }} }} }} }}"""
BELOW_A_DEAL = {
    "detail": DETAIL,
    "a page": """query($id: ID!) { deal(id: $id) { contacts(first: 2) { edges { cursor role isPrimary linkedAt
        node { lastName createdAt account { name } } } pageInfo { hasNextPage hasPreviousPage endCursor } } } }""",
    "counted": "query($id: ID!) { deal(id: $id) { contacts(first: 0) { totalCount nodes { id } } } }",
    "several": """query($id: ID!) { deal(id: $id) { a: contacts(first: 1) { nodes { id } } b: contacts { nodes { id } }
        c: contacts(first: 1) { nodes { lastName } } meetings { nodes { subject dueAt deal { name } } } } }""",
    "of its account": """query($id: ID!) { deal(id: $id) { account {
        deals { nodes { name value closeDate createdAt stage { name } account { name } } pageInfo { hasNextPage } }
        contacts(first: 2) { nodes { lastName deals { nodes { name } } } pageInfo { hasNextPage } }
        meetings { nodes { subject dueAt } } healthHistory(first: 1) { nodes { score } } } } }""",
    "long columns": "query($id: ID!) { deal(id: $id) { meetings { nodes { body metadata subject } } } }",
    "a variable": "query($id: ID!, $n: Int = 1) { deal(id: $id) { contacts(first: $n) { nodes { id } } } }",
    "filtered": """query($id: ID!) { deal(id: $id) { account {
        deals(filter: {name: {eq: "one"}}) { nodes { name } } } } }""",
    "wrong": "query($id: ID!) { deal(id: $id) { name contacts(first: -1) { nodes { id } } } }",
    "a cursor": """query($id: ID!) { deal(id: $id) { name contacts(first: 1, after: "nonsense") { nodes { id } } } }""",
    "below many": "query($id: ID!) { deal(id: $id) { contacts { nodes { deals { nodes { name } } } } } }",
}


BELOW_OTHERS = {
    "an account": f"""query($id: ID!) {{ account(id: $id) {{ name {HEALTH} contacts {{ nodes {{ lastName }} }}
        deals(first: 2) {{ nodes {{ name value }} pageInfo {{ hasNextPage endCursor }} }} }} }}""",
    "a contact": f"""query($id: ID!) {{ contact(id: $id) {{ lastName deals {{ nodes {{ name }} }}
        meetings {{ nodes {{ subject dueAt }} }} account {{ {HEALTH} }} }} }}""",
}


async def _both(grown: Grown, patch: pytest.MonkeyPatch, query: str, identifier: str) -> tuple[str, str]:
    """The answer with what comes along, and that with statements for each list."""
    answers = []
    for is_along in (True, False):
        with patch.context() as patched:
            if not is_along:
                patched.setattr(along, "wanted_of", lambda *_: ())
            response = await grown.tenant.post(query, id=identifier)
        answers.append(REQUEST.sub("", f"{response.status_code} {response.text}"))
    return answers[0], answers[1]


@pytest.mark.parametrize("query", BELOW_A_DEAL.values(), ids=BELOW_A_DEAL.keys())
async def test_the_answer_is_that_of_statements_of_their_own(
    grown: Grown, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    for deal in (*grown.deals, grown.account):
        along_with_it, on_their_own = await _both(grown, monkeypatch, query, deal)
        assert along_with_it == on_their_own


@pytest.mark.parametrize("query", BELOW_OTHERS.values(), ids=BELOW_OTHERS.keys())
async def test_so_it_is_below_other_records(grown: Grown, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    identifier = grown.account if "account(" in query else grown.contact
    along_with_it, on_their_own = await _both(grown, monkeypatch, query, identifier)
    assert along_with_it == on_their_own
    assert "meetings" not in along_with_it or '"m0"' in along_with_it
    with statements(grown.database) as bare:
        await grown.tenant.ask("query($id: ID!) { deal(id: $id) { name } }", id=identifier)
    with statements(grown.database) as sent:
        await grown.tenant.ask(query, id=identifier)
    if grown.database.dialect == "postgresql":
        assert len(sent) == len(bare)


COUNTS = {
    "detail": (1, 3),
    "a page": (1, 2),
    "counted": (2, 3),
    "several": (1, 5),
    "of its account": (3, 6),
    "long columns": (2, 2),
    "a variable": (2, 2),
    "filtered": (2, 2),
}
"""How many statements each takes beside that of the credential: with what comes along, and without."""


@pytest.mark.parametrize(("name", "counts"), COUNTS.items(), ids=COUNTS.keys())
async def test_what_it_takes(grown: Grown, monkeypatch: pytest.MonkeyPatch, name: str, counts: tuple[int, int]) -> None:
    query, deal = BELOW_A_DEAL[name], grown.deals[0]
    taken = []
    for is_along in (True, False):
        with monkeypatch.context() as patched:
            if not is_along:
                patched.setattr(along, "wanted_of", lambda *_: ())
            with statements(grown.database) as bare:
                await grown.tenant.ask("query($id: ID!) { deal(id: $id) { name } }", id=deal)
            with statements(grown.database) as sent:
                await grown.tenant.ask(query, id=deal)
        taken.append(len(sent) - len(bare) + 1)
    assert tuple(taken) == (counts if grown.database.dialect == "postgresql" else (counts[1], counts[1]))


async def test_several_records_come_by_the_lists_own_statements(grown: Grown) -> None:
    one, two = grown.deals[:2]
    query = f"{{ a: deal(id: {one!r}) {{ contacts {{ nodes {{ id }} }} }} b: deal(id: {two!r}) {{ id }} }}"
    found = await grown.tenant.ask(query.replace("'", '"'))
    assert [len(found["a"]["contacts"]["nodes"]), found["b"]["id"]] == [3, two]


async def test_who_may_not_read_a_list_is_told_so_and_none_of_it_is_read(grown: Grown) -> None:
    refused = next(scope for scope in sorted(ScopeGroup.CRM_READ.value - ScopeGroup.MEETINGS_READ.value))
    headers = await grown.tenant.scoped(refused)
    query = "query($id: ID!) { deal(id: $id) { name contacts { nodes { id } } account { health { score } } } }"
    with statements(grown.database) as sent:
        body = await grown.tenant.body(query, headers, id=grown.deals[0])
    [error] = body["errors"]
    assert error["path"] == ["deal", "account", "health"]
    assert len(body["data"]["deal"]["contacts"]["nodes"]) == 3
    assert not any("health_snapshots" in statement for statement in sent)


async def test_what_a_mutation_changed_is_read_again(grown: Grown) -> None:
    made = await grown.tenant.ask(
        "mutation($input: DealCreateInput!) { dealCreate(input: $input) { deal { id } } }", input={"name": "new"}
    )
    document = """mutation($deal: ID!, $contact: ID!) {
        a: dealContactLink(dealId: $deal, contactId: $contact) { deal { contacts { nodes { id } } } }
        b: dealContactUnlink(dealId: $deal, contactId: $contact) { dealId }
        c: dealUpdate(id: $deal, input: {name: "newer"}) { deal { name contacts { nodes { id } } } } }"""
    done = await grown.tenant.ask(document, deal=made["deal"]["id"], contact=grown.contact)
    assert done["a"]["deal"]["contacts"]["nodes"] == [{"id": grown.contact}]
    assert done["c"]["deal"] == {"name": "newer", "contacts": {"nodes": []}}


async def test_nothing_of_another_organization_comes_along(grown: Grown, gateway: Gateway) -> None:
    stranger = await new_tenant(gateway)
    assert await stranger.ask(DETAIL, id=grown.deals[0]) is None
