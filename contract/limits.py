"""Defaults, caps and lengths, each named after the rule that states it."""

from decimal import Decimal

VERSION = "0.0.1"

# GET /activities/meetings and the other listings of the compatibility layer (specification part 8).
LISTING_DEFAULT = 200
LISTING_CAP = 500

# Connections of the GraphQL surface.
PAGE_DEFAULT = 50
PAGE_MAX = 500
NODES_MAX = 500
PERMISSIONS_MAX = 200

# The search (decision 46).
SEARCH_DEFAULT = 20
SEARCH_MAX = 100
SEARCH_QUERY_MAX = 200
SEARCH_WORDS_MAX = 8
SNIPPET_MAX = 160

# The catalogue of competitors, and their detection (decisions 43 to 45).
COMPETITOR_NAME_MAX = 200
COMPETITORS_MAX = 500
ALIASES_MAX = 50
EVIDENCE_MAX = 20
QUOTE_MAX = 200
DETECTION_MEETINGS_MAX = 500
DETECTION_CHARACTERS_MAX = 2_000_000

# Text fields: the lengths that the tables and the surface agree on (decision 12).
LINE_MAX = 10_000
TEXT_MAX = 500_000
CREDENTIAL_NAME_MAX = 120
ATTENDEES_MAX = 500

# Amounts are exact to four decimals and under 10^15.
MONEY_DECIMALS = 4
MONEY_BELOW = Decimal(10) ** 15

DURATION_MAX = 2**31 - 1

# Activities: the outcome of a call, the addresses of a message, and its Message-ID, which is a line of a header.
OUTCOME_MAX = 200
ADDRESSES_MAX = 500
MESSAGE_ID_MAX = 998

# Captures and leads: the two lengths that specification 4.2 leaves open are on the name and the card (decision 38).
LEAD_NAME_MAX = 200
CARD_ID_MAX = 500
PHONE_MAX = 100
TAG_MAX = 100
TAGS_MAX = 100
CAPTURE_MAX_BYTES = 256 * 1024
CAPTURE_DEPTH_MAX = 100
CANDIDATES_MAX = 20

# Duplicates and merging: records that go into one, links that go over, days to take it back; records that a caller says
# at once are not one, records of a group that are shown, and namesakes above which a name is no sign (decision 432).
MERGED_MAX, MERGED_LINKS_MAX, MERGE_UNDO_DAYS = 10, 10_000, 30
DISMISSED_MAX, DUPLICATES_SHOWN, NAMESAKES_MAX = 100, 20, 50

# Tags: those of an organization, and the records of one call (decision 241).
ORGANIZATION_TAGS_MAX = 10_000
TAGGED_TOGETHER_MAX = 500
TAG_COPIES_MAX = 2_000  # decision 192
TAG_COPIES_BATCH = 1_000
TAG_TOUCHES_TOGETHER = 10_000  # identifiers that one job has; decision 1104

# Sales targets: those of an organization and of a call, and the days of one (decision 244).
TARGETS_MAX = 5_000
TARGETS_TOGETHER_MAX = 200
TARGET_DAYS_MAX = 366

# Reports: those of an organization, the rows of one, and what one is narrowed to (decision 470).
REPORTS_MAX = 500
REPORT_ROWS_MAX = 5_000
REPORT_NAME_MAX = 200
REPORT_DESCRIPTION_MAX = 2_000
REPORT_DAYS_MAX = 3_660
REPORT_LIST_MAX = 500
REPORT_RUN_DAYS = 90
MAIL_RECIPIENTS_MAX = 20
MAIL_SUBJECT_MAX = 255
MAIL_TEXT_MAX = 10_000
MAILS_PER_DAY = 50
"""Messages that an organization may have sent on a day of UTC; the setting's default."""
MAIL_ATTACHED_MAX_BYTES = 10 * 1024 * 1024
"""Bytes of the files that a message carries; it names the others by links."""
OUTBOX_MAX = 1_000
"""Messages that the outbox folder keeps."""
"""Days that a run of a report is remembered; its files go their own way."""

# Timelines: items of a page, characters of a text in a change, and how long edits of one person are one (decision 232).
TIMELINE_MAX = 100
CHANGE_TEXT_MAX = 1_000
EDITS_SECONDS = 120

# Members, and what they own (decisions 222 and 226).
MEMBERS_MAX = 10_000
SUBJECT_MAX = 255
MEMBER_NAME_MAX = 200
TRANSFER_BATCH = 1_000

# Upserts, and the keys that records have in other systems (decisions 410 and 411).
EXTERNAL_KEY_MAX = 255
UPSERT_ROWS_MAX = 1_000
UPSERT_BODY_MAX_BYTES = 4 * 1024 * 1024
UPSERT_PATHS = tuple(f"/{noun}/upsert" for noun in ("accounts", "contacts", "deals", "leads"))

