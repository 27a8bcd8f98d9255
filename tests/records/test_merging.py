"""Merging accounts and contacts, by both doors: everything goes along, old ids lead on, and it can be undone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from contract.limits import MERGED_MAX
from contract.mergeable import LINKS
from storage.base import new_id, now
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    Deal,
    DealContact,
    Enrollment,
    Event,
    File,
    FileLink,
    HealthFactor,
    HealthSnapshot,
    Lead,
    MatchGroup,
    Merge,
    MergedId,
    NotDuplicate,
    RecordChange,
    Tag,
    TagLink,
)
from tests.isolation.requests import ERRORS, Case, Rest, q
from tests.isolation.surfaces import Surfaces
from tests.records.test_files import UPLOAD
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWN = f"id kind intoId fromIds mergedBy undoneAt links {{ {' '.join(LINKS[:2])} dealContacts tags collapsed }}"
MERGE = f"""mutation($i: MergeInput!) {{ recordsMerge(input: $i) {{
  merge {{ {SHOWN} }} record {{ __typename id }} {ERRORS} }} }}"""
PREVIEW = f"""query($i: MergeInput!) {{ mergePreview(input: $i) {{
  fields {{ field value recordId conflicting }}
  links {{ contacts deals dealContacts champions activities leads enrollments files tags healthSnapshots collapsed }}
  {ERRORS} }} }}"""
UNDO = f"""mutation($id: ID!) {{ mergeUndo(id: $id) {{
  merge {{ {SHOWN} }} restored {{ __typename id }} kept {ERRORS} }} }}"""
READ = f"query($id: ID!) {{ merge(id: $id) {{ {SHOWN} into {{ __typename id }} }} node(id: $id) {{ __typename id }} }}"


async def rest(tenant: Tenant, method: str, path: str, **more: Any) -> httpx.Response:
    return await tenant.gateway.http.request(method, path, headers=tenant.headers(), **more)


async def merge(tenant: Tenant, kind: str, into: str, *others: str, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"kind": kind, "into": into, "from": list(others), **more}
    done: dict[str, Any] = await tenant.ask(MERGE, i=given)
    assert done["userErrors"] == [], done
    return done


async def undo(tenant: Tenant, merge_id: str) -> dict[str, Any]:
    done: dict[str, Any] = await tenant.ask(UNDO, id=merge_id)
    assert done["userErrors"] == [], done
    return done


LINKED: list[Any] = [
    (Contact, "account_id"),
    (Deal, "account_id"),
    (Deal, "champion_id"),
    (Activity, "account_id"),
    (Activity, "contact_id"),
    (Lead, "account_id"),
    (Lead, "contact_id"),
    (Enrollment, "contact_id"),
]


async def graph(tenant: Tenant) -> dict[str, Any]:
    """Every link that accounts and contacts of the organization have, and their fields."""
    found: dict[str, Any] = {}
    for model, column in LINKED:
        found[f"{model.__tablename__}.{column}"] = dict(await tenant.rows(model.id, getattr(model, column)))
    found["deal_contacts"] = sorted(
        await tenant.rows(DealContact.deal_id, DealContact.contact_id, DealContact.role, DealContact.is_primary)
    )
    found["tag_links"] = sorted(await tenant.rows(TagLink.kind, TagLink.record_id, TagLink.tag_id, TagLink.position))
    found["file_links"] = sorted(await tenant.rows(FileLink.id, FileLink.record_id, FileLink.file_id))
    found["health"] = sorted(await tenant.rows(HealthSnapshot.id, HealthSnapshot.account_id, HealthSnapshot.score))
    found["factors"] = sorted(await tenant.rows(HealthFactor.id, HealthFactor.account_id, HealthFactor.key))
    found["pairs"] = sorted(await tenant.rows(NotDuplicate.low_id, NotDuplicate.high_id))
    found["groups"] = sorted(await tenant.rows(MatchGroup.kind, MatchGroup.key, MatchGroup.size))
    found["ids"] = sorted(await tenant.rows(MergedId.from_id, MergedId.into_id))
    found["accounts"] = sorted(await tenant.rows(Account.id, Account.name, Account.domain, Account.industry))
    found["contacts"] = sorted(
        await tenant.rows(Contact.id, Contact.first_name, Contact.email, Contact.phone, Contact.owner_id),
        key=lambda row: row[0],
    )
    return found


async def two_accounts(tenant: Tenant) -> tuple[Account, Account, dict[str, Any]]:
    """Two accounts, of which the second has one of everything."""
    first = Account(name="Müller GmbH", domain=None, industry="Steel")
    second = Account(name="Mueller", domain="mueller.example", industry="Metal")
    both, own = Tag(name="both"), Tag(name="own")
    contact = Contact(first_name="Ada", account_id=second.id)
    deal = Deal(name="d", account_id=second.id)
    snapshot = HealthSnapshot(account_id=second.id, score=50, formula_version="1")
    factor = HealthFactor(
        account_id=second.id, health_score_id=snapshot.id, position=0, key="follow_through", label="f", score=1,
        weight=1.0, explanation="e", sample_size=1,
    )  # fmt: skip
    meeting = Activity(subject="m", account_id=second.id)
    lead = Lead(name="l", account_id=second.id)
    links = [
        TagLink(kind="account", record_id=first.id, tag_id=both.id),
        TagLink(kind="account", record_id=second.id, tag_id=both.id, position=3),
        TagLink(kind="account", record_id=second.id, tag_id=own.id, position=4),
    ]
    change = RecordChange(
        subject_kind="account", subject_id=second.id, actor="somebody", type="account_updated",
        fields={"industry": [None, "Metal"]},
    )  # fmt: skip
    await tenant.add(first, second, both, own, contact, deal, snapshot, factor, meeting, lead, *links, change)
    return first, second, {"contact": contact, "deal": deal, "lead": lead, "meeting": meeting, "own": own}


async def test_an_account_takes_everything_along_and_gives_it_back(one: Tenant) -> None:
    first, second, made = await two_accounts(one)
    before = await graph(one)
    given = {"kind": "ACCOUNT", "into": first.id, "from": [second.id]}
    preview = await one.ask(PREVIEW, i=given)
    assert preview["userErrors"] == []
    assert await graph(one) == before
    counted = dict.fromkeys(
        ["contacts", "deals", "activities", "leads", "healthSnapshots"], 1
    ) | {"tags": 2, "collapsed": 1}  # fmt: skip
    assert {name: number for name, number in preview["links"].items() if number} == counted
    fields = {field.pop("field"): field for field in preview["fields"]}
    assert fields["name"] == {"value": "Müller GmbH", "recordId": first.id, "conflicting": True}
    assert fields["domain"] == {"value": "mueller.example", "recordId": second.id, "conflicting": False}

    done = await merge(one, "ACCOUNT", first.id, second.id, choose=[{"field": "industry", "recordId": second.id}])
    assert done["record"] == {"__typename": "Account", "id": first.id}
    assert (done["merge"]["intoId"], done["merge"]["fromIds"]) == (first.id, [second.id])
    after = await graph(one)
    assert [row[1:] for row in after["accounts"]] == [("Müller GmbH", "mueller.example", "Metal")]
    for name in ("contacts.account_id", "deals.account_id", "activities.account_id", "leads.account_id"):
        assert set(after[name].values()) == {first.id}, name
    assert len(after["tag_links"]) == 2
    assert after["health"] == after["factors"] == []
    seen = await one.ask(
        "query($id: ID!) { account(id: $id) { id tags contacts { nodes { id } } history { nodes { type } } } }",
        id=second.id,
    )
    assert (seen["id"], seen["tags"]) == (first.id, ["both", "own"])
    assert [node["id"] for node in seen["contacts"]["nodes"]] == [made["contact"].id]
    told = [node["type"] for node in seen["history"]["nodes"]]
    assert told[0] == "account_merged"
    assert "account_updated" in told
    [deal] = await one.rows(Deal.version)
    assert deal == (2,)

    back = await undo(one, done["merge"]["id"])
    assert back["restored"] == [{"__typename": "Account", "id": second.id}]
    assert back["kept"] == []
    assert await graph(one) == before
    [(changed,)] = [
        row[1:] for row in await one.rows(RecordChange.actor, RecordChange.subject_id) if row[0] == "somebody"
    ]
    assert changed == second.id
    types = [row[0] for row in sorted(await one.rows(Event.type, Event.sequence), key=lambda row: row[1])]
    assert types == ["account_merged", "merge_undone"]


async def two_contacts(tenant: Tenant) -> tuple[Contact, Contact, dict[str, Any]]:
    """Two contacts with a deal and a campaign in common, and one of each that is the second's alone."""
    first = Contact(first_name="Ada", last_name="Park", email="ada@example.com")
    second = Contact(first_name="Ada", last_name="Park", email="ada.park@example.com", phone="+49 30 1234567")
    third = Contact(first_name="Another")
    deals = [Deal(name="common"), Deal(name="own", champion_id=second.id)]
    campaigns = [Campaign(name="common", provider="embedded"), Campaign(name="own", provider="embedded")]
    low, high = sorted((second.id, third.id))
    file = File(name="f", content_type="text/plain", bytes=0, sha256="0")
    await tenant.add(
        *(first, second, third, *deals, *campaigns, file),
        FileLink(record_id=second.id, file_id=file.id, kind="contact"),
        DealContact(deal_id=deals[0].id, contact_id=first.id),
        DealContact(deal_id=deals[0].id, contact_id=second.id, role="buyer", is_primary=True),
        DealContact(deal_id=deals[1].id, contact_id=second.id, role="user"),
        Enrollment(campaign_id=campaigns[0].id, contact_id=first.id, email="a", email_key="a"),
        Enrollment(campaign_id=campaigns[0].id, contact_id=second.id, email="b", email_key="b"),
        Enrollment(campaign_id=campaigns[1].id, contact_id=second.id, email="b", email_key="b"),
        NotDuplicate(kind="contact", low_id=low, high_id=high),
    )
    return first, second, {"third": third, "deals": deals, "campaigns": campaigns}


