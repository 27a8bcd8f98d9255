"""Names the records that the examples of the description are about."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

DEAL: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b01"
ORGANIZATION: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b02"
ACCOUNT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b03"
STAGE: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b04"
CONTACT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b05"
MEETING: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b06"
SNAPSHOT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b07"
FACTOR: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b08"
CREDENTIAL_ID: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b09"
JOB: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
LEAD_ID: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0a"
FEEDBACK: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0b"
RUN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0b"
RESULT: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b0c"
CAMPAIGN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b20"
DOMAIN: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b21"

IDENTIFIERS: Final[dict[str, str]] = {
    "organizations": ORGANIZATION,
    "accounts": ACCOUNT,
    "activities": MEETING,
    "campaigns": CAMPAIGN,
    "contacts": CONTACT,
    "deals": DEAL,
    "health_factors": FACTOR,
    "health_snapshots": SNAPSHOT,
    "jobs": JOB,
    "leads": LEAD_ID,
    "outreach_domains": DOMAIN,
    "pipeline_stages": STAGE,
}
"""The record of each of these tables that the examples are about."""


def identifier_of(table: str) -> str:
    """Returns the identifier of the table's record in the examples; one not listed follows from the table's name."""
    return IDENTIFIERS.get(table) or f"01993f5e-8c00-7a11-9d52-{sha256(table.encode()).hexdigest()[:12]}"
