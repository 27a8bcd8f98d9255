"""The catalogue of analytics: as the contract prints it, and true to the tables that it speaks of."""

from __future__ import annotations

from enum import StrEnum

import pytest

from contract.aggregates import (
    CampaignDimension,
    DealDimension,
    LeadDimension,
    MeetingDimension,
    texts_of,
)
from contract.catalog import CATALOG, ColumnKind, catalog_for
from contract.scopes import ScopeGroup

# The table "Names of the catalogue" of the contract, `*` with grain.
NAMES = {
    "deals": (
        "name, stage, owner, account, industry, status, currency, source, geo_scope, value, close_date*, created_at*, "
        "closed_at*",
        "value_sum, value_average, weighted_sum, won_count, lost_count, win_rate, sales_cycle_days, stage_days",
        "account, contacts, meetings",
    ),
    "meetings": (
        "subject, owner, account, industry, deal, source, state, due_at*, completed_at*, created_at*",
        "completed_count, minutes_sum, minutes_average, account_count",
        "account, deal, contact",
    ),
    "accounts": (
        "name, domain, industry, owner, health_trend, health_score, last_meeting_at*, created_at*",
        "health_average, scored_count",
        "deals, contacts, meetings",
    ),
    "contacts": ("name, email, title, account, owner, created_at*", "deal_count", "account, deals, meetings"),
    "leads": (
        "name, company, status, source, owner, tag, disqualified_reason, created_at*, converted_at*",
        "converted_count, disqualified_count, conversion_rate, days_to_convert",
        "account",
    ),
    "campaigns": (
        "name, status, created_at*",
        "enrolled_count, replied_count, bounced_count, unsubscribed_count, reply_rate, bounce_rate",
        "enrollments",
    ),
    "enrollments": ("campaign, status, email, enrolled_at*", "", "contact"),
    "research_results": ("company_name, domain, status, score", "score_average", ""),
}


def _split(text: str) -> list[str]:
    return text.split(", ") if text else []


def test_it_has_the_names_of_the_contract() -> None:
    assert list(CATALOG) == list(NAMES)
    for name, (dimensions, measures, links) in NAMES.items():
        entity = CATALOG[name]
        assert [f"{one.name}{'*' * one.is_date}" for one in entity.dimensions.values()] == _split(dimensions)
        assert list(entity.measures) == ["count", *_split(measures)]
        assert list(entity.links) == _split(links)
        assert set(entity.links.values()) <= set(CATALOG)


def test_every_field_is_under_its_own_name_and_in_words() -> None:
    for entity in CATALOG.values():
        assert entity.text.endswith(".")
        for fields in (entity.dimensions, entity.measures):
            assert [one.name for one in fields.values()] == list(fields)
            assert all(one.text.endswith(".") for one in fields.values())
        assert all(one.values is None or one.kind is ColumnKind.TEXT for one in entity.dimensions.values())


@pytest.mark.parametrize(
    ("scopes", "names"),
    [
        ("data:access", "deals accounts contacts leads research_results"),
        ("data:access deals:read", "deals meetings accounts contacts leads research_results"),
        ("data:access outreach:read", "deals accounts contacts leads campaigns enrollments research_results"),
        ("", ""),
    ],
)
def test_scopes_leave_a_part_of_it(scopes: str, names: str) -> None:
    left = catalog_for(frozenset(scopes.split()))
    assert [entity.name for entity in left] == names.split()
    for entity in left:
        assert set(entity.links.values()) <= {one.name for one in left}


def test_health_is_for_those_who_read_meetings() -> None:
    bare, reader = (
        {entity.name: entity for entity in catalog_for(frozenset(scopes))}["accounts"]
        for scopes in ({"data:access"}, {"data:access", "activities:read"})
    )
    health = {"health_trend", "health_score", "last_meeting_at"}
    assert set(reader.dimensions) - set(bare.dimensions) == health
    assert set(reader.measures) - set(bare.measures) == {"health_average", "scored_count"}
    fields = (*CATALOG["accounts"].dimensions.values(), *CATALOG["accounts"].measures.values())
    assert {one.group for one in fields} == {None, ScopeGroup.MEETINGS_READ}


@pytest.mark.parametrize(
    ("entity", "dimensions"), [("deals", DealDimension), ("meetings", MeetingDimension), ("leads", LeadDimension)]
)
def test_what_aggregates_group_by_is_in_the_catalogue(entity: str, dimensions: type[StrEnum]) -> None:
    taken = [one.value for one in dimensions]
    assert [name for name in CATALOG[entity].dimensions if name in taken] == taken
    assert texts_of(entity, dimensions) == {n.upper(): CATALOG[entity].dimensions[n].text for n in taken}


def test_what_campaigns_are_grouped_by_is_in_the_catalogue() -> None:
    texts = texts_of("campaigns", CampaignDimension)
    assert list(texts) == [one.name for one in CampaignDimension]
    assert texts["ENROLLMENT_STATUS"] == CATALOG["enrollments"].dimensions["status"].text
    assert texts["STATUS"] == CATALOG["campaigns"].dimensions["status"].text
