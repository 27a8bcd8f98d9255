"""Names the layers of the guard that reads callers' own SQL (docs/analytics.md)."""

from enum import StrEnum


class GuardLayer(StrEnum):
    """A layer of the guard that refuses statements of a caller."""

    TEXT = "text"
    PARSE = "parse"
    SYNTAX = "syntax"
    NAMES = "names"
    JOINS = "joins"
    TENANT = "tenant"
    SESSION = "session"
