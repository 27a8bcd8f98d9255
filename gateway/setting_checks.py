"""Checks what settings say, each on its own and beside those that are declared before it."""

import re
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from contract.web_address import is_web_address
from gateway.graphql.persisted_documents import read_manifest
from providers.artifacts import check_artifacts_address
from providers.signing import is_secret
from storage.addresses import check_address, login_of

_NAMES = {
    "allowed_hosts": (re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:]+"), "names of hosts without ports"),
    "cors_headers": (re.compile(r"[A-Za-z0-9!#$%&'+.^_`|~-]+"), "names of headers"),
}


_CLUSTER = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_NAMED = "each must be name=address, the name of small letters, digits, - and _"


class SequencingProvider(StrEnum):
    """The provider that sends the messages of campaigns."""

    LOCAL = "local"
    INSTANTLY = "instantly"
    SMARTLEAD = "smartlead"


class Checks(BaseSettings):
    """Holds the checks; `Settings` declares what they look at."""

    @field_validator("cors_origins", "cors_headers", "allowed_hosts", mode="before", check_fields=False)
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("cors_origins", check_fields=False)
    @classmethod
    def _origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(origin.rstrip("/") for origin in value)

    @field_validator("allowed_hosts", "cors_headers", check_fields=False)
    @classmethod
    def _names(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        name_of, words = _NAMES[info.field_name or ""]
        if not all(map(name_of.fullmatch, value)):
            raise ValueError(f"must be {words}, by commas")
        return value

    @field_validator("log_level", mode="before", check_fields=False)
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value

    @field_validator("persisted_documents", check_fields=False)
    @classmethod
    def _manifest(cls, value: Path | None) -> Path | None:
        if value is not None:
            read_manifest(value)
        return value

    @field_validator("persisted_only", check_fields=False)
    @classmethod
    def _something_to_run(cls, value: bool, info: ValidationInfo) -> bool:
        if value and info.data.get("persisted_documents", value) is None:
            raise ValueError("needs CRM_PERSISTED_DOCUMENTS")
        return value

    @field_validator("database_listen_url", "analytics_database_url", check_fields=False)
    @classmethod
    def _server(cls, value: SecretStr) -> SecretStr:
        address = value.get_secret_value()
        return SecretStr(_of_a_server(address)) if address else value

    @field_validator("database_replicas", check_fields=False)
    @classmethod
    def _followers(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        addresses = [part.strip() for part in value.get_secret_value().split(",") if part.strip()]
        if addresses:
            _expect_postgresql(info, "SQLite has none")
        return SecretStr(",".join(map(_of_a_server, addresses)))

    @field_validator("clusters", "move_addresses", check_fields=False)
    @classmethod
    def _servers(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        found = clusters_of(value.get_secret_value())
        if found:
            _expect_postgresql(info, "on SQLite every organization lies in the one file")
        if "directory" in found and info.field_name == "clusters":
            raise ValueError(_NAMED)
        return SecretStr(",".join(f"{name}={_of_a_server(address)}" for name, address in found.items()))

    @field_validator("analytics_database_url", check_fields=False)
    @classmethod
    def _login_of_its_own(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        """Refuse, for what callers write, a login that does anything else."""
        if not value.get_secret_value():
            return value
        _expect_postgresql(info, "SQLite needs none")
        others = [
            info.data[name].get_secret_value() for name in ("database_url", "database_listen_url") if name in info.data
        ]
        if any(login_of(value.get_secret_value()) == login_of(other) for other in others if other):
            raise ValueError("must be another login than the ordinary one")
        return value

    @field_validator("artifacts_url", check_fields=False)
    @classmethod
    def _artifact_store(cls, value: str) -> str:
        check_artifacts_address(value)
        return value

    @field_validator("redis_url", check_fields=False)
    @classmethod
    def _redis(cls, value: SecretStr) -> SecretStr:
        address = value.get_secret_value()
        if address and not address.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
        if address and find_spec("redis") is None:
            raise ValueError("needs the extra redis: pip install 'crm-gateway[redis]'")
        return value

    @field_validator(
        "oidc_issuer",
        "oidc_jwks_url",
        "public_url",
        "notifications_url",
        "sequencing_url",
        "model_url",
        check_fields=False,
    )
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is not None and not is_web_address(value):
            raise ValueError("must be an http:// or https:// address")
        return value

    @field_validator("oidc_issuer", "public_url", check_fields=False)
    @classmethod
    def _public(cls, value: str | None) -> str | None:
        if value is not None and "@" in urlsplit(value).netloc:
            raise ValueError("must hold neither a user nor a password: it is public")
        return value

    @field_validator("notifications_secret", check_fields=False)
    @classmethod
    def _signing_secret(cls, value: SecretStr) -> SecretStr:
        secret = value.get_secret_value()
        if secret and not is_secret(secret):
            raise ValueError("must be 24 to 64 bytes in base64, after whsec_ or alone")
        return value

    @field_validator("model_url", check_fields=False)
    @classmethod
    def _model_base(cls, value: str | None) -> str | None:
        if value is not None and ("@" in urlsplit(value).netloc or "?" in value or "#" in value):
            raise ValueError("must end with its path, and hold no user: the key is CRM_MODEL_API_KEY")
        return value

    @field_validator("model_name", check_fields=False)
    @classmethod
    def _model(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("model_url") and not value.strip():
            raise ValueError("is needed beside CRM_MODEL_URL")
        return value.strip()

    @field_validator("sequencing_api_key", "model_api_key", check_fields=False)
    @classmethod
    def _in_a_header(cls, value: SecretStr) -> SecretStr:
        if not all("!" <= c <= "~" for c in value.get_secret_value()):
            raise ValueError("must be visible ASCII, without blanks")
        return value

    @field_validator("sequencing_api_key", check_fields=False)
    @classmethod
    def _provider_key(cls, value: SecretStr, info: ValidationInfo) -> SecretStr:
        key = value.get_secret_value()
        if not key and info.data.get("sequencing_provider") not in (None, SequencingProvider.LOCAL):
            raise ValueError("is needed for this sequencing provider")
        return value


def _expect_postgresql(info: ValidationInfo, else_words: str) -> None:
    """Raises ValueError with these words where the database is another one; one that was refused itself is none."""
    primary = info.data.get("database_url")
    if primary is not None and not primary.get_secret_value().startswith("postgres"):
        raise ValueError(f"is for PostgreSQL; {else_words}")


def _of_a_server(text: str) -> str:
    """The address of a PostgreSQL server, with the driver. Raises ValueError where it is none."""
    if not text.startswith(_SERVER):
        raise ValueError("must start with postgresql+asyncpg://")
    address = with_driver(text)
    check_address(address)
    return address


def clusters_of(text: str) -> dict[str, str]:
    """The addresses by the names of their servers, of what the setting says. Raises ValueError for what is none."""
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    if any(_CLUSTER.fullmatch(name) is None for name, _, _ in pairs):
        raise ValueError(_NAMED)
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise ValueError("names a server twice")
    return {name: address for name, _, address in pairs}


def with_driver(url: str) -> str:
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
_SERVER = tuple(f"{scheme}://" for scheme in _DRIVERS if scheme.startswith("postgres"))
