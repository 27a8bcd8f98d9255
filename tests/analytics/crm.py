"""A small organization with something of everything, as it is on 2026-11-22: seen by `<member>`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import cycle
from random import Random

from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    Deal,
    DealContact,
    Enrollment,
    HealthSnapshot,
    Lead,
    PipelineStage,
    ResearchResult,
    ResearchRun,
    StageChange,
    Tag,
    TagLink,
)
from tests.support.tenants import Tenant

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
INDUSTRIES = ("Software", "Retail", None, "Energy")
STAGES = (("Qualification", "open", 20), ("Proposal", "open", 50), ("Legal review", "open", None))
ENDS = (("Won", "won", 100), ("Lost", "lost", 0))


def at(days: float, hour: int = 10) -> datetime:
    """A moment so many days before today."""
    return NOW.replace(hour=hour) - timedelta(days=days)


async def fill(tenant: Tenant, seed: int = 7) -> None:
    """Write the organization's records."""
    random, me = Random(seed), tenant.subject()
    owners = (me, tenant.subject("admin"), None)
    accounts = [
        Account(
            name=f"{name} {n}",
            domain=f"a{n}.example",
            industry=INDUSTRIES[n % 4],
            owner_id=owners[n % 3],
            created_at=at(30 * n),
        )
        for n, name in enumerate(("Acme", "Birch", "Cedar", "Delta", "Elm", "Fjord", "Grove", "Hazel"))
    ]
    stages = [
        PipelineStage(name=name, type=kind, probability=chance, position=n)
        for n, (name, kind, chance) in enumerate((*STAGES, *ENDS))
    ]
    contacts = [
        Contact(
            first_name=("Ada", None, "Cleo")[n % 3],
            last_name=("Park", "Lind")[n % 2],
            email=None if n % 4 == 0 else f"c{n}@x.example",
            title=("CEO", "Head of IT", None)[n % 3],
            account_id=accounts[n % 6].id if n % 5 else None,
            owner_id=owners[n % 3],
            created_at=at(9 * n),
        )
        for n in range(20)
    ]
    await tenant.add(*accounts, *stages, *contacts)
    deals, moves, people = [], [], []
    for n in range(60):
        stage = stages[n % 5] if n % 11 else None
        status = "open" if stage is None else stage.type
        made = at(5 * n + 20)
        close = None if n % 9 == 0 else date(2026, 11, 22) + timedelta(days=random.randrange(-330, 120))
        deal = Deal(
            name=f"Deal {n:02}",
            value=None if n % 7 == 0 else Decimal(random.randrange(1, 10**8)) / 10000,
            currency=("EUR", "USD", "GBP")[n % 3],
            stage_id=None if stage is None else stage.id,
            status=status,
            closed_at=None if status == "open" else made + timedelta(days=n % 17, hours=n),
            close_date=close,
            account_id=accounts[n % 7].id if n % 6 else None,
            owner_id=owners[n % 3],
            source=("Website", "Referral", None, "Partner")[n % 4],
            geo_scope=("local", "regional", None)[n % 3],
            created_at=made,
        )
        deals.append(deal)
        path = [s for s in stages[: n % 4] if s is not stage] + [stage]
        when = made
        for before, after in zip([None, *path], path, strict=False):
            ids = [None if one is None else one.id for one in (before, after)]
            moves.append(StageChange(deal_id=deal.id, from_stage_id=ids[0], to_stage_id=ids[1], at=when))
            when += timedelta(days=random.randrange(1, 20), seconds=random.randrange(86_400))
        if n % 2:
            people.append(DealContact(deal_id=deal.id, contact_id=contacts[n % 20].id))
    await tenant.add(*deals, *moves, *people)
    await _fill_activities(tenant, random, accounts, deals, contacts)
    await _fill_leads(tenant, accounts)
    await _fill_outreach(tenant, contacts)


async def _fill_activities(
    tenant: Tenant, random: Random, accounts: list[Account], deals: list[Deal], contacts: list[Contact]
) -> None:
    owners = cycle((tenant.subject(), tenant.subject("admin"), None))
    meetings = []
    for n in range(70):
        due = None if n % 10 == 0 else at(random.randrange(-20, 300), random.randrange(24))
        meetings.append(
            Activity(
                subject=f"Meeting {n}",
                due_at=due,
                completed_at=due if due and n % 3 == 0 and due < NOW else None,
                duration_minutes=None if n % 4 == 0 else 15 * (1 + n % 6),
                account_id=accounts[n % 7].id if n % 5 else None,
                deal_id=deals[n % 60].id if n % 2 else None,
                contact_id=contacts[n % 20].id if n % 3 else None,
                source=("manual", "calendar", "zoom")[n % 3],
                owner_id=next(owners),
                created_at=at(n),
            )
        )
    calls = [Activity(type="call", subject=f"Call {n}", account_id=accounts[0].id, due_at=at(n)) for n in range(5)]
    scores = [
        HealthSnapshot(
            account_id=account.id,
            score=random.randrange(100),
            trend=("improving", "declining", "stable", None)[(n + back) % 4],
            snapshot_at=at(back),
            formula_version="1",
        )
        for n, account in enumerate(accounts[:6])
        for back in (30, 3)
    ]
    await tenant.add(*meetings, *calls, *scores)


async def _fill_leads(tenant: Tenant, accounts: list[Account]) -> None:
    statuses = ("new", "working", "qualified", "converted", "disqualified")
    leads = [
        Lead(
            name=f"Lead {n:02}",
            company=f"Company {n % 6}",
            status=statuses[n % 5],
            source=("scan_card", "scan_badge", "manual")[n % 3],
            owner_id=(tenant.subject(), None)[n % 2],
            disqualified_reason="budget" if n % 10 == 4 else None,
            created_at=at(4 * n),
            converted_at=at(4 * n - 2.5) if n % 5 == 3 else None,
            account_id=accounts[n % 8].id if n % 5 == 3 else None,
        )
        for n in range(40)
    ]
    tags = [Tag(name="VIP", folded_name="vip"), Tag(name="Fair", folded_name="fair")]
    await tenant.add(*leads, *tags)
    links = [TagLink(kind="lead", record_id=leads[n].id, tag_id=tags[n % 2].id) for n in range(0, 40, 3)]
    links += [TagLink(kind="lead", record_id=leads[0].id, tag_id=tags[1].id, position=1)]
    await tenant.add(*links)


async def _fill_outreach(tenant: Tenant, contacts: list[Contact]) -> None:
    campaigns = [
        Campaign(name=name, status=status, provider="local", created_at=at(40 * n))
        for n, (name, status) in enumerate(
            (("Spring", "completed"), ("Autumn", "active"), ("Winter", "active"), ("Draft", "draft"))
        )
    ]
    statuses = ("replied", "bounced", "active", "unsubscribed", "completed")
    recipients = [
        Enrollment(
            campaign_id=campaigns[n % 3].id,
            email=f"r{n}@x.example",
            email_key=f"r{n}@x.example",
            status=statuses[n % 5],
            contact_id=contacts[n].id if n < 20 and n % 2 else None,
            enrolled_at=at(3 * n),
        )
        for n in range(33)
    ]
    run = ResearchRun(name="Run", result_count=9)
    results = [
        ResearchResult(
            run_id=run.id,
            position=n,
            company_name=f"Company {n}",
            status=("pending", "scored", "failed")[n % 3],
            score=None if n % 3 != 1 else 10 * n + 1,
        )
        for n in range(9)
    ]
    await tenant.add(*campaigns, *recipients, run)
    await tenant.add(*results)
