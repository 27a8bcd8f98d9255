# Made of the tables by ./run rows
import datetime
import decimal
from typing import dataclass_transform

from storage.base import JsonDict

@dataclass_transform(frozen_default=True)
class Row: ...

class RecordRow(Row):
    org_id: str
    id: str

class AccountRow(RecordRow):
    name: str
    domain: str | None
    industry: str | None
    owner_id: str | None
    external_key: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class ActivityRow(RecordRow):
    type: str
    subject: str | None
    body: str | None
    due_at: datetime.datetime | None
    completed_at: datetime.datetime | None
    duration_minutes: int | None
    metadata: object
    account_id: str | None
    deal_id: str | None
    contact_id: str | None
    lead_id: str | None
    owner_id: str | None
    source: str
    direction: str | None
    remind_at: datetime.datetime | None
    priority: str
    is_pinned: bool
    phone: str | None
    outcome: str | None
    from_address: str | None
    to_addresses: list[str]
    cc_addresses: list[str]
    message_id: str | None
    thread_id: str | None
    external_id: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int
    occurred_at: datetime.datetime

class AnalyticsConversationRow(RecordRow):
    subject: str
    title: str
    created_at: datetime.datetime
    updated_at: datetime.datetime

class AnalyticsEventRow(Row):
    org_id: str
    run_id: str
    sequence: int
    type: str
    data: JsonDict
    at: datetime.datetime

class AnalyticsRunRow(RecordRow):
    conversation_id: str
    subject: str
    key_hash: str | None
    fingerprint: str
    question: str
    status: str
    planner: str | None
    plan: JsonDict | None
    assumptions: list[str] | None
    follows_run_id: str | None
    sql: JsonDict | None
    parameters: list[str | int | float | bool | None] | None
    columns: list[JsonDict] | None
    chart: JsonDict | None
    explanation: str
    row_count: int
    truncated: bool
    statement_ms: int | None
    unread: list[str] | None
    suggestions: list[str] | None
    error_code: str | None
    error: JsonDict | None
    holder: str
    leased_until: datetime.datetime
    cancel_requested_at: datetime.datetime | None
    created_at: datetime.datetime
    finished_at: datetime.datetime | None

class AnalyticsWatchRow(Row):
    org_id: str
    next_at: datetime.datetime

class ArtifactRow(RecordRow):
    subject_id: str
    kind: str
    revision: int
    storage_name: str
    file_name: str
    content_type: str
    bytes: int
    sha256: str
    rendered_at: datetime.datetime

class CXReportRow(RecordRow):
    result_id: str
    revision: int
    published_revision: int
    render_job_id: str | None
    updated_at: datetime.datetime

class CXReportRevisionRow(RecordRow):
    report_id: str
    revision: int
    copy_blobs: JsonDict
    analysis: JsonDict
    brand: JsonDict
    bpo_prefix: str | None
    created_at: datetime.datetime
    created_by: str | None

class CampaignRow(RecordRow):
    name: str
    status: str
    status_reason: str | None
    steps: list[JsonDict]
    daily_limit: int
    timezone: str
    stop_on_reply: bool
    provider: str
    provider_campaign_id: str | None
    provider_sync: str
    provider_synced_at: datetime.datetime | None
    revision: int
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class CampaignMailboxRow(Row):
    org_id: str
    campaign_id: str
    mailbox_id: str

class ChatApprovalRow(RecordRow):
    thread_id: str
    run_id: str
    call_id: str
    subject: str
    tool: str
    operation: str
    arguments: JsonDict
    arguments_sha256: str
    record_kind: str | None
    record_id: str | None
    record_version: int | None
    preview: JsonDict
    status: str
    expires_at: datetime.datetime
    decided_at: datetime.datetime | None
    decided_by: JsonDict | None
    result_kind: str | None
    result_id: str | None
    created_at: datetime.datetime

class ChatEventRow(Row):
    org_id: str
    run_id: str
    sequence: int
    subject: str
    type: str
    data: JsonDict
    at: datetime.datetime

class ChatMessageRow(RecordRow):
    thread_id: str
    subject: str
    position: int
    run_id: str | None
    role: str
    text: str
    citations: list[JsonDict]
    created_at: datetime.datetime

