"""Says in words what a report is narrowed to, for those who read its files."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from contract.vocabulary import ReportKind
from reports.narrowing import Days, Narrowing
from reports.printed import day
from storage.base import JsonDict
from storage.queries import paging
from storage.queries.listables import ACCOUNTS, PEOPLE, STAGES
from storage.tenancy.sessions import TenantSession

_NAMED = 6
"""Names that are written out; of more it is said how many there are."""
_DAYS_OF = {
    ReportKind.PIPELINE_BY_STAGE: "Expected to close",
    ReportKind.ACTIVITY_BY_OWNER: "Days",
    ReportKind.WON_LOST_BY_MONTH: "Closed",
    ReportKind.TARGET_ATTAINMENT: "Periods within",
}


async def facts_of(
    session: TenantSession, kind: ReportKind, parameters: JsonDict, moment: datetime
) -> list[tuple[str, str]]:
    """Lists what the rows are narrowed to, line by line: days, currency, owners, accounts, stages, tags."""
    narrowing = Narrowing.of(parameters, moment)
    facts = [(_DAYS_OF[kind], _days(narrowing.days))]
    if narrowing.currency is not None:
        facts.append(("Currency", narrowing.currency))
    lists = narrowing.lists
    for label, name, listable in (
        ("Owners", "owner_ids", PEOPLE),
        ("Accounts", "account_ids", ACCOUNTS),
        ("Stages", "stage_ids", STAGES),
    ):
        if name in lists:  # a statement for each of three lists, however long they are
            wanted = list(lists[name][:_NAMED])
            facts.append((label, _names(lists[name], await paging.by_ids(session, listable, wanted))))
    if "tags" in lists:
        facts.append(("Tags", _listed(lists["tags"])))
    if parameters["time_zone"] != "UTC":
        facts.append(("Time zone", str(parameters["time_zone"])))
    return facts


def _days(days: Days) -> str:
    first, last = days.first, days.last
    if first is None:
        return "All days" if last is None else f"Until {day(last)}"
    if last is None:
        return f"From {day(first)}"
    return f"{day(first)} to {day(last)}" if first != last else day(first)


def _names(ids: Sequence[str], rows: Mapping[str, Any]) -> str:  # Any: rows of members, accounts or stages
    return _listed([(rows[i].name if i in rows else None) or i for i in ids[:_NAMED]], len(ids))


def _listed(names: Sequence[str], number: int | None = None) -> str:
    more = (len(names) if number is None else number) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
