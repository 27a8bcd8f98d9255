"""iCalendar feeds: by an address that a member chose, from content that was uploaded, or made by this process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

import orjson

from contract.integrations import FEED_BYTES_MAX, FEED_SECONDS, IntegrationProblemCode
from providers.accounts.calls import waiting
from providers.accounts.ical_reading import READING, Feed, page_of, read_feed
from providers.accounts.ports import AccountError, Asked, Change, Cursor, More, Told
from providers.children.errors import ChildError
from providers.children.pool import Children
from providers.outbound import Answer, Limits, NotAllowed, Outbound, OutboundError, TooLarge

LIMITS = Limits(seconds=FEED_SECONDS, read_seconds=FEED_SECONDS, body_bytes=FEED_BYTES_MAX)
_CODE = IntegrationProblemCode

LocalFeed = Callable[[str, datetime], bytes]
"""A calendar that this process makes: by what its address asks for, as of a moment."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a feed: its address, or a function that gives its content."""

    url: str | None = None
    content: Callable[[], Awaitable[bytes]] | None = None
    is_upload: bool = False


class FeedReader:
    """Reads one feed, whole (decision 361)."""

    def __init__(self, source: Source, outbound: Outbound, children: Children) -> None:
        self._source = source
        self._outbound = outbound
        self._children = children

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The changes in pages; a feed that is as it was is a cursor alone. Raises AccountError."""
        before = {} if asked.cursor is None else orjson.loads(asked.cursor)
        told.is_complete = True
        told.confirms_removals = not self._source.is_upload
        told.calls += self._source.url is not None
        content, validators = await self._fetched({} if asked.thorough else before)
        if content is None:
            yield [Cursor(orjson.dumps(before).decode(), is_unchanged=True)]
            return
        digest = sha256(content).hexdigest()
        cursor = orjson.dumps({**validators, "digest": digest}).decode()
        if not asked.thorough and digest == before.get("digest"):
            yield [Cursor(cursor, is_unchanged=True)]
            return
        feed = await self._parsed(content, asked)
        del content  # which may be large; its pages are not read at once
        if feed.name is not None and "@" in feed.name:  # Google's feeds are called by the address
            told.addresses.add(feed.name)
        for page in feed.pages:
            yield [More(feed.number), *page_of(page)]
        yield [Cursor(cursor)]

    async def _fetched(self, before: dict[str, str]) -> tuple[bytes | None, dict[str, str]]:
        """The content with what is said of its version; None where it is as it was."""
        if self._source.content is not None:
            return await self._source.content(), {}
        answer = await fetch(self._outbound, self._source.url or "", before)
        if answer.status == 304:
            return None, {}
        headers = (("etag", answer.headers.get("etag")), ("modified", answer.headers.get("last-modified")))
        # What could not be sent back as it came is not: the feed is then read whole.
        return answer.body, {name: value for name, value in headers if value and value.isascii() and len(value) <= 500}

    async def _parsed(self, content: bytes, asked: Asked) -> Feed:
        try:
            feed = await self._children.run(READING, read_feed, content, asked.window_from, asked.window_until)
        except ChildError as error:
            raise AccountError(_CODE.TOO_LARGE, f"The feed {error}: split it, or connect a part of it.") from None
        if feed.wrong is not None:
            code = _CODE.TOO_LARGE if feed.is_too_large else _CODE.FEED_UNREADABLE
            advice = "Connect a smaller calendar." if feed.is_too_large else "Check that the address is a calendar's."
            raise AccountError(code, f"{feed.wrong}. {advice}")
        return feed


async def fetch(outbound: Outbound, url: str, before: dict[str, str]) -> Answer:
    """The feed's answer, which is good or says that nothing has changed. Raises AccountError (decision 371)."""
    headers = {"accept": "text/calendar, */*;q=0.5"}
    headers |= {"if-none-match": before["etag"]} if "etag" in before else {}
    headers |= {"if-modified-since": before["modified"]} if "modified" in before else {}
    try:
        answer = await outbound.request("GET", url, headers=headers, limits=LIMITS)
    except NotAllowed:
        words = "The feed's address may not be called: it is not on the public internet. Connect another one."
        raise AccountError(_CODE.FEED_UNREACHABLE, words) from None
    except TooLarge:
        words = f"The feed is larger than {FEED_BYTES_MAX // 1024 // 1024} MiB. Connect a smaller calendar."
        raise AccountError(_CODE.TOO_LARGE, words) from None
    except OutboundError:
        words = "The feed's server cannot be reached, or does not answer in time; it is read again by itself."
        raise AccountError(_CODE.PROVIDER_UNAVAILABLE, words) from None
    if answer.status == 200 or (answer.status == 304 and before):
        return answer
    if answer.status in (429, 503):
        wait = waiting(answer.headers.get("retry-after"), datetime.now(UTC))
        if answer.status == 429 or wait:  # as of an account (decision 1169)
            words = "The feed's server asks to wait; it is read again by itself."
            raise AccountError(_CODE.RATE_LIMITED, words, retry_after=wait)
    if answer.status >= 500:
        words = f"The feed's server fails with status {answer.status}; it is read again by itself."
        raise AccountError(_CODE.PROVIDER_UNAVAILABLE, words)
    words = f"The feed is not there: its server answers with status {answer.status}. Check the address."
    raise AccountError(_CODE.FEED_UNREACHABLE, words)