# Exports (decision 416).
EXPORT_BATCH = 1_000
EXPORT_ROWS_MAX = 5_000_000
EXPORT_SECONDS = 600
EXPORT_STREAMS_OF_ONE = 2
EXPORT_COLUMNS_MAX = 200
EXPORT_JOBS_OF_ONE = 2
EXPORTS_WAITING_MAX = 20
EXPORT_DAYS = 7
EXPORT_PIECE_BYTES = 64 * 1024 * 1024
EXPORT_PIECE_SECONDS = 15

# What a notification of a caller carries (decision 418).
NOTIFICATION_TYPE_MAX = 64
NOTIFICATION_MAX_BYTES = 32 * 1024

FEEDBACK_MAX = 10_000
PAGE_ADDRESS_MAX = 2_000

# Webhooks (decisions 68 and 71).
WEBHOOKS_MAX = 20
WEBHOOK_URL_MAX = 2_000
DELIVERIES_KEPT = 100
DELIVERIES_DEFAULT = 20

BODY_MAX_BYTES = 1024 * 1024
REQUEST_ID_MAX = 128

# A snapshot always has nine factors, and its trend moves at five points (specification 2.3).
HEALTH_FACTORS = 9

# Research runs and CX reports (decisions 62 and 64).
RESEARCH_TARGETS_MAX = 200
RESEARCH_NAME_MAX = 200
REPORT_MAX_BYTES = 1024 * 1024
REPORT_TEXT_MAX = 250_000  # decision 133
REPORT_PARAGRAPH_WEIGHT = 100
"""The bytes that each paragraph and heading of a report adds to those of its text: its pages cost memory by both."""

# Idempotency keys (decision 110).
IDEMPOTENCY_KEY_MAX = 255
IDEMPOTENCY_HOURS = 24

# Credentials; the first is the setting's default (decision 154).
CREDENTIALS_MAX = 100
ACCESS_TOKEN_SECONDS = 300
LAST_USED_SECONDS = 60
PROVEN_CREDENTIALS_MAX = 10_000
GRANTS_MAX = 2_000
VERIFIED_TOKENS_MAX = 2_000

# Outreach (decision 49).
CAMPAIGN_NAME_MAX = 200
CAMPAIGN_STEPS_MAX = 50
STEP_DELAY_DAYS_MAX = 365
STEP_SUBJECT_MAX = 998
STEP_BODY_MAX = 100_000
CAMPAIGN_DAILY_LIMIT_MAX = 10_000
CAMPAIGN_MAILBOXES_MAX = 500
ENROLLMENTS_MAX = 500
ENROLLMENT_VARIABLES_MAX = 100
EMAIL_MAX = 254
LOCAL_PART_MAX = 64
MAILBOX_DAILY_LIMIT = 50
DISPLAY_NAME_MAX = 200

# Subscriptions (decisions 81 to 83).
STREAMS_PER_CONNECTION = 100
STREAMS_PER_PROCESS = 5_000
STREAM_ID_MAX = 200
STREAM_SEND_SECONDS = 15
SOCKETS_PER_PROCESS = 5_000
CONNECTION_INIT_SECONDS = 10
ANONYMOUS_IDLE_SECONDS = 10
SOCKET_MESSAGE_MAX_BYTES = 1024 * 1024

# What a WebSocket may send before it has begun, and what may be unfinished of messages (decision 137).
SOCKET_INIT_MAX_BYTES = 4 * 1024
SOCKET_FRAGMENTS_MAX = 1_000
SOCKET_QUEUED_MAX = 1_000
UNFINISHED_MAX_BYTES = 8 * 1024 * 1024
SOCKETS_UNFINISHED_MAX_BYTES = 64 * 1024 * 1024

# GraphQL documents, whatever brings them (decision 85).
DOCUMENT_MAX_BYTES = 32 * 1024
TOKENS_MAX = 2_000
DEFINITIONS_MAX = 100
DEPTH_MAX = 12
DOCUMENT_ALIASES_MAX = 50
ROOT_FIELDS_MAX = 20
FIELDS_MAX = 500
OVERLAPS_MAX = 1_000
DIRECTIVES_MAX = 4
VARIABLES_MAX = 100
NAME_LENGTH_MAX = 128
INTROSPECTION_DEPTH_MAX = 20
INTROSPECTION_LISTS_MAX = 3
INTROSPECTION_TYPES_MAX = 5
INPUT_DEPTH_MAX = 50
INPUT_LIST_MAX = 2_000
ERRORS_MAX = 5
ERRORS_TEXT_MAX = 800