async def test_a_contact_takes_everything_along_and_gives_it_back(one: Tenant) -> None:
    first, second, made = await two_contacts(one)
    before = await graph(one)
    answer = await rest(one, "POST", "/merges/preview", json={"kind": "contact", "into": first.id, "from": [second.id]})
    assert answer.status_code == 200, answer.text
    counts = {name: number for name, number in answer.json()["links"].items() if number}
    assert counts == {"deal_contacts": 2, "champions": 1, "enrollments": 2, "files": 1, "collapsed": 2}
    body = {"kind": "contact", "into": first.id, "from": [second.id]}
    answer = await rest(one, "POST", "/merges", json=body)
    assert answer.status_code == 201, answer.text
    done = answer.json()
    assert answer.headers["location"] == f"/merges/{done['id']}"
    assert (done["record"]["id"], done["record"]["phone"]) == (first.id, "+49 30 1234567")
    after = await graph(one)
    common, own = (deal.id for deal in made["deals"])
    assert after["deal_contacts"] == sorted([(common, first.id, "buyer", True), (own, first.id, "user", False)])
    assert sorted(after["enrollments.contact_id"].values(), key=str) == sorted([first.id, first.id, None], key=str)
    assert [record for _, record, _ in after["file_links"]] == [first.id]
    assert after["pairs"] == [tuple(sorted((first.id, made["third"].id)))]
    for path in ("", "/timeline", "/history"):
        found = await rest(one, "GET", f"/contacts/{second.id}{path}")
        assert found.status_code == 200, path
    assert (await rest(one, "GET", f"/contacts/{second.id}")).json()["id"] == first.id
    linked = await rest(one, "PUT", f"/deals/{own}/contacts/{second.id}", json={"role": "boss"})
    assert (linked.status_code, linked.json()["contact_id"]) == (200, first.id)

    answer = await rest(one, "POST", f"/merges/{done['id']}/undo")
    assert answer.status_code == 200, answer.text
    assert [record["id"] for record in answer.json()["restored"]] == [second.id]
    assert answer.json()["kept"] == []
    assert await graph(one) == before
    again = await rest(one, "POST", f"/merges/{done['id']}/undo")
    assert (again.status_code, again.json()["code"]) == (409, "invalid_state")


