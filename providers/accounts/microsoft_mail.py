"""The headers of a folder of Outlook's mail: those of 90 days, then what came since."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from contract.integrations import ADDRESSES_OF_A_MAIL_MAX
from providers.accounts.calls import Json, Refused
from providers.accounts.graph import Graph, is_forgotten
from providers.accounts.headers import line, message_id
from providers.accounts.ports import Asked, Change, Cursor, Mail, More, StartOver, Told
from providers.accounts.shown import changed, identifier_of, is_address, objects, within

_SELECTED = (
    *("internetMessageId", "conversationId", "subject", "from", "toRecipients", "ccRecipients"),
    *("sentDateTime", "receivedDateTime", "isDraft"),
)


class FolderReader:
    """Reads one folder. A message that was moved or deleted is told as removed, and stays (decision 924)."""

    def __init__(self, graph: Graph, url: str, label: str) -> None:
        self._graph = graph
        self._url = url
        self._label = label

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The messages, page by page. Raises AccountError."""
        told.addresses |= {self._label} if "@" in self._label else set()
        url, params = asked.cursor, None
        if url is None:
            since = f"receivedDateTime ge {asked.window_from:%Y-%m-%dT%H:%M:%SZ}"
            url, params = self._url, {"$select": ",".join(_SELECTED), "$filter": since, "changeType": "created"}
        elif not self._graph.leads_here(url):
            yield [StartOver()]
            return
        been: set[str] = set()
        is_unchanged = asked.cursor is not None
        while True:
            try:
                answer = await self._graph.get(url, told, params)
            except Refused as error:
                if asked.cursor is None or not is_forgotten(error):
                    raise
                yield [StartOver()]
                return
            mails = [mail for each in objects(answer.get("value")) if (mail := mail_of(each)) is not None]
            is_unchanged = is_unchanged and not mails
            following = self._graph.following(answer, been)
            if following is None:
                end = self._graph.end_of(answer)
                if mails:
                    yield mails
                yield [Cursor(end, is_unchanged=is_unchanged)]
                return
            if mails:
                yield [More(), *mails]
            url, params = following, None


def mail_of(told: Json) -> Mail | None:
    """Read a message; None for a draft, for what was removed, and for what is told of without its headers."""
    identifier, sent_at = identifier_of(told.get("id")), _sent_at(told)
    if identifier is None or sent_at is None or told.get("isDraft") is True or "@removed" in told:
        return None
    senders = _addresses([told.get("from")])
    return Mail(
        identifier,
        sent_at,
        message_id(told.get("internetMessageId")),
        line(told.get("conversationId")),
        line(told.get("subject")),
        senders[0] if senders else None,
        _addresses(told.get("toRecipients")),
        _addresses(told.get("ccRecipients")),
    )


def _sent_at(told: Json) -> datetime | None:
    found = changed(told.get("sentDateTime")) or changed(told.get("receivedDateTime"))
    return None if found is None else found.replace(microsecond=0)


def _addresses(people: object) -> tuple[str, ...]:
    told = (within(within(each, "emailAddress"), "address") for each in objects(people))
    found = (each.strip() for each in told if isinstance(each, str))
    return tuple(dict.fromkeys(each for each in found if is_address(each)))[:ADDRESSES_OF_A_MAIL_MAX]