class ChatRunRow(RecordRow):
    thread_id: str
    subject: str
    message_id: str
    answer_id: str
    request_id: str
    status: str
    provider: str
    model: str | None
    time_zone: str
    credential_kind: str
    credential_id: str | None
    granted_scopes: list[str]
    session_ends_at: datetime.datetime | None
    holder: str | None
    leased_until: datetime.datetime | None
    attempts: int
    steps: int
    tool_calls: int
    worked_ms: int
    input_tokens: int
    output_tokens: int
    is_estimated: bool
    reserved: int
    points: int
    error_code: str | None
    cancel_requested_at: datetime.datetime | None
    last_sequence: int
    created_at: datetime.datetime
    finished_at: datetime.datetime | None

class ChatStepRow(Row):
    org_id: str
    run_id: str
    position: int
    subject: str
    content: JsonDict

class ChatThreadRow(RecordRow):
    subject: str
    title: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime

class ChatWatchRow(Row):
    org_id: str
    next_at: datetime.datetime

class CompetitorRow(RecordRow):
    name: str
    folded_name: str
    aliases: list[str]
    domains: list[str]
    created_at: datetime.datetime

class ContactRow(RecordRow):
    first_name: str | None
    last_name: str | None
    email: str | None
    phone: str | None
    title: str | None
    linkedin: str | None
    account_id: str | None
    owner_id: str | None
    external_key: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class CredentialRow(Row):
    id: str
    kind: str
    key_id: str
    secret_hash: str
    hint: str
    name: str
    org_id: str | None
    owner_subject: str
    created_at: datetime.datetime
    last_used_at: datetime.datetime | None
    expires_at: datetime.datetime | None
    revoked_at: datetime.datetime | None
    made_by: str | None

class DataExportRow(RecordRow):
    kind: str
    format: str
    status: str
    rows: int
    complete: bool
    file_id: str | None
    job_id: str
    error: str | None
    requested_by: str
    created_at: datetime.datetime
    finished_at: datetime.datetime | None
    needs: str | None
    definition: JsonDict
    last_id: str | None
    after_id: str
    total: int | None
    pieces: list[JsonDict]

class DataImportRow(RecordRow):
    kind: str
    status: str
    dry_run: bool
    file_id: str
    job_id: str
    rows: int
    created: int
    updated: int
    unchanged: int
    refused: int
    refused_file_id: str | None
    error: str | None
    requested_by: str
    created_at: datetime.datetime
    finished_at: datetime.datetime | None
    total: int | None
    widest: int
    definition: JsonDict

class DealRow(RecordRow):
    name: str
    account_id: str | None
    value: decimal.Decimal | None
    stage_id: str | None
    close_date: datetime.date | None
    currency: str
    geo_scope: str | None
    source: str | None
    champion_id: str | None
    notes: str | None
    parent_deal_id: str | None
    competitors: list[str]
    status: str
    closed_at: datetime.datetime | None
    owner_id: str | None
    external_key: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class DealCellRow(Row):
    org_id: str
    stage_id: str | None
    status: str
    owner_id: str | None
    currency: str
    close_month: datetime.date | None
    deals: int
    valued: int
    high: decimal.Decimal
    low: int
    timed: int
    seconds: decimal.Decimal
    micros: int
    cell: str

class DealCellDeltaRow(Row):
    org_id: str
    stage_id: str | None
    status: str
    owner_id: str | None
    currency: str
    close_month: datetime.date | None
    deals: int
    valued: int
    high: decimal.Decimal
    low: int
    timed: int
    seconds: decimal.Decimal
    micros: int
    id: str

class DealContactRow(Row):
    org_id: str
    deal_id: str
    contact_id: str
    role: str | None
    is_primary: bool
    linked_at: datetime.datetime

class EnrollmentRow(RecordRow):
    campaign_id: str
    contact_id: str | None
    email: str
    email_key: str
    variables: JsonDict
    status: str
    step: int
    next_at: datetime.datetime | None
    told_at: datetime.datetime | None
    enrolled_at: datetime.datetime

class EventRow(RecordRow):
    sequence: int
    type: str
    area: str
    actor: str
    occurred_at: datetime.datetime
    request_id: str | None
    data: object

class EventCounterRow(Row):
    org_id: str
    last: int
    forgotten: int | None
    forgotten_at: datetime.datetime | None

class ExternalKeyRow(Row):
    org_id: str
    kind: str
    key: str
    record_id: str

class FeedContentRow(Row):
    org_id: str
    stream_id: str
    sealed: bytes

class FeedbackRow(Row):
    id: str
    org_id: str | None
    subject: str
    kind: str
    message: str
    page: str | None
    request_id: str | None
    created_at: datetime.datetime

