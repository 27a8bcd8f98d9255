"""Exact sums of amounts and of lengths of time: as decimals on PostgreSQL, as two whole numbers on SQLite.

SQLite has no exact decimal, and a sum of ten-thousandths would leave its integers; so an amount is there the number of
hundred thousands beside the rest in ten-thousandths, and a length of time is seconds beside microseconds. Those two are
added up apart (decision 254).
"""

from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import ClassVar

from sqlalchemy import Float, Integer, Numeric

from storage.base import plain_decimal
from storage.queries.dialects import Dialectal

_DIGITS = 60
"""More than any sum has."""
_SECONDS_OF_A_DAY = 86_400


class money_high(Dialectal[Decimal]):
    """The hundred thousands of an amount; on PostgreSQL all of it.

    SQLite reads the digits before the point as a number at once; to call functions that take a text apart is dearer.
    """

    inherit_cache = True
    type = Numeric()
    templates: ClassVar = {"postgresql": "({0})", "sqlite": "(CAST({0} AS INTEGER) / 100000)"}
    ad_hoc: ClassVar = dict.fromkeys(templates, "{0}")


class money_low(Dialectal[int]):
    """The rest of an amount in ten-thousandths; on PostgreSQL nothing."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {
        "postgresql": "0",
        "sqlite": "(CAST({0} AS INTEGER) % 100000 * 10000 + CAST(substr({0}, 17) AS INTEGER))",
    }
    ad_hoc: ClassVar = {"sqlite": "0"}


class money_carried(Dialectal[Decimal]):
    """The hundred thousands of a sum, with those that are in its rest: what two sums are compared by first."""

    inherit_cache = True
    type = Numeric()
    templates: ClassVar = {"postgresql": "({0})", "sqlite": "(({0}) + ({1}) / 1000000000)"}


class money_rest(Dialectal[int]):
    """The remainder of the rest of a sum: two sums that are the same but for it are compared by it."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {"postgresql": "0::int", "sqlite": "(({1}) % 1000000000)"}


class whole_seconds(Dialectal[Decimal]):
    """The seconds from the first moment to the second; on PostgreSQL with their fractions."""

    inherit_cache = True
    type = Numeric()
    templates: ClassVar = {
        "postgresql": "extract(epoch from ({1}) - ({0}))",
        "sqlite": "(CAST(strftime('%s', substr({1}, 1, 19)) AS INTEGER)"
        " - CAST(strftime('%s', substr({0}, 1, 19)) AS INTEGER))",
    }
    ad_hoc: ClassVar = {"sqlite": "julianday({1}) - julianday({0})"}  # in days: it has no lengths of time


class microseconds(Dialectal[int]):
    """The difference of the fractions of two moments, the second's less the first's; on PostgreSQL nothing."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {
        "postgresql": "0",
        "sqlite": "(CAST(substr({1}, 21, 6) AS INTEGER) - CAST(substr({0}, 21, 6) AS INTEGER))",
    }
    ad_hoc: ClassVar = {"sqlite": "0"}


class tenths_of_percent(Dialectal[int]):
    """The first number of the second, in tenths of a percent, rounded half up; null of nothing."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {
        "postgresql": "div((2000 * ({0}) + ({1}))::numeric, nullif(2 * ({1}), 0)::numeric)",
        "sqlite": "((2000 * ({0}) + ({1})) / nullif(2 * ({1}), 0))",
    }


class tenths(Dialectal[int]):
    """The first number by the second in tenths, rounded half up; null by nothing."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {
        "postgresql": "div((20 * ({0}) + ({1}))::numeric, nullif(2 * ({1}), 0)::numeric)",
        "sqlite": "((20 * ({0}) + ({1})) / nullif(2 * ({1}), 0))",
    }


class money_average(Dialectal[Decimal]):
    """The hundred thousands of a sum by a number: what two averages are compared by first; null by nothing."""

    inherit_cache = True
    type = Numeric()
    templates: ClassVar = {
        "postgresql": "(({0}) / nullif({2}, 0))",
        "sqlite": "((({0}) + ({1}) / 1000000000) / nullif({2}, 0))",
    }


class money_average_rest(Dialectal[int]):
    """The remainder of the sum, by the number: two averages that are the same but for it are compared by it."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {
        "postgresql": "0::int",
        "sqlite": "((((({0}) + ({1}) / 1000000000) % nullif({2}, 0)) * 1000000000 + ({1}) % 1000000000) / ({2}))",
    }


class tenths_of_days(Dialectal[int]):
    """The average of so many lengths of time, by their sums, in tenths of a day, rounded half up; null of none."""

    inherit_cache = True
    type = Integer()
    templates: ClassVar = {
        "postgresql": "div((20 * ({0}) + 86400 * ({2}))::numeric, nullif(172800 * ({2}), 0)::numeric)",
        "sqlite": "((20 * (({0}) - ({2}) + (({1}) + 1000000 * ({2})) / 1000000)"
        " + 20 * ((({1}) + 1000000 * ({2})) % 1000000) / 1000000 + 86400 * ({2})) / nullif(172800 * ({2}), 0))",
    }


class days_on_average(Dialectal[float]):
    """The average of lengths of time in days, as ad-hoc SQL has it: rounded half up."""

    inherit_cache = True
    type = Float()
    templates: ClassVar = {"postgresql": "ROUND(AVG({0}) / 86400, 1)", "sqlite": "ROUND(AVG({0}), 1)"}


def amount_of(dialect: str, high: Decimal | int | None, low: int | None) -> Decimal:
    """The sum of amounts whose parts come to so much; nothing where there are none."""
    if high is None:
        return Decimal(0)
    with localcontext(prec=_DIGITS):
        if dialect == "postgresql":
            return plain_decimal(Decimal(high))
        return plain_decimal(Decimal(high).scaleb(5) + Decimal(low or 0).scaleb(-4))


def weighed(total: Decimal) -> Decimal:
    """A sum of amounts times whole percents as an amount."""
    with localcontext(prec=_DIGITS):
        return plain_decimal(total.scaleb(-2))


def average(total: Decimal, number: int, decimals: int = 4) -> Decimal | None:
    """The sum by the number, rounded half up; None by nothing."""
    if not number:
        return None
    with localcontext(prec=_DIGITS):
        return plain_decimal((total / number).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def percent(part: int, whole: int) -> float | None:
    """The part of the whole in percent, rounded half up to one decimal; None of nothing."""
    found = average(Decimal(100 * part), whole, 1)
    return None if found is None else float(found)


def days(dialect: str, seconds: Decimal | int | None, micros: int | None, number: int) -> float | None:
    """The average length of time in days, rounded half up to one decimal; None of none."""
    if not number or seconds is None:
        return None
    with localcontext(prec=_DIGITS):
        total = Decimal(seconds)
        if dialect != "postgresql":
            total += Decimal(micros or 0).scaleb(-6)
        found = average(total, number * _SECONDS_OF_A_DAY, 1)
    return None if found is None else float(found)
