"""The streams of a connection: which of them are followed."""

from collections.abc import Sequence

from pydantic import StrictBool, StrictStr

from contract.errors import Problem, Problems
from resolvers.shared.inputs import Input
from storage.base import as_uuid
from storage.queries import sync
from storage.tenancy.sessions import TenantSession


class StreamChange(Input):
    """Whether a stream is followed."""

    id: StrictStr
    enabled: StrictBool


async def follow(session: TenantSession, integration_id: str, wanted: Sequence[StreamChange]) -> bool:
    """Follow streams or not; whether any changed. Raises Problems for one that the connection has not."""
    streams = {stream.id: stream for stream in await sync.streams(session, integration_id)}
    problems = [
        Problem(("input", "streams", place, "id"), "is no stream of this connection", "reference")
        for place, each in enumerate(wanted)
        if as_uuid(each.id) not in streams
    ]
    if problems:
        raise Problems(problems)
    last = {as_uuid(each.id) or "": each.enabled for each in wanted}
    moved = {i: enabled for i, enabled in last.items() if streams[i].enabled != enabled}
    for is_followed in set(moved.values()):
        await sync.follow(
            session, [i for i, enabled in moved.items() if enabled is is_followed], is_followed=is_followed
        )
    return bool(moved)
