"""Sends messages until the mail server has taken one for each recipient, or said that it never will.

What becomes of a recipient is written down before the next attempt, so nobody who has the message gets it again.
Between the server's answer and that commit there is a moment in which a process may die: the message comes again then,
under the same Message-ID.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from email_validator import EmailNotValidError, validate_email

from contract.limits import FILE_LINK_SECONDS_MAX, MAIL_ATTACHED_MAX_BYTES, REPORT_RUN_DAYS
from contract.scopes import ScopeGroup
from contract.vocabulary import MailStatus
from identity.file_links import signed_path
from jobs.queue import enqueue
from jobs.work import Retry, Run, WorkFailed, work
from providers.artifacts import ArtifactMissing
from providers.mail import ENCODED, Attachment, Letter, MailError, MailLater, MailRefused
from storage.base import now
from storage.database import Database
from storage.queries import mails, members
from storage.tables import File, Job, Mail
from storage.tenancy.sessions import TenantSession

KIND: Final = "mail"
PAUSES: Final = tuple(timedelta(minutes=m) for m in (0.5, 2, 8, 30, 60, 120, 120))
"""Between attempts: eight of them in just under six hours."""
KEPT: Final = timedelta(days=REPORT_RUN_DAYS)
_NO_MEMBER, _NO_ADDRESS = "no member's", "not an address for this mail server"
_AWAY: Final = "The mail server cannot be reached"


async def enqueue_mail(session: TenantSession, mail: Mail, file_ids: Sequence[str]) -> None:
    """Have the message sent with these files, unless it was given up before there were any."""
    if mail.status != MailStatus.QUEUED:
        return
    await session.update(mail, file_ids=list(file_ids))
    await enqueue(session, KIND, {"mail_id": mail.id})


async def end(session: TenantSession, mail_id: str, words: str | None) -> None:
    """Settle a message for good: it is sent where anybody has got it. The words say what stood in the way."""
    mail = await session.find(Mail, id=mail_id, lock=True)
    if mail is None or mail.status != MailStatus.QUEUED:
        return
    if mail.reached:
        await session.update(mail, status=MailStatus.SENT.value, sent_at=now(), error=words)
    else:
        await session.update(mail, status=MailStatus.FAILED.value, error=words)


async def _gave_up(session: TenantSession, job: Job, words: str) -> None:
    await end(session, str(job.arguments["mail_id"]), words)


@work(KIND, attempts=len(PAUSES) + 1, gave_up=_gave_up)
async def send_mail(run: Run, mail_id: str) -> None:
    """Send the message to those whose fate is open."""
    mail = await _begun(run, mail_id)
    if mail is None:
        return
    left = _left(mail)
    if left:
        letter = await _letter(run, mail, left)
        error = None
        try:
            answers = await run.ports.mail.send(letter)
        except (MailLater, MailRefused) as refusal:
            answers = dict.fromkeys(letter.still_to, refusal.code)
        except MailError:
            answers, error = dict.fromkeys(letter.still_to, 400), _AWAY
        mail = await _noted(run, mail_id, left, answers, error)
        left = _left(mail)
    if left and not run.is_last:
        raise Retry(mail.error or _AWAY, after=PAUSES[min(run.attempt, len(PAUSES)) - 1])
    if not mail.reached:
        raise WorkFailed(mail.error or _AWAY)
    async with run.finishing() as session:
        await end(session, mail_id, mail.error)


async def _begun(run: Run, mail_id: str) -> Mail | None:
    """The message with one attempt more, those refused who may not be written to; None where it has ended."""
    async with run.writing() as session:
        mail = await session.find(Mail, id=mail_id, lock=True)
        if mail is None or mail.status != MailStatus.QUEUED:
            return None
        left = _left(mail)
        known = await mails.members_with(session, left)
        refused = {address: _NO_ADDRESS for address in left if _envelope(address) is None}
        if not await _is_administrator(session, mail.asked_by):
            refused |= {address: _NO_MEMBER for address in left if address not in known}
        refused = mail.refused | refused
        return await session.update(
            mail, attempts=mail.attempts + 1, refused=refused, error=_words(refused) or mail.error
        )


async def _is_administrator(session: TenantSession, subject: str) -> bool:
    scopes = (await members.scopes_of(session, [subject])).get(subject, frozenset())
    return ScopeGroup.ORG_ADMIN.passes(scopes)


def _left(mail: Mail) -> list[str]:
    """The recipients of whom it is not known yet whether they get it."""
    return [a for a in mail.recipients if a not in mail.reached and a not in mail.refused]


def _envelope(address: str) -> str | None:
    """The address as mail servers of any age know it; None where there is no such form."""
    try:
        known = validate_email(address, check_deliverability=False).ascii_email
    except EmailNotValidError:
        return None
    return None if known is None or ENCODED in known else known  # no header could hold that one beside the others


async def _letter(run: Run, mail: Mail, to: Sequence[str]) -> Letter:
    """The message with its files, as far as they have a place in it. Raises WorkFailed and Retry."""
    async with run.reading() as session:
        found = [await session.find(File, id=i) for i in mail.file_ids]  # three at most
    files = [file for file in found if file is not None and file.trashed_at is None]
    if len(files) < len(found):
        raise WorkFailed("A file of the message was deleted")
    attached, linked, room = [], [], MAIL_ATTACHED_MAX_BYTES
    for file in files:
        if file.bytes <= room:
            room -= file.bytes
            attached.append(Attachment(file.name, file.content_type, await _bytes(run, file)))
        else:
            linked.append(_link(run, file))
    text = "\n\n".join(filter(None, (mail.body, *linked)))
    everybody, still = ([e for address in each if (e := _envelope(address))] for each in (mail.recipients, to))
    return Letter(mail.id, mail.created_at, everybody, still, mail.subject, f"{text}\n", attached)


async def _bytes(run: Run, file: File) -> bytes:
    if not file.bytes:
        return b""
    try:
        pieces = await run.ports.artifacts.open(file.storage_name, 0, file.bytes)
        try:
            return b"".join([piece async for piece in pieces])
        finally:
            await pieces.aclose()
    except ArtifactMissing:
        raise WorkFailed("A file of the message was deleted") from None
    except OSError:
        raise Retry("The store of files cannot be reached") from None


def _link(run: Run, file: File) -> str:
    """Say where the file is: by a link of seven days, where it is known how this service is reached."""
    if not run.ports.public_url:
        return f"{file.name} is too large for a message: it is among the files of the CRM"
    ends = now().replace(microsecond=0) + timedelta(seconds=FILE_LINK_SECONDS_MAX)
    path = signed_path(run.ports.pepper, run.org_id, file.id, ends)
    return f"{file.name}, until {ends:%Y-%m-%d %H:%M} UTC:\n{run.ports.public_url}{path}"


async def _noted(run: Run, mail_id: str, asked: Sequence[str], answers: Mapping[str, int], error: str | None) -> Mail:
    """Write down what the server said of each recipient: it stands whatever becomes of this attempt."""
    async with run.apart() as session:
        mail = await session.find(Mail, id=mail_id, lock=True)
        if mail is None:
            raise WorkFailed("The message does not exist any more")
        codes = {address: answers.get(_envelope(address) or "") for address in asked}
        reached = [address for address, code in codes.items() if code is None and address not in mail.reached]
        final = {address: str(code) for address, code in codes.items() if code is not None and code >= 500}
        later = sorted(address for address, code in codes.items() if code is not None and code < 500)
        refused = mail.refused | final
        words = [error or _words(refused)]
        if later and error is None:
            words.append(f"The mail server does not take it now for {', '.join(later)}")
        return await session.update(
            mail, reached=[*mail.reached, *reached], refused=refused, error=". ".join(filter(None, words)) or None
        )


def _words(refused: Mapping[str, str]) -> str | None:
    """Say who was refused, and why: the code alone of what the server said."""
    if not refused:
        return None
    return f"Refused: {', '.join(f'{address} ({why})' for address, why in sorted(refused.items()))}"


def today(moment: datetime) -> datetime:
    """The moment at which the day of UTC begins."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


async def prune(database: Database, org_id: str) -> bool:
    """Forget a batch of the messages that are too old; whether there were any. A read alone where there are none."""
    before = now() - KEPT
    async with database.reading(org_id) as session:
        found = await mails.are_old(session, before)
    if found:
        async with database.writing(org_id) as session:
            await mails.forget(session, before)
    return found
