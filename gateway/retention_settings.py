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


def _days(description: str, default: int = 0, *, bound: int = 0, examples: list[int] | None = None) -> int:
    """Declares a setting that is a number of days, `bound` at least."""
    return Field(
        default=default,
        ge=bound,
        le=_DAYS_MAX,
        description=description,
        json_schema_extra={"unit": "days"},
        examples=examples,
    )


class RetentionSettings(BaseSettings):
    """The days for which records are kept, and after which a worker deletes them (decision 1006)."""

    chat_retention_days: int = _days(
        "Days for which a chat's thread is kept after its newest message; 0 keeps all.", CHAT_RETENTION_DAYS
    )
    analytics_retention_days: int = _days(
        "Days for which questions of analytics are kept.", RUN_RETENTION_DAYS, bound=1
    )
    events_retention_days: int = _days(
        f"Days for which the change log is kept, at least {EVENTS_DAYS_MIN}; older cursors answer CURSOR_EXPIRED. "
        "0 keeps all.",
        examples=[400],
    )
    stage_history_retention_days: int = _days(
        f"Days for which moves of deals through the stages are kept, at least {STAGE_CHANGES_DAYS_MIN}; each deal's "
        "last one stays. 0 keeps all.",
        examples=[800],
    )
    health_retention_days: int = _days(
        f"Days for which snapshots of accounts' health are kept, at least {HEALTH_DAYS_MIN}; each account's last one "
        "stays. 0 keeps all.",
        examples=[400],
    )
    outreach_retention_days: int = _days(
        "Days for which finished recipients of campaigns that are over are kept, with their messages, at least "
        f"{OUTREACH_DAYS_MIN}. 0 keeps all.",
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
