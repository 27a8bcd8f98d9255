"""The rows of statements that have other columns than those of one table."""

from datetime import datetime
from decimal import Decimal

from storage.base import JsonDict
from storage.rows import (
    ArtifactRow,
    ContactRow,
    CredentialRow,
    CXReportRevisionRow,
    CXReportRow,
    EnrollmentRow,
    IdempotencyKeyRow,
    OutreachDomainRow,
    RecordRow,
    Row,
)


class CXContentRow(CXReportRow):
    """A report with the content of its newest revision."""

    copy_blobs: JsonDict
    analysis: JsonDict
    brand: JsonDict
    bpo_prefix: str | None


class LinkedContactRow(ContactRow):
    """A contact on a deal, with how it stands there."""

    deal_id: str
    role: str | None
    is_primary: bool
    linked_at: datetime


class DomainRow(OutreachDomainRow):
    """A domain, with how many mailboxes it has."""

    mailbox_count: int


class FileRow(ArtifactRow):
    """A file of a report with the key that it is served under."""

    key: str


class WrittenRow(IdempotencyKeyRow):
    """A key of a write, and whether that has ended."""

    settled: bool


class NameRow(Row):
    """A name of an organization's: of what kind it is, what it stands for, and the name itself."""

    kind: str
    value: str
    name: str | None


class ReachedRow(Row):
    """The deals of one status and currency that count for a sales target."""

    target_id: str
    status: str
    currency: str
    deals: int
    valued: int
    amount: Decimal | None


class TotalRow(Row):
    """The deals of a stage in one currency: their sum, and how many there are."""

    stage_id: str | None
    currency: str
    amount: Decimal | None
    deals: int


class RevisionRow(CXReportRevisionRow):
    """A revision of a report with what was measured of its company."""

    published_revision: int
    company_name: str
    domain: str | None
    score: int | None
    factors: list[JsonDict] | None


class BelongingRow(Row):
    """A membership with its organization and its member."""

    org_id: str
    subject: str
    role: str | None
    scopes: list[str]
    token_issued_at: int | None
    ended_at: datetime | None
    external_id: str
    organization_name: str
    name: str | None
    email: str | None
    cluster: str | None
    moved_at: datetime | None
    position: int | None


class CredentialReachRow(CredentialRow):
    """A credential beside one of the memberships that it can act with, if it has any."""

    maker_revoked_at: datetime | None
    member_name: str | None
    member_email: str | None
    membership_org_id: str | None
    scopes: str | None
    external_id: str | None
    organization_name: str | None
    suspended_at: datetime | None
    cluster: str | None
    moved_at: datetime | None
    position: int | None


class DueRow(EnrollmentRow):
    """A recipient that something is due for."""

    next_at: datetime


class FeedItem(Row):
    """An item of a timeline; `kind` says which of its columns it has. `id` is that of what it tells of."""

    id: str
    kind: str
    at: datetime
    actor: str | None
    deal_id: str | None
    from_stage_id: str | None
    to_stage_id: str | None
    type: str | None
    fields: JsonDict | None
    file_id: str | None


class ToldMergeRow(RecordRow):
    """A merge without what only an undo reads."""

    kind: str
    into_id: str
    from_ids: list[str]
    links: JsonDict
    merged_by: str
    merged_at: datetime
    undo_until: datetime
    undone_at: datetime | None
