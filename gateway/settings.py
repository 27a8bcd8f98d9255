"""The settings: environment variables, and a `.env` file; `crm-gateway config show` lists them all."""

import re
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from contract.chat import CHAT_APPROVAL_SECONDS, CHAT_RETENTION_DAYS, CHAT_RUN_SECONDS, CHAT_TOKENS_PER_DAY
from contract.limits import (
    BUDGET_MAX,
    CREDENTIALS_MAX,
    DOCUMENT_CACHE_BYTES,
    FILE_MAX_BYTES,
    FILES_QUOTA_BYTES,
    ORGANIZATION_BUDGET_MAX,
    RUN_RETENTION_DAYS,
)
from contract.web_address import is_web_address
from gateway.account_settings import AccountSettings
from gateway.graphql.persisted_documents import read_manifest
from providers.artifacts import check_artifacts_address
from providers.model_stream import SILENCE_SECONDS
from providers.models import ModelKind
from providers.signing import is_secret
from storage.migrate import check_address, login_of

_NAMES = {
    "allowed_hosts": (re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:]+"), "names of hosts without ports"),
    "cors_headers": (re.compile(r"[A-Za-z0-9!#$%&'+.^_`|~-]+"), "names of headers"),
}


class LogFormat(StrEnum):
    """The form in which a log line is written."""

    TEXT = "text"
    JSON = "json"


class McpMode(StrEnum):
    """What the MCP door lets do."""

    ON = "on"
    READ = "read"
    OFF = "off"


class SequencingProvider(StrEnum):
    """The provider that sends the messages of campaigns."""

    LOCAL = "local"
    INSTANTLY = "instantly"
    SMARTLEAD = "smartlead"


