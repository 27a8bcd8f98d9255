"""Declares for merging by which signs records are found to be one, and every column that refers to such records."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from contract.bulk_vocabulary import DuplicateReason, MergeableKind

SIGNS: Mapping[str, DuplicateReason] = MappingProxyType(
    {
        "a": DuplicateReason.SAME_EMAIL,
        "b": DuplicateReason.SAME_DOMAIN,
        "c": DuplicateReason.SAME_PHONE,
        "d": DuplicateReason.SAME_NAME_AND_ACCOUNT,
        "e": DuplicateReason.SAME_NAME,
    }
)
"""The first letters of match keys, the surest first. A record has at most one key of each."""

TABLES: Mapping[MergeableKind, str] = MappingProxyType(
    {MergeableKind.ACCOUNT: "accounts", MergeableKind.CONTACT: "contacts"}
)
"""The tables of the kinds."""


class Way(StrEnum):
    """The fate of a reference to a record that goes."""

    MOVED = "moved"
    """It names the record that stays."""
    LINKED = "linked"
    """It is a part of the row's key: where the record that stays has such a row, too, the two are one."""
    ENROLLED = "enrolled"
    """It names the record that stays, unless that has a row of the same `beside` column; then none."""
    KEPT = "kept"
    """The rows go with the record, and come back with it."""
    PAIRED = "paired"
    """One of two ends of a pair, whose other end stays what it is."""
    FOLLOWED = "followed"
    """It says itself what it named before, in the `beside` column."""


LINKS = (
    *("contacts", "deals", "deal_contacts", "champions", "activities", "leads", "enrollments", "files", "tags"),
    *("health_snapshots", "collapsed"),
)
"""The links that go over, as a merge counts them; the last are those that both had and that become one."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that names records of a kind. `kind_column` says of which kind in a table that names several.

    `count` is its field among the links of a merge; `beside` is another column that the way needs.
    """

    table: str
    column: str
    way: Way
    count: str | None = None
    kind_column: str | None = None
    beside: str | None = None


_OF_ANY_KIND = (
    Reference("tag_links", "record_id", Way.LINKED, "tags", "kind"),
    Reference("file_links", "record_id", Way.LINKED, "files", "kind"),
    Reference("record_changes", "subject_id", Way.FOLLOWED, None, "subject_kind", "merged_from"),
    Reference("merged_ids", "into_id", Way.MOVED, None, "kind"),
    Reference("external_keys", "record_id", Way.MOVED, None, "kind"),
    Reference("not_duplicates", "low_id", Way.PAIRED, None, "kind", "high_id"),
    Reference("not_duplicates", "high_id", Way.PAIRED, None, "kind", "low_id"),
)
REFERENCES: Mapping[MergeableKind, tuple[Reference, ...]] = MappingProxyType(
    {
        MergeableKind.ACCOUNT: (
            Reference("contacts", "account_id", Way.MOVED, "contacts"),
            Reference("deals", "account_id", Way.MOVED, "deals"),
            Reference("activities", "account_id", Way.MOVED, "activities"),
            Reference("leads", "account_id", Way.MOVED, "leads"),
            Reference("stage_changes", "account_id", Way.MOVED),
            Reference("stream_links", "account_id", Way.MOVED),
            Reference("health_snapshots", "account_id", Way.KEPT, "health_snapshots"),
            Reference("health_factors", "account_id", Way.KEPT),
            *_OF_ANY_KIND,
        ),
        MergeableKind.CONTACT: (
            Reference("deals", "champion_id", Way.MOVED, "champions"),
            Reference("deal_contacts", "contact_id", Way.LINKED, "deal_contacts"),
            Reference("activities", "contact_id", Way.MOVED, "activities"),
            Reference("leads", "contact_id", Way.MOVED, "leads"),
            Reference("enrollments", "contact_id", Way.ENROLLED, "enrollments", None, "campaign_id"),
            *_OF_ANY_KIND,
        ),
    }
)
"""Every column that names such a record; a test compares it with the tables, so that a new one cannot be forgotten."""
