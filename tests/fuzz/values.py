"""Random values: what a client means, what it gets wrong, and what databases like to disagree about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from random import Random
from typing import Any

KEPT = 60
"""So many identifiers of a kind, and so many cursors and texts, are remembered."""

NOWHERE = "00000000-0000-7000-8000-000000000000"
TEXTS = (
    *("", " ", "a", "A", "ä", "Ä", "a\u0308", "ß", "SS", "İ", "i", "ı", "ς", "Σ", "ﬁ", "K", "k", "ÅNGSTRÖM", "é", "É"),
    *("%", "_", "\\", "a%", "\\%", "'", '"', "''", "`", ";", "--", "/*", "*", "?", ":a", "$1", "{}", "[]", "null", "0"),
    *("\x00", "a\x00b", "\ud800", "a\udfff", "\u202e", "\ufeff", "\u200b", "\uffff", "\U0010ffff", "😀", "😀😀 x"),
    *("\n", "\t", "\r\n", "\x1f", "\x7f", "\x85", "\u2028", "\u00a0", "\u3000x\u3000"),
    *("Zebra", "apple", "Apple", "äpple", "_x", "~", "1", "10", "9", "x" * 199, "x" * 201, "é" * 300, "word " * 60),
    *("ü b", "AND OR NOT", "NEAR(a b)", "a:b", "a* b", "漢字", "漢", "٣", "²", "a-b", "O'Neil", "naïve café"),
)
EMAILS = (
    "a@b.example",
    "A@B.Example",
    "ada@mail.example",
    "ü@b.example",
    "a@b",
    "@",
    "a b@c.example",
    "x\x00@b.example",
)
DOMAINS = ("a.example", "A.EXAMPLE", "https://a.example/x", "xn--bcher-kva.example", "bücher.example", "-", "a..b", "x")
CURRENCIES = ("USD", "eur", "XXX", "ZZZ", "US", "", "ＵＳＤ")
ZONES = ("UTC", "Europe/Berlin", "utc", "Mars/Olympus", "../etc", "")
MOMENTS = (
    *("2026-05-01T09:30:00Z", "2026-05-01T09:30:00+14:00", "2026-05-01T09:30:00.123456789Z", "2026-10-31T23:59:60Z"),
    *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-01:00"),
    *("1969-12-31T23:59:59Z", "2026-05-01", "2026-05-01T09:30:00", "2026-W01-1T00:00Z", "-0001-01-01T00:00:00Z", "now"),
    *("infinity", "0044-03-15T12:00:00Z", "20260501T093000Z", "2026-05-01 09:30:00+00:00", ""),
)
DATES = ("2026-05-01", "0001-01-01", "9999-12-31", "2024-02-29", "2023-02-29", "0000-01-01", "10000-01-01", "", "x")
NUMBERS = (
    *(0, 1, "0", "-0", "0.0", "1500", "12.5", "0.0001", "0.00001", "999999999999999.9999", "1000000000000000", "-1"),
    *("1e3", "1E-4", "1e400", "NaN", "Infinity", "１２", "1_000", " 1", "", 0.1, 1e22, 12500.50, "12500.5", "4", "9.5"),
)
INTEGERS = (0, 1, 2, 3, 5, 20, -1, 500, 501, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63, 10**30, 1.0, 1.5, "1", True)
JSONS = (
    *(None, True, 0, -0.0, 1e300, 2**63, 10**40, "x", [], {}, {"a": None}, {"a": {"b": [1, "ü"]}}, {"": ""}),
    *({"a\x00": 1}, {"a": "\x00"}, {"b": 1, "a": 2}, {"x": 1.0}, {"x": 1e-7}, [[[[1]]]], {"x": "\ud800"}),
)
ADDRESSES = ("https://hooks.example/x", "http://hooks.example", "https://127.0.0.1/", "https://[::1]/", "ftp://x", "x")


class Values:
    """Values by their kind, chosen by one generator; it remembers what the service answered, but for what is spared."""

    def __init__(self, random: Random, spared: frozenset[str] = frozenset()) -> None:
        self.random = random
        self._spared = spared
        self._ids: defaultdict[str, list[str]] = defaultdict(list)
        self._cursors: list[str] = []
        self._texts: list[str] = []

    def chance(self, percent: float) -> bool:
        """True so often."""
        return self.random.random() * 100 < percent

    def learn(self, answer: Any, kind: str = "") -> None:
        """Remember identifiers by the type that stands beside them, cursors and texts."""
        if isinstance(answer, dict):
            kind = answer.get("__typename", kind)
            for name, value in answer.items():
                if isinstance(value, str):
                    self._note(name, value, kind)
                else:
                    self.learn(value, kind)
        elif isinstance(answer, list):
            for item in answer:
                self.learn(item, kind)

    def _note(self, name: str, value: str, kind: str) -> None:
        if name == "id":
            self._keep(self._ids[kind], value)
        elif name.lower().endswith("cursor"):
            self._keep(self._cursors, value)
        elif 0 < len(value) < 80:
            self._keep(self._texts, value)

    def _keep(self, pool: list[str], value: str) -> None:
        if value in pool or value in self._spared:
            return
        if len(pool) < KEPT:
            pool.append(value)
        else:
            pool[self.random.randrange(KEPT)] = value

    def identifier(self, kind: str) -> str:
        """Mostly a record of this kind; else another, or none."""
        own = self._ids.get(kind)
        if own and self.chance(80):
            return self.random.choice(own)
        others = [pool for pool in self._ids.values() if pool]
        if others and self.chance(50):
            found = self.random.choice(self.random.choice(others))
            return found.upper() if self.chance(20) else found.replace("-", "") if self.chance(20) else found
        return self.random.choice((NOWHERE, "no uuid", "", "{" + NOWHERE + "}", "\x00", *TEXTS[:8]))

    def cursor(self) -> str:
        """Mostly one that was given, which another list may have been."""
        if self._cursors and self.chance(85):
            return self.random.choice(self._cursors)
        return self.random.choice(("", "none", "AAAA", "W10", "bnVsbA", "WyJDUkVBVEVEX0FUIiwiRCJd", "ü"))

    def text(self, name: str) -> str:
        """A text as the name lets expect, one that stands in some record, or an awkward one."""
        lower = name.lower()
        known = next((pool for part, pool in _BY_NAME.items() if part in lower), None)
        if known is not None and self.chance(75):
            return self.random.choice(known)
        if self._texts and self.chance(45):
            text = self.random.choice(self._texts)
            return self._part(text) if self.chance(60) else text
        if self.chance(25):
            return " ".join(self.random.choice(TEXTS) for _ in range(self.random.randint(2, 4)))
        return self.random.choice(TEXTS)

    def _part(self, text: str) -> str:
        start = self.random.randrange(len(text))
        part = text[start : start + self.random.randint(1, 12)]
        return self.random.choice((part, part.upper(), part.lower(), part.casefold()))

    def one(self, values: Iterable[Any]) -> Any:
        """One of these."""
        return self.random.choice(tuple(values))


_BY_NAME = {
    "email": EMAILS,
    "domain": DOMAINS,
    "currency": CURRENCIES,
    "timezone": ZONES,
    "url": ADDRESSES,
    "expires": MOMENTS,
}
