"""Merges of random graphs: nothing that was linked is lost, nothing names what is gone, and undoing gives all back."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    Deal,
    DealContact,
    Enrollment,
    ExternalKey,
    File,
    FileLink,
    HealthFactor,
    HealthSnapshot,
    Lead,
    MergedId,
    NotDuplicate,
    RecordChange,
    StageChange,
    Tag,
    TagLink,
)
from tests.records.test_merging import LINKED, MERGE, PREVIEW, UNDO, graph
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

MERGES = 7
KEPT: dict[str, dict[str, Any]] = {
    "ACCOUNT": {"name": Account.name, "domain": Account.domain, "externalKey": Account.external_key},
    "CONTACT": {"firstName": Contact.first_name, "accountId": Contact.account_id, "phone": Contact.phone},
}
Graph = dict[str, Any]


async def made(tenant: Tenant, random: Random) -> dict[str, list[str]]:
    """A graph with every kind of link, some of them to the same records; the accounts and contacts of it."""

    def chance(ids: list[str]) -> str | None:
        return random.choice(ids) if random.random() < 0.7 else None

    accounts = [
        Account(
            name=f"a{n}", domain=random.choice([None, f"d{n}.example"]), external_key=random.choice([None, f"k{n}"])
        )
        for n in range(6)
    ]
    firms = [one.id for one in accounts]
    contacts = [
        Contact(
            first_name=f"c{n}",
            email=random.choice([None, f"c{n}@example.com"]),
            phone=random.choice([None, f"+49 30 12345{n}"]),
            account_id=chance(firms),
            external_key=random.choice([None, f"k{n}"]),
        )
        for n in range(7)
    ]
    people = [one.id for one in contacts]
    deals = [Deal(name=f"d{n}", account_id=chance(firms), champion_id=chance(people)) for n in range(8)]
    tags = [Tag(name=f"t{n}") for n in range(4)]
    files = [File(name=f"f{n}", content_type="text/plain", bytes=0, sha256="0") for n in range(4)]
    campaigns = [Campaign(name=f"g{n}", provider="embedded") for n in range(3)]
    await tenant.add(*accounts, *contacts, *deals, *tags, *files, *campaigns)
    linked: list[Any] = [
        Activity(subject=f"m{n}", account_id=chance(firms), contact_id=chance(people)) for n in range(8)
    ]
    linked += [Lead(name=f"l{n}", account_id=chance(firms), contact_id=chance(people)) for n in range(6)]
    linked += [StageChange(deal_id=deal.id, account_id=deal.account_id) for deal in deals]
    for deal in deals:
        for place, person in enumerate(random.sample(people, random.randint(0, 4))):
            role = random.choice([None, f"role of {person[-4:]}"])
            linked.append(DealContact(deal_id=deal.id, contact_id=person, role=role, is_primary=place == 0))
    for campaign in campaigns:
        for person in random.sample(people, random.randint(1, 5)):
            linked.append(Enrollment(campaign_id=campaign.id, contact_id=person, email=person, email_key=person))
    for kind, ids in (("account", firms), ("contact", people)):
        for record in ids:
            for place, tag in enumerate(random.sample(tags, random.randint(0, 3))):
                linked.append(TagLink(kind=kind, record_id=record, tag_id=tag.id, position=place))
            for file in random.sample(files, random.randint(0, 2)):
                linked.append(FileLink(kind=kind, record_id=record, file_id=file.id))
            linked.append(RecordChange(subject_kind=kind, subject_id=record, actor="x", type="t", fields={"n": [1, 2]}))
        for low, high in {tuple(sorted(random.sample(ids, 2))) for _ in range(4)}:
            linked.append(NotDuplicate(kind=kind, low_id=low, high_id=high))
    for firm in random.sample(firms, 3):
        snapshot = HealthSnapshot(account_id=firm, score=50, formula_version="1")
        factor = HealthFactor(
            account_id=firm, health_score_id=snapshot.id, position=0, key="follow_through", label="f", score=1,
            weight=1.0, explanation="e", sample_size=1,
        )  # fmt: skip
        linked += [snapshot, factor]
    await tenant.add(*linked)
    return {"ACCOUNT": firms, "CONTACT": people}


async def seen(tenant: Tenant) -> Graph:
    """The graph with what the merges' own tests need not look at."""
    found = await graph(tenant)
    own = await tenant.rows(RecordChange.id, RecordChange.subject_id, RecordChange.actor)
    found["changes"] = sorted(row[:2] for row in own if row[2] == "x")
    found["stage_changes"] = sorted(await tenant.rows(StageChange.id, StageChange.account_id))
    found["enrollments.campaign_id"] = dict(await tenant.rows(Enrollment.id, Enrollment.campaign_id))
    for noun, model in (("account", Account), ("contact", Contact)):
        keys = {(noun, key, id) for id, key in await tenant.rows(model.id, model.external_key) if key is not None}
        old = await tenant.rows(ExternalKey.kind, ExternalKey.key, ExternalKey.record_id)
        found[f"external.{noun}"] = sorted(keys | {row for row in old if row[0] == noun})
    found["fields"] = sorted(await tenant.rows(Contact.id, Contact.account_id, Contact.external_key), key=str)
    return found


def resolver(ids: dict[str, str]) -> Callable[[str | None], str | None]:
    return lambda record: None if record is None else ids.get(record, record)


