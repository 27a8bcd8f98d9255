"""Looks at the settings for `doctor`, without calling anything."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from contract.integrations import BY_PROVIDER, IntegrationOwnership, IntegrationProvider
from contract.limits import CONNECTION_SECONDS, STATEMENT_SECONDS
from gateway.account_settings import is_given
from gateway.addresses import is_loopback_name
from gateway.setting_sources import Stranger
from gateway.settings import Settings, unfit_to_serve

_PUBLIC = "CRM_PUBLIC_URL"
_CONNECTED_BY = {IntegrationOwnership.MEMBER: "members", IntegrationOwnership.ORGANIZATION: "administrators"}
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
    note = "; while its consent screen is «in testing», consents end after seven days"
    yield _of_accounts(settings, IntegrationProvider.GOOGLE, note)
    yield _of_accounts(settings, IntegrationProvider.MICROSOFT)
    yield _of_accounts(settings, IntegrationProvider.ZOOM, told=_RECORDINGS)
    yield _of_accounts(settings, IntegrationProvider.SLACK, told=_HUDDLES)
    yield from _of_telemetry(settings)
    yield Finding(
        "outbound",
        not settings.outbound_allow_loopback,
        "may call this machine" if settings.outbound_allow_loopback else "calls the public internet alone",
        "unset CRM_OUTBOUND_ALLOW_LOOPBACK, which is for tests: webhooks and research could call what listens here",
    )


def _of_telemetry(settings: Settings) -> Iterator[Finding]:
    """Say what leaves the service about itself, and where to; without its extra a process does not even start."""
    way = os.environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    names = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    address = next(filter(None, map(os.environ.get, names)), "http://localhost:4318")
    host = urlsplit(address).hostname if way == "otlp" else None
    yield Finding("traces", True, f"told to {host or way}" if settings.otel else "off")
    dsn = urlsplit(settings.sentry_dsn.get_secret_value())
    secure = dsn.scheme != "http" or is_loopback_name(dsn.hostname or "")
    advice = "use https in CRM_SENTRY_DSN: what is told of errors would cross the network readable"
    yield Finding("errors", secure, f"told to {dsn.hostname}" if dsn.hostname else "told to nobody", advice)


@dataclass(frozen=True, slots=True)
class _Told:
    """Says what a provider tells of where a setting proves it, and what is `lost` without; else it is asked."""

    of: str
    setting: str
    lost: str = ""


_RECORDINGS = _Told("recordings", "CRM_ZOOM_WEBHOOK_SECRET")
_HUDDLES = _Told("huddles", "CRM_SLACK_SIGNING_SECRET", "huddles are missed whose message Slack deletes")


def _of_accounts(
    settings: Settings, provider: IntegrationProvider, note: str = "", told: _Told | None = None
) -> Finding:
    """Say whether accounts there can be connected, or which part of what it takes the operator has left out."""
    info = BY_PROVIDER[provider]
    name, who = provider.value, _CONNECTED_BY[info.ownership]
    own = {*info.settings, *([told.setting] if told else [])} - {_PUBLIC}
    lacking = [each for each in info.settings if not is_given(settings, each)]
    if not any(is_given(settings, each) for each in own):
        return Finding(name, True, f"not set up: {who} cannot connect {info.name} accounts")
    if lacking:
        return Finding(name, False, f"half set up: {', '.join(lacking)} not set", f"set {' and '.join(lacking)}")
    is_proven = told is not None and is_given(settings, told.setting)
    if told is not None and told.lost and not is_proven:
        advice = f"set {told.setting}: without it {told.lost}"
        return Finding(name, False, f"{info.name} cannot tell of {told.of}: {told.setting} not set", advice)
    public = urlsplit(settings.public_url or "")
    address = f"{(settings.public_url or '').rstrip('/')}/integrations"
    message = f"{who} are sent back to {address}/callback/{name}"
    if told is not None:
        way = f"tells of {told.of} at {address}/hooks/{name}" if is_proven else f"is asked for {told.of} now and then"
        message += f", and {info.name} {way}"
    if public.scheme != "https" and not is_loopback_name(public.hostname or ""):
        return Finding(name, False, message, f"use https in CRM_PUBLIC_URL: {info.name} sends nothing to http")
    return Finding(name, True, message + note)
