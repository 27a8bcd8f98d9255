"""E-mails: messages that were sent or received elsewhere. Logging one sends nothing."""

import re
from collections.abc import Collection
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, StrictStr

from contract.limits import ADDRESSES_MAX, MESSAGE_ID_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import ActivityDirection, ActivityType
from resolvers import activities
from resolvers.activities import Direction
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, Line, Moment, RequiredLine
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Names
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables import Activity
from storage.tables.activities import writable

Addresses = Annotated[list[Line], Field(max_length=ADDRESSES_MAX)]
_MESSAGE_ID = re.compile(r"[\x21-\x7e]+")


def _message_id(text: str) -> str:
    if not _MESSAGE_ID.fullmatch(text):
        raise ValueError("must be ASCII without blanks")
    return text


MessageId = Annotated[
    StrictStr,
    Field(min_length=1, max_length=MESSAGE_ID_MAX, json_schema_extra={"pattern": f"^{_MESSAGE_ID.pattern}$"}),
    AfterValidator(_message_id),
]
"""The header as it is, angle brackets and all: ASCII without blanks."""


@fields_of(Activity, CREATE, only=writable(ActivityType.EMAIL, CREATE))
class EmailLog(Input):
    """A message logged by hand; the same Message-ID again is the same record."""

    subject: RequiredLine
    direction: Direction = ActivityDirection.OUTBOUND
    sent_at: Moment | None = None
    to_addresses: Addresses | None = None
    cc_addresses: Addresses | None = None
    message_id: MessageId | None = None
    thread_id: Line | None = None
    tags: Names | None = None


@fields_of(Activity, UPDATE, only=writable(ActivityType.EMAIL, UPDATE))
class EmailUpdate(Input):
    """Changes to a message that was logged; of one that was synced, links and owner alone (decision 229)."""

    filled: ClassVar[tuple[str, ...]] = ("subject", "direction")

    direction: Direction | None = None
    sent_at: Moment | None = None
    to_addresses: Addresses | None = None
    cc_addresses: Addresses | None = None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def log_email(ctx: Context, input: EmailLog) -> ActivityRow | None:
    """Log a message by hand; however many requests race for a Message-ID, it is kept once."""
    outbound = {"direction": ActivityDirection.OUTBOUND.value}
    return await activities.create(ctx, ActivityType.EMAIL, "logged", outbound | _with_lists(input))


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_email(
    ctx: Context, email_id: str, input: EmailUpdate, *, seen: Collection[int] | None = None
) -> ActivityRow | None:
    """Change a message; `activities.change` says what `seen` is and raises."""
    given, filled = _with_lists(input), input.filled
    return await activities.change(ctx, ActivityType.EMAIL, email_id, given, filled=filled, seen=seen)


def _with_lists(input: Input) -> Given:
    """The fields given, without addresses as an empty list of them."""
    given = input.given()
    return given | {name: given[name] or [] for name in ("to_addresses", "cc_addresses") if name in given}
