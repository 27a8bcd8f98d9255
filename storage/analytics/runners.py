"""Says what runs statements of callers on which database."""

from sqlalchemy.engine import make_url

from storage.analytics.postgresql_runner import PostgresqlRunner
from storage.analytics.sqlite_runner import SqliteRunner


def runner_of(database_url: str, login_url: str) -> SqliteRunner | PostgresqlRunner | None:
    """Make the runner of statements of callers; None on PostgreSQL without a login of their own (decision 266)."""
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        return SqliteRunner(str(url.database))
    return PostgresqlRunner(login_url) if login_url else None
