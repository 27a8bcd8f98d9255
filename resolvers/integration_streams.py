"""The streams of a connection: which of them are followed."""

from collections.abc import Sequence

from pydantic import StrictBool, StrictStr

from contract.errors import Problem, Problems
from contract.integrations import IntegrationStreamKind
from resolvers.shared.inputs import Input
from storage.base import as_uuid
from storage.queries import sync
from storage.tenancy.sessions import TenantSession


class StreamChange(Input):
    """Whether a stream is followed."""

    id: StrictStr
    enabled: StrictBool


async def follow(session: TenantSession, integration_id: str, wanted: Sequence[StreamChange]) -> bool:
    """Follow streams or not; whether any changed.

    Raises Problems for one that the connection has not, or that is followed once it is linked to a record.
    """
    streams = {stream.id: stream for stream in await sync.streams(session, integration_id)}
    problems = [
        Problem(("input", "streams", place, "id"), "is no stream of this connection", "reference")
        for place, each in enumerate(wanted)
        if as_uuid(each.id) not in streams
    ]
    if problems:
        raise Problems(problems)
    for place, each in enumerate(wanted):  # a statement for each chat channel, of which there are few
        channel = streams[as_uuid(each.id) or ""]
        if each.enabled and channel.kind == IntegrationStreamKind.CHANNEL and not await sync.about(session, channel.id):
            words = "is a chat channel: link it to the account or the deal that it is about"
            problems.append(Problem(("input", "streams", place, "enabled"), words, "value_error"))
    if problems:
        raise Problems(problems)
    last = {as_uuid(each.id) or "": each.enabled for each in wanted}
    moved = {i: enabled for i, enabled in last.items() if streams[i].enabled != enabled}
    for is_followed in set(moved.values()):
        await sync.follow(
            session, [i for i, enabled in moved.items() if enabled is is_followed], is_followed=is_followed
        )
    return bool(moved)
