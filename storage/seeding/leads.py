"""The leads of one organization: captures from a fair, in every state, some of people and companies it knows."""

from collections.abc import Sequence
from datetime import timedelta

from contract.vocabulary import CaptureSource, LeadStatus
from storage.seeding import words
from storage.seeding.plan import Blueprint, Ids, Row

LEAD = (
    *("id", "status", "card_id", "name", "title", "company", "company_domain", "email", "phone", "linkedin", "notes"),
    *("tags", "source", "capture_payload", "owner_id", "disqualified_reason", "converted_at"),
    *("account_id", "contact_id", "deal_id", "created_at", "updated_at", "version"),
)
_S = LeadStatus
# The state that every eighth lead is in.
_STATUS_OF = (_S.NEW, _S.WORKING, _S.CONVERTED, _S.NEW, _S.QUALIFIED, _S.NEW, _S.DISQUALIFIED, _S.WORKING)
_SOURCES = (CaptureSource.SCAN_CARD, CaptureSource.SCAN_BADGE, CaptureSource.SCAN_CARD, CaptureSource.MANUAL)
_TAGS: tuple[list[str], ...] = (["fair"], ["fair", "follow up"], [], ["webinar"], ["fair", "partner"])
_REASONS = ("No budget this year.", "A student who looks for a thesis topic.")
_NOTES = ("Met at the fair; asked for a demo.", None, "Wants prices for 200 seats.", None)


def leads(
    plan: Blueprint,
    pools: words.Pools,
    accounts: Sequence[tuple[str, str]],
    contacts: Sequence[tuple[str, str, str | None, int | None]],
) -> list[Row]:
    """`plan.leads` rows in the order of LEAD, captured in the ten days before its present, the newest last.

    `accounts` are identifier and name, `contacts` identifier, name, e-mail and the index of the account.
    """
    random, ids, rows = plan.random("lead"), Ids(plan.key, "lead"), []
    known = [contact for contact in contacts if contact[3] is not None]
    for index in range(plan.leads):
        status = _STATUS_OF[index % len(_STATUS_OF)] if known else _S.NEW
        created = plan.present - timedelta(days=10) * (plan.leads - index - random.random()) / plan.leads
        moved = created if status is _S.NEW else created + (plan.present - created) * random.uniform(0.1, 0.9)
        contact_id, name, email, at = random.choice(known) if known else (None, "", None, None)
        account_id, company = accounts[at] if at is not None else (None, "")
        if status is not _S.CONVERTED:
            contact_id = account_id = None
            # Every fourth is someone known, whom the preview of a conversion finds; others are at known companies.
            if index % 4 != 1 or not name:
                name, email = f"{random.choice(pools.first_names)} {random.choice(pools.last_names)}", None
                company = company if company and index % 3 == 0 else random.choice(pools.companies)
        domain = f"{words.slug(company)}.example"
        source = _SOURCES[index % len(_SOURCES)]
        is_scan = source is not CaptureSource.MANUAL
        rows.append(
            (
                *(ids(index), status.value, f"card-{index + 1:04}" if is_scan else None, name),
                *(random.choice(words.TITLES), company, domain, email or f"{words.slug(name)}@{domain}"),
                f"+1-555-{random.randrange(1000):03}-{random.randrange(10_000):04}" if index % 3 else None,
                *(None, _NOTES[index % len(_NOTES)], _TAGS[index % len(_TAGS)], source.value),
                {"engine": "demo", "lines": [name, company, domain]} if is_scan else None,
                random.choice(plan.owners),
                _REASONS[index // len(_STATUS_OF) % len(_REASONS)] if status is _S.DISQUALIFIED else None,
                moved if status is _S.CONVERTED else None,
                *(account_id, contact_id, None, created, moved, 1 if status is _S.NEW else 2),
            )
        )
    return rows