class FileRow(RecordRow):
    name: str
    content_type: str
    bytes: int
    sha256: str
    folder_id: str | None
    uploaded_by: str | None
    trashed_at: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int
    storage_name: str
    trash_root: str | None
    needs: str | None

class FileLinkRow(Row):
    org_id: str
    record_id: str
    file_id: str
    id: str
    kind: str
    attached_at: datetime.datetime
    attached_by: str | None

class FilePieceRow(Row):
    org_id: str
    upload_id: str
    start: int
    bytes: int
    storage_name: str

class FileUploadRow(RecordRow):
    name: str
    bytes: int
    received: int
    declared_type: str | None
    sha256: str | None
    folder_id: str | None
    attach_to: list[str]
    details: str
    uploaded_by: str | None
    state: str
    file_id: str | None
    created_at: datetime.datetime
    expires_at: datetime.datetime
    holder: str | None
    held_until: datetime.datetime | None

class FileUsageRow(Row):
    org_id: str
    bytes: int
    reserved: int
    files: int

class FolderRow(RecordRow):
    name: str
    parent_id: str | None
    trashed_at: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int
    depth: int
    trash_root: str | None

class HealthFactorRow(RecordRow):
    account_id: str
    health_score_id: str
    snapshot_at: datetime.datetime
    position: int
    key: str
    label: str
    score: int
    weight: float
    value: float | None
    explanation: str
    sample_size: int

class HealthSnapshotRow(RecordRow):
    account_id: str
    score: int
    trend: str | None
    data_points: int | None
    snapshot_at: datetime.datetime
    formula_version: str

class IdempotencyKeyRow(Row):
    id: str
    org_id: str | None
    fingerprint: str
    holder: str
    leased_until: datetime.datetime
    expires_at: datetime.datetime
    result: bytes | None
    answer: bytes | None

class ImportRefusalRow(RecordRow):
    import_id: str
    line: int
    cells: JsonDict
    errors: list[JsonDict]

class IntegrationRow(RecordRow):
    provider: str
    owner_id: str | None
    name: str
    account_key: str
    sealed: bytes | None
    token_version: int
    refreshing_until: datetime.datetime | None
    grant_sealed: bytes | None
    grant_state: str | None
    grant_code: str | None
    grant_expires_at: datetime.datetime | None
    status: str
    is_suspended: bool
    problem_code: str | None
    problem_message: str | None
    problem_since: datetime.datetime | None
    retry_at: datetime.datetime | None
    failures: int
    visibility: str
    shown: str
    auto_create: bool
    take_internal: bool
    poll_seconds: int
    last_synced_at: datetime.datetime | None
    next_sync_at: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class IntegrationAccountRow(Row):
    org_id: str
    integration_id: str
    provider: str
    account_key: str

class IntegrationPolicyRow(Row):
    org_id: str
    internal_domains: list[str] | None
    allowed_providers: list[str]
    default_visibility: str
    default_auto_create: bool
    default_take_internal: bool
    widest_visibility: str
    version: int

class JobRow(RecordRow):
    kind: str
    key: str | None
    status: str
    attempts: int
    error: str | None
    progress: float
    arguments: JsonDict
    repeat_seconds: int | None
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None

class JobWorkerRow(Row):
    id: str
    started_at: datetime.datetime
    beat_at: datetime.datetime

class LeadRow(RecordRow):
    status: str
    card_id: str | None
    name: str
    title: str | None
    company: str | None
    company_domain: str | None
    email: str | None
    phone: str | None
    linkedin: str | None
    notes: str | None
    tags: list[str]
    source: str
    capture_payload: object
    owner_id: str | None
    disqualified_reason: str | None
    converted_at: datetime.datetime | None
    account_id: str | None
    contact_id: str | None
    deal_id: str | None
    external_key: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class LeftoverRow(Row):
    org_id: str
    storage_name: str
    gone_after: datetime.datetime

class LoginGrantRow(Row):
    id: str
    subject: str
    session_id: str
    client_id: str
    created_at: datetime.datetime
    expires_at: datetime.datetime
    ended_at: datetime.datetime | None

class LoginSessionRow(Row):
    id: str
    hash: str
    subject: str
    created_at: datetime.datetime
    expires_at: datetime.datetime
    ended_at: datetime.datetime | None

class LoginTicketRow(Row):
    hash: str
    kind: str
    subject: str
    grant_id: str | None
    redirect_uri: str | None
    challenge: str | None
    created_at: datetime.datetime
    expires_at: datetime.datetime
    used_at: datetime.datetime | None

