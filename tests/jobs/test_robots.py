"""robots.txt as RFC 9309 has it."""

from __future__ import annotations

import time

import pytest

from jobs.cx.robots import Robots, read_robots


def closed(text: str, *paths: str) -> list[str]:
    robots = read_robots(text)
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
        ("User-agent: *\nDisallow: /ab*b$", ["/ab", "/abb"], ["/abb"]),
        ("Disallow: /\nnonsense\n: x\n", ["/"], []),
        ("<!doctype html><title>Not found</title>", ["/"], []),
    ],
)
def test_what_it_closes(text: str, paths: list[str], expected: list[str]) -> None:
    assert closed(text, *paths) == expected


def test_the_wait() -> None:
    assert read_robots("User-agent: *\nCrawl-delay: 2.5\n").delay == 2.5
    assert read_robots("User-agent: *\nCrawl-delay: soon\n").delay == 0
    assert read_robots("User-agent: other\nCrawl-delay: 9\n").delay == 0


def test_patterns_that_are_meant_to_keep_it_busy() -> None:
    robots = Robots((("/" + "*a" * 2_000 + "$", False),))
    started = time.perf_counter()
    assert robots.allows("/" + "a" * 1_999 + "b")
    assert time.perf_counter() - started < 1