async def test_what_two_that_go_are_on_one_deal_goes_along(one: Tenant) -> None:
    stays, first, second = (Contact(first_name=name) for name in "sab")
    deal = Deal(name="d")
    await one.add(
        *(stays, first, second, deal),
        DealContact(deal_id=deal.id, contact_id=first.id),
        DealContact(deal_id=deal.id, contact_id=second.id, role="buyer", is_primary=True),
    )
    before = await graph(one)
    done = await merge(one, "CONTACT", stays.id, first.id, second.id)
    assert (await graph(one))["deal_contacts"] == [(deal.id, stays.id, "buyer", True)]
    assert (await undo(one, done["merge"]["id"]))["kept"] == []
    assert await graph(one) == before


async def test_identifiers_that_went_lead_on_everywhere(one: Tenant) -> None:
    first, second, third = (Account(name=name) for name in "abc")
    contact, gone = Contact(first_name="c"), Contact(first_name="g")
    deal = Deal(name="d")
    await one.add(first, second, third, contact, gone, deal)
    await merge(one, "ACCOUNT", second.id, third.id)
    await merge(one, "ACCOUNT", first.id, second.id)
    await merge(one, "CONTACT", contact.id, gone.id)
    for old in (second.id, third.id):
        found = await rest(one, "GET", f"/accounts/{old}")
        assert (found.status_code, found.json()["id"]) == (200, first.id)
        node = await one.ask("query($id: ID!) { node(id: $id) { id __typename } }", id=old)
        assert node == {"id": first.id, "__typename": "Account"}
        account = await one.ask("query($id: ID!) { account(id: $id) { id deals { totalCount } } }", id=old)
        assert account["id"] == first.id
    changed = await one.ask(
        'mutation($id: ID!) { accountUpdate(id: $id, input: {industry: "x"}) { account { id industry } } }', id=third.id
    )
    assert changed["account"] == {"id": first.id, "industry": "x"}
    refreshed = await rest(one, "POST", f"/accounts/{third.id}/health/refresh")
    assert refreshed.json()["account_id"] == first.id
    latest = await rest(one, "GET", f"/accounts/{third.id}/health/latest")
    assert latest.json()["id"] == refreshed.json()["id"]
    tagged = await rest(one, "POST", "/records/tags", json={"ids": [third.id], "add": ["t"]})
    assert tagged.json() == [{"id": first.id, "kind": "account", "tags": ["t"]}]
    made = await rest(one, "POST", "/deals", json={"name": "new", "account_id": third.id})
    assert (await rest(one, "GET", f"/deals/{made.json()['id']}")).json()["account_id"] == first.id
    moved = await rest(one, "PATCH", f"/deals/{deal.id}", json={"account_id": second.id})
    assert moved.json()["account_id"] == first.id
    note = {"type": "note", "body": "n", "account_id": third.id, "contact_id": gone.id}
    noted = await rest(one, "POST", "/activities", json=note)
    activity = (await rest(one, "GET", f"/activities/{noted.json()['id']}")).json()
    assert (activity["account_id"], activity["contact_id"]) == (first.id, contact.id)
    person = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { contact { accountId } } }"
    assert (await one.ask(person, i={"firstName": "p", "accountId": third.id}))["contact"] == {"accountId": first.id}
    meeting = "mutation($i: MeetingLogInput!) { meetingLog(input: $i) { meeting { accountId contactId } } }"
    logged = await one.ask(meeting, i={"subject": "m", "accountId": third.id, "contactId": gone.id})
    assert logged["meeting"] == {"accountId": first.id, "contactId": contact.id}
    for _ in range(2):
        assert (await rest(one, "PUT", f"/deals/{deal.id}/contacts/{gone.id}")).status_code == 200
        assert (await rest(one, "DELETE", f"/deals/{deal.id}/contacts/{gone.id}")).status_code == 204
        assert await one.rows(DealContact.contact_id) == []
    deleted = await one.ask("mutation($id: ID!) { accountDelete(id: $id) { deletedId } }", id=third.id)
    assert deleted == {"deletedId": first.id}
    assert (await rest(one, "GET", f"/accounts/{third.id}")).status_code == 404
    assert await one.ask("query($id: ID!) { node(id: $id) { id } }", id=second.id) is None


