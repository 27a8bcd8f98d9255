"""Takes up the runs of chats whose process is no more: any process that serves does, after the lease (decision 331)."""

import asyncio
import logging
from collections.abc import Callable

from contract.chat import CHAT_ATTEMPTS_MAX, CHAT_RUNS_PER_PROCESS, ERROR_WORDS, ChatErrorCode, ChatEventType
from contract.chat import ChatApprovalStatus as ApprovalStatus
from contract.chat import ChatRunStatus as Status
from contract.error_origin import origin_of
from resolvers.chat_decisions import close_all, untold
from resolvers.chat_tokens import book, columns_of, used_by
from resolvers.chat_waking import can_answer
from resolvers.chat_work import Work, finished
from resolvers.shared.context import Services
from storage.base import new_id, now
from storage.clusters import found_on_servers
from storage.queries import chat_approvals as approvals
from storage.queries import chat_runs as statements
from storage.queries.model_usage import Used
from storage.queries.records import lock_organization
from storage.queries.watches import organizations_to_look_at, put_off
from storage.tables import ChatRun, ChatWatch
from storage.tenancy.sessions import TenantSession

_PAUSE_SECONDS = 1.0
_OPEN = (ApprovalStatus.PENDING.value, ApprovalStatus.APPROVED.value)

_log = logging.getLogger(__name__)


async def keep_taking(services: Callable[[], Services], stopping: asyncio.Event) -> None:
    """Look again and again for runs that nobody works on; what the database does not let it do yet it tries again."""
    in_trouble = False
    while not stopping.is_set():
        try:
            await take(services())
            in_trouble = False
        except Exception as error:
            if not in_trouble:
                _log.error("no runs can be taken up type=%s at=%s", type(error).__name__, origin_of(error))
            in_trouble = True
        await asyncio.sleep(_PAUSE_SECONDS)


async def take(services: Services) -> None:
    """Take up the runs whose leases are over, of any organization; a read alone where no organization has one."""
    found = await found_on_servers(services.database, lambda s: organizations_to_look_at(s, ChatWatch, now()))
    for org_id in found:  # a transaction of each organization's own, as everything is
        await _take(services, org_id)


async def _take(services: Services, org_id: str) -> None:
    begun: list[tuple[ChatRun, bool]] = []
    given_up: list[tuple[str, Used]] = []
    async with services.database.writing(org_id) as session:
        await lock_organization(session)
        moment = now()
        for run in await statements.abandoned(session, moment):  # of an organization there are fifty at most
            if run.attempts >= CHAT_ATTEMPTS_MAX and run.holder is not None:
                given_up.append((run.provider, await _interrupt(session, run)))
            elif services.chat_runs.number + len(begun) < CHAT_RUNS_PER_PROCESS and can_answer(services, run):
                attempts = run.attempts + (run.holder is not None)
                until = moment + services.chat.lease
                values = {"holder": new_id(), "leased_until": until, "attempts": attempts}
                is_new = run.holder is None and run.status != Status.RUNNING.value  # nobody had begun to go on with it
                begun.append((await session.update(run, **values), not is_new))
            else:  # another process looks as well
                await session.update(run, leased_until=moment + services.chat.lease)
        await put_off(session, ChatWatch, await statements.next_lease(session))
    for provider, used in given_up:
        services.chat_counts.ended(provider, ChatErrorCode.INTERRUPTED, used.read, used.written)
    for run, is_resumed in begun:
        services.chat_runs.start(Work(services, run, is_resumed=is_resumed).run(), "chat run")


async def _interrupt(session: TenantSession, run: ChatRun) -> Used:
    """End a run that was taken up often enough; what it had of its model."""
    code = ChatErrorCode.INTERRUPTED
    error = {"code": code.value, "message": ERROR_WORDS[code], "retryable": True}
    known = await approvals.of_run(session, run)
    decisions = untold(known, await statements.told_calls(session, run, ChatEventType.APPROVAL_DECIDED))
    await close_all(run, [one for one in known if one.status in _OPEN], session)
    events = [*decisions, (ChatEventType.ERROR, error), finished(Status.FAILED, code, None)]
    await statements.append(session, run, run.last_sequence, events)
    used = used_by(run)
    await book(session, run, used)
    await session.update(
        run,
        **columns_of(used),
        status=Status.FAILED.value,
        error_code=code.value,
        finished_at=now(),
        leased_until=None,
        last_sequence=run.last_sequence + len(events),
    )
    return used
