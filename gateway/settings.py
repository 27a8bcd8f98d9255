"""The settings: environment variables, and a `.env` file; `crm-gateway config show` lists them all."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from contract.chat import CHAT_APPROVAL_SECONDS, CHAT_RUN_SECONDS, CHAT_TOKENS_PER_DAY
from contract.limits import (
    BUDGET_MAX,
    CREDENTIALS_MAX,
    DOCUMENT_CACHE_BYTES,
    FILE_MAX_BYTES,
    FILES_QUOTA_BYTES,
    ORGANIZATION_BUDGET_MAX,
)
from gateway.account_settings import AccountSettings
from gateway.login_settings import LoginSettings
from gateway.mail_settings import MailSettings
from gateway.observability.log_settings import LogFormat, LogSettings
from gateway.retention_settings import RetentionSettings
from gateway.setting_checks import Checks, SequencingProvider, clusters_of, with_driver
from gateway.telemetry_settings import TelemetrySettings
from providers.model_kinds import SILENCE_SECONDS, ModelKind
from storage.addresses import check_address


class McpMode(StrEnum):
    """The reach of the MCP door: everything, reading alone, or nothing."""

    ON = "on"
    READ = "read"
    OFF = "off"


class Settings(LoginSettings, TelemetrySettings, MailSettings, AccountSettings, RetentionSettings, Checks):
    """Everything that can be set from outside; docs/settings.md is made of it.

    A description says what a setting means, `unit` in what a number is counted, and an example what one may look like
    where the default is nothing to learn from.
    """

    model_config = SettingsConfigDict(
        env_file=".env", env_prefix="CRM_", env_ignore_empty=True, extra="ignore", populate_by_name=True
    )

    data_dir: Path = Field(default=Path(".crm"), description="SQLite file, signing key, pepper, artifacts; mode 0700.")
    database_url: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("CRM_DATABASE_URL", "DATABASE_URL"),
        description="sqlite+aiosqlite:///… or postgresql+asyncpg://…; SQLite in the data folder unless set.",
        examples=["postgresql+asyncpg://gateway@db.example/gateway"],
    )
    database_pool_size: int = Field(
        default=10, ge=1, le=200, description="Connections per process.", json_schema_extra={"unit": "connections"}
    )
    database_statement_cache: bool = Field(default=True, description="Off behind a pooler in transaction mode.")
    database_listen_url: SecretStr = Field(
        default=SecretStr(""),
        description="Past a pooler, for PostgreSQL's notifications; CRM_DATABASE_URL unless set.",
        examples=["postgresql+asyncpg://gateway@db.example/gateway"],
    )
    database_replicas: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL servers that follow the one of CRM_DATABASE_URL and may be read from, by commas.",
        examples=["postgresql+asyncpg://gateway@db2.example/gateway"],
    )
    clusters: SecretStr = Field(
        default=SecretStr(""),
        description="Further PostgreSQL servers that organizations may lie on, as name=address, by commas.",
        examples=["north=postgresql+asyncpg://gateway@north.example/gateway"],
    )
    move_addresses: SecretStr = Field(
        default=SecretStr(""),
        description="For `organization move`: these servers and `directory` as a superuser of them reaches each, from "
        "the others too; the addresses of the service unless set.",
        examples=[
            "directory=postgresql+asyncpg://postgres@db1/gateway,north=postgresql+asyncpg://postgres@db2/gateway"
        ],
    )
    analytics_database_url: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL: the login of ad-hoc SQL, see `analytics role`; none unless set. SQLite needs none.",
        examples=["postgresql+asyncpg://gateway_sql@db.example/gateway"],
    )
    slow_statement_seconds: float = Field(
        default=0.5,
        ge=0.001,
        le=3600,
        description="How long a statement of the database may take until it gets a line in the log.",
        json_schema_extra={"unit": "seconds"},
    )
    oidc_issuer: str | None = Field(
        default=None,
        description="An external identity provider; embedded unless set.",
        examples=["https://login.example/realms/crm"],
    )
    oidc_audience: str | None = Field(
        default=None, description="What session tokens must be meant for.", examples=["crm-gateway"]
    )
    oidc_jwks_url: str | None = Field(
        default=None,
        description="Where the provider's keys are; by discovery unless set.",
        examples=["https://login.example/realms/crm/protocol/openid-connect/certs"],
    )
    oidc_org_claim: str = Field(default="org_id", description="The claim that names the organization.")
    oidc_scope_claim: str = Field(default="scope", description="The claim with the scopes: a string or an array.")
    credentials_max: int = Field(
        default=CREDENTIALS_MAX,
        ge=1,
        le=100_000,
        description="Live organization keys of a member in an organization, and live user tokens of a member.",
        json_schema_extra={"unit": "credentials"},
    )
    public_url: str | None = Field(
        default=None, description="The outside address, in links and as issuer.", examples=["https://crm.example"]
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Further names in Host, by commas, where it is looked at: on loopback, and with CRM_PUBLIC_URL.",
        examples=["crm.internal,gateway"],
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Origins that browsers may call from, by commas.",
        examples=["https://app.example,https://admin.example"],
    )
    cors_headers: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Further request headers that pages of those origins may send, by commas.",
        examples=["x-trace-id"],
    )
    notifications_url: str | None = Field(
        default=None,
        description="A workflow service that takes notification events; the embedded actor unless set.",
        examples=["https://workflows.example/events"],
    )
    notifications_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Signs notification events by Standard Webhooks: whsec_ and 24 to 64 bytes in base64.",
        examples=["whsec_…"],
    )
    outbound_allow_loopback: bool = Field(
        default=False, description="Whether research and webhooks may call this machine; for tests."
    )
    artifacts_url: str = Field(
        default="",
        description="Where rendered files lie: file:///… or s3://BUCKET/PREFIX; in the data folder unless set.",
        examples=["s3://crm-files/production"],
    )
    file_max_bytes: int = Field(
        default=FILE_MAX_BYTES,
        ge=1,
        le=5 * 1024**4,
        description="Bytes that one uploaded file may have.",
        json_schema_extra={"unit": "bytes"},
    )
    files_quota_bytes: int = Field(
        default=FILES_QUOTA_BYTES,
        ge=0,
        le=2**53,
        description="Bytes that an organization's files may have together.",
        json_schema_extra={"unit": "bytes"},
    )
    sequencing_provider: SequencingProvider = Field(
        default=SequencingProvider.LOCAL, description="local (sends nothing), instantly or smartlead."
    )
    sequencing_url: str | None = Field(
        default=None,
        description="That provider's address; its public one unless set.",
        examples=["https://sequencing.example/v1"],
    )
    sequencing_api_key: SecretStr = Field(
        default=SecretStr(""), validate_default=True, description="That provider's API key.", examples=["…"]
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
        json_schema_extra={"unit": "points"},
    )
    redis_url: SecretStr = Field(
        default=SecretStr(""),
        description="redis://HOST:PORT/NUMBER, where several processes share those limits; each its own unless set.",
        examples=["redis://cache.example:6379/0"],
    )
    introspection: bool = Field(default=True, description="Whether the schema is shown.")
    graphiql: bool = Field(default=True, description="Whether browsers get GraphiQL.")
    persisted_documents: Path | None = Field(
        default=None,
        description="A JSON file of GraphQL documents that clients may name: identifier to text, or Apollo's manifest.",
        examples=["documents.json"],
    )
    persisted_only: bool = Field(
        default=False, description="Whether those of CRM_PERSISTED_DOCUMENTS are the only documents that are run."
    )
    document_cache_bytes: int = Field(
        default=DOCUMENT_CACHE_BYTES,
        ge=0,
        le=1024**3,
        description="Bytes of GraphQL documents that are kept per process; in memory they take up to 16 times as much.",
        json_schema_extra={"unit": "bytes"},
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", validation_alias="LOG_LEVEL", description="What is worth a log line: this, and what is worse."
    )
    log_format: LogFormat = Field(
        default=LogFormat.TEXT, validation_alias="LOG_FORMAT", description="The form of log lines."
    )
    host: str = Field(
        default="127.0.0.1",
        validation_alias="HOST",
        description="The address of this machine to listen on; 0.0.0.0 for all.",
    )
    port: int = Field(
        default=8000,
        ge=0,
        le=65535,
        validation_alias="PORT",
        description="The port to listen on; 0 for any that is free.",
        json_schema_extra={"unit": "port"},
    )
    workers: int = Field(
        default=1,
        ge=1,
        le=64,
        validation_alias="WEB_CONCURRENCY",
        description="Processes on the one socket.",
        json_schema_extra={"unit": "processes"},
    )
    receive_seconds: float = Field(
        default=4,
        ge=0.1,
        le=300,
        description="What a client has for a request's headers, and again for its body besides a second per 16 KiB.",
        json_schema_extra={"unit": "seconds"},
    )
    requests_in_flight: int = Field(
        default=256,
        ge=4,
        le=100_000,
        description="Requests being served at once per process; one organization gets at most half.",
        json_schema_extra={"unit": "requests"},
    )
    metrics_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="A port for /metrics, /health and /ready alone; unless set, `serve` has them on its own, "
        "`worker` nowhere.",
        examples=[9000],
        json_schema_extra={"unit": "port"},
    )
    mcp: McpMode = Field(default=McpMode.ON, description="The MCP door at /mcp: on, read (no tool writes), or off.")
    chat: bool = Field(default=True, description="Whether there are chats: on, or off.")
    chat_run_seconds: float = Field(
        default=CHAT_RUN_SECONDS,
        ge=1,
        le=3600,
        description="Seconds of work that one answer of a chat may take.",
        json_schema_extra={"unit": "seconds"},
    )
    chat_approval_seconds: float = Field(
        default=CHAT_APPROVAL_SECONDS,
        ge=1,
        le=86_400,
        description="For how long a write that a chat proposes can be decided on.",
        json_schema_extra={"unit": "seconds"},
    )
    model_tokens_per_day: int = Field(
        default=CHAT_TOKENS_PER_DAY,
        ge=0,
        description="Tokens that an organization's chats may have of the model on a day of UTC; 0 for no limit.",
        json_schema_extra={"unit": "tokens"},
    )
    worker: bool = Field(default=True, description="Whether `serve` runs background jobs too.")
    worker_beside: bool = Field(
        default=True,
        description="Whether these have a process of their own, which requests hardly feel and which takes memory.",
    )
    worker_nice: int = Field(
        default=10,
        ge=0,
        le=19,
        description="By how much a process of jobs gives way on the processor to others, such as servers; 0 for not.",
        json_schema_extra={"unit": "niceness"},
    )
    job_lease_seconds: float = Field(
        default=30,
        ge=1,
        le=3600,
        description="How long a worker may be silent before another takes its jobs.",
        json_schema_extra={"unit": "seconds"},
    )

    model_url: str | None = Field(
        default=None,
        description="A language model for chats, and for questions that the parser declines: its address up to /v1.",
        examples=["http://127.0.0.1:11434/v1"],
    )
    model_name: str = Field(
        default="", validate_default=True, description="The model's name at CRM_MODEL_URL.", examples=["qwen3"]
    )
    model_api_key: SecretStr = Field(
        default=SecretStr(""), description="The model's API key, where it asks for one.", examples=["…"]
    )
    model_kind: ModelKind = Field(
        default=ModelKind.OPENAI,
        description="What the model speaks: openai (chat completions), or anthropic (messages), for chats alone.",
    )
    model_timeout_seconds: float = Field(
        default=SILENCE_SECONDS,
        ge=1,
        le=600,
        description="The longest silence of the model within an answer of a chat.",
        json_schema_extra={"unit": "seconds"},
    )

    @model_validator(mode="after")
    def _default_database(self) -> "Settings":
        if not self.database_url.get_secret_value():
            self.database_url = SecretStr(f"sqlite+aiosqlite:///{(self.data_dir / 'crm.sqlite3').absolute()}")
        self.database_url = SecretStr(with_driver(self.database_url.get_secret_value()))
        check_address(self.database_url.get_secret_value())
        return self

    @property
    def logs(self) -> LogSettings:
        """Gives what log lines are written by."""
        return LogSettings(self.log_level, self.log_format, self.otel)

    @property
    def replica_addresses(self) -> list[str]:
        """The addresses of the servers that may be read from."""
        return [address for address in self.database_replicas.get_secret_value().split(",") if address]

    @property
    def cluster_addresses(self) -> dict[str, str]:
        """The addresses of the other servers that organizations may lie on, by their names."""
        return clusters_of(self.clusters.get_secret_value())

    @property
    def servers_to_move_between(self) -> dict[str, str]:
        """The addresses that organizations are moved by, by the names of the servers."""
        addresses = {"directory": self.database_url.get_secret_value(), **self.cluster_addresses}
        own = clusters_of(self.move_addresses.get_secret_value())
        return {name: own.get(name, address) for name, address in addresses.items()}


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
