"""The settings of what tells others of this service: traces and internal errors."""

import os
import re
from importlib.util import find_spec
from typing import Final

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

_DSN: Final = re.compile(r"https?://[A-Za-z0-9]+(:[A-Za-z0-9]+)?@[^/@\s?#]+(/[^/\s?#]+)*/[0-9]+")
_WAYS_OUT: Final = ("otlp", "console", "none")
_PROTOCOL: Final = "http/protobuf"


class TelemetrySettings(BaseSettings):
    """Says where traces and internal errors go, if anywhere."""

    otel: bool = Field(
        default=False,
        description="Whether the process traces by OpenTelemetry; the environment's OTEL_* say where to. Needs the "
        "extra otel.",
    )
    sentry_dsn: SecretStr = Field(
        default=SecretStr(""),
        description="Where internal errors are told of: a DSN of Sentry, or of what speaks as it does. Needs the extra "
        "sentry; none are told of unless set.",
        examples=["https://0123456789abcdef@errors.example/1"],
    )

    @field_validator("otel")
    @classmethod
    def _traces(cls, value: bool) -> bool:
        if not value:
            return value
        if not (_is_there("opentelemetry", "sdk") and _is_there("opentelemetry", "exporter", "otlp", "proto", "http")):
            raise ValueError("needs the extra otel: pip install 'crm-gateway[otel]'")
        if (way := os.environ.get("OTEL_TRACES_EXPORTER") or "otlp") not in _WAYS_OUT:
            raise ValueError(f"OTEL_TRACES_EXPORTER must be one of {', '.join(_WAYS_OUT)}")
        names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
        for name in names if way == "otlp" else ():
            if os.environ.get(name, _PROTOCOL) not in ("", _PROTOCOL):
                raise ValueError(f"{name} must be {_PROTOCOL}, which is the one that the extra otel speaks")
        return value

    @field_validator("sentry_dsn")
    @classmethod
    def _errors(cls, value: SecretStr) -> SecretStr:
        dsn = value.get_secret_value()
        if dsn and not _DSN.fullmatch(dsn):
            raise ValueError("must be a DSN: https://KEY@HOST/PROJECT, where the project is a number")
        if dsn and not _is_there("sentry_sdk"):
            raise ValueError("needs the extra sentry: pip install 'crm-gateway[sentry]'")
        return value


def _is_there(*names: str) -> bool:
    """Says whether a package is installed; none of those that it is in need be."""
    return all(_found(".".join(names[: number + 1])) for number in range(len(names)))


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