class MailRow(RecordRow):
    subject: str
    recipients: list[str]
    body: str
    file_ids: list[str]
    asked_by: str
    status: str
    attempts: int
    error: str | None
    reached: list[str]
    refused: JsonDict
    created_at: datetime.datetime
    sent_at: datetime.datetime | None

class MailboxRow(RecordRow):
    domain_id: str
    email: str
    display_name: str | None
    status: str
    daily_limit: int
    created_at: datetime.datetime

class MatchGroupRow(Row):
    org_id: str
    kind: str
    key: str
    sign: str
    size: int
    counted_by: str | None

class MatchKeyRow(Row):
    org_id: str
    kind: str
    key: str
    record_id: str

class MediumRow(Row):
    key: str
    org_id: str
    artifact_id: str
    storage_name: str
    file_name: str
    content_type: str
    bytes: int
    sha256: str

class MeetingCellRow(Row):
    org_id: str
    owner_id: str | None
    source: str
    due_day: datetime.date | None
    is_completed: bool
    meetings: int
    minutes: int
    timed: int
    cell: str

class MeetingCellDeltaRow(Row):
    org_id: str
    owner_id: str | None
    source: str
    due_day: datetime.date | None
    is_completed: bool
    meetings: int
    minutes: int
    timed: int
    id: str

class MemberRow(Row):
    subject: str
    email: str | None
    name: str | None
    created_at: datetime.datetime

class MembershipRow(Row):
    org_id: str
    subject: str
    role: str | None
    scopes: list[str]
    token_issued_at: int | None
    created_at: datetime.datetime
    ended_at: datetime.datetime | None

class MergeRow(RecordRow):
    kind: str
    into_id: str
    from_ids: list[str]
    links: JsonDict
    merged_by: str
    merged_at: datetime.datetime
    undo_until: datetime.datetime
    undone_at: datetime.datetime | None
    choice: JsonDict
    moved: str
    before: str

class MergedIdRow(Row):
    org_id: str
    kind: str
    from_id: str
    into_id: str
    merge_id: str

class ModelUsageRow(Row):
    org_id: str
    day: str
    subject: str
    provider: str
    model: str
    runs: int
    input_tokens: int
    output_tokens: int
    is_estimated: bool

class NotDuplicateRow(Row):
    org_id: str
    kind: str
    low_id: str
    high_id: str

class OrganizationRow(Row):
    id: str
    external_id: str
    name: str
    created_at: datetime.datetime
    suspended_at: datetime.datetime | None
    cluster: str | None
    moved_at: datetime.datetime | None

class OutreachDomainRow(RecordRow):
    name: str
    status: str
    spf: bool | None
    dkim: bool | None
    dmarc: bool | None
    created_at: datetime.datetime

class OutreachMessageRow(RecordRow):
    campaign_id: str
    enrollment_id: str
    step: int
    sender: str
    recipient: str
    subject: str
    body: str
    noted_at: datetime.datetime

class PasswordRow(Row):
    subject: str
    hash: str
    created_at: datetime.datetime
    changed_at: datetime.datetime

class PersonRow(RecordRow):
    name: str | None
    email: str | None
    role: str | None
    state: str
    joined_at: datetime.datetime
    left_at: datetime.datetime | None
    folded_name: str
    folded_email: str

class PipelineStageRow(RecordRow):
    name: str
    position: int
    type: str
    probability: int | None
    created_at: datetime.datetime

class QueuedJobRow(Row):
    org_id: str
    job_id: str
    due_at: datetime.datetime
    holder: str | None
    again: bool
    is_long: bool

class RecordChangeRow(RecordRow):
    subject_kind: str
    subject_id: str
    at: datetime.datetime
    actor: str
    type: str
    merged_from: str | None
    fields: JsonDict
    former_owner: str | None

class ReminderWatchRow(Row):
    org_id: str
    next_at: datetime.datetime

class ReportRow(RecordRow):
    name: str
    description: str | None
    kind: str
    parameters: JsonDict
    schedule: JsonDict | None
    next_at: datetime.datetime | None
    scheduled_by: str | None
    owner_id: str | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int

class ReportRunRow(RecordRow):
    report_id: str | None
    status: str
    error: str | None
    requested_by: str
    created_at: datetime.datetime
    finished_at: datetime.datetime | None
    formats: list[str]
    job_id: str
    file_ids: list[str]
    occurrence: datetime.datetime | None
    mail_id: str | None