class Settings(AccountSettings):
    """Everything that can be set from outside."""

    model_config = SettingsConfigDict(
        env_file=".env", env_prefix="CRM_", env_ignore_empty=True, extra="ignore", populate_by_name=True
    )

    data_dir: Path = Field(default=Path(".crm"), description="SQLite file, signing key, pepper, artifacts; mode 0700.")
    database_url: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("CRM_DATABASE_URL", "DATABASE_URL"),
        description="sqlite+aiosqlite:///… or postgresql+asyncpg://…; SQLite in the data folder unless set.",
    )
    database_pool_size: int = Field(default=10, ge=1, le=200, description="Connections per process.")
    database_statement_cache: bool = Field(default=True, description="Off behind a pooler in transaction mode.")
    database_listen_url: SecretStr = Field(
        default=SecretStr(""), description="Past a pooler, for PostgreSQL's notifications; CRM_DATABASE_URL unless set."
    )
    analytics_database_url: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL: the login of ad-hoc SQL, see `analytics role`; none unless set. SQLite needs none.",
    )
    oidc_issuer: str | None = Field(default=None, description="An external identity provider; embedded unless set.")
    oidc_audience: str | None = Field(default=None, description="What session tokens must be meant for.")
    oidc_jwks_url: str | None = Field(default=None, description="Its keys; by discovery unless set.")
    oidc_org_claim: str = Field(default="org_id", description="The claim that names the organization.")
    oidc_scope_claim: str = Field(default="scope", description="The claim with the scopes: a string or an array.")
    credentials_max: int = Field(
        default=CREDENTIALS_MAX,
        ge=1,
        le=100_000,
        description="Live organization keys of a member in an organization, and live user tokens of a member.",
    )
    public_url: str | None = Field(default=None, description="The outside address, in links and as issuer.")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Further names in Host, by commas, where it is looked at: on loopback, and with CRM_PUBLIC_URL.",
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Origins that browsers may call from, by commas."
    )
    cors_headers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Further request headers that pages of those origins may send, by commas.",
    )
    notifications_url: str | None = Field(
        default=None, description="A workflow service that takes notification events; the embedded actor unless set."
    )
    notifications_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Signs notification events by Standard Webhooks: whsec_ and 24 to 64 bytes in base64.",
    )
    outbound_allow_loopback: bool = Field(
        default=False, description="Whether research and webhooks may call this machine; for tests."
    )
    artifacts_url: str = Field(
        default="",
        description="Where rendered files lie: file:///… or s3://BUCKET/PREFIX; in the data folder unless set.",
    )
    file_max_bytes: int = Field(
        default=FILE_MAX_BYTES, ge=1, le=5 * 1024**4, description="Bytes that one uploaded file may have."
    )
    files_quota_bytes: int = Field(
        default=FILES_QUOTA_BYTES, ge=0, le=2**53, description="Bytes that an organization's files may have together."
    )
    sequencing_provider: SequencingProvider = Field(
        default=SequencingProvider.LOCAL, description="local (sends nothing), instantly or smartlead."
    )
    sequencing_url: str | None = Field(default=None, description="The provider's address; its public one unless set.")
    sequencing_api_key: SecretStr = Field(
        default=SecretStr(""), validate_default=True, description="The provider's API key."
    )
    rate_limit: bool = Field(
        default=True,
        description="Whether callers have budgets and failed authentications are limited; off for benchmarks.",
    )
    organization_budget: int = Field(
        default=ORGANIZATION_BUDGET_MAX,
        ge=BUDGET_MAX,
        le=1_000_000,
        description="Points that all members of an organization have together; they come back within 20 seconds.",
    )
    redis_url: SecretStr = Field(
        default=SecretStr(""),
        description="redis://HOST:PORT/NUMBER, where several processes share those limits; each its own unless set.",
    )
    introspection: bool = Field(default=True, description="Whether the schema is shown.")
    graphiql: bool = Field(default=True, description="Whether browsers get GraphiQL.")
    persisted_documents: Path | None = Field(
        default=None,
        description="A JSON file of GraphQL documents that clients may name: identifier to text, or Apollo's manifest.",
    )
    persisted_only: bool = Field(default=False, description="Whether those are the only documents that are run.")
    document_cache_bytes: int = Field(
        default=DOCUMENT_CACHE_BYTES,
        ge=0,
        le=1024**3,
        description="Bytes of GraphQL documents that are kept per process; in memory they take up to 16 times as much.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", validation_alias="LOG_LEVEL", description="What is worth a log line."
    )
    log_format: LogFormat = Field(default=LogFormat.TEXT, validation_alias="LOG_FORMAT", description="text or json.")
    host: str = Field(default="127.0.0.1", validation_alias="HOST", description="Where to listen.")
    port: int = Field(
        default=8000, ge=0, le=65535, validation_alias="PORT", description="Where to listen; 0 for any port."
    )
    workers: int = Field(
        default=1, ge=1, le=64, validation_alias="WEB_CONCURRENCY", description="Processes on the one socket."
    )
    receive_seconds: float = Field(
        default=4,
        ge=0.1,
        le=300,
        description="What a client has for a request's headers, and again for its body besides a second per 16 KiB.",
    )
    requests_in_flight: int = Field(
        default=256,
        ge=4,
        le=100_000,
        description="Requests being served at once per process; one organization gets at most half.",
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Where `worker` answers /health, /ready and /metrics; nowhere unless set.",
    )
    mcp: McpMode = Field(default=McpMode.ON, description="The MCP door at /mcp: on, read (no tool writes), or off.")
    chat: bool = Field(default=True, description="Whether there are chats: on, or off.")
    chat_run_seconds: float = Field(
        default=CHAT_RUN_SECONDS, ge=1, le=3600, description="Seconds of work that one answer of a chat may take."
    )
    chat_approval_seconds: float = Field(
        default=CHAT_APPROVAL_SECONDS,
        ge=1,
        le=86_400,
        description="Seconds for which a write that a chat proposes can be decided on.",
    )
    model_tokens_per_day: int = Field(
        default=CHAT_TOKENS_PER_DAY,
        ge=0,
        description="Tokens that an organization's chats may have of the model on a day of UTC; 0 for no limit.",
    )
    chat_retention_days: int = Field(
        default=CHAT_RETENTION_DAYS,
        ge=0,
        le=3650,
        description="Days for which a chat's thread is kept after its newest message; 0 keeps all.",
    )
    worker: bool = Field(default=True, description="Whether `serve` runs background jobs too.")
    job_lease_seconds: float = Field(
        default=30, ge=1, le=3600, description="How long a worker may be silent before another takes its jobs."
    )

    analytics_retention_days: int = Field(
        default=RUN_RETENTION_DAYS, ge=1, le=3650, description="Days for which questions of analytics are kept."
    )

    model_url: str | None = Field(
        default=None,
        description="A language model for chats, and for questions that the parser declines: its address up to /v1.",
    )
    model_name: str = Field(default="", validate_default=True, description="The model's name there.")
    model_api_key: SecretStr = Field(default=SecretStr(""), description="Its API key, where it asks for one.")
    model_kind: ModelKind = Field(
        default=ModelKind.OPENAI,
        description="What it speaks: openai (chat completions), or anthropic (messages), which answers chats alone.",
    )
    model_timeout_seconds: float = Field(
        default=SILENCE_SECONDS, ge=1, le=600, description="The longest silence of it within an answer of a chat."
    )

    @field_validator("cors_origins", "cors_headers", "allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(origin.rstrip("/") for origin in value)

    @field_validator("allowed_hosts", "cors_headers")
    @classmethod
    def _names(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        name_of, words = _NAMES[info.field_name or ""]
        if not all(map(name_of.fullmatch, value)):
            raise ValueError(f"must be {words}, by commas")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("persisted_documents")
    @classmethod
    def _manifest(cls, value: Path | None) -> Path | None:
        if value is not None:
            read_manifest(value)
        return value

    @field_validator("persisted_only")
    @classmethod
    def _something_to_run(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("persisted_documents", value) is None:
            raise ValueError("needs CRM_PERSISTED_DOCUMENTS")
        return value

    @field_validator("database_listen_url", "analytics_database_url")
    @classmethod
    def _server(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value():
            return value
        address = _async_driver(value.get_secret_value())
        check_address(address)
        if not address.startswith("postgresql"):
            raise ValueError("must start with postgresql+asyncpg://")
        return SecretStr(address)

    @field_validator("analytics_database_url")
    @classmethod
    def _login_of_its_own(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        """What callers write runs by no login that does anything else."""
        if not value.get_secret_value():
            return value
        others = [
            info.data[name].get_secret_value() for name in ("database_url", "database_listen_url") if name in info.data
        ]
        if not others or not others[0].startswith("postgres"):
            raise ValueError("is for PostgreSQL; SQLite needs none")
        if any(login_of(value.get_secret_value()) == login_of(other) for other in others if other):
            raise ValueError("must be another login than the ordinary one")
        return value

    @field_validator("artifacts_url")
    @classmethod
    def _artifact_store(cls, value: str) -> str:
        check_artifacts_address(value)
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis(cls, value: SecretStr) -> SecretStr:
        address = value.get_secret_value()
        if address and not address.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
        if address and find_spec("redis") is None:
            raise ValueError("needs the extra redis: pip install 'crm-gateway[redis]'")
        return value

    @field_validator("oidc_issuer", "oidc_jwks_url", "public_url", "notifications_url", "sequencing_url", "model_url")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is not None and not is_web_address(value):
            raise ValueError("must be an http:// or https:// address")
        return value

    @field_validator("oidc_issuer", "public_url")
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        if value is not None and "@" in urlsplit(value).netloc:
            raise ValueError("must hold neither a user nor a password: it is public")
        return value

    @field_validator("notifications_secret")
    @classmethod
    def _signing_secret(cls, value: SecretStr) -> SecretStr:
        secret = value.get_secret_value()
        if secret and not is_secret(secret):
            raise ValueError("must be 24 to 64 bytes in base64, after whsec_ or alone")
        return value

    @field_validator("model_url")
    @classmethod
    def _model_base(cls, value: str | None) -> str | None:
        if value is not None and ("@" in urlsplit(value).netloc or "?" in value or "#" in value):
            raise ValueError("must end with its path, and hold no user: the key is CRM_MODEL_API_KEY")
        return value

    @field_validator("model_name")
    @classmethod
    def _model(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("model_url") and not value.strip():
            raise ValueError("is needed beside CRM_MODEL_URL")
        return value.strip()

    @field_validator("sequencing_api_key", "model_api_key")
    @classmethod
    def _in_a_header(cls, value: SecretStr) -> SecretStr:
        if not all("!" <= c <= "~" for c in value.get_secret_value()):
            raise ValueError("must be visible ASCII, without blanks")
        return value

    @field_validator("sequencing_api_key")
    @classmethod
    def _provider_key(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        key = value.get_secret_value()
        if not key and info.data.get("sequencing_provider") not in (None, SequencingProvider.LOCAL):
            raise ValueError("is needed for this sequencing provider")
        return value

    @model_validator(mode="after")
    def _default_database(self) -> "Settings":
        if not self.database_url.get_secret_value():
            self.database_url = SecretStr(f"sqlite+aiosqlite:///{(self.data_dir / 'crm.sqlite3').absolute()}")
        self.database_url = SecretStr(_async_driver(self.database_url.get_secret_value()))
        check_address(self.database_url.get_secret_value())
        return self


def unfit_to_serve(settings: Settings) -> str | None:
    """Says why no process of the service may start with these settings, though commands on the database may; or None.

    An issuer signs tokens for other services too, and each of them could act here with what its users show it
    (decision 156).
    """
    if settings.oidc_issuer is None or (settings.oidc_audience or "").strip():
        return None
    return (
        "CRM_OIDC_AUDIENCE: must be set beside CRM_OIDC_ISSUER, to what the provider's session tokens for this service "
        "have in `aud`: tokens that it made for other services would be taken too"
    )


def _async_driver(url: str) -> str:
    """The address with the drivers that the service has; other schemes are refused."""
    for scheme, driver in _DRIVERS.items():
        if url.startswith(f"{scheme}://"):
            return f"{driver}{url.removeprefix(scheme)}"
    raise ValueError("must start with sqlite+aiosqlite:/// or postgresql+asyncpg://")


_DRIVERS = {
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "sqlite": "sqlite+aiosqlite",
    "postgresql+asyncpg": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