# What a caller without a credential may send, and has to spend at one address (decisions 146 and 147).
ANONYMOUS_BODY_MAX_BYTES = 16 * 1024
ANONYMOUS_DOCUMENT_MAX = 8 * 1024
ANONYMOUS_TOKENS_MAX = 500
ANONYMOUS_POINTS_MAX = 500
ANONYMOUS_POINTS_PER_SECOND = 10
ANONYMOUS_DOCUMENT_POINTS = 1
ANONYMOUS_RUN_POINTS = 9

# What is kept of documents: bytes of text, of which a part is kept parsed (decision 148).
DOCUMENT_CACHE_BYTES = 8 * 1024 * 1024
PUBLIC_ANSWERS_MAX_BYTES = 4 * 1024 * 1024

# What variables weigh together, JSON values in them, objects in a document's text, filters, and how many variants of
# a document are remembered (decision 126).
INPUT_WEIGHT_MAX = 10_000
JSON_DEPTH_MAX = 120
OBJECTS_MAX = 300
FILTER_CONDITIONS_MAX = 100
FILTER_DEPTH_MAX = 12
FILTER_LIST_MAX = 1_000
VARIANTS_MAX = 16

# What is kept of statements: what goes with a text takes up to ten times as much (decision 126).
STATEMENTS_MAX = 2_000
STATEMENTS_CHARACTERS_MAX = 4_000_000

# What an operation may cost, and what a member and an organization have to spend (decisions 86 and 100).
OPERATION_NODES_MAX = 10_000
COST_MAX = 5_000
BUDGET_MAX = 2_000
BUDGET_PER_SECOND = 100
ORGANIZATION_BUDGET_MAX = 10_000
HEAVIEST_SHOWN = 3
REDIS_SECONDS = 0.2

# Failed authentications: from one address, and of them those for one key id (decision 103).
FAILURES_PER_KEY = 50
FAILURES_PER_KEY_SECOND = 1
FAILURES_PER_ADDRESS = 500
FAILURES_PER_ADDRESS_SECOND = 5

# Time, each bound above the next, and the size of an answer (decision 87).
REQUEST_SECONDS = 10
STATEMENT_SECONDS = 8
PROVIDER_SECONDS = 5
CONNECTION_SECONDS = 2
STALE_SECONDS = 5.0
POSITIONS_MAX = 10_000
RESPONSE_MAX_BYTES = 5 * 1000 * 1000
ROWS_MAX_BYTES = 2 * RESPONSE_MAX_BYTES
"""The bytes that the long columns of one list's rows may have: what has more could not be answered."""

# Requests as they arrive (decisions 105 and 106). Bodies have the time that these bytes in a second take besides.
ADDRESS_MAX_BYTES = 16 * 1024
HEADERS_MAX_BYTES = 32 * 1024
HEADERS_MAX = 100
BODY_BYTES_PER_SECOND = 16 * 1024
PIPELINED_MAX = 50
ANSWER_STALL_SECONDS = 30
GROUP_DIMENSIONS_MAX = 2
"""Dimensions that records are grouped by."""
GROUPS_DEFAULT = 100
GROUPS_MAX = 500
"""Groups that an aggregate lists; its total is that of all."""
FORECAST_MONTHS_DEFAULT = 6
FORECAST_MONTHS_MAX = 24
"""Months that a forecast lists."""
ANALYTICS_ROWS_MAX = 1_000
"""Rows of an answer of analytics."""
ANALYTICS_BYTES_MAX = 1_000_000
"""Bytes of the rows of an answer of analytics, as JSON."""
SQL_BYTES_MAX = 8_192
"""Bytes of a caller's own statement."""
SQL_NODES_MAX = 1_500
"""Parts of such a statement, as it is read."""
SQL_DEPTH_MAX = 40
"""How deep they stand in one another."""
SQL_TABLES_MAX = 10
"""Tables that it reads, each time counted."""
SQL_COLUMNS_MAX = 50
"""Columns of its answer."""
SQL_SECONDS = 5.0
"""How long it may take."""
SQL_TEXTS_MAX, SQL_TEXTS_CHARACTERS_MAX = 1_000, 4_000_000
"""Statements that the guard keeps the result of, and their bytes."""
SQL_RUNNING_MAX, SQL_WAITING_MAX, SQL_WAIT_SECONDS = 2, 8, 2.0
"""Statements that a process runs at once, those that wait, and how long."""
SQL_RUNNING_OF_ONE_MAX, SQL_WAITING_OF_ONE_MAX = 1, 4
"""The same of one organization."""
ANALYTICS_CONDITIONS_MAX = 50
"""Conditions of a semantic query, those on linked records among them."""
ANALYTICS_LIST_MAX = 100
"""Values of a condition with a list, measures of a query, and its orders."""
ANALYTICS_DEPTH_MAX = 3
"""Links that a condition of a semantic query goes along, one behind the other."""
QUESTION_MAX = 1_000
"""Characters of a question."""
RUN_SECONDS = 30
"""Seconds of a whole answer."""
MODEL_SECONDS = 8.0
"""Seconds that a model has for one answer."""
MODEL_ANSWER_BYTES_MAX = 16_384
"""Bytes of an answer of a model."""
RUN_LEASE_SECONDS = 10
"""Seconds for which a process that works on an answer may be silent."""
RUNS_PER_CALLER = 2
RUNS_PER_ORGANIZATION = 10
"""Questions that are worked on at the same time."""
RUN_EVENT_ROWS_MAX = 100
RUN_EVENT_BYTES_MAX = 64 * 1024
"""Rows of one step of an answer, and their bytes as JSON."""
RUN_EVENTS_HOURS = 24
"""Hours for which the steps of an answer are kept after its end, and a key attaches to its run."""
RUN_RETENTION_DAYS = 30
"""Days for which questions are kept; the setting's default."""
RUNS_DEFAULT = 20
SAVED_QUERIES_MAX = 1_000
"""Saved queries of one person."""
SAVED_QUERY_NAME_MAX = 200
"""Characters of the name of one."""
SAVED_QUERY_DESCRIPTION_MAX = 2_000
"""Characters of what it is for."""
RUNS_MAX = 100
"""Questions of a page."""