class ReportWatchRow(Row):
    org_id: str
    next_at: datetime.datetime

class ResearchResultRow(RecordRow):
    run_id: str
    position: int
    company_name: str
    domain: str | None
    status: str
    score: int | None
    factors: list[JsonDict] | None
    error: str | None
    job_id: str | None

class ResearchRunRow(RecordRow):
    name: str
    status: str
    created_at: datetime.datetime
    completed_at: datetime.datetime | None
    created_by: str | None
    result_count: int

class SalesTargetRow(RecordRow):
    owner_id: str | None
    metric: str
    currency: str | None
    period: str
    starts_on: datetime.date
    ends_on: datetime.date
    time_zone: str
    amount: decimal.Decimal
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int
    owner_key: str
    currency_key: str
    begins_at: datetime.datetime
    ends_before: datetime.datetime

class SavedQueryRow(RecordRow):
    name: str
    description: str | None
    question: str | None
    query: JsonDict | None
    sql: str | None
    dialect: str | None
    owner_id: str
    is_shared: bool
    is_verified: bool
    verified_by: str | None
    verified_at: datetime.datetime | None
    created_at: datetime.datetime
    updated_at: datetime.datetime
    version: int
    name_key: str
    question_key: str | None

class SearchEntryRow(Row):
    org_id: str
    kind: int
    id: str
    created_at: datetime.datetime
    size: int
    words: str

class StageChangeRow(RecordRow):
    deal_id: str
    from_stage_id: str | None
    to_stage_id: str | None
    at: datetime.datetime
    by: str | None
    account_id: str | None

class StreamLinkRow(Row):
    org_id: str
    stream_id: str
    account_id: str | None
    deal_id: str | None

class StreamWatchRow(RecordRow):
    integration_id: str
    stream_id: str
    sealed: bytes | None
    expires_at: datetime.datetime
    renews_at: datetime.datetime
    ends_at: datetime.datetime | None

class SyncItemRow(RecordRow):
    stream_id: str
    external_id: str
    uid: str
    body: JsonDict
    hash: str
    sequence: int
    changed_at: datetime.datetime | None
    generation: int
    seen_at: datetime.datetime

class SyncOccurrenceRow(RecordRow):
    integration_id: str
    stream_id: str
    item_id: str
    kind: str
    recurrence: str
    subject: str | None
    starts_at: datetime.datetime | None
    ends_at: datetime.datetime | None
    all_day: bool
    is_recurring: bool
    outcome: str
    reason: str | None
    explanation: str | None
    decision: str | None
    meeting_id: str | None
    seen_at: datetime.datetime
    made_at: datetime.datetime

class SyncRunRow(RecordRow):
    integration_id: str
    mode: str
    status: str
    queued_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    calls: int
    processed: int
    expected: int | None
    created: int
    updated: int
    removed: int
    skipped: int
    problem: str | None

class SyncStreamRow(RecordRow):
    integration_id: str
    kind: str
    external_id: str
    name: str
    enabled: bool
    cursor: bytes | None
    generation: int
    doubted: int | None
    wants_full: bool
    window_from: datetime.datetime | None
    window_until: datetime.datetime | None
    synced_at: datetime.datetime | None
    confirmed_at: datetime.datetime | None
    noticed_at: datetime.datetime | None

class SyncedMeetingRow(RecordRow):
    uid: str
    uid_hash: str
    recurrence: str
    meeting_id: str | None
    all_day: bool
    time_zone: str | None
    conference_url: str | None
    cancelled_at: datetime.datetime | None
    shown_by: str | None
    pending_end: datetime.datetime | None
    overridden: list[str]
    participants: list[JsonDict]
    deal_candidates: list[str]
    made_at: datetime.datetime

class TagRow(RecordRow):
    name: str
    color: str | None
    created_at: datetime.datetime

class TagLinkRow(Row):
    org_id: str
    kind: str
    record_id: str
    tag_id: str
    position: int
    record_created_at: datetime.datetime | None

class WebhookRow(RecordRow):
    url: str
    types: list[str]
    areas: list[str]
    active: bool
    cursor: int
    failures: int
    failing_since: datetime.datetime | None
    created_at: datetime.datetime
    created_by: str | None

class WebhookDeliveryRow(RecordRow):
    webhook_id: str
    event_id: str
    sequence: int
    attempt: int
    status_code: int | None
    error: str | None
    at: datetime.datetime
    delivered: bool

class WebhookWatchRow(Row):
    org_id: str
    webhook_id: str
