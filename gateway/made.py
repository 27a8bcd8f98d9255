"""Makes of the settings what commands need as well as the service does."""

from contract.limits import STATEMENT_SECONDS
from gateway.settings import Settings
from identity.keyfiles import previous_signing_key, signing_key
from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer
from providers.artifacts import Artifacts, artifacts_at
from storage.database import Database

AUDIENCE = "crm-gateway"


def database_of(settings: Settings, *, statement_seconds: float | None = STATEMENT_SECONDS) -> Database:
    """The database that the settings name."""
    return Database(
        settings.database_url.get_secret_value(),
        pool_size=settings.database_pool_size,
        statement_cache=settings.database_statement_cache,
        statement_seconds=statement_seconds,
    )


def store_of(settings: Settings) -> Artifacts:
    """The store of files that the settings name."""
    return artifacts_at(settings.artifacts_url, settings.data_dir / "artifacts")


def embedded_issuer(settings: Settings) -> EmbeddedIssuer:
    """The embedded identity provider; its key is made at first use."""
    folder = settings.data_dir
    issuer = settings.public_url or DEFAULT_ISSUER
    return EmbeddedIssuer(signing_key(folder), issuer, AUDIENCE, previous=previous_signing_key(folder))
