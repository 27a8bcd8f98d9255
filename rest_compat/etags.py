"""Entity tags in request headers (RFC 9110, 8.8.3 and 13.1; decision 25)."""

from __future__ import annotations

import re

_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')


def tags(header: str, *, weak: bool) -> set[str]:
    """The tags of a list; weak ones only where they count."""
    return {tag for prefix, tag in _TAG.findall(header) if weak or not prefix}


def has_seen(if_none_match: str | None, tag: str) -> bool:
    """Whether the caller's copy is current, so that the answer is a 304."""
    return if_none_match is not None and (if_none_match.strip() == "*" or tag in tags(if_none_match, weak=True))