async def test_a_record_names_those_that_went_into_it(one: Tenant, two: Tenant) -> None:
    for kind, noun, model, name in (
        ("ACCOUNT", "accounts", Account, {"name": "x"}),
        ("CONTACT", "contacts", Contact, {"first_name": "x"}),
    ):
        first, second, third, *others = (model(**name) for _ in range(13))
        foreign = model(**name)
        await one.add(first, second, third, *others)
        await two.add(foreign)
        inner = await merge(one, kind, second.id, third.id)
        outer = await merge(one, kind, first.id, second.id)
        document = f"{{ {noun} {{ nodes {{ id mergedFrom }} }} }}"
        said = {each["id"]: each["mergedFrom"] for each in (await one.ask(document))["nodes"]}
        assert said == {first.id: [third.id, second.id]} | {other.id: [] for other in others}
        assert (await two.ask(document))["nodes"] == [{"id": foreign.id, "mergedFrom": []}]
        shown = (await rest(one, "GET", f"/{noun}/{third.id}")).json()
        assert (shown["id"], shown["merged_from"]) == (first.id, [third.id, second.id])
        listed = {each["id"]: each["merged_from"] for each in (await rest(one, "GET", f"/{noun}")).json()}
        assert listed == said
        counts = []
        for size in (1, 10):
            with statements(one.gateway.world.database) as sent:
                await one.ask(f"{{ {noun}(first: {size}) {{ nodes {{ id mergedFrom }} }} }}")
            counts.append(len(sent))
        assert counts[0] == counts[1]
        await undo(one, outer["merge"]["id"])
        again = {each["id"]: each["mergedFrom"] for each in (await one.ask(document))["nodes"]}
        assert again == {first.id: [], second.id: [third.id]} | {other.id: [] for other in others}
        await undo(one, inner["merge"]["id"])
        assert [each["mergedFrom"] for each in (await one.ask(document))["nodes"]] == [[]] * 13


