"""What a provider asked to wait, for the accounts whose connections do not stay to remember it (decision 1173).

A provider counts what its user and its application ask, whatever our rows are: a connection that is removed and made
anew would ask in the middle of it. A job that is due when the wait is over stands for it, under the account's key.
"""

from collections.abc import Sequence
from datetime import datetime

from contract.integrations import IntegrationProblemCode
from jobs.queue import enqueue
from jobs.sync.problems import NO_PROBLEM, problem
from jobs.work import Run, work
from providers.accounts.ports import AccountError, asking_to_wait
from storage.base import now
from storage.queries import integrations, jobs
from storage.tables import Integration, QueuedJob
from storage.tenancy.sessions import TenantSession

KIND = "integration_wait"


@work(KIND)
async def end(run: Run) -> None:
    """Let the wait be over: until now the job was found, and that was all that it was for."""


async def remember(session: TenantSession, integration: Integration) -> None:
    """Keep what the provider asked of a connection that goes."""
    present, until = now(), integration.retry_at
    is_asked = integration.problem_code == IntegrationProblemCode.RATE_LIMITED or integration.sealed is None
    if not is_asked or until is None or until <= present:
        return
    await keep(session, integration.account_key, until)


async def keep(session: TenantSession, account_key: str, until: datetime) -> None:
    """Have nobody ask for the account until then, whoever connects it."""
    job = await enqueue(session, KIND, {}, delay=until - now(), key=account_key)
    place = await jobs.place(session, job.id)
    if place is not None and place.holder is None and place.due_at < until:  # of another member's, who asked before
        await session.update(place, due_at=until)


async def due(session: TenantSession, integration: Integration, name: str, keys: Sequence[str]) -> dict[str, object]:
    """The columns of a connection whose consent, or address, is new: read at once, unless `name` asked to wait.

    Who gives the consent anew does not cut that short, either (decision 1172). `keys` are those of the account.
    """
    present = now()
    until = await _known_until(session, integration.provider, keys, present)
    if until is None:
        return {**NO_PROBLEM, "failures": 0, "next_sync_at": present}
    error = AccountError(IntegrationProblemCode.RATE_LIMITED, asking_to_wait(name))
    return problem(integration, error, present, until)


async def _known_until(
    session: TenantSession, provider: str, keys: Sequence[str], present: datetime
) -> datetime | None:
    """Until when the provider asked to wait for the account, by whichever connection to it."""
    found = await integrations.asked_until(session, provider, keys, present)
    for key in keys:  # one for each pepper that holds: few
        job = await jobs.unfinished(session, KIND, key)
        place = None if job is None else await session.find(QueuedJob, job_id=job.id)
        if place is not None and place.holder is None and place.due_at > present:
            found = place.due_at if found is None else max(found, place.due_at)
    return found
