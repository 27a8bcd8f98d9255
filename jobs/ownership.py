"""Handing records over: a thousand in a transaction, each of them once (decision 226)."""

from collections.abc import Sequence

from contract.limits import TRANSFER_BATCH
from contract.scopes import ScopeGroup
from contract.vocabulary import OwnedKind
from jobs.queue import enqueue
from jobs.work import Run, WorkFailed, work
from storage.base import FIRST_ID, JsonDict
from storage.queries import history, jobs, members, ownership
from storage.queries.records import append_event
from storage.tables import Job
from storage.tenancy.sessions import TenantSession

KIND = "ownership_transfer"
_SECONDS = 3_600.0


async def enqueue_transfer(
    session: TenantSession,
    source: str,
    target: str,
    *,
    actor: str,
    kinds: Sequence[OwnedKind] = tuple(OwnedKind),
    open_only: bool = False,
    total: int | None = None,
    is_watched: bool = True,
) -> Job:
    """Have the records handed over on behalf of the actor, at whose scopes the job looks while it is watched."""
    if total is None:
        total = (await ownership.owned(session, [source]))[source].of(kinds, open_only=open_only).total
    arguments = {
        "source": source,
        "target": target,
        "kinds": [kind.value for kind in ownership.kinds_to_move(kinds, open_only=open_only)],
        "open_only": open_only,
        "total": total,
        "actor": actor,
        "is_watched": is_watched,
    }
    return await enqueue(session, KIND, arguments)


@work(KIND, seconds=_SECONDS)
async def transfer(
    run: Run,
    *,
    source: str,
    target: str,
    kinds: Sequence[str],
    open_only: bool,
    total: int,
    actor: str,
    is_watched: bool,
    place: JsonDict | None = None,
) -> None:
    """Move what is left, from the place on that the last batch was at."""
    at = dict(place or {"kind": 0, "after": FIRST_ID, "moved": 0})
    while at["kind"] < len(kinds):  # a batch in each turn, and a transaction of its own
        kind = OwnedKind(kinds[at["kind"]])
        async with run.writing() as session:
            await _check(session, actor if is_watched else None, target, at["moved"])
            ids = await ownership.move(
                session, kind, source, target, after=at["after"], size=TRANSFER_BATCH, open_only=open_only
            )
            if ids:
                at = {"kind": at["kind"], "after": ids[-1], "moved": at["moved"] + len(ids)}
            if len(ids) < TRANSFER_BATCH:
                at = {"kind": at["kind"] + 1, "after": FIRST_ID, "moved": at["moved"]}
            await _note(session, run.job_id, at, total)
            if ids:
                data = {"kind": kind.value, "from": source, "to": target, "ids": ids}
                subject = history.kind_of(ownership.MODELS[kind])
                await append_event(
                    session,
                    type="ownership_transferred",
                    area="admin",
                    actor=actor,
                    request_id=None,
                    data=data,
                    told=[history.Told(subject, i, {"owner_id": [source, target]}) for i in ids] if subject else (),
                )


async def _check(session: TenantSession, actor: str | None, target: str, moved: int) -> None:
    """Raises WorkFailed where the actor may do so no more, or the new owner is no active member."""
    done = f"{moved} records were handed over before"
    if actor is not None:
        scopes = (await members.scopes_of(session, [actor])).get(actor, frozenset())
        if not ScopeGroup.ORG_ADMIN.passes(scopes):
            raise WorkFailed(f"Who asked for it is no administrator any more; {done}")
    if not await members.is_active(session, target):
        raise WorkFailed(f"The new owner is no active member any more; {done}")


async def _note(session: TenantSession, job_id: str, at: JsonDict, total: int) -> None:
    """Keep the place with the batch, so that an attempt that was cut off goes on behind it."""
    job = await jobs.find(session, job_id, lock=True)
    if job is not None:
        progress = min(1.0, at["moved"] / total) if total else 1.0
        await session.update(job, arguments={**job.arguments, "place": dict(at)}, progress=progress)
