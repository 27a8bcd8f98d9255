"""Makes of the settings what commands need as well as the service does."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from contract.errors import Unavailable
from contract.limits import STATEMENT_SECONDS
from providers.artifacts import Artifacts, artifacts_at
from storage.clusters import Clusters
from storage.database import Database
from storage.replicas import Counts, Replicas

if TYPE_CHECKING:
    from joserfc.jwk import ECKey

    from gateway.settings import Settings
    from identity.tokens import EmbeddedIssuer
    from providers.accounts.ical import LocalFeed
    from providers.calls import Calls
    from providers.mail import MailPort

AUDIENCE = "crm-gateway"

_log = logging.getLogger(__name__)


def database_of(settings: Settings, *, statement_seconds: float | None = STATEMENT_SECONDS) -> Database:
    """The database that the settings name, with the other servers that organizations may lie on."""
    database = _database_at(settings.database_url.get_secret_value(), settings, statement_seconds)
    if addresses := settings.cluster_addresses:
        Clusters(database, {name: _database_at(url, settings, statement_seconds) for name, url in addresses.items()})
    return database


async def bring_up_to_date(settings: Settings) -> None:
    """Apply the migrations that are pending, on every server; one beside the directory's that is away gets them later.

    Raises what `migrate.upgrade` does for the directory's.
    """
    from storage import migrate

    await migrate.upgrade(settings.database_url.get_secret_value())
    for name, url in settings.cluster_addresses.items():
        try:
            await migrate.upgrade(url)
        except (Unavailable, OSError):
            _log.warning("a server is away, and gets its migrations later cluster=%s", name)


def replicas_of(settings: Settings, counts: Counts) -> Replicas | None:
    """The servers that the settings name to be read from, if any; `counts` is told of reads and of fallbacks."""
    databases = [_database_at(url, settings, STATEMENT_SECONDS) for url in settings.replica_addresses]
    return Replicas(databases, *counts) if databases else None


def _database_at(url: str, settings: Settings, statement_seconds: float | None) -> Database:
    return Database(
        url,
        pool_size=settings.database_pool_size,
        statement_cache=settings.database_statement_cache,
        statement_seconds=statement_seconds,
    )


def store_of(settings: Settings) -> Artifacts:
    """The store of files that the settings name."""
    return artifacts_at(settings.artifacts_url, settings.data_dir / "artifacts")


def mail_of(settings: Settings, calls: Calls | None = None) -> MailPort:
    """The way of messages that the settings name."""
    from providers.mail import Outbox  # with its library, which few commands need
    from providers.mail_address import mail_server, outbox_folder

    address = settings.mail_url.get_secret_value()
    server = mail_server(address)
    if server is None:
        return Outbox(outbox_folder(address) or settings.data_dir / "outbox", settings.mail_from)
    from providers.mail_smtp import Smtp  # its library takes its time to load, and few need it

    return Smtp(server, settings.mail_from, calls=calls)


def signing_keys(settings: Settings) -> tuple[ECKey, ECKey | None]:
    """The key of the embedded identity provider, which is made at first use, and the one that it took the place of."""
    from identity.keyfiles import previous_signing_key, signing_key

    return signing_key(settings.data_dir), previous_signing_key(settings.data_dir)


def embedded_issuer(settings: Settings, keys: tuple[ECKey, ECKey | None] | None = None) -> EmbeddedIssuer:
    """The embedded identity provider, with these keys or those of the data folder."""
    from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer

    own, previous = keys or signing_keys(settings)
    return EmbeddedIssuer(own, settings.public_url or DEFAULT_ISSUER, AUDIENCE, previous=previous)


def demo_feeds() -> Mapping[str, LocalFeed]:
    """The calendars of a demo, which are read within the process."""
    from gateway.demo.calendar import FEEDS  # with all that seeds a demo

    return FEEDS
