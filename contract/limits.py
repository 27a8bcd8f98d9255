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

# Text fields: the lengths that the tables and the surface agree on (decision 12).
LINE_MAX = 10_000
TEXT_MAX = 500_000
CREDENTIAL_NAME_MAX = 120
ATTENDEES_MAX = 500

# Amounts are exact to four decimals and under 10^15.
MONEY_DECIMALS = 4
MONEY_BELOW = Decimal(10) ** 15

DURATION_MAX = 2**31 - 1

BODY_MAX_BYTES = 1024 * 1024
REQUEST_ID_MAX = 128

# A snapshot always has nine factors, and its trend moves at five points (specification 2.3).
HEALTH_FACTORS = 9

# Credentials.
ACCESS_TOKEN_SECONDS = 300
LAST_USED_SECONDS = 60

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
