"""Giving records their next version, where a tag was changed that many of them show (decision 1104)."""

from collections.abc import Mapping, Sequence

from contract.limits import TAG_COPIES_BATCH, TAG_TOUCHES_TOGETHER
from contract.vocabulary import TaggedKind
from jobs.queue import enqueue_each
from jobs.work import Run, work
from storage.queries import jobs, tags
from storage.queries.records import append_event
from storage.tenancy.sessions import TenantSession

KIND = "tagged_records"
_SECONDS = 3_600.0


async def enqueue_touching(session: TenantSession, ids: Mapping[TaggedKind, Sequence[str]], *, actor: str) -> None:
    """Have these records get their next version, once this transaction is committed."""
    parts = [
        {"kind": kind.value, "ids": of_kind[start : start + TAG_TOUCHES_TOGETHER], "actor": actor}
        for kind, of_kind in ids.items()
        for start in range(0, len(of_kind), TAG_TOUCHES_TOGETHER)
    ]
    if parts:
        await enqueue_each(session, KIND, parts)


@work(KIND, seconds=_SECONDS)
async def touch(run: Run, *, kind: str, ids: Sequence[str], actor: str) -> None:
    """Give the records that there are still of these their next version."""
    left = list(ids)
    while left:  # so many in each turn, and a transaction of its own
        async with run.writing() as session:
            part, left = left[:TAG_COPIES_BATCH], left[TAG_COPIES_BATCH:]
            there = sorted(await tags.lock_records(session, part))
            await tags.touch(session, TaggedKind(kind), there)
            job = await jobs.find(session, run.job_id, lock=True)
            if job is not None:  # an attempt that is cut off goes on from there
                await session.update(job, arguments={"kind": kind, "ids": left, "actor": actor})
            if there:  # every change of a record brings an event, and nothing is locked after it
                data = {"ids": there, "added": 0, "removed": 0}
                await append_event(session, type="records_tagged", area="crm", actor=actor, request_id=None, data=data)
