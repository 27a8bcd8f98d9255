"""Reads the entity tags of a request (RFC 9110, 8.8.3 and 13.1); that of a record is its version (decision 25)."""

from __future__ import annotations

import re
from collections.abc import Collection

_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_VERSION = re.compile(r"[1-9][0-9]{0,17}")


def tags(header: str, *, weak: bool) -> set[str]:
    """Returns the tags of a list; weak ones only where they count."""
    return {tag for prefix, tag in _TAG.findall(header) if weak or not prefix}


def has_seen(if_none_match: str | None, tag: str) -> bool:
    """Tells whether the caller's copy is current, so that the response is a 304."""
    return if_none_match is not None and (if_none_match.strip() == "*" or tag in tags(if_none_match, weak=True))


def versions_in(if_match: str | None) -> Collection[int] | None:
    """Returns the versions that If-Match allows to change; None for any. A weak or malformed tag is no version."""
    if if_match is None or if_match.strip() == "*":
        return None
    return {int(tag) for tag in tags(if_match, weak=False) if _VERSION.fullmatch(tag)}
