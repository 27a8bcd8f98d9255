"""Calls: telephone calls that took place or are planned."""

from collections.abc import Collection
from typing import ClassVar

from contract.scopes import ScopeGroup
from contract.vocabulary import ActivityDirection, ActivityType
from resolvers import activities
from resolvers.activities import Direction
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Moment, RequiredLine
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Names
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables import Activity
from storage.tables.activities import writable


@fields_of(Activity, CREATE, only=writable(ActivityType.CALL, CREATE))
class CallLog(Input):
    """A call logged by hand."""

    subject: RequiredLine
    direction: Direction = ActivityDirection.OUTBOUND
    started_at: Moment | None = None
    tags: Names | None = None


@fields_of(Activity, UPDATE, only=writable(ActivityType.CALL, UPDATE))
class CallUpdate(Input):
    """Changes to a call; null clears a field that may be empty."""

    filled: ClassVar[tuple[str, ...]] = ("subject", "direction")

    direction: Direction | None = None
    started_at: Moment | None = None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def log_call(ctx: Context, input: CallLog) -> ActivityRow | None:
    """Log a call by hand."""
    outbound = {"direction": ActivityDirection.OUTBOUND.value}
    return await activities.create(ctx, ActivityType.CALL, "logged", outbound | input.given())


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_call(
    ctx: Context, call_id: str, input: CallUpdate, *, seen: Collection[int] | None = None
) -> ActivityRow | None:
    """Change a call; `activities.change` says what `seen` is and raises."""
    return await activities.change(ctx, ActivityType.CALL, call_id, input.given(), filled=input.filled, seen=seen)
