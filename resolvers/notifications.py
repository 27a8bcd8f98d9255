"""Notifications of callers: recorded in the change log, and handed to the organization's workflow actor, at best."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictStr

from contract.errors import Problem, Problems
from contract.limits import NOTIFICATION_MAX_BYTES, NOTIFICATION_TYPE_MAX
from contract.scopes import ScopeGroup
from providers.notifications import Notification
from resolvers.shared import changes, lists
from resolvers.shared.access import FINDABLE, requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Reference, json_object
from resolvers.shared.sentences import ABSENT
from resolvers.shared.told_at_once import leading
from storage.base import JsonDict, as_uuid
from storage.event_types import EVENT_TYPES
from storage.queries import merged_ids
from storage.queries.kinds import kinds_of
from storage.tenancy.sessions import TenantSession

_EMITTED = "notification_emitted"
_TYPE = rf"[a-z0-9_]{{1,{NOTIFICATION_TYPE_MAX}}}"


def _type(text: str) -> str:
    if re.fullmatch(_TYPE, text) is None:
        raise ValueError(f"must be 1 to {NOTIFICATION_TYPE_MAX} of a-z, 0-9 and _")
    if text in EVENT_TYPES:
        raise ValueError("is one of the service's own event types")
    return text


def _data(value: object) -> object:
    return None if value is None else json_object(value, NOTIFICATION_MAX_BYTES)[0]


async def _to_readable(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
    """The look for records that the caller may read; an event names one."""
    return {each: ABSENT for each in identifiers if await _found(ctx, session, each) is None}


@leading({("record_id",): _to_readable})
class NotificationEmit(Input):
    """An event for the organization's workflow actor."""

    type: Annotated[StrictStr, AfterValidator(_type), Field(json_schema_extra={"pattern": f"^{_TYPE}$"})]
    data: Annotated[
        Any, BeforeValidator(_data, json_schema_input_type=JsonDict | None)  # Any: what is in it is the caller's
    ] = None
    record_id: Reference | None = None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def emit_notification(ctx: Context, input: NotificationEmit) -> str:
    """Note the event in the change log and hand it over after the commit; the identifier of what was noted.

    The log says which type and which record it was, and no word of the data (decision 418). Raises Problems for a
    record that there is not, or that the caller may not read.
    """
    async with ctx.writing() as session:
        record = None if input.record_id is None else await _found(ctx, session, input.record_id)
        if input.record_id is not None and record is None:
            raise Problems([Problem(("input", "record_id"), ABSENT, "reference")])
        event = await changes.append_event(ctx, session, _EMITTED, {"type": input.type, "record_id": record})
    data = {**(input.data or {}), **({} if record is None else {"record_id": record})}
    organization = ctx.active_organization.external_id
    notification = Notification(
        event.id, organization, input.type, event.occurred_at, ctx.request_id, data, counted_as=_EMITTED
    )
    ctx.after_commit(lambda: ctx.services.notifications.hand(notification))
    return event.id


async def _found(ctx: Context, session: TenantSession, identifier: str) -> str | None:
    """The record that the identifier names, or leads to since a merge; None for one that the caller may not read."""
    canonical = as_uuid(identifier)
    found = {kind: listable for kind, (listable, rule) in FINDABLE.items() if rule.admits(ctx.principal)}
    readable = {kind: lists.readable(ctx, listable) for kind, listable in found.items()}
    if canonical is None or await kinds_of(session, readable, [canonical]):
        return canonical
    stays = (await merged_ids.leading(session, [canonical])).get(canonical)
    return stays if stays is not None and await kinds_of(session, readable, [stays]) else None
