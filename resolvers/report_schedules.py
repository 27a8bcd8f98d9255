"""Schedules of reports: when one is mailed by itself, and to whom (decisions 864 to 866)."""

import re
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StrictInt, StrictStr, model_validator

from contract.errors import Path, Problem, Problems
from contract.vocabulary import ReportFormat, ReportFrequency, ReportKind, Weekday
from jobs.report_schedules import may_read, moved, rhythm_of
from resolvers.mails import Addresses, checked_addresses
from resolvers.outreach_inputs import TimeZone
from resolvers.report_runs import Formats
from resolvers.shared.context import Context
from resolvers.shared.inputs import ExactInput, Given
from storage.base import JsonDict, now
from storage.queries import members
from storage.tenancy.sessions import TenantSession

_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_OFF: Given = {"schedule": None, "next_at": None, "scheduled_by": None}
_TOLD = frozenset({"next_at", "paused_reason"})
_DAYS = {"weekday": ReportFrequency.WEEKLY, "day_of_month": ReportFrequency.MONTHLY}


def _time(text: str) -> str:
    if re.fullmatch(_TIME, text, re.ASCII) is None:
        raise ValueError("must be a time of the form HH:MM, 00:00 to 23:59")
    return text


def _open_to_more(schema: Given) -> None:
    """Let the description shut nothing out: what is told besides may come along."""
    schema.pop("additionalProperties", None)


class ReportSchedule(ExactInput):
    """When a report is mailed by itself."""

    model_config = ConfigDict(json_schema_extra=_open_to_more)

    frequency: ReportFrequency
    at: Annotated[
        StrictStr,
        AfterValidator(_time),
        Field(description="The local time, HH:MM.", json_schema_extra={"pattern": f"^{_TIME}$"}),
    ] = "07:00"
    weekday: Annotated[Weekday | None, Field(description="On which day, for weekly.")] = None
    day_of_month: Annotated[
        Annotated[StrictInt, Field(ge=1, le=31)] | None,
        Field(description="On which day, for monthly; a shorter month uses its last one."),
    ] = None
    time_zone: Annotated[TimeZone, Field(description="An IANA time zone.")] = "UTC"
    to: Addresses
    formats: Formats = [ReportFormat.PDF]

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_told(cls, given: object) -> object:
        """Leave out what a schedule that was read says besides, so that it can be sent back."""
        return {name: given[name] for name in given if name not in _TOLD} if isinstance(given, dict) else given


def wrong(schedule: ReportSchedule | None, at: Path) -> list[Problem]:
    """Find a day that is missing, or does not go with the frequency; `at` is where the schedule is."""
    if schedule is None:
        return []
    problems = []
    for name, frequency in _DAYS.items():
        is_given, is_needed = getattr(schedule, name) is not None, schedule.frequency is frequency
        if is_given and not is_needed:
            problems.append(Problem((*at, name), f"does not go with {schedule.frequency.value}", "value_error"))
        if is_needed and not is_given:
            problems.append(Problem((*at, name), f"is needed for {schedule.frequency.value}", "missing"))
    return problems


async def scheduled(
    ctx: Context, session: TenantSession, kind: ReportKind, owner_id: str | None, given: ReportSchedule | None, at: Path
) -> Given:
    """The columns of a report with this schedule, which begins now. Raises Problems."""
    if given is None:
        return dict(_OFF)
    await check_owner(session, kind, owner_id, at)
    kept: JsonDict = given.model_dump(mode="json")
    kept["to"] = await checked_addresses(ctx, session, given.to, (*at, "to"))
    next_at = rhythm_of(kept).after(now())
    return {"schedule": moved(kept, next_at), "next_at": next_at, "scheduled_by": ctx.caller.subject}


async def check_owner(session: TenantSession, kind: ReportKind, owner_id: str | None, at: Path) -> None:
    """Raise Problems where a schedule would act as somebody who may not read what the report tells."""
    scopes = {} if owner_id is None else await members.scopes_of(session, [owner_id])
    if not may_read(kind, scopes.get(owner_id or "", frozenset())):
        raise Problems([Problem(at, "needs an owner who may read what the report tells", "value_error")])
