"""Says what all three files say of a content in the same words: weights as shares, strongest and weakest signals."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from reports.content import Content, Factor

_LISTED = re.compile(r"(.+) ([0-9]+)\.([^.]+)")
SCALE = "Every signal is scored from 0 to 100: 80 and above leading, 60 solid, 40 developing, below that at risk."


def share(factor: Factor, factors: Sequence[Factor]) -> float | None:
    """The factor's part of all weights, 0 to 1; None where nothing is weighted."""
    total = sum(other.weight for other in factors)
    return factor.weight / total if total > 0 else None


def measured(content: Content) -> list[Factor]:
    """The factors with a score, best first; equal ones in their own order."""
    found = [factor for factor in content.factors if factor.score is not None]
    return sorted(found, key=lambda factor: -(factor.score or 0))


def measured_words(content: Content) -> str:
    """Says in words how many signals the score stands on."""
    count, known = len(content.factors), len(measured(content))
    if not count:
        return "No signals have been measured yet."
    return f"Measured over {known} of {count} customer-experience signal{'' if count == 1 else 's'}."


def kicker(content: Content) -> str:
    """The title, behind the prefix where there is one."""
    return f"{content.bpo_prefix} · {content.title}" if content.bpo_prefix else content.title


def preparer(content: Content) -> str:
    """Says who prepared the report; empty where that is not known."""
    return content.bpo_prefix or content.prepared_by


def prepared(content: Content) -> str:
    """Says who prepared the report for whom, as far as that is known."""
    by = f"Prepared by {who}" if (who := preparer(content)) else "Prepared"
    return f"{by} for {content.brand.company}" if content.brand.company else by


def label(path: str) -> str:
    """The place of a value in words: `pages 1.first_seen` is "Pages 1 › First seen"."""
    parts = ["address" if part == "url" else part.replace("_", " ").strip() for part in path.split(".")]
    return " › ".join(part[:1].upper() + part[1:] for part in parts if part)


Rows = Mapping[str, Sequence[Mapping[str, str]]]


def tables(extras: Sequence[tuple[str, str]]) -> tuple[Sequence[tuple[str, str]], Rows]:
    """Parts what is listed, object by object, from the rest: of `pages 2.title` it makes the second row of `pages`."""
    rest: list[tuple[str, str]] = []
    found: dict[str, dict[str, dict[str, str]]] = {}
    for path, value in extras:
        if listed := _LISTED.fullmatch(path):
            name, number, key = listed.groups()
            found.setdefault(name, {}).setdefault(number, {})[key] = value
        else:
            rest.append((path, value))
    return rest, {name: list(rows.values()) for name, rows in found.items()}


def day(moment: datetime) -> str:
    """A date in words: 21 November 2026."""
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def domain_of(address: str) -> str:
    """A web address as it is shown: without its scheme and a last slash."""
    return address.split("://", 1)[-1].removesuffix("/")


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
