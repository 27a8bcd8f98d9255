"""Reports: saved questions with a fixed shape, and what they say now (decisions 470 to 474)."""

from collections.abc import Sequence
from functools import partial

from orjson import OPT_SORT_KEYS, dumps, loads

from contract.criteria import Compare, Condition, ListQuery, Op, Selection
from contract.errors import Forbidden, InvalidState, NotFound, Path, Problem, Problems
from contract.limits import REPORTS_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import ReportKind
from reports.narrowing import READ_BY
from reports.report_rows import lead_nowhere, table_of
from reports.table import Table
from resolvers import report_schedules
from resolvers.report_inputs import ReportCreate, ReportParameters, ReportUpdate, checked
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, not_null
from resolvers.shared.lists import PageResult, by_id, page_of
from resolvers.shared.writing import delete_record
from storage.base import JsonDict
from storage.new_rows import new_row
from storage.queries import listables, records
from storage.queries import reports as statements
from storage.queries.watches import watch
from storage.rows import ReportRow
from storage.tables import Report, ReportWatch
from storage.tenancy.sessions import TenantSession

_AT: Path = ("input", "parameters")
_SCHEDULE: Path = ("input", "schedule")


@requires(ScopeGroup.CRM_READ, finds=(listables.REPORTS,))
async def get_report(ctx: Context, report_id: str, selection: Selection | None = None) -> ReportRow | None:
    """The report, or None."""
    return await by_id(ctx, listables.REPORTS, report_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_reports(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[ReportRow]:
    """A page of the reports, by name."""
    return await page_of(ctx, listables.REPORTS, listing, selection)


def of_kind(kind: ReportKind | None) -> Condition | None:
    """Make the condition that a report is of this kind; None where any will do."""
    return None if kind is None else Compare("kind", Op.EQ, kind.value)


@requires(ScopeGroup.CRM_READ)
async def preview_report(ctx: Context, kind: ReportKind, parameters: ReportParameters | None = None) -> Table:
    """Make the table of a report without saving the report.

    Raises Forbidden where the caller may not read the records that it is made of, and Problems.
    """
    _check_may_read(ctx, kind)
    async with ctx.reading() as session:
        wanted = await checked(session, kind, parameters, ("parameters",))
        return await table_of(session, kind, wanted, ctx.services.clock())


@requires(ScopeGroup.CRM_READ)
async def table_of_report(ctx: Context, report_id: str) -> Table:
    """Make the table of a report as of now, once for reports that ask the same in one operation (decision 475).

    Raises NotFound, Forbidden as a preview does, and InvalidState for one that leads nowhere any more (decision 474).
    """
    report = await by_id(ctx, listables.REPORTS, report_id)
    if report is None:
        raise NotFound(field=("id",))
    kind = ReportKind(report.kind)
    _check_may_read(ctx, kind)
    asked = (kind, dumps(report.parameters, option=OPT_SORT_KEYS))
    said = await ctx.loader("tables_of_reports", partial(_said, ctx)).load(asked)
    if isinstance(said, str):
        raise InvalidState(said, field=("id",))
    return said


_Question = tuple[ReportKind, bytes]
"""A kind, and the parameters as JSON."""


async def _said(ctx: Context, questions: Sequence[_Question]) -> list[Table | str]:
    """The table of each question, or what it is narrowed to and is gone."""
    async with ctx.reading() as session:
        parameters = await statements.followed(session, [loads(kept) for _, kept in questions])
        gone = await lead_nowhere(session, parameters)
        moment = ctx.services.clock()
        return [
            words or await table_of(session, kind, narrowed, moment)
            for (kind, _), narrowed, words in zip(questions, parameters, gone, strict=True)
        ]


def _check_may_read(ctx: Context, kind: ReportKind) -> None:
    group = READ_BY[kind]
    if not group.passes(ctx.caller.scopes):
        raise Forbidden(group, ctx.caller.scopes)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_report(ctx: Context, input: ReportCreate) -> Report:
    """Save a report, which the caller owns. Raises Problems."""
    report = new_row(
        Report,
        name=input.name,
        description=input.description,
        kind=input.kind.value,
        owner_id=ctx.caller.subject,
    )
    async with ctx.writing() as session:
        refused = report_schedules.wrong(input.schedule, _SCHEDULE)
        parameters = await checked(session, input.kind, input.parameters, _AT, refused)
        schedule = await report_schedules.scheduled(
            ctx, session, input.kind, ctx.caller.subject, input.schedule, _SCHEDULE
        )
        await records.lock_organization(session)
        if await statements.number(session) >= REPORTS_MAX:
            raise Problems([Problem(("input",), f"there can be at most {REPORTS_MAX} reports", "too_long")])
        [report] = await session.insert(changes.as_changed(report, {"parameters": parameters, **schedule}))
        await changes.append_event(ctx, session, "report_created", {"report_id": report.id})
        if report.next_at is not None:
            await watch(session, ReportWatch, report.next_at)
    ctx.forget()
    return report


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_report(
    ctx: Context, report_id: str, input: ReportUpdate, *, seen: Sequence[int] | None = None
) -> Report:
    """Change a report; parameters take the place of those that it had.

    Raises NotFound, Problems, or PreconditionFailed for a stale version.
    """
    fields = input.given()
    version = fields.pop("expected_version", None)
    not_null(fields, *input.filled)
    async with ctx.writing() as session:
        report = await records.lock_for_update(session, Report, report_id)
        if report is None:
            raise NotFound(field=("id",))
        changes.expect(report, version, seen)
        if "parameters" in fields:
            refused = report_schedules.wrong(input.schedule, _SCHEDULE)
            fields["parameters"] = await checked(session, ReportKind(report.kind), input.parameters, _AT, refused)
        await changes.check_references(session, fields, {})
        fields |= await _schedule(ctx, session, report, input, fields)
        report, changed = await changes.apply(session, report, fields)
        if changed:
            data: JsonDict = {"report_id": report.id, "changed": [n for n in changed if n not in _OF_SCHEDULE]}
            await changes.append_event(ctx, session, "report_updated", data)
            if "next_at" in changed and report.next_at is not None:
                await watch(session, ReportWatch, report.next_at)
    ctx.forget()
    return report


_OF_SCHEDULE = frozenset({"next_at", "scheduled_by"})
"""Columns that change with the schedule, and are told as it."""


async def _schedule(ctx: Context, session: TenantSession, report: Report, input: ReportUpdate, fields: Given) -> Given:
    """The columns of the schedule where it is given; a new owner has to go with the one that there is."""
    kind, owner_id = ReportKind(report.kind), fields.get("owner_id", report.owner_id)
    if "schedule" in fields:
        if refused := report_schedules.wrong(input.schedule, _SCHEDULE):
            raise Problems(refused)
        given = await report_schedules.scheduled(ctx, session, kind, owner_id, input.schedule, _SCHEDULE)
        return given if _asks(given) != _asks({"schedule": report.schedule}) else {"schedule": report.schedule}
    if report.next_at is not None and owner_id != report.owner_id:
        await report_schedules.check_owner(session, kind, owner_id, ("input", "owner_id"))
    return {}


def _asks(columns: Given) -> Given | None:
    """The words of a schedule, without what follows from them; none of one that is paused, so that it begins again."""
    schedule = columns["schedule"]
    if schedule is None or schedule["next_at"] is None:
        return None if schedule is None else {"is_paused": True}
    return {name: value for name, value in schedule.items() if name not in ("next_at", "paused_reason")}


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_report(ctx: Context, report_id: str) -> str:
    """Delete a report. Raises NotFound."""
    return await delete_record(ctx, Report, report_id)