async def test_identifiers_that_went_lead_on_for_files_and_notifications(one: Tenant) -> None:
    first, second = Account(name="a"), Account(name="b")
    await one.add(first, second)
    begun = await one.ask(UPLOAD, i={"name": "u", "bytes": 1, "attachTo": [second.id]})
    await merge(one, "ACCOUNT", first.id, second.id)
    content = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
    part = {**one.headers(), **content}
    sent = await one.gateway.http.patch(f"/files/uploads/{begun['upload']['id']}", headers=part, content=b"x")
    assert sent.status_code == 204, sent.text
    form: dict[str, Any] = {"files": {"file": ("n", b"", "text/plain")}, "data": {"attach_to": [second.id, first.id]}}
    posted = (await rest(one, "POST", "/files", **form)).json()
    file = File(name="f", content_type="text/plain", bytes=0, sha256="0")
    await one.add(file)
    for _ in range(2):
        assert (await rest(one, "PUT", f"/records/{second.id}/files/{file.id}")).status_code == 204
    ids = {sent.headers["x-file-id"], posted["id"], file.id}
    assert sorted(await one.rows(FileLink.record_id, FileLink.file_id)) == sorted((first.id, i) for i in ids)
    for i in ids:
        assert (await rest(one, "DELETE", f"/records/{second.id}/files/{i}")).status_code == 204
    assert await one.rows(FileLink.id) == []
    emitted = await rest(one, "POST", "/notifications", json={"type": "t", "record_id": second.id})
    assert emitted.status_code == 202, emitted.text
    [data] = [data for type, data in await one.rows(Event.type, Event.data) if type == "notification_emitted"]
    assert data["record_id"] == first.id


async def test_what_was_changed_after_the_merge_stays_and_is_told(one: Tenant) -> None:
    first, second, made = await two_accounts(one)
    done = await merge(one, "ACCOUNT", first.id, second.id)
    other = Account(name="other")
    await one.add(other)
    change = "mutation($id: ID!, $i: AccountUpdateInput!) { accountUpdate(id: $id, input: $i) { userErrors { code } } }"
    await one.ask(change, id=first.id, i={"domain": "new.example", "name": "New"})
    await rest(one, "PATCH", f"/deals/{made['deal'].id}", json={"account_id": other.id})
    await rest(one, "POST", "/records/tags", json={"ids": [first.id], "remove": ["own"]})
    await one.ask("mutation($id: ID!) { contactDelete(id: $id) { deletedId } }", id=made["contact"].id)
    back = await undo(one, done["merge"]["id"])
    assert sorted(back["kept"]) == sorted(["domain", f"deals/{made['deal'].id}", f"tag_links/{made['own'].id}"])
    after = await graph(one)
    assert after["deals.account_id"] == {made["deal"].id: other.id}
    assert after["leads.account_id"] == {made["lead"].id: second.id}
    assert [row[3] for row in after["accounts"] if row[0] == second.id] == ["Metal"]
    assert [row[1:3] for row in after["accounts"] if row[0] == first.id] == [("New", "new.example")]


async def test_a_merge_whose_record_is_gone_gives_back_what_there_is(one: Tenant) -> None:
    account = Account(name="a")
    first, second = Contact(first_name="c"), Contact(first_name="d", account_id=account.id)
    await one.add(account, first, second)
    done = await merge(one, "CONTACT", first.id, second.id)
    for mutation, record in (("contactDelete", first), ("accountDelete", account)):
        await one.ask(f"mutation($id: ID!) {{ {mutation}(id: $id) {{ deletedId }} }}", id=record.id)
    seen = await one.ask(READ, id=done["merge"]["id"])
    assert (seen["merge"]["into"], seen["node"]["__typename"]) == (None, "Merge")
    back = await undo(one, done["merge"]["id"])
    assert back["kept"] == ["accountId"]
    assert await one.rows(Contact.id, Contact.account_id) == [(second.id, None)]


async def test_an_undo_follows_accounts_that_went_into_others_meanwhile(one: Tenant) -> None:
    old, new, taken = (Account(name=name) for name in "ont")
    first, second = Contact(first_name="a", account_id=old.id), Contact(first_name="b", account_id=new.id)
    await one.add(old, new, taken, first, second)
    chosen = [{"field": "accountId", "recordId": second.id}]
    done = await merge(one, "CONTACT", first.id, second.id, choose=chosen)
    outer = await merge(one, "ACCOUNT", taken.id, old.id)
    back = await undo(one, done["merge"]["id"])
    assert back["kept"] == []
    assert dict(await one.rows(Contact.id, Contact.account_id)) == {first.id: taken.id, second.id: new.id}
    await undo(one, outer["merge"]["id"])

    done = await merge(one, "CONTACT", first.id, second.id)
    await merge(one, "ACCOUNT", old.id, new.id)
    assert (await undo(one, done["merge"]["id"]))["kept"] == []
    assert dict(await one.rows(Contact.id, Contact.account_id)) == {first.id: taken.id, second.id: old.id}


