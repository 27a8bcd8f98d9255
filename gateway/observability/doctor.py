"""Looks for the common mistakes for `doctor`, each with what is wrong and what to do about it."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from contract.demo import ADMIN
from contract.errors import GatewayError, Unavailable
from contract.integrations import IntegrationStatus
from contract.limits import MODEL_SECONDS, STATEMENT_SECONDS
from gateway.addresses import is_loopback_name
from gateway.core import Core
from gateway.data_folder import open_files
from gateway.observability.doctor_replication import of_clusters, of_hosts, of_moves, of_replicas
from gateway.observability.doctor_settings import Finding, of_settings
from gateway.setting_sources import Stranger
from gateway.settings import Settings
from identity import directory
from identity.secrets import mark, peppers
from providers.mail import MailError
from storage.base import now
from storage.clusters import found_on_servers
from storage.database import Database
from storage.folders import mode_of
from storage.postgres.replication import hosts_of, replicas_at
from storage.queries import credentials, integration_states, jobs, watches, webhooks
from storage.queries.organizations import all_ids
from storage.tenancy.sessions import TenantSession

if TYPE_CHECKING:
    from providers.models import Model

MIB = 1024 * 1024
SPACE_LEAST = 512 * MIB
SKEW_MOST = timedelta(seconds=5)
LATE_MOST = timedelta(minutes=1)


async def examine(core: Core, strangers: Sequence[Stranger] = ()) -> list[Finding]:
    """Everything, the database first; what needs the database is left out where it cannot be reached."""
    settings = core.settings
    if core.keys is not None:
        await core.keys.refresh()
    checks = await core.readiness()
    asked = ("artifacts", "clusters", "mail", "model")  # below, by using them
    findings = [Finding(c.name, c.ok, c.message, ADVICE.get(c.name, "")) for c in checks if c.name not in asked]
    found = {check.name: check.ok for check in checks}
    findings += _of_files(settings)
    findings += of_settings(settings, strangers)
    if found["database"]:
        findings.append(await _row_security(core))
        findings.append(await _clock(core))
        findings.append(await _timeouts(core))
        if hosts := await hosts_of(core.database.url):
            findings += of_hosts(hosts)
        if core.database.clusters is not None:
            findings += [finding async for finding in of_clusters(core.database.clusters)]
            findings += [finding async for finding in of_moves(core.database)]
        if (replicas := core.database.replicas) is not None:
            findings += of_replicas(await replicas_at([one.database.url for one in replicas.all]))
    if found["database"] and found["migrations"]:
        findings.append(await _jobs(core))
        findings.append(await _credentials(core))
        findings.append(await _demo(core))
        findings.append(await _roll_ups(core))
        findings.append(await _connections(core))
        findings.append(await _analytics(core))
    findings.append(await _artifacts(core))
    findings.append(await _mail(core))
    if core.model is not None:
        findings.append(await _model(core.model))
    if settings.model_url is not None:
        findings.append(await _chat_model(core))
    return findings


ADVICE = {
    "database": "look at CRM_DATABASE_URL, and whether the server runs and lets this machine in",
    "migrations": "run `crm-gateway migrate`",
    "worker": "look at its log; it may not reach the database",
    "identity_provider": "look at CRM_OIDC_ISSUER and CRM_OIDC_JWKS_URL, and whether this machine may call there; "
    "session tokens are refused until then",
}
"""What to do about a check of /ready that fails."""


def _of_files(settings: Settings) -> Iterator[Finding]:
    folder = settings.data_dir
    mode = stat.S_IMODE(folder.stat().st_mode)
    yield Finding("data_dir", mode & 0o077 == 0, f"{folder} has mode {mode:04o}", f"chmod 700 {folder}")
    for file in open_files(settings):
        message = f"{file} is open to others than its owner (mode {mode_of(file)})"
        yield Finding("database_file", False, message, f"chmod 600 {file}; `serve` does so when it starts")
    env_file = Path(".env")
    if env_file.exists():
        mode = stat.S_IMODE(env_file.stat().st_mode)
        advice = "chmod 600 .env, and change the secrets that were in it"
        yield Finding("env_file", mode & 0o077 == 0, f".env has mode {mode:04o}", advice)
    free = shutil.disk_usage(folder).free
    yield Finding(
        "disk_space",
        free >= SPACE_LEAST,
        f"{free // MIB} MiB free in {folder}",
        f"have {SPACE_LEAST // MIB} MiB free at least: a full disk refuses every write",
    )


async def _row_security(core: Core) -> Finding:
    bypassed, replicas = await core.database.bypasses_row_security(), core.database.replicas
    for one in replicas.all if replicas else ():
        with suppress(Unavailable):  # which has a finding of its own
            bypassed = await one.database.bypasses_row_security() or bypassed
    message = "the database role bypasses it" if bypassed else "in force; on SQLite there is none"
    advice = "use an ordinary role: ALTER ROLE … NOSUPERUSER NOBYPASSRLS"
    return Finding("row_security", not bypassed, message, advice)


async def _clock(core: Core) -> Finding:
    """Says whether both machines have the same time: what expires is compared with either."""
    skew = abs(now() - await core.database.clock())
    advice = "keep both clocks by NTP: tokens would end too early or too late"
    return Finding("clock", skew <= SKEW_MOST, f"{skew.total_seconds():.1f} s from the database's", advice)


async def _timeouts(core: Core) -> Finding:
    """The service ends a statement by itself; a server that does so earlier turns slow answers into refusals."""
    early = {name: s for name, s in (await core.database.timeouts()).items() if s < STATEMENT_SECONDS}
    message = ", ".join(f"{name} is {seconds:g} s" for name, seconds in early.items()) or "the server's leave time"
    advice = f"let the role have {STATEMENT_SECONDS} s at least: ALTER ROLE … SET {next(iter(early), 'x')} = 0"
    return Finding("timeouts", not early, message, advice)


async def _jobs(core: Core) -> Finding:
    """Says whether somebody takes what is due: where nothing waits, nobody may be needed (decision 628)."""
    async with core.database.directory() as session:
        depth = await jobs.depth(session)
        beating = await jobs.beating(session, now() - timedelta(seconds=core.settings.job_lease_seconds))
    late = _since(depth.first_due_at)
    message = f"{depth.due} due, the first for {late.total_seconds():.0f} s; {beating or 'no'} {_BEAT[beating == 1]}"
    advice = "start `crm-gateway worker`, or `serve` without --no-worker; where one runs, look at its log"
    if not beating and (unbegun := _since(await _unbegun(core.database))) > LATE_MOST:
        late = max(late, unbegun)
        message += f", and what they begin by themselves has waited for {unbegun.total_seconds():.0f} s"
    return Finding("jobs", beating > 0 or late <= LATE_MOST, message, advice)


_BEAT: Final = ("workers beat", "worker beats")


async def _unbegun(database: Database) -> datetime | None:
    """Says since when something waits that workers begin by themselves: a webhook's event, a report, a reminder."""
    found = await found_on_servers(database, _looked_at)
    for org_id in dict.fromkeys(await found_on_servers(database, webhooks.organizations)):
        async with database.reading(org_id) as session:  # a session is of one organization
            found.append(await webhooks.undelivered_since(session))
    return min(filter(None, found), default=None)


