"""Reports that are mailed by themselves: each moment of a schedule is one run, in the transaction that moves it on.

Upkeep looks each second at the organizations that have one due, as for reminders. After an outage there is one run, not
one for each moment that was missed.
"""

from collections.abc import Mapping
from datetime import datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract.schedules import Rhythm
from contract.scopes import ScopeGroup
from contract.vocabulary import SYSTEM_ACTOR, MailStatus, ReportFrequency, ReportKind, Weekday
from jobs.due import do_due
from jobs.mails import today
from jobs.report_runs import enqueue_run
from providers.mail import one_line
from reports.narrowing import READ_BY
from storage.base import JsonDict, now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import mails, members, report_schedules
from storage.queries.records import append_events, lock_organization
from storage.queries.watches import put_off
from storage.tables import Event, Mail, Report, ReportWatch
from storage.tenancy.sessions import TenantSession

BATCH = 20
"""The number of reports in a transaction; the others follow in the next."""


def rhythm_of(schedule: Mapping[str, object]) -> Rhythm:
    """The moments of a schedule as a report keeps it."""
    weekday, day = schedule["weekday"], schedule["day_of_month"]
    return Rhythm(
        ReportFrequency(str(schedule["frequency"])),
        time.fromisoformat(str(schedule["at"])),
        ZoneInfo(str(schedule["time_zone"])),
        weekday=None if weekday is None else Weekday(str(weekday)),
        day_of_month=day if isinstance(day, int) else None,
    )


async def fire(database: Database, most: int) -> None:
    """Make the runs that are due, of any organization, which may have so many messages a day."""

    async def fire_those_of(org_id: str) -> None:
        while await _fire(database, org_id, most):
            pass

    await do_due(database, ReportWatch, fire_those_of)


async def _fire(database: Database, org_id: str, most: int) -> bool:
    """Make a batch of the runs; whether there may be more."""
    async with database.writing(org_id) as session:
        moment = now()
        due = await report_schedules.due(session, moment, BATCH)
        await lock_organization(session)
        for report in due:  # each has rights and addresses of its own; they are few
            obstacle = await _obstacle(session, report)
            if obstacle is not None:
                await _pause(session, report, obstacle)
            elif await report_schedules.was_run(session, report):  # by a database that was put back, say
                await _moved(session, report, _next(report, moment), None)
            else:
                await _run(session, report, moment, most)
        await put_off(session, ReportWatch, await report_schedules.next_moment(session))
    return len(due) == BATCH


async def _obstacle(session: TenantSession, report: Report) -> str | None:
    """Why the schedule cannot go on: it acts as the report's owner, and writes to members (decision 865)."""
    try:
        rhythm_of(report.schedule or {})
    except ZoneInfoNotFoundError:  # zones are renamed, and machines know different ones (decision 952)
        return "Its time zone is not known here any more"
    if report.owner_id is None:
        return "Nobody owns the report"
    scopes = await members.scopes_of(session, [report.owner_id, report.scheduled_by or ""])
    if report.owner_id not in scopes:
        return "The owner does not belong to the organization any more"
    if not may_read(ReportKind(report.kind), scopes[report.owner_id]):
        return "The owner may not read any more what the report tells"
    setter = scopes.get(report.scheduled_by or "", frozenset())
    to = (report.schedule or {})["to"]
    if not (ScopeGroup.ORG_ADMIN.passes(setter) or await mails.members_with(session, to)):
        return "None of the addresses is a member's any more"
    return None


def may_read(kind: ReportKind, scopes: frozenset[str]) -> bool:
    """Says whether these scopes read what a report of the kind tells."""
    return ScopeGroup.CRM_READ.passes(scopes) and READ_BY[kind].passes(scopes)


async def _run(session: TenantSession, report: Report, moment: datetime, most: int) -> None:
    """Queue the run of the moment that is due, and move the schedule to the first one that lies ahead."""
    assert report.schedule is not None  # noqa: S101  # it is due
    spent = await mails.number_since(session, today(moment)) >= most
    mail = new_row(
        Mail,
        subject=one_line(report.name),
        recipients=list(report.schedule["to"]),
        asked_by=report.scheduled_by or SYSTEM_ACTOR,
        status=MailStatus.FAILED.value if spent else MailStatus.QUEUED.value,
        error=f"An organization may have {most} messages sent on a day, and these were" if spent else None,
    )
    [mail] = await session.insert(mail)
    run, _ = await enqueue_run(
        session, report, report.schedule["formats"], SYSTEM_ACTOR, mail.id, occurrence=report.next_at
    )
    await _moved(session, report, _next(report, moment), None)
    data: JsonDict = {"report_id": report.id, "run_id": run.id, "mail_id": mail.id}
    await append_events(session, [_told("report_emailed", data)])


def _next(report: Report, moment: datetime) -> datetime:
    """The first moment that lies ahead, past those that were missed."""
    return rhythm_of(report.schedule or {}).after(moment)


async def _pause(session: TenantSession, report: Report, reason: str) -> None:
    await _moved(session, report, None, reason)
    await append_events(session, [_told("report_schedule_paused", {"report_id": report.id})])


async def _moved(session: TenantSession, report: Report, next_at: datetime | None, reason: str | None) -> None:
    schedule = moved(report.schedule or {}, next_at, reason)
    await session.update(report, schedule=schedule, next_at=next_at, version=report.version + 1, updated_at=now())


def moved(schedule: JsonDict, next_at: datetime | None, reason: str | None = None) -> JsonDict:
    """The schedule with its next moment, or why it has none."""
    shown = None if next_at is None else next_at.isoformat().replace("+00:00", "Z")
    return {**schedule, "next_at": shown, "paused_reason": reason}


def _told(type: str, data: JsonDict) -> Event:
    return new_row(Event, sequence=0, type=type, area="crm", actor=SYSTEM_ACTOR, data=data)
