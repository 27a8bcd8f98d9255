"""Work at the sequencing provider: how its errors end a job, and the removal of what a deletion leaves behind there."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from jobs.work import Retry, Run, WorkFailed, work
from providers.sequencing import Gone, Refused, Sequencing, SequencingError, Unreachable

REMOVE: Final = "sequence_remove"
REMOVE_LEAD: Final = "lead_remove"
ATTEMPTS: Final = 12


def failure_of(error: SequencingError) -> WorkFailed | Retry:
    """The exception by which a job ends that the provider failed: a refusal is final, all else is tried again."""
    if isinstance(error, Refused):
        return WorkFailed(error.words)
    after = error.after if isinstance(error, Unreachable) else None
    return Retry(error.words, after=None if after is None else timedelta(seconds=after))


@work(REMOVE, attempts=ATTEMPTS)
async def remove_sequence(run: Run, *, provider: str, sequence_id: str) -> None:
    """Remove a sequence that no campaign has any more."""
    with _removing():
        await _own(run, provider).delete(sequence_id)


@work(REMOVE_LEAD, attempts=ATTEMPTS)
async def remove_lead(run: Run, *, provider: str, sequence_id: str, email: str) -> None:
    """Let the provider send a recipient nothing more."""
    with _removing():
        await _own(run, provider).remove_lead(sequence_id, email)


@contextmanager
def _removing() -> Iterator[None]:
    """Take it as fine where the block finds gone already what it removes; other failures fail the job."""
    try:
        yield
    except Gone:
        return
    except SequencingError as error:
        raise failure_of(error) from None


def _own(run: Run, provider: str) -> Sequencing:
    if provider != run.ports.sequencing.name:
        raise Refused(f"The sequence belongs to another provider: {provider}")
    return run.ports.sequencing
