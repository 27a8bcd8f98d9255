"""Reads what a report is narrowed to, as its definition keeps it, and makes the conditions on records of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from contract.criteria import All, Compare, Condition, Op
from contract.scopes import ScopeGroup
from contract.time_zones import beginning_of
from contract.vocabulary import DealStatus, ReportKind

LISTS: Final = ("owner_ids", "account_ids", "stage_ids", "tags")
NOT_OF: Final[Mapping[ReportKind, frozenset[str]]] = {
    ReportKind.PIPELINE_BY_STAGE: frozenset(),
    ReportKind.ACTIVITY_BY_OWNER: frozenset({"stage_ids", "currency"}),
    ReportKind.WON_LOST_BY_MONTH: frozenset(),
    ReportKind.TARGET_ATTAINMENT: frozenset({"account_ids", "stage_ids", "tags"}),
}
"""The parameters that reports of a kind cannot be narrowed by: their records have none of it (decision 472)."""

READ_BY: Final[Mapping[ReportKind, ScopeGroup]] = {
    **dict.fromkeys(ReportKind, ScopeGroup.CRM_READ),
    ReportKind.ACTIVITY_BY_OWNER: ScopeGroup.MEETINGS_READ,
}
"""The groups that read the records which reports of each kind are made of, beside the one that reads reports."""


@dataclass(frozen=True, slots=True)
class Days:
    """The days that a report is of, each end included; None for no end."""

    first: date | None
    last: date | None


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The parameters of a definition."""

    days: Days
    currency: str | None
    time_zone: str
    lists: Mapping[str, Sequence[str]]
    """The lists that were given, by their names."""

    @classmethod
    def of(cls, parameters: Mapping[str, Any], moment: datetime) -> "Narrowing":  # Any: JSON, of each name its own
        """Read the parameters as they are kept; days that go back do so from the moment (decision 471)."""
        zone = str(parameters["time_zone"])
        days = Days(_day(parameters["from"]), _day(parameters["to"]))
        if parameters["last_days"] is not None:
            today = moment.astimezone(ZoneInfo(zone)).date()
            days = Days(today - timedelta(days=parameters["last_days"] - 1), today)
        lists = {name: parameters[name] for name in LISTS if parameters[name] is not None}
        return cls(days, parameters["currency"], zone, lists)

    def condition(self, kind: ReportKind) -> Condition:
        """Says which records the rows are made of: the one that a list with the same filter has."""
        return All((*_KINDS[kind], *self._lists(), *self._days(kind)))

    def _lists(self) -> Iterator[Condition]:
        for name, values in self.lists.items():
            column, op = ("tags", Op.ANY) if name == "tags" else (name.removesuffix("s"), Op.IN)
            yield Compare(column, op, tuple(values))
        if self.currency is not None:
            yield Compare("currency", Op.EQ, self.currency)

    def _days(self, kind: ReportKind) -> Iterator[Condition]:
        first, last = self.days.first, self.days.last
        if kind is ReportKind.TARGET_ATTAINMENT:  # those whose days and these have one in common
            bounds: list[tuple[str, Op, object]] = [("ends_on", Op.GTE, first), ("starts_on", Op.LTE, last)]
        elif kind is ReportKind.PIPELINE_BY_STAGE:
            bounds = [("close_date", Op.GTE, first), ("close_date", Op.LTE, last)]
        else:
            column = "occurred_at" if kind is ReportKind.ACTIVITY_BY_OWNER else "closed_at"
            zone = ZoneInfo(self.time_zone)
            begins = None if first is None else beginning_of(first, zone)
            ends = None if last is None else beginning_of(last + timedelta(days=1), zone)
            bounds = [(column, Op.GTE, begins), (column, Op.LT, ends)]
        yield from (Compare(column, op, value) for column, op, value in bounds if value is not None)


_KINDS: Final[Mapping[ReportKind, tuple[Condition, ...]]] = {
    ReportKind.PIPELINE_BY_STAGE: (Compare("status", Op.EQ, DealStatus.OPEN.value),),
    ReportKind.ACTIVITY_BY_OWNER: (),
    ReportKind.WON_LOST_BY_MONTH: (
        Compare("status", Op.IN, (DealStatus.WON.value, DealStatus.LOST.value)),
        Compare("closed_at", Op.IS_NULL, False),
    ),
    ReportKind.TARGET_ATTAINMENT: (),
}


def _day(value: str | None) -> date | None:
    return None if value is None else date.fromisoformat(value)
