"""What decides without any I/O: occurrences of series, verdicts, identities, and hostile feeds in bounded time."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from contract.integrations import WINDOW_AHEAD, ParticipantResponse
from contract.integrations import IntegrationSkipReason as Reason
from gateway.demo.calendar import made
from jobs.sync.judge import Rules, judged
from jobs.sync.match import Known, Match, is_person, matched, names_of
from jobs.sync.merge import as_document, from_document
from providers.accounts.calls import waiting
from providers.accounts.ical_events import plain
from providers.accounts.ical_reading import READING, Feed, page_of, read_feed
from providers.accounts.ports import Guest, Said, Seen
from providers.children.pool import Children

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
WINDOW = (NOW - timedelta(days=90), NOW + timedelta(days=365))
RULES = Rules(frozenset({"me@in.example"}), frozenset({"in.example"}), False, *WINDOW)
GUEST = Guest("Bob@out.example")


def seen_in(feed: Feed) -> list[Seen]:
    return [each for page in feed.pages for each in page_of(page)]


def starts(*lines: str) -> list[str]:
    text = "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:a", *lines, "END:VEVENT", "END:VCALENDAR", ""])
    [seen] = seen_in(read_feed(text.encode(), *WINDOW))
    assert seen.problem is None, seen.note
    return [f"{o.starts_at:%m-%dT%H:%M}" for o in seen.occurrences]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ("DTSTART;TZID=America/New_York:20261030T090000", "RRULE:FREQ=WEEKLY;COUNT=2"),
            ["10-30T13:00", "11-06T14:00"],
        ),
        (
            ("DTSTART;TZID=Australia/Sydney:20261002T090000", "RRULE:FREQ=WEEKLY;COUNT=2"),
            ["10-01T23:00", "10-08T22:00"],
        ),
        (
            ("DTSTART;TZID=Europe/Berlin:20270327T023000", "RRULE:FREQ=DAILY;COUNT=3"),
            ["03-27T01:30", "03-28T01:30", "03-29T00:30"],
        ),
        (("DTSTART:20261101T100000Z", "RRULE:FREQ=DAILY;UNTIL=20261102T100000Z"), ["11-01T10:00", "11-02T10:00"]),
        (("DTSTART:20261101T100000Z", "RDATE:20261105T100000Z", "EXDATE:20261101T100000Z"), ["11-05T10:00"]),
        (("DTSTART;VALUE=DATE:20261101", "RRULE:FREQ=MONTHLY;COUNT=2"), ["11-01T00:00", "12-01T00:00"]),
        (("DTSTART;TZID=W. Europe Standard Time:20261101T100000",), ["11-01T09:00"]),
    ],
)
def test_the_starts_of_a_series(lines: tuple[str, ...], expected: list[str]) -> None:
    assert starts(*lines) == expected


def test_a_list_of_many_days_on_one_line_is_read_to_its_end() -> None:
    first = datetime(2026, 10, 1, 10)
    days = [f"{first + timedelta(days=n):%Y%m%dT%H%M%SZ}" for n in range(-600, 3)]
    daily = ("DTSTART:20261001T100000Z", "RRULE:FREQ=DAILY;COUNT=5")
    assert starts(*daily, f"EXDATE:{','.join(days)}") == ["10-04T10:00", "10-05T10:00"]
    assert starts(*daily, f"EXDATE:{days[-1]},{','.join(days * 10)}")[:3] == ["10-04T10:00", "10-05T10:00"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Said(guests=(GUEST,)), None),
        (Said(is_private=True, guests=(GUEST,)), Reason.PRIVATE),
        (Said(is_meeting=False, guests=(GUEST,)), Reason.NOT_A_MEETING),
        (Said(guests=(GUEST, Guest("ME@in.example", response=ParticipantResponse.DECLINED))), Reason.DECLINED),
        (Said(guests=(Guest("me@in.example"),)), Reason.NO_EXTERNAL_ATTENDEE),
        (Said(guests=(Guest("you@deep.in.example"),)), Reason.INTERNAL_DOMAIN),
        (Said(guests=(Guest("you@notin.example"),)), None),
    ],
)
def test_the_verdicts(said: Said, reason: Reason | None) -> None:
    verdict = judged(said, NOW, RULES)
    assert (verdict.reason, verdict.explanation is None) == (reason, reason is None)


def test_the_order_of_the_verdicts() -> None:
    everything = Said(is_private=True, is_cancelled=True, is_meeting=False)
    assert judged(everything, NOW, RULES, problem="unreadable", note="Why").reason is Reason.UNREADABLE
    assert judged(everything, NOW, RULES, is_removed=True).reason is Reason.REMOVED_HERE
    assert judged(everything, NOW, RULES).reason is Reason.PRIVATE
    assert judged(Said(is_cancelled=True), NOW, RULES).is_gone
    assert judged(Said(is_private=True), NOW, RULES, decision="take").reason is None
    assert judged(Said(guests=(GUEST,)), NOW, RULES, decision="ignore").reason is Reason.REMOVED_HERE
    old = NOW - timedelta(days=91)
    assert judged(Said(guests=(GUEST,)), old, RULES).reason is Reason.OUTSIDE_WINDOW
    assert judged(Said(guests=(GUEST,)), old, RULES, was_taken=True).reason is None


def test_the_record_that_a_meeting_is_about() -> None:
    known = Known({"bob@out.example": ("c", "a")}, {"out.example": "a", "gmail.com": "g"}, {"a": [("d", frozenset())]})
    assert matched(["bob@out.example"], known) == Match("c", "a", "d")
    assert matched(["eve@out.example"], known) == Match(None, "a", "d")
    assert matched(["eve@gmail.com"], known) == Match()
    assert names_of(Guest("x@y.example", "Park, Ada")) == names_of(Guest("x@y.example", "Ada Park")) == ("Ada", "Park")
    assert [is_person(Guest(f"{name}@x.example")) for name in ("no-reply", "noreply", "nora")] == [False, False, True]


def test_what_was_said_is_kept_and_read_back() -> None:
    said = Said("S", "T", "P", "https://x.example", None, "UTC", (GUEST, Guest("a@b.example", "A", is_organizer=True)))
    assert from_document(as_document(said)) == said


def test_how_long_to_wait() -> None:
    assert waiting("120", NOW) == 120
    assert waiting("Tue, 24 Nov 2026 12:01:00 GMT", NOW) == 60
    assert waiting("Tue, 24 Nov 2099 12:01:00 GMT", NOW) == 3_600
    assert [waiting(text, NOW) for text in (None, "", "soon")] == [None] * 3
    assert waiting("Mon, 01 Jan 99999999999 00:00:00 GMT", NOW) is None


def _event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT", ""])


_ENDLESS = [
    _event(f"UID:{n}", "DTSTART:19000101T000000Z", "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30") for n in range(50)
]
_ZONE = "BEGIN:VTIMEZONE\r\nTZID:Mine\r\nEND:VTIMEZONE\r\n"
HOSTILE = {
    "a line of ten megabytes": _event("UID:a", "DTSTART:20261124T100000Z", "SUMMARY:" + "a" * 10_000_000),
    "nested parts": "BEGIN:VEVENT\r\n" * 100_000,
    "an alarm in an alarm": _event(
        "UID:a", "DTSTART:20261124T100000Z", *["BEGIN:VALARM"] * 5_000, *["END:VALARM"] * 5_000
    ),
    "rules that never match": "".join(_ENDLESS),
    "every day for ever": _event("UID:a", f"DTSTART:{NOW:%Y%m%dT%H%M%SZ}", "RRULE:FREQ=DAILY"),
    "every second": _event("UID:a", "DTSTART:20261124T100000Z", "RRULE:FREQ=SECONDLY"),
    "a zone without rules": _ZONE + _event("UID:a", "DTSTART;TZID=Mine:20261124T100000"),
    "the year 1": _event("UID:a", "DTSTART:00010101T000000Z"),
    "the year 9999": _event("UID:a", "DTSTART:99991231T235959Z", "DURATION:P9999999W"),
    "no sense": _event("UID:a", "DTSTART:yes", "RRULE:FREQ=;;;=,", "EXDATE:no", "ATTENDEE:"),
    "folded lines": _event("UID:a", "DTSTART:20261124T1000", " 00Z", "SUM", "\tMARY:Folded"),
}


async def test_hostile_feeds_are_read_in_bounded_time_and_memory() -> None:
    """Each within the limits of the child process that reads feeds: one that goes over them ends with an error."""
    children = Children()
    limits = replace(READING, processor_seconds=30)
    try:
        for name, events in HOSTILE.items():
            content = f"BEGIN:VCALENDAR\r\n{events}END:VCALENDAR\r\n".encode()
            feed = await children.run(limits, read_feed, content, *WINDOW)
            assert feed.wrong is not None or all(len(seen.occurrences) <= 1_000 for seen in seen_in(feed)), name
            if name == "folded lines":
                assert [seen.said.subject for seen in seen_in(feed)] == ["Folded"]
            if name == "every day for ever":
                assert [len(seen.occurrences) for seen in seen_in(feed)] == [WINDOW_AHEAD.days + 1]
    finally:
        await children.close()


def test_every_encoding_is_read_and_every_end_of_a_line() -> None:
    text = f"BEGIN:VCALENDAR\r\n{_event('UID:a', 'DTSTART:20261124T100000Z', 'SUMMARY:Frühstück')}END:VCALENDAR\r\n"
    within = text.encode().replace("ü".encode(), b"\xc3\r\n \xbc")
    for content in (
        text.encode("cp1252"),
        b"\xef\xbb\xbf" + text.encode(),
        within,
        text.replace("\r\n", "\r").encode(),
    ):
        assert [seen.said.subject for seen in seen_in(read_feed(content, *WINDOW))] == ["Frühstück"]


def test_the_demos_calendar_changes_every_minute() -> None:
    first, second = (made("guest=a%40b.example", NOW + timedelta(minutes=minutes)) for minutes in (0, 1))
    before, after = ({s.uid: s for s in seen_in(read_feed(content, *WINDOW))} for content in (first, second))
    assert [uid for uid in before if before[uid].occurrences != after[uid].occurrences] == ["demo-call@crm.example"]
    assert len(before["demo-weekly@crm.example"].occurrences) == 8
    assert before["demo-private@crm.example"].said.is_private
    assert before["demo-off@crm.example"].said.is_cancelled
    assert before["demo-fair@crm.example"].occurrences[0].all_day


def seen(*lines: str, uid: str = "UID:a") -> Seen:
    """The event of these lines, in a feed with another one that can be read."""
    other = ("BEGIN:VEVENT", "UID:other", "DTSTART:20261201T100000Z", "END:VEVENT")
    text = "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", uid, *lines, "END:VEVENT", *other, "END:VCALENDAR", ""])
    feed = read_feed(text.encode(), *WINDOW)
    assert feed.wrong is None
    found = seen_in(feed)
    assert (len(found), found[1].problem) == (2, None)
    return found[0]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (("RRULE:FREQ=DAILY;INTERVAL=0",), "unreadable"),
        (("RRULE:FREQ=WEEKLY;INTERVAL=0;COUNT=3",), "unreadable"),
        (("DURATION:a while",), "unreadable"),
        (("DURATION:P99999999999999999999D",), "unreadable"),
        (("DURATION:P9999999W",), "unreadable"),
        (("RRULE:FREQ=DAILY;COUNT=3", "EXDATE:x,y"), None),
        (("RDATE;VALUE=PERIOD:20261201T100000Z/x",), None),
    ],
)
def test_a_broken_property_is_its_events_alone(lines: tuple[str, ...], problem: str | None) -> None:
    began = time.monotonic()
    found = seen("DTSTART:20261202T100000Z", *lines)
    assert found.problem == problem
    assert problem is None or any("RULE" in line for line in lines) == ("rule" in (found.note or "")), found.note
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "lines",
    [
        ("CLASS:X-SECRET",),  # (decision 605)
        ("CLASS:PUBLIC", "CLASS:PRIVATE"),
        ("CLASS;X=PUBLIC:PRIVATE",),
        ('CLASS;X="open:PRIVATE',),
        ("CLASS;:CONFIDENTIAL",),
        (*(f"ATTENDEE:mailto:{number}@out.example" for number in range(1_600)), "CLASS:PRIVATE"),
    ],
)
@pytest.mark.parametrize("start", ["DTSTART:20261202T100000Z", "DTSTART:never"])
def test_whatever_is_not_said_to_be_public_is_private(lines: tuple[str, ...], start: str) -> None:
    found = seen(start, "SUMMARY:Dentist", *lines)
    assert found.said.is_private
    assert (found.said.subject is None) == (start == "DTSTART:never")


def test_nothing_of_a_private_event_stands_for_one_that_has_no_identifier() -> None:
    one, two = (seen("DTSTART:20261202T100000Z", f"SUMMARY:{word}", "CLASS:PRIVATE", uid="X:") for word in "ab")
    assert one == two
    assert one.said.is_private


@pytest.mark.parametrize(
    "text",
    [part * 40_000 for part in ("<a ", "<!--", "<a b='", "</a ", "<?", "<script>", "&#", "a", "&#9", "9")],
)
def test_marks_of_html_are_taken_out_in_bounded_time(text: str) -> None:
    began = time.monotonic()
    for start in ("", "<", "<!", "&#", "&#x"):
        plain(f"<br>{start}{text}"[:80_000])
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>Bring <b>figures</b></p>", "Bring figures"),
        ("a<br>b<BR/>c", "a\nb\nc"),
        ("<div>1 &lt; 2 &amp; 3 &gt; 2</div>", "1 < 2 & 3 > 2"),
        ("<p>a</p><style>p > b { }</style><script>if (1 < 2) x</script><p>b</p>", "a\nb"),
        ("<p>a<!-- <b>x</b> -->b</p>", "ab"),
        ("<p>open <!-- for ever", "open"),
        ("<a href='https://x.example/?a=1&b=2'>here</a>", "here"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<p>&#65;&#99999999;&#x41;</p>", "A\ufffdA"),
        ("<ul><li>1 < 2</li></ul>", "1 < 2"),
    ],
)
def test_marks_of_html_are_taken_out(text: str, expected: str) -> None:
    assert plain(text) == expected
