"""The settings of how long records are kept."""

from collections.abc import Mapping
from typing import Final

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from contract.chat import CHAT_RETENTION_DAYS
from contract.limits import RUN_RETENTION_DAYS
from contract.retention import (
    EVENTS_DAYS_MIN,
    HEALTH_DAYS_MIN,
    OUTREACH_DAYS_MIN,
    STAGE_CHANGES_DAYS_MIN,
    Retention,
)

_DAYS_MAX: Final = 3_650
_LEAST: Final[Mapping[str, int]] = {
    "events_retention_days": EVENTS_DAYS_MIN,
    "stage_history_retention_days": STAGE_CHANGES_DAYS_MIN,
    "health_retention_days": HEALTH_DAYS_MIN,
    "outreach_retention_days": OUTREACH_DAYS_MIN,
}


class RetentionSettings(BaseSettings):
    """The days for which records are kept, and after which a worker deletes them (decision 1006)."""

    chat_retention_days: int = Field(
        default=CHAT_RETENTION_DAYS,
        ge=0,
        le=_DAYS_MAX,
        description="Days for which a chat's thread is kept after its newest message; 0 keeps all.",
        json_schema_extra={"unit": "days"},
    )
    analytics_retention_days: int = Field(
        default=RUN_RETENTION_DAYS,
        ge=1,
        le=_DAYS_MAX,
        description="Days for which questions of analytics are kept.",
        json_schema_extra={"unit": "days"},
    )
    events_retention_days: int = Field(
        default=0,
        ge=0,
        le=_DAYS_MAX,
        description="Days for which the change log is kept, at least 30; older cursors answer CURSOR_EXPIRED. "
        "0 keeps all.",
        json_schema_extra={"unit": "days"},
        examples=[400],
    )
    stage_history_retention_days: int = Field(
        default=0,
        ge=0,
        le=_DAYS_MAX,
        description="Days for which moves of deals through the stages are kept, at least 400; each deal's last one "
        "stays. 0 keeps all.",
        json_schema_extra={"unit": "days"},
        examples=[800],
    )
    health_retention_days: int = Field(
        default=0,
        ge=0,
        le=_DAYS_MAX,
        description="Days for which snapshots of accounts' health are kept, at least 30; each account's last one "
        "stays. 0 keeps all.",
        json_schema_extra={"unit": "days"},
        examples=[400],
    )
    outreach_retention_days: int = Field(
        default=0,
        ge=0,
        le=_DAYS_MAX,
        description="Days for which finished recipients of campaigns that are over are kept, with their messages, at "
        "least 200. 0 keeps all.",
        json_schema_extra={"unit": "days"},
        examples=[400],
    )

    @field_validator(*_LEAST)
    @classmethod
    def _long_enough(cls, value: int, info: ValidationInfo) -> int:
        least = _LEAST[info.field_name or ""]
        if 0 < value < least:
            raise ValueError(f"must be 0 or at least {least}")
        return value

    @property
    def retention(self) -> Retention:
        """The days by what is kept."""
        return Retention(
            self.analytics_retention_days,
            self.chat_retention_days,
            self.events_retention_days,
            self.stage_history_retention_days,
            self.health_retention_days,
            self.outreach_retention_days,
        )
