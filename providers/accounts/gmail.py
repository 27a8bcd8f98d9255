"""The headers of Gmail: those of 90 days, then what came since, by the mailbox's history.

The permission is that of headers alone (decision 926), by which Gmail lets nobody search: messages are listed, newest
first, until a page has none of the days that are followed.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from contract.integrations import PASS_PAGES_MAX, IntegrationProblemCode
from providers.accounts.asking import Asker
from providers.accounts.calls import Json, Params, Refused
from providers.accounts.headers import addresses, decoded, line, message_id
from providers.accounts.ical_events import YEARS
from providers.accounts.ports import AccountError, Asked, Change, Cursor, Mail, StartOver, Told
from providers.accounts.shown import identifier_of, objects, within

PAGE = 100
_HEADERS = ("From", "To", "Cc", "Subject", "Message-ID", "Sensitivity")
_LEFT_OUT = frozenset({"DRAFT", "SPAM", "TRASH", "CHAT"})
_CODE = IntegrationProblemCode


class MailboxReader:
    """Reads the mailbox of one account."""

    def __init__(self, asker: Asker, url: str, label: str) -> None:
        self._asker = asker
        self._url = url
        self._label = label

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The messages, page by page. Raises AccountError."""
        told.addresses |= {self._label} if "@" in self._label else set()
        if asked.cursor is None:
            # Where it goes on from is asked first, so that what comes meanwhile is not missed.
            end = _history(await self._asker.get(f"{self._url}/profile", told))
            async for page in self._pages("messages", {"maxResults": str(PAGE)}, told):
                mails = await self._mails([_id(each) for each in objects(page.get("messages"))], told)
                recent = [mail for mail in mails if mail.sent_at >= asked.window_from]
                yield recent
                if mails and not recent:
                    break
            yield [Cursor(end)]
            return
        end, is_unchanged, been = asked.cursor, True, set[str]()
        params = {"startHistoryId": asked.cursor, "historyTypes": "messageAdded", "maxResults": str(PAGE)}
        try:
            async for page in self._pages("history", params, told):
                end = _history(page)
                records = objects(page.get("history"))
                added = (each for record in records for each in objects(record.get("messagesAdded")))
                ids = dict.fromkeys(_id(within(each, "message")) for each in added)
                mails = await self._mails([each for each in ids if each not in been], told)
                been.update(each for each in ids if each is not None)
                is_unchanged = is_unchanged and not mails
                yield mails
        except Refused as error:
            if error.status != 404:
                raise
            yield [StartOver()]
            return
        yield [Cursor(end, is_unchanged=is_unchanged)]

    async def _pages(self, path: str, params: dict[str, str], told: Told) -> AsyncIterator[Json]:
        been: set[str] = set()
        asked = dict(params)
        while True:
            answer = await self._asker.get(f"{self._url}/{path}", told, asked)
            yield answer
            following = answer.get("nextPageToken")
            if not isinstance(following, str) or not following:
                return
            if following in been or len(been) >= PASS_PAGES_MAX:
                raise AccountError(_CODE.PROVIDER_ANSWER, "Google's pages come again; they are read again.")
            been.add(following)
            asked["pageToken"] = following

    async def _mails(self, ids: Sequence[str | None], told: Told) -> list[Mail]:
        """The messages' headers: a call for each, since Gmail lists identifiers alone."""
        params: Params = {"format": "metadata", "metadataHeaders": _HEADERS}
        found = []
        for identifier in ids:
            if identifier is None:
                continue
            try:
                answer = await self._asker.get(f"{self._url}/messages/{quote(identifier, safe='')}", told, params)
            except Refused as error:
                if error.status != 404:  # which is one that was deleted meanwhile
                    raise
                continue
            mail = mail_of(answer)
            found += [] if mail is None else [mail]
        return found


def mail_of(told: Json) -> Mail | None:
    """Read a message; None for drafts, chats and what was thrown away."""
    identifier, sent_at = _id(told), _sent_at(told.get("internalDate"))
    labels = told.get("labelIds")
    is_left_out = isinstance(labels, list) and not _LEFT_OUT.isdisjoint(str(each) for each in labels)
    if identifier is None or sent_at is None or is_left_out:
        return None
    headers: dict[str, str] = {}
    for each in objects(within(told.get("payload"), "headers")):
        headers.setdefault(str(each.get("name", "")).lower(), str(each.get("value", "")))
    senders = addresses(headers.get("from"))
    return Mail(
        identifier,
        sent_at,
        message_id(headers.get("message-id")),
        line(told.get("threadId")),
        decoded(headers.get("subject")),
        senders[0] if senders else None,
        addresses(headers.get("to")),
        addresses(headers.get("cc")),
        is_private=headers.get("sensitivity", "").strip() != "",  # RFC 2156: whatever it says, it is not for everybody
    )


def _id(value: object) -> str | None:
    return identifier_of(within(value, "id"))


def _sent_at(value: object) -> datetime | None:
    try:
        found = datetime.fromtimestamp(int(str(value)[:15]) // 1_000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found.year in YEARS else None


def _history(answer: Json) -> str:
    """Says where the mailbox's history goes on from. Raises AccountError."""
    found = answer.get("historyId")
    if not isinstance(found, str | int) or not str(found):
        raise AccountError(_CODE.PROVIDER_ANSWER, "Google's answer has no end; it is read again.")
    return str(found)