def check_conserved(first: Graph, after: Graph) -> None:
    """Every link of the first graph is there, at the record that its own went into, and none besides."""
    now = resolver(dict(after["ids"]))
    assert set(dict(after["ids"]).values()) <= {row[0] for noun in ("accounts", "contacts") for row in after[noun]}
    for model, column in LINKED:
        name = f"{model.__tablename__}.{column}"
        if name == "contacts.account_id":
            there = {row[0] for row in after["contacts"]}
            stood = {
                i: named for i, named in first[name].items() if i in there and i not in dict(after["ids"]).values()
            }
            assert {i: after[name][i] for i in stood} == {i: now(named) for i, named in stood.items()}
        elif name != "enrollments.contact_id":
            assert after[name] == {i: now(named) for i, named in first[name].items()}, name
    of = first["enrollments.campaign_id"]
    pairs = sorted({(of[i], now(who)) for i, who in first["enrollments.contact_id"].items()})
    assert sorted((of[i], who) for i, who in after["enrollments.contact_id"].items() if who is not None) == pairs
    assert after["enrollments.contact_id"].keys() == first["enrollments.contact_id"].keys()
    links: dict[tuple[str, Any], list[Any]] = {}
    for deal, who, role, is_primary in first["deal_contacts"]:
        links.setdefault((deal, now(who)), []).append((role, is_primary))
    assert {row[:2] for row in after["deal_contacts"]} == links.keys()
    for deal, who, role, is_primary in after["deal_contacts"]:
        before = links[deal, who]
        assert is_primary == any(primary for _, primary in before)
        assert role in {had for had, _ in before if had is not None} or all(had is None for had, _ in before)
    assert {row[:3] for row in after["tag_links"]} == {(kind, now(i), tag) for kind, i, tag, _ in first["tag_links"]}
    assert {row[1:] for row in after["file_links"]} == {(now(i), file) for _, i, file in first["file_links"]}
    assert after["changes"] == [(i, now(subject)) for i, subject in first["changes"]]
    assert after["stage_changes"] == [(i, now(account)) for i, account in first["stage_changes"]]
    apart = {tuple(sorted((now(low) or "", now(high) or ""))) for low, high in first["pairs"]}
    assert set(after["pairs"]) == {pair for pair in apart if pair[0] != pair[1]}
    for noun in ("account", "contact"):
        name = f"external.{noun}"
        assert after[name] == sorted((kind, key, now(i)) for kind, key, i in first[name])


async def merged(tenant: Tenant, random: Random, records: dict[str, list[str]], after: Graph) -> str | None:
    """Merge some of the records, also by identifiers that went; the merge, if they were not one already."""
    kind = random.choice([*records])
    into, *others = random.sample(records[kind], random.randint(2, 4))
    fields = {
        "ACCOUNT": ["name", "domain", "externalKey"],
        "CONTACT": ["firstName", "accountId", "externalKey", "phone"],
    }
    now = resolver(dict(after["ids"]))
    choose = [
        {"field": field, "recordId": now(random.choice([into, *others]))}
        for field in fields[kind]
        if random.random() < 0.3
    ]
    given = {"kind": kind, "into": into, "from": others, "choose": choose}
    told = await tenant.ask(PREVIEW, i=given)
    done = await tenant.ask(MERGE, i=given)
    assert told["userErrors"] == done["userErrors"]
    if now(into) in map(now, others):
        assert {error["code"] for error in done["userErrors"]} == {"VALIDATION"}
        return None
    assert done["userErrors"] == []
    assert done["merge"]["links"].items() <= told["links"].items()
    for field in told["fields"]:
        column = KEPT[kind].get(field["field"])
        assert column is None or dict(await tenant.rows(column.class_.id, column))[now(into)] == field["value"]
    merge: str = done["merge"]["id"]
    return merge


@pytest.mark.parametrize("seed", range(4))
async def test_nothing_is_lost_and_all_comes_back(one: Tenant, seed: int) -> None:
    random = Random(seed)
    records = await made(one, random)
    graphs, merges = [await seen(one)], []
    while len(merges) < MERGES:
        merge = await merged(one, random, records, graphs[-1])
        after = await seen(one)
        if merge is None:
            assert after == graphs[-1]
            if len(after["accounts"]) == len(after["contacts"]) == 1:
                break
            continue
        check_conserved(graphs[0], after)
        graphs.append(after)
        merges.append(merge)
    for merge, before in reversed(list(zip(merges, graphs, strict=False))):
        back = await one.ask(UNDO, id=merge)
        assert (back["userErrors"], back["kept"]) == ([], [])
        assert await seen(one) == before
    assert await one.rows(MergedId.from_id) == []
    assert await one.rows(ExternalKey.key) == []


@pytest.mark.parametrize("seed", range(4))
async def test_undone_in_any_order_every_record_and_every_link_is_there(one: Tenant, seed: int) -> None:
    random = Random(seed)
    records = await made(one, random)
    first, merges = await seen(one), []
    for _ in range(MERGES):
        merge = await merged(one, random, records, await seen(one))
        merges += [] if merge is None else [merge]
    while merges:
        merge = random.choice(merges)
        done = await one.ask(UNDO, id=merge)
        if done["userErrors"]:
            assert [error["code"] for error in done["userErrors"]] == ["INVALID_STATE"]
        else:
            merges.remove(merge)
    after = await seen(one)
    assert await one.rows(MergedId.from_id) == []
    for noun in ("accounts", "contacts"):
        assert {row[0] for row in after[noun]} == {row[0] for row in first[noun]}
    for name in ("changes", "stage_changes", "file_links", "health", "factors"):
        assert after[name] == first[name], name
    assert {row[:2] for row in after["deal_contacts"]} == {row[:2] for row in first["deal_contacts"]}
    assert {row[:3] for row in after["tag_links"]} == {row[:3] for row in first["tag_links"]}
    assert set(first["pairs"]) <= set(after["pairs"])
    for model, column in LINKED:
        name = f"{model.__tablename__}.{column}"
        if name != "contacts.account_id":  # a field of theirs, which merges take from one another
            assert after[name] == first[name], name