async def _looked_at(session: TenantSession) -> list[datetime | None]:
    return [await watches.earliest(session)]


def _since(moment: datetime | None) -> timedelta:
    return max(timedelta(), now() - moment) if moment else timedelta()


async def _credentials(core: Core) -> Finding:
    """Says whether the pepper is the one that the credentials were stored with (decision 125)."""
    pepper = core.pepper
    known = {mark(bytes(one)) for one in peppers(pepper)}
    async with core.database.directory() as session:
        counted = await credentials.marks(session, now())
    strange = sum(number for of, number in counted.items() if of.endswith("$") and of not in known)
    earlier = sum(number for of, number in counted.items() if of in known - {mark(bytes(pepper))})
    if strange:
        message = f"{strange} of {sum(counted.values())} were made with a pepper that is not here, and are refused"
        advice = (
            "put the pepper of that time back, as `pepper` or beside it as `pepper.previous`; where it is lost, have "
            "these credentials revoked and made anew"
        )
        return Finding("credentials", False, message, advice)
    note = f"; {earlier} not used since the pepper was changed" if earlier else ""
    return Finding("credentials", True, f"{sum(counted.values())} live{note}")


async def _demo(core: Core) -> Finding:
    """The demo is for trying things out: everybody who reads the source knows its members."""
    there = await directory.memberships(core.database, ADMIN)
    public = core.settings.public_url
    is_public = public is not None and not is_loopback_name(urlsplit(public).hostname or "")
    advice = "start from an empty database, without --demo"
    return Finding("demo_data", not (there and is_public), "present" if there else "none", advice)


async def _roll_ups(core: Core) -> Finding:
    """Says whether the figures that are kept ready are what is counted anew (decision 264)."""
    async with core.database.directory() as session:
        every = await all_ids(session)
    if not every:
        return Finding("roll_ups", True, "right in 0 organizations")
    from jobs.roll_ups import put_right  # with what counts deals and meetings

    differing = [org_id for org_id in every if await put_right(core.database, org_id, dry=True)]
    message = f"differ in {', '.join(differing)}" if differing else f"right in {len(every)} organizations"
    return Finding("roll_ups", not differing, message, "run `crm-gateway analytics rebuild`")


