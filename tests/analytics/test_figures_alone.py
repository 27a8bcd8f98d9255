"""A figure that is asked for alone is what it is beside all others: what is not selected is not computed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import pytest

from tests.analytics import test_campaign_aggregate as campaigns
from tests.analytics import test_deal_aggregate as deals
from tests.analytics import test_lead_aggregate as leads
from tests.analytics import test_meeting_aggregate as meetings
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

_AMOUNTS = ("count", "valued", "sum", "average", "minimum", "maximum")
_DEALS = (
    *("count", "unweightedCount", "openCount", "wonCount", "lostCount", "winRate", "salesCycleDays"),
    *(f"values {{ {name} }}" for name in _AMOUNTS),
    *(f"weighted {{ {name} }}" for name in ("currency", "amount", "count")),
)
AGGREGATES: dict[str, tuple[Callable[[Tenant], Awaitable[None]], str, tuple[str, ...]]] = {
    "dealAggregate": (lambda tenant: deals.fill(tenant, Random(3), 30), "STAGE", _DEALS),
    "meetingAggregate": (lambda tenant: meetings.fill(tenant, Random(3)), "OWNER", tuple(meetings.FIGURES.split())),
    "leadAggregate": (leads.fill, "STATUS", tuple(leads.FIGURES.split())),
    "campaignAggregate": (campaigns.fill, "STATUS", tuple(campaigns.FIGURES.split())),
}


@pytest.mark.parametrize("field", AGGREGATES)
async def test_one_figure_alone(one: Tenant, field: str) -> None:
    fill, dimension, figures = AGGREGATES[field]
    await fill(one)
    whole = " ".join(figures)
    for arguments in ("", f"(groupBy: [{dimension}])"):
        every = await one.ask(f"{{ {field}{arguments} {{ groups {{ {whole} }} total {{ {whole} }} }} }}")
        for figure in figures:
            for part in ("total", "groups"):
                alone = await one.ask(f"{{ {field}{arguments} {{ {part} {{ {figure} }} }} }}")
                assert alone[part] == _only(alone[part], every[part]), (arguments, part, figure)


def _only(wanted: Any, found: Any) -> Any:
    """What was found, of which no more than what was wanted."""
    if isinstance(wanted, list):
        assert len(wanted) == len(found)
        return [_only(*pair) for pair in zip(wanted, found, strict=True)]
    if isinstance(wanted, dict):
        return {name: _only(value, found[name]) for name, value in wanted.items()}
    return found
