"""Has runs go on that waited for a decision: in this process, or in another where it has no place (decision 503)."""

from contract.chat import CHAT_RUNS_PER_PROCESS, ChatRunStatus
from resolvers.chat_work import Work
from resolvers.shared.context import Context, Services
from storage.base import new_id, now
from storage.queries.watches import watch
from storage.tables import ChatRun, ChatWatch
from storage.tenancy.sessions import TenantSession


def can_answer(services: Services, run: ChatRun) -> bool:
    """Says whether this process asks the same model."""
    model = services.chat_model
    return model is not None and (model.provider, model.name) == (run.provider, run.model)


async def wake(ctx: Context, session: TenantSession, run: ChatRun) -> Work | None:
    """Take a waiting run, locked, under the organization's lock; the work, which `begin` is given after the block."""
    services, moment = ctx.services, now()
    is_here = services.chat_runs.number < CHAT_RUNS_PER_PROCESS and can_answer(services, run)
    until = moment + services.chat.lease if is_here else moment
    holder = new_id() if is_here else None
    run = await session.update(run, status=ChatRunStatus.QUEUED.value, holder=holder, leased_until=until)
    await watch(session, ChatWatch, until)
    return Work(services, run) if is_here else None


def begin(ctx: Context, work: Work | None) -> None:
    """Begin the work once what it follows from is committed."""
    if work is not None:
        ctx.after_commit(lambda: ctx.services.chat_runs.start(work.run(), "chat run"))
