"""Mails: reports that are sent to members, and what became of the messages (decisions 860 to 863)."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from contract.criteria import Selection
from contract.errors import MailsSpent, NotFound, Path, Problem, Problems
from contract.limits import MAIL_RECIPIENTS_MAX, MAIL_SUBJECT_MAX, MAIL_TEXT_MAX
from contract.normal_form import folded
from contract.scopes import ScopeGroup
from contract.vocabulary import ReportFormat
from jobs.mails import today
from jobs.report_runs import enqueue_run
from providers.mail import one_line
from resolvers.report_runs import Asked, Formats, check_leads
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Email, ExactInput, bounded, shown, storable
from resolvers.shared.lists import by_id
from storage.base import JsonDict, now
from storage.new_rows import new_row
from storage.queries import listables, mails, records
from storage.rows import MailRow
from storage.tables import Mail, Report
from storage.tenancy.sessions import TenantSession

_DAY_SECONDS = 24 * 3600


def _one_line(text: str) -> str:
    """The text without the blanks around it. Raises ValueError for what a header cannot hold."""
    if not all(c.isprintable() for c in text):
        raise ValueError("must be one line of printable characters")
    return text.strip()


Addresses = Annotated[
    list[Email], Field(min_length=1, max_length=MAIL_RECIPIENTS_MAX, description="The addresses, each of a member.")
]


class ReportEmail(ExactInput):
    """To whom a report goes, and with which words."""

    to: Addresses
    subject: Annotated[
        Annotated[
            StrictStr,
            Field(min_length=1, max_length=MAIL_SUBJECT_MAX),
            AfterValidator(storable),
            AfterValidator(_one_line),
            AfterValidator(shown),
        ]
        | None,
        Field(description="The title; the report's name unless told."),
    ] = None
    message: Annotated[
        Annotated[str, bounded(MAIL_TEXT_MAX), AfterValidator(storable)] | None,
        Field(description="Plain text before the files."),
    ] = None
    formats: Formats = [ReportFormat.PDF]


@requires(ScopeGroup.CRM_READ, finds=(listables.MAILS,))
async def get_mail(ctx: Context, mail_id: str | None, selection: Selection | None = None) -> MailRow | None:
    """The message, or None."""
    return await by_id(ctx, listables.MAILS, mail_id, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def email_report(ctx: Context, report_id: str, input: ReportEmail) -> Asked:
    """Have files made of what the report says when its job runs, and sent.

    Raises NotFound, InvalidState for one that leads nowhere any more, Problems, and MailsSpent.
    """
    report = await by_id(ctx, listables.REPORTS, report_id)
    if report is None:
        raise NotFound(field=("id",))
    async with ctx.writing() as session:
        await check_leads(session, report)
        to = await checked_addresses(ctx, session, input.to, ("input", "to"))
        if await records.lock_for_update(session, Report, report.id) is None:  # before the organization (decision 1200)
            raise NotFound(field=("id",))
        await records.lock_organization(session)
        await _check_day(ctx, session)
        mail = new_row(
            Mail,
            subject=input.subject or one_line(report.name),
            recipients=to,
            body=input.message or "",
            asked_by=ctx.caller.subject,
        )
        [mail] = await session.insert(mail)
        run, job = await enqueue_run(session, report, input.formats, ctx.caller.subject, mail.id)
        data: JsonDict = {"report_id": report.id, "run_id": run.id, "mail_id": mail.id}
        await changes.append_event(ctx, session, "report_emailed", data)
    ctx.forget()
    return Asked(run, job)


async def checked_addresses(ctx: Context, session: TenantSession, given: Sequence[str], at: Path) -> list[str]:
    """The addresses, each once, as their members have them.

    Raises Problems for those of nobody here, unless an administrator says so.
    """
    known = await mails.members_with(session, given)
    by_fold = {folded(address): owned for address, owned in known.items()}
    if not ScopeGroup.ORG_ADMIN.passes(ctx.caller.scopes):
        strangers = [place for place, address in enumerate(given) if folded(address) not in by_fold]
        if strangers:
            words = "is no active member's address; an administrator may write to others"
            raise Problems([Problem((*at, place), words, "reference") for place in strangers])
    return list({folded(address): by_fold.get(folded(address), address) for address in given}.values())


async def _check_day(ctx: Context, session: TenantSession) -> None:
    """Raise MailsSpent where the organization has had its messages of this day; it is locked meanwhile."""
    most, moment = ctx.services.mails_per_day, now()
    if await mails.number_since(session, today(moment)) >= most:
        raise MailsSpent(most, _DAY_SECONDS - int((moment - today(moment)).total_seconds()))
