"""robots.txt as RFC 9309 has it."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cx.robots import EVERYTHING, MOST_BYTES, NOTHING, Robots, permission


def closed(text: str, *paths: str) -> list[str]:
    robots = Robots(text)
    return [path for path in paths if not robots.allows(path)]


@pytest.mark.parametrize(
    ("text", "paths", "expected"),
    [
        ("", ["/", "/a"], []),
        ("User-agent: *\nDisallow:", ["/", "/a"], []),
        ("User-agent: *\nDisallow: /", ["/", "/a"], ["/", "/a"]),
        ("user-agent:*\r\ndisallow:/a # secret\r\n", ["/", "/a", "/ab", "/b"], ["/a", "/ab"]),
        ("User-agent: other\nDisallow: /", ["/"], []),
        ("User-agent: *\nDisallow: /\nUser-agent: CRM-Gateway\nDisallow: /a", ["/", "/a"], ["/a"]),
        ("User-agent: crm-gateway\nUser-agent: other\nDisallow: /a", ["/", "/a"], ["/a"]),
        ("User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", ["/a", "/b", "/c"], ["/a", "/b"]),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", ["/a", "/a/b/c"], ["/a"]),
        ("User-agent: *\nDisallow: /a\nAllow: /a", ["/a"], []),
        ("User-agent: *\nDisallow: /*.pdf$", ["/a.pdf", "/a.pdf?x", "/b/c.pdf", "/pdf"], ["/a.pdf", "/b/c.pdf"]),
        ("User-agent: *\nDisallow: /*?", ["/a", "/a?b=c"], ["/a?b=c"]),
        ("User-agent: *\nDisallow: /a$", ["/a", "/ab"], ["/a"]),
        ("User-agent: *\nDisallow: /a*b*c", ["/abc", "/axbxcx", "/acb"], ["/abc", "/axbxcx"]),
        ("\ufeffUser-agent: *\nDisallow: /a", ["/a", "/b"], ["/a"]),
        ("User-agent: CRM-GATEWAY/1.0 (x)\nDisallow: /a\n\nUser-agent: *\nDisallow: /", ["/a", "/b"], ["/a"]),
        ("User-agent: crm\nDisallow: /\n\nUser-agent: gateway\nDisallow: /", ["/a"], []),
        ("User-agent: crm-gateway-news\nDisallow: /\nUser-agent: *\nAllow: /", ["/a", "/b"], []),
        ("User-agent: crm-gateway\nDisallow:\n\nUser-agent: *\nDisallow: /", ["/a"], []),
        ("User-agent: *\nDisallow: /%7Ec", ["/~c", "/%7ec", "/c"], ["/~c", "/%7ec"]),
        ("User-agent: *\nDisallow: /a/\nAllow: /a/*b", ["/a/xb", "/a/x"], ["/a/x"]),
        ("User-agent: *\nDisallow: /", ["/robots.txt"], []),
        ("User-agent: *\nDisallow: /ab*b$", ["/ab", "/abb"], ["/abb"]),
        ("Disallow: /\nnonsense\n: x\n", ["/"], []),
        ("<!doctype html><title>Not found</title>", ["/"], []),
    ],
)
def test_what_it_closes(text: str, paths: list[str], expected: list[str]) -> None:
    assert closed(text, *paths) == expected


def test_the_wait() -> None:
    assert Robots("User-agent: *\nCrawl-delay: 2.5\n").delay == 2.5
    assert Robots("User-agent: *\nCrawl-delay: soon\n").delay == 0
    assert Robots("User-agent: other\nCrawl-delay: 9\n").delay == 0


def test_patterns_that_are_meant_to_keep_it_busy() -> None:
    """Each is compared piece by piece, and agents are not multiplied by rules."""
    robots = Robots("User-agent: *\nDisallow: /" + "*a" * 2_000 + "$")
    assert robots.allows("/" + "a" * 1_999 + "b")
    many = "".join(f"User-agent: agent{number}\n" for number in range(4_000)) + "Disallow: /a\n" * 4_000
    tracemalloc.start()
    try:
        assert Robots(many).allows("/a")
        assert tracemalloc.get_traced_memory()[1] < 40 * len(many)
    finally:
        tracemalloc.stop()


def test_a_byte_order_mark_and_bytes_of_another_encoding() -> None:
    text = "User-agent: *\nDisallow: /ä\nDisallow: /b\n"
    assert not permission(b"\xef\xbb\xbf" + text.encode(), "/b").allowed
    assert not permission(text.encode(), "/%C3%A4").allowed
    assert not permission(text.encode("latin-1"), "/b").allowed
    assert permission(b"\xff\xfe\x00\x00" * 1_000, "/b").allowed


def test_half_a_mebibyte_is_read_and_no_rule_that_was_cut() -> None:
    """RFC 9309, 2.5."""
    rules = b"User-agent: *\nDisallow: /a\n"
    full = rules + b"#" * (MOST_BYTES - len(rules) - 12) + b"\nDisallow: /bcd"
    assert not permission(full[:MOST_BYTES], "/a").allowed
    assert permission(full[:MOST_BYTES], "/b").allowed


@pytest.mark.parametrize("end", [b"\r", b"\r\n"])
def test_lines_of_a_long_file_may_end_in_other_ways(end: bytes) -> None:
    rules = b"User-agent: *" + end + b"Disallow: /a" + end
    full = rules + b"#" * (MOST_BYTES - len(rules) - 12) + end + b"Disallow: /bcd"
    assert not permission(full[:MOST_BYTES], "/a").allowed
    assert permission(full[:MOST_BYTES], "/b").allowed


def test_what_stands_for_a_file_that_is_not_there() -> None:
    assert permission(EVERYTHING, "/").allowed
    assert not permission(NOTHING, "/").allowed


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("User-agent: *\n\rDisallow: /crmgateway[]%$#\ufeff:?é\x00\u2028"), max_size=200))
def test_no_file_is_too_broken(text: str) -> None:
    permission(text.encode(), "/a?b=[c%zz")
