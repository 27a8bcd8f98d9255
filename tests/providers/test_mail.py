"""A message is written down as it was meant, whatever its title and the names of its files are (decision 953)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.mail import Attachment, Letter, Outbox, one_line, written

HEADERS = [
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"),
    *("Content-Type", "MIME-Version"),
]
OF_A_FILE = ["Content-Type", "Content-Transfer-Encoding", "Content-Disposition", "MIME-Version"]
PIECES = [
    *("=?utf-8?q?a=0D=0ABcc:_x@evil.example?=", "=?utf-8?b?YQpCY2M6IHhAZXZpbC5leGFtcGxl?=", "=?", "?="),
    *("=0A", "=0D=0A", "utf-8", "?q?", " ", '"', "\\", ";", "é", "株式会社", "%0A", "''", "<b@c>", ",", "a" * 80),
]
LINES = ["\r\nBcc: y@evil.example", "\n\n"]
TITLES = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=8).map("".join).map(one_line)
NAMES = st.lists(st.one_of(st.sampled_from([*PIECES, *LINES]), st.text(max_size=5)), max_size=8).map("".join)


def message(subject: str, name: str) -> bytes:
    to = ["ada@example.com"]
    file = Attachment(name, "text/csv", b"a,b\r\n")
    letter = Letter("id", datetime(2026, 3, 1, tzinfo=UTC), to, to, subject, "text\n", [file])
    return written(letter, "CRM <crm@x.example>")


@given(TITLES, NAMES.map(lambda name: f"{name}.csv"))
def test_no_title_and_no_name_makes_a_header(subject: str, name: str) -> None:
    data = message(subject, name)
    raw = message_from_bytes(data, policy=policy.compat32)
    assert sorted(raw.keys()) == sorted(HEADERS)
    text, file = raw.get_payload()  # type: ignore[misc]  # it has two parts
    assert sorted(file.keys()) == sorted(OF_A_FILE)  # type: ignore[union-attr]
    assert file.get_payload(decode=True) == b"a,b\r\n"  # type: ignore[union-attr]
    assert text.get_payload(decode=True) == b"text\r\n"  # type: ignore[union-attr]
    assert b"\n" not in data.replace(b"\r\n", b"")


@pytest.mark.parametrize(
    "text", ["=?utf-8?q?a=0D=0ABcc:_x@evil.example?=", "q =?x", "Quarter: 1/2, “ü” =? ?= 株", "plain"]
)
def test_both_arrive_as_they_are_read(text: str) -> None:
    read = message_from_bytes(message(text, f"{text}.csv"), policy=policy.default)
    [file] = read.iter_attachments()  # type: ignore[attr-defined]
    assert read["Subject"].replace("\u2060", "") == text
    assert file.get_filename().replace("\u2060", "") == f"{text}.csv"


def test_a_title_of_two_lines_is_no_header() -> None:
    with pytest.raises(ValueError, match="line"):
        message("a\r\nBcc: x@evil.example", "a.csv")


async def test_what_a_process_died_over_does_not_stay_in_the_outbox(tmp_path: Path) -> None:
    left, written_now = tmp_path / ".a.eml.0", tmp_path / ".b.eml.0"
    for file in (left, written_now):
        file.write_bytes(b"From: half a message")
    os.utime(left, times=(time() - 4_000, time() - 4_000))
    letter = Letter("id", datetime(2026, 3, 1, tzinfo=UTC), ["a@b.example"], ["a@b.example"], "s", "t")
    await Outbox(tmp_path, "crm@x.example").send(letter)
    assert sorted(os.listdir(tmp_path)) == [written_now.name, "20260301T000000.000000Z-id.eml"]