async def test_an_undo_leaves_a_field_whose_account_is_gone(one: Tenant) -> None:
    old, new = Account(name="o"), Account(name="n")
    first, second = Contact(first_name="a", account_id=old.id), Contact(first_name="b", account_id=new.id)
    await one.add(old, new, first, second)
    chosen = [{"field": "accountId", "recordId": second.id}]
    done = await merge(one, "CONTACT", first.id, second.id, choose=chosen)
    await one.ask("mutation($id: ID!) { accountDelete(id: $id) { deletedId } }", id=old.id)
    back = await undo(one, done["merge"]["id"])
    assert back["kept"] == ["accountId"]
    assert dict(await one.rows(Contact.id, Contact.account_id)) == {first.id: new.id, second.id: new.id}


async def test_a_merge_is_undone_before_the_one_it_went_into(one: Tenant) -> None:
    a, b, c = (Contact(first_name=name) for name in "abc")
    deal = Deal(name="d", champion_id=c.id)
    await one.add(a, b, c, deal)
    before = await graph(one)
    inner = await merge(one, "CONTACT", b.id, c.id)
    between = await graph(one)
    outer = await merge(one, "CONTACT", a.id, b.id)
    refused = await one.ask(UNDO, id=inner["merge"]["id"])
    assert [(e["code"], e["field"]) for e in refused["userErrors"]] == [("INVALID_STATE", ["id"])]
    assert outer["merge"]["id"] in refused["userErrors"][0]["message"]
    await undo(one, outer["merge"]["id"])
    assert await graph(one) == between
    await undo(one, inner["merge"]["id"])
    assert await graph(one) == before


async def test_an_undo_has_thirty_days(one: Tenant) -> None:
    first, second = Account(name="a"), Account(name="b")
    await one.add(first, second)
    done = await merge(one, "ACCOUNT", first.id, second.id)
    assert done["merge"]["undoneAt"] is None
    async with one.gateway.world.database.writing(one.id) as session:
        late = now() - timedelta(seconds=1)
        await session.execute(update(Merge).where(Merge.org_id == one.id).values(undo_until=late))
    refused = await one.ask(UNDO, id=done["merge"]["id"])
    assert [(e["code"], e["field"]) for e in refused["userErrors"]] == [("INVALID_STATE", ["id"])]
    assert await one.rows(Account.id) == [(first.id,)]
    [unknown] = (await one.ask(UNDO, id=new_id()))["userErrors"]
    assert (unknown["code"], unknown["field"]) == ("NOT_FOUND", ["id"])
    page = await one.ask("{ merges(kind: ACCOUNT) { totalCount nodes { id kind into { id } } } }")
    assert page["nodes"] == [{"id": done["merge"]["id"], "kind": "ACCOUNT", "into": {"id": first.id}}]
    assert (await one.ask("{ merges(kind: CONTACT) { totalCount } }"))["totalCount"] == 0


async def test_what_cannot_be_merged_is_refused_at_its_field_and_nothing_done(one: Tenant, two: Tenant) -> None:
    first, second, person = Account(name="a"), Account(name="b"), Contact(first_name="c", email=None)
    foreign = Account(name="f")
    await one.add(first, second, person)
    await two.add(foreign)
    before = await graph(one)
    good: dict[str, Any] = {"kind": "account", "into": first.id, "from": [second.id]}
    cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({"from": [first.id]}, ["from", 0]),
        ({"from": [second.id, first.id]}, ["from", 1]),
        ({"from": []}, ["from"]),
        ({"from": [new_id() for _ in range(MERGED_MAX + 1)]}, ["from"]),
        ({"from": [person.id]}, ["from", 0]),
        ({"from": [foreign.id]}, ["from", 0]),
        ({"from": ["x"]}, ["from", 0]),
        ({"into": foreign.id}, ["into"]),
        ({"choose": [{"field": "colour", "record_id": first.id}]}, ["choose", 0, "field"]),
        ({"choose": [{"field": "name", "record_id": foreign.id}]}, ["choose", 0, "record_id"]),
        ({"choose": [{"field": "name", "record_id": first.id}] * 2}, ["choose", 1, "field"]),
    ]
    for wrong, at in cases:
        for path in ("/merges", "/merges/preview"):
            answer = await rest(one, "POST", path, json=good | wrong)
            assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", *at]), (path, wrong)
        renamed = good | wrong | {"kind": "ACCOUNT"}
        if "choose" in wrong:
            renamed["choose"] = [{"field": c["field"], "recordId": c["record_id"]} for c in wrong["choose"]]
        for document in (MERGE, PREVIEW):
            problem = (await one.ask(document, i=renamed))["userErrors"][0]
            field = ["input", *("recordId" if part == "record_id" else str(part) for part in at)]
            assert (problem["code"], problem["field"]) == ("VALIDATION", field), wrong
    stale = (await one.ask(MERGE, i=good | {"kind": "ACCOUNT", "expectedVersion": 7}))["userErrors"][0]
    assert (stale["code"], stale["field"]) == ("PRECONDITION_FAILED", ["input", "expectedVersion"])
    assert await graph(one) == before