# Files, folders and uploads (decisions 391 and 394).
FILE_NAME_MAX = 255
FILE_MAX_BYTES = 1024**3
FILES_QUOTA_BYTES = 5 * 1024**3
"""Bytes of one file, and of all of an organization: the defaults of the settings."""
ONE_REQUEST_FILE_MAX_BYTES = 25 * 1024 * 1024
ONE_REQUEST_FIELDS_MAX_BYTES = 64 * 1024
"""Bytes of a file that comes in one request, and of all that comes with it."""
SNIFFED_HEAD_BYTES, SNIFFED_TAIL_BYTES = 64 * 1024, 1024
"""Bytes of the beginning and of the end by which the kind of a file is found."""
FILES_ON_RECORD_MAX = 200
ATTACHED_TOGETHER_MAX = 20
FILE_LINK_SECONDS, FILE_LINK_SECONDS_LEAST, FILE_LINK_SECONDS_MAX = 300, 60, 7 * 86_400
FOLDER_DEPTH_MAX = 16
FOLDER_TREE_MAX = 10_000
"""Folders and files that go into the trash, or come out of it, at once."""
TRASH_DAYS = 30
UPLOADS_MAX = 50
UPLOAD_HOURS = 24
UPLOAD_PIECE_BYTES, UPLOAD_RUN_BYTES = 8 * 1024 * 1024, 64 * 1024 * 1024
"""Bytes of an upload that come to count together, at most: as an object of their own, or behind those of a file."""
UPLOAD_RUN_SECONDS, UPLOAD_IDLE_SECONDS = 5.0, 1.0
"""Seconds after which what has come counts, however little it is: since the first of it, and since the last."""
UPLOADS_HASHED_MAX = 64
"""Uploads whose hash a process has as far as they have come; that of another one is worked out at its end."""
UPLOAD_CHECKED_MAX_BYTES = 64 * 1024 * 1024
"""Bytes of a part that has a checksum, none of which count before the last has come."""
UPLOAD_METADATA_MAX_BYTES = 8 * 1024
UPLOAD_HOLD_SECONDS, UPLOAD_WAIT_SECONDS = 6, 2
"""Seconds for which a part holds its upload unless it says more, and for which another one waits for its end."""
LEFTOVER_HOURS = 24
"""Hours after which bytes are removed that no row ever named."""

# Imports and exports as jobs (decisions 530 to 537).
IMPORT_FILE_MAX_BYTES = 100 * 1024 * 1024
IMPORT_ROWS_MAX = 500_000
IMPORT_COLUMNS_MAX = 200
IMPORT_CELLS_MAX = 1_000
IMPORT_HEADING_MAX = 255
IMPORT_CELL_MAX = 500_000
IMPORT_ROW_MAX = 1024 * 1024
"""Cells of a row, which may be more than there are columns; characters of a heading, of a cell, and of a row with the
line breaks in it."""
IMPORT_HEAD_BYTES = 1024 * 1024
"""Bytes by which encoding and delimiter are found, and of which a preview is made."""
IMPORT_PREVIEW_ROWS = 20
IMPORT_BATCH = 500
"""Rows that are written in a transaction."""
IMPORT_BATCH_CHARACTERS = 2 * 1024 * 1024
"""Characters after which a transaction has no further row."""
IMPORT_LEDGER_PAGE = 50
"""Refused rows that are read at once to be written as a file."""
IMPORTS_WAITING_MAX = 20
