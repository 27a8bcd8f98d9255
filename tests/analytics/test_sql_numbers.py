"""Numbers of ad-hoc SQL that a database cannot hold: refused in our words on both, and never rounded.

Decisions 268 and 833.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from storage.tables import Deal
from tests.analytics.test_sql_query import QUERY, post, rows
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
MOST = 2**63 - 1
LARGE = "99999999999999999999"


@pytest.mark.parametrize(
    "figure",
    [
        f"{MOST} + 1",
        f"{MOST} * 2",
        f"0 - {MOST} - 10",
        LARGE,
        f"SUM({MOST})",
        f"COUNT(*) * {MOST}",
        f"CAST({LARGE} AS INT)",
        f"CAST(0 - 1.0 * {LARGE} AS INT)",
        "1.5 * " + " * ".join([LARGE] * 17),
        "5 % 0",
    ],
)
async def test_a_number_that_does_not_fit_is_refused(one: Tenant, figure: str) -> None:
    await one.add(Deal(name="one"), Deal(name="other"))
    sql = f"SELECT {figure} AS x FROM deals"
    path = await post(one, {"sql": sql})
    assert path.status_code == 422, path.text
    assert path.json()["detail"][0]["type"] == "analytics_failed"
    assert (await one.error(QUERY, sql=sql))["extensions"]["code"] == "ANALYTICS_FAILED"


async def test_numbers_that_fit_are_what_they_are(one: Tenant) -> None:
    await one.add(Deal(name="one"))
    figures = {
        **{f"{MOST}": MOST, f"0 - {MOST} - 1": -MOST - 1, f"SUM({MOST})": MOST, f"CAST({MOST} AS INT)": MOST},
        **{"7 % 3": 1, "(0 - 7) % 3": -1, "7 % (0 - 3)": 1, "CAST(2.5 AS INT)": 3, "NULL % 3": None, "7 % 7": 0},
    }
    for figure, expected in figures.items():
        assert await rows(one, f"SELECT {figure} AS x FROM deals") == [[expected]], figure


async def test_a_product_of_amounts_has_all_its_digits(one: Tenant) -> None:
    """One of 28 digits is as exact as one of two."""
    await one.add(Deal(name="one", value=Decimal("5563.21"), currency="EUR"))
    expected = "5328773611225704354.1713885601"
    assert await rows(one, "SELECT value * value * value * value * value AS x FROM deals") == [[expected]]
