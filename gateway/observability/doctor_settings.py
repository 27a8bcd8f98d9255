"""Looks at the settings for `doctor`, without calling anything."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from contract.limits import CONNECTION_SECONDS, STATEMENT_SECONDS
from gateway.addresses import is_loopback_name
from gateway.setting_sources import Stranger
from gateway.settings import Settings, unfit_to_serve

BEAT_LEAST = STATEMENT_SECONDS + 2 * CONNECTION_SECONDS
"""Seconds of a job's lease below which one slow statement costs a worker its jobs."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, and what to do where it is not well."""

    name: str
    ok: bool
    message: str
    advice: str = ""


def of_settings(settings: Settings, strangers: Sequence[Stranger]) -> Iterator[Finding]:
    """Looks at each setting that can be a mistake, and at the names that are none."""
    for stranger in strangers:
        yield Finding("settings", False, stranger.message, stranger.advice)
    is_sqlite = settings.database_url.get_secret_value().startswith("sqlite")
    yield Finding(
        "processes",
        not (is_sqlite and settings.workers > 1),
        f"{settings.workers} on {'SQLite' if is_sqlite else 'PostgreSQL'}",
        "SQLite takes one writer at a time: use PostgreSQL for several processes, or WEB_CONCURRENCY=1",
    )
    yield Finding(
        "cors_origins",
        "*" not in settings.cors_origins,
        ", ".join(settings.cors_origins) or "none",
        "name the origins in CRM_CORS_ORIGINS: * lets every page in the world send a caller's credential here",
    )
    public = urlsplit(settings.public_url or "")
    secure = public.scheme != "http" or is_loopback_name(public.hostname or "")
    yield Finding(
        "public_url",
        secure,
        settings.public_url or "not set: addresses are taken from the request",
        "use https in CRM_PUBLIC_URL: credentials would cross the network readable",
    )
    issuer = urlsplit(settings.oidc_issuer or "")
    if settings.oidc_issuer:
        secure = issuer.scheme == "https" or is_loopback_name(issuer.hostname or "")
        advice = "use https in CRM_OIDC_ISSUER: any host that answers in its place can sign tokens"
        yield Finding("oidc_issuer", secure, settings.oidc_issuer, advice)
        advice = "set CRM_OIDC_AUDIENCE: `serve` and `worker` do not start without it, since tokens that the provider "
        advice += "made for other services would be taken too"
        fit = unfit_to_serve(settings) is None
        yield Finding("oidc_audience", fit, (fit and settings.oidc_audience) or "not set", advice)
    yield Finding(
        "job_lease",
        settings.job_lease_seconds >= BEAT_LEAST,
        f"{settings.job_lease_seconds:g} s",
        f"set CRM_JOB_LEASE_SECONDS to {BEAT_LEAST:g} at least: a statement may take {STATEMENT_SECONDS} s and "
        f"a connection {CONNECTION_SECONDS} s, and a worker that is late loses its jobs to another",
    )
    yield _of_google(settings)
    yield Finding(
        "outbound",
        not settings.outbound_allow_loopback,
        "may call this machine" if settings.outbound_allow_loopback else "calls the public internet alone",
        "unset CRM_OUTBOUND_ALLOW_LOOPBACK, which is for tests: webhooks and research could call what listens here",
    )


def _of_google(settings: Settings) -> Finding:
    """Whether members can connect Google accounts, or the operator has left out a part of what it takes."""
    given = {"ID": bool(settings.google_client_id), "SECRET": bool(settings.google_client_secret.get_secret_value())}
    if not any(given.values()):
        return Finding("google", True, "not set up: members cannot connect Google accounts")
    missing = [f"CRM_GOOGLE_CLIENT_{name}" for name, there in given.items() if not there]
    public = urlsplit(settings.public_url or "")
    if missing or settings.public_url is None:
        missing += [] if settings.public_url else ["CRM_PUBLIC_URL"]
        return Finding("google", False, f"half set up: {', '.join(missing)} not set", f"set {' and '.join(missing)}")
    reached = public.scheme == "https" or is_loopback_name(public.hostname or "")
    message = f"members are sent back to {settings.public_url.rstrip('/')}/integrations/callback/google"
    if not reached:
        return Finding("google", False, message, "use https in CRM_PUBLIC_URL: Google sends nobody back to http")
    note = "; while its consent screen is «in testing», consents end after seven days"
    return Finding("google", True, message + note)
