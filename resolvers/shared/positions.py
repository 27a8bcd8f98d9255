"""How fresh a read has to be: the position of a write, and what a request asks of its reads (decisions 995 and 996)."""

import re
from dataclasses import dataclass

from contract.criteria import PageWindow
from contract.errors import Path, Problem, Problems
from resolvers.shared.context import Context
from storage.queries import events, listables
from storage.queries.paging import decode

HEADER = "X-Position"
ASKED = "X-Read-After"
_NONE = "none"
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)
_AT: Path = ("header", ASKED)


@dataclass(frozen=True, slots=True)
class ReadAfter:
    """What a request asks of its reads: everything up to this event; None is content with what is a little late."""

    sequence: int | None


def read_after(text: str, at: Path = _AT) -> ReadAfter:
    """What the text asks for: a position, an event's cursor, or `none`. Raises Problems for anything else."""
    if text == _NONE:
        return ReadAfter(None)
    if _NUMBER.fullmatch(text):
        return ReadAfter(int(text))
    try:
        (sequence,) = decode(PageWindow(after=text), listables.EVENTS, None)
    except Problems:
        words = f"{ASKED} must be a position, the cursor of an event, or none"
        raise Problems([Problem(at, words, "read_after")]) from None
    return ReadAfter(sequence)


def follow(ctx: Context, asked: ReadAfter | None) -> None:
    """Let replicas answer the reads of a request whose credential was looked at just now, as fresh as they have to be.

    Who asks for nothing gets nothing older than the beginning of the request. A number that the log has not reached
    asks for what is there now.
    """
    replicas, caller = ctx.services.database.replicas, ctx.principal
    if replicas is None or caller is None or caller.position is None or caller.organization is None:
        return
    if asked is None:
        ctx.at_least = caller.position
    elif asked.sequence is None:
        ctx.at_least = replicas.lately(caller.organization.id, caller.position)
    else:
        ctx.at_least = min(asked.sequence, caller.position)


async def note_position(ctx: Context) -> None:
    """Note how far the log goes for a write that was made before, whose own position nobody keeps."""
    if ctx.caller.organization is None:
        return
    async with ctx.services.database.reading(ctx.org_id) as session:
        ctx.reached(await events.last_sequence(session))