async def _connections(core: Core) -> Finding:
    """Says where members have to do something, so that their accounts are read again: by number and organization."""
    async with core.database.directory() as session:
        every = await all_ids(session)
    waiting, total = dict[str, int](), 0
    for org_id in every:  # a session is of one organization
        async with core.database.reading(org_id) as session:
            numbers = {row.status: row.number for row in await integration_states.states(session)}
        total += sum(numbers.values())
        if number := numbers.get(IntegrationStatus.ACTION_REQUIRED.value):
            waiting[org_id] = number
    message = f"{total}, none needs action"
    if waiting:
        message = "need action: " + ", ".join(f"{number} of {org_id}" for org_id, number in waiting.items())
    advice = "their members connect again; each connection's `problem` says what is wrong"
    return Finding("connections", not waiting, message, advice)


async def _analytics(core: Core) -> Finding:
    """Says whether the login of ad-hoc SQL may do what the catalogue says, and no more."""
    login = core.settings.analytics_database_url.get_secret_value()
    if core.database.dialect == "sqlite":
        return Finding("analytics", True, "reads the file on connections of its own")
    if not login:
        return Finding("analytics", True, "no ad-hoc SQL: CRM_ANALYTICS_DATABASE_URL is not set")
    # With what rewrites statements of callers, where there is a login for them.
    from storage.analytics.grants import faults
    from storage.analytics.postgresql_runner import PostgresqlRunner

    runner = PostgresqlRunner(login)
    advice = "run what `crm-gateway analytics role` prints as a superuser, and look at CRM_ANALYTICS_DATABASE_URL"
    try:
        wrong = await runner.examined(faults)
    except Unavailable:
        return Finding("analytics", False, "its login cannot connect", advice)
    finally:
        await runner.close()
    return Finding("analytics", not wrong, "; ".join(wrong) or "its login may read the catalogue's columns", advice)


async def _model(model: "Model") -> Finding:
    """Ask the language model for one word, in the form in which it answers questions."""
    from providers.models import ModelError, ModelNonsense  # with the client of other services, where there is a model

    advice = "look at CRM_MODEL_URL, CRM_MODEL_NAME and CRM_MODEL_API_KEY; questions that the parser declines stay so"
    try:
        await model.complete(_ONE_WORD, _WORD, MODEL_SECONDS)
    except ModelNonsense as error:
        return Finding("model", False, f"{model.name}: {error}", "name a model that can answer by a JSON schema")
    except ModelError as error:
        return Finding("model", False, f"{model.name}: {error}", advice)
    return Finding("model", True, f"{model.name} answers")


async def _chat_model(core: Core) -> Finding:
    """Ask the language model for a word, as chats ask it."""
    # With the client of other services, where there is a model.
    from gateway.core import chat_model_of
    from providers.chat_models import Conversation, Said, Text
    from providers.models import ModelError

    settings = core.settings
    asked = Conversation("Answer with one word.", [Said("Are you ready?")], [], "doctor", now(), output_tokens_max=256)
    model = chat_model_of(settings, core.calls)
    try:
        said = [delta async for delta in model.answer(asked, settings.model_timeout_seconds)]
    except ModelError as error:
        advice = "look at CRM_MODEL_URL, CRM_MODEL_NAME, CRM_MODEL_API_KEY and CRM_MODEL_KIND; runs of chats fail"
        return Finding("chat_model", False, f"{model.name}: {error}", advice)
    finally:
        await model.close()
    if not any(isinstance(delta, Text) for delta in said):
        return Finding("chat_model", False, f"{model.name}: it says nothing", "name a model that answers in words")
    return Finding("chat_model", True, f"{model.name} answers chats")


_ONE_WORD: Final = ({"role": "user", "content": 'Answer with {"word": "ready"}.'},)
_WORD: Final = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


async def _artifacts(core: Core) -> Finding:
    """Write and remove a file, as a render would."""
    store, name = core.artifacts, f"doctor/{os.urandom(8).hex()}.txt"
    advice = "look at CRM_ARTIFACTS_URL (or CRM_DATA_DIR), the folder's owner, or the bucket's credentials"
    try:
        await store.put(name, b"doctor")
        await store.delete(name)
    except (OSError, GatewayError) as error:
        return Finding("artifact_store", False, f"cannot be written to: {type(error).__name__}", advice)
    return Finding("artifact_store", True, "can be written to")


async def _mail(core: Core) -> Finding:
    """Let the mail server greet and let in, by TLS; nothing is sent."""
    advice = "look at CRM_MAIL_URL, and whether this machine may call there; messages wait and are tried for six hours"
    try:
        return Finding("mail", True, await core.mail.check())
    except MailError as error:
        return Finding("mail", False, f"the mail server {error}", advice)