async def test_a_contact_keeps_a_name_or_an_address(one: Tenant) -> None:
    first, second = Contact(email="a@example.com"), Contact(first_name="b")
    await one.add(first, second)
    chosen = [{"field": "email", "recordId": second.id}, {"field": "firstName", "recordId": first.id}]
    given = {"kind": "CONTACT", "into": first.id, "from": [second.id], "choose": chosen}
    [problem] = (await one.ask(MERGE, i=given))["userErrors"]
    assert (problem["code"], problem["field"]) == ("VALIDATION", ["input", "choose"])


async def test_too_many_links_are_refused_with_their_number(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.merging.MERGED_LINKS_MAX", 5)
    first, second, _ = await two_accounts(one)
    before = await graph(one)
    for document in (MERGE, PREVIEW):
        answer = await one.ask(document, i={"kind": "ACCOUNT", "into": first.id, "from": [second.id]})
        [problem] = answer["userErrors"]
        assert (problem["code"], problem["field"]) == ("INVALID_STATE", ["input", "from"])
        assert "7 links" in problem["message"]
    assert await graph(one) == before


async def test_keys_of_other_systems_lead_on_and_come_back(one: Tenant) -> None:
    first, second = Account(name="a", external_key="k1"), Account(name="b", external_key="k2")
    third, fourth = Account(name="c", external_key="k3"), Account(name="d")
    await one.add(first, second, third, fourth)
    upsert = """mutation($r: [AccountUpsertInput!]!) {
      accountsUpsert(rows: $r, matchOn: EXTERNAL_KEY) { updated results { id outcome } userErrors { code } } }"""

    async def led(key: str) -> str:
        done = await one.ask(upsert, r=[{"externalKey": key, "industry": new_id()}])
        assert done["updated"] == 1, done
        found: str = done["results"][0]["id"]
        return found

    chosen = [{"field": "externalKey", "recordId": second.id}]
    made = await merge(one, "ACCOUNT", first.id, second.id, choose=chosen)
    inner = await merge(one, "ACCOUNT", fourth.id, third.id)
    assert sorted(await one.rows(Account.id, Account.external_key)) == sorted([(first.id, "k2"), (fourth.id, "k3")])
    assert [await led(key) for key in ("k1", "k2", "k3")] == [first.id, first.id, fourth.id]
    await undo(one, inner["merge"]["id"])
    back = await undo(one, made["merge"]["id"])
    assert back["kept"] == []
    assert [await led(key) for key in ("k1", "k2", "k3")] == [first.id, second.id, third.id]

    again = await merge(one, "ACCOUNT", first.id, second.id)
    change = "mutation($id: ID!, $i: AccountUpdateInput!) { accountUpdate(id: $id, input: $i) { userErrors { code } } }"
    refused = await one.ask(change, id=third.id, i={"externalKey": "k2"})
    assert [error["code"] for error in refused["userErrors"]] == ["DUPLICATE"]
    await one.ask("mutation($id: ID!) { accountDelete(id: $id) { deletedId } }", id=first.id)
    assert (await one.ask(change, id=third.id, i={"externalKey": "k2"}))["userErrors"] == []
    back = await undo(one, again["merge"]["id"])
    assert back["kept"] == ["externalKey"]
    keys = dict(await one.rows(Account.id, Account.external_key))
    assert keys == {second.id: None, third.id: "k2", fourth.id: None}


async def _compared(surfaces: Surfaces) -> None:
    async def pair() -> tuple[str, str]:
        ids = []
        for name in "ab":
            made = await surfaces.change(
                "contactCreate", "$i: ContactCreateInput! -> input: $i", "contact { id }",
                i={"firstName": name, "email": "same@example.com"},
            )  # fmt: skip
            ids.append(made["contact"]["id"])
        return ids[0], ids[1]

    for into, other in [await pair(), await pair()]:
        body = {"kind": "contact", "into": into, "from": [other]}
        listed = (await surfaces.rest("GET", "/duplicates?kind=contact")).json()
        page = await surfaces.graphql("{ duplicates(kind: CONTACT) { nodes { size records { id } } } }")
        assert [[r["id"] for r in g["records"]] for g in listed] == [
            [r["id"] for r in g["records"]] for g in page["nodes"]
        ]
        assert listed
        shown = (await surfaces.rest("POST", "/merges/preview", body)).json()
        twin = await surfaces.graphql(PREVIEW, i=body | {"kind": "CONTACT"})
        assert [f["value"] for f in shown["fields"]] == [f["value"] for f in twin["fields"]]
        made = (await surfaces.rest("POST", "/merges", body)).json()
        seen = (await surfaces.rest("GET", f"/merges/{made['id']}")).json()
        assert made["links"] == seen["links"] == shown["links"]
        read = await surfaces.graphql("query($id: ID!) { merge(id: $id) { intoId fromIds } }", id=made["id"])
        assert read == {"intoId": seen["into_id"], "fromIds": seen["from_ids"]}
        back = (await surfaces.rest("POST", f"/merges/{made['id']}/undo")).json()
        again = await surfaces.graphql(MERGE, i=body | {"kind": "CONTACT"})
        undone = await surfaces.graphql(UNDO, id=again["merge"]["id"])
        assert [r["id"] for r in back["restored"]] == [r["id"] for r in undone["restored"]] == [other]


_KEYS = [*("id", "kind", "into_id", "from_ids", "links", "merged_by", "merged_at", "undo_until"), "undone_at"]
_PATHS = {
    ("GET", "/duplicates"): ("CRM_READ", True, 200, "Query.duplicates"),
    ("POST", "/merges/preview"): ("CRM_READ", True, 200, "Query.mergePreview"),
    ("POST", "/merges"): ("CRM_MANAGE", True, 201, "Mutation.recordsMerge"),
    ("GET", "/merges/{merge_id}"): ("CRM_READ", True, 200, "Query.merge"),
    ("POST", "/merges/{merge_id}/undo"): ("CRM_MANAGE", True, 200, "Mutation.mergeUndo"),
}
_BODIES = [
    {"kind": kind, "into": f"<{into}>", "from": [f"<{other}>"]}
    for kind in ("account", "contact")
    for into, other in ((kind, f"second {kind}"), (f"own {kind}", f"second {kind}"), (kind, f"own second {kind}"))
]
_CHOOSING = {
    "kind": "ACCOUNT",
    "into": "<own account>",
    "from": ["<own second account>"],
    "choose": [{"field": "name", "recordId": "<second account>"}],
}
_DISMISS = "mutation($ids: [ID!]!) { duplicatesDismiss(ids: $ids) { dismissed userErrors { code message field } } }"
RECORD = RecordType(
    typename="Merge",
    name="merge",
    row=lambda ids, mark: Merge(
        kind="account",
        into_id=ids["account"],
        from_ids=[],
        links=dict.fromkeys(LINKS, 0),
        merged_by=mark,
        undo_until=now() + timedelta(days=1),
        moved='{"moved": {}}',
        before='{"from": ["list"], "into": {}}',
    ),
    cases={
        "duplicates.list_duplicates": Case(
            "CRM_READ",
            (
                Rest("GET", "/duplicates?kind=account"),
                q("{ duplicates(kind: CONTACT) { totalCount nodes { size records { id } } } }"),
            ),
        ),
        "duplicates.dismiss_duplicates": Case("CRM_MANAGE", (q(_DISMISS, ids=["<contact>", "<second contact>"]),)),
        "merging.get_merge": Case(
            "CRM_READ",
            (Rest("GET", "/merges/<merge>"), q("query($id: ID!) { merge(id: $id) { id mergedBy } }", id="<merge>")),
        ),
        "merging.list_merges": Case("CRM_READ", (q("{ merges { nodes { id mergedBy } totalCount } }"),)),
        "merging.preview_merge": Case(
            "CRM_READ",
            (
                *(
                    request
                    for body in _BODIES
                    for request in (
                        Rest("POST", "/merges/preview", body),
                        q(PREVIEW, i={**body, "kind": body["kind"].upper()}),  # type: ignore[attr-defined]  # a text
                    )
                ),
                q(PREVIEW, i=_CHOOSING),
            ),
        ),
        "merging.merge_records": Case(
            "CRM_MANAGE",
            (
                *(
                    request
                    for body in _BODIES
                    for request in (
                        Rest("POST", "/merges", body),
                        q(MERGE, i={**body, "kind": body["kind"].upper()}),  # type: ignore[attr-defined]  # a text
                    )
                ),
                q(MERGE, i=_CHOOSING),
            ),
        ),
        "merge_undoing.undo_merge": Case("CRM_MANAGE", (Rest("POST", "/merges/<merge>/undo"), q(UNDO, id="<merge>"))),
    },
    paths=_PATHS,
    keys={
        ("/duplicates", "GET"): ["reasons", "size", "records"],
        ("/merges/preview", "POST"): ["fields", "links"],
        ("/merges", "POST"): [*_KEYS, "record"],
        ("/merges/{merge_id}", "GET"): _KEYS,
        ("/merges/{merge_id}/undo", "POST"): [*_KEYS, "restored", "kept"],
    },
    compared=dict.fromkeys([twin for *_, twin in _PATHS.values()], _compared),
)
