"""Copying the names of their tags to leads, where a tag was changed that many of them have (decision 192)."""

from contract.limits import TAG_COPIES_BATCH
from jobs.queue import enqueue
from jobs.work import Run, work
from storage.base import FIRST_ID
from storage.queries import jobs, tags
from storage.tenancy.sessions import TenantSession

KIND = "lead_tags"
_SECONDS = 3_600.0


async def enqueue_copying(session: TenantSession) -> None:
    """Have the names copied to every lead that has others, once this transaction is committed."""
    await enqueue(session, KIND, {})


@work(KIND, seconds=_SECONDS)
async def copy(run: Run, *, after: str = FIRST_ID) -> None:
    """Go through the leads by their identifiers, from behind this one on."""
    while True:  # so many in each turn, and a transaction of its own
        async with run.writing() as session:
            # A statement of its own: the next one sees what others had put on the leads until they let go of them.
            ids = await tags.lock_leads_behind(session, after, TAG_COPIES_BATCH)
            await tags.copy_names_that_differ(session, ids)
            if len(ids) < TAG_COPIES_BATCH:
                return
            after = ids[-1]
            job = await jobs.find(session, run.job_id, lock=True)
            if job is not None:  # an attempt that is cut off goes on from there
                await session.update(job, arguments={"after": after})
