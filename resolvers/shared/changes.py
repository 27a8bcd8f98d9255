"""Changes a record: under the version that the caller saw, with references that lead somewhere."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from contract.errors import Path, PreconditionFailed, Problem, Problems
from providers.notifications import Notification
from resolvers.shared.context import Acting, Context
from resolvers.shared.inputs import Given
from resolvers.shared.sentences import ABSENT, INACTIVE
from storage.base import JsonDict, Record, Stored, as_uuid, new_id, now
from storage.new_rows import new_row
from storage.queries import members, merged_ids, records
from storage.queries.history import Told
from storage.tables import Event
from storage.tenancy.sessions import TenantSession

R = TypeVar("R", bound=Stored)


def expect(
    record: Any,  # Any: one that has versions, if any are named
    version: int | None,
    seen: Collection[int] | None = None,
) -> None:
    """Raise PreconditionFailed where the current version is not the one that the caller saw, or none of those."""
    stale = (version is not None and version != record.version) or (seen is not None and record.version not in seen)
    if stale:
        raise PreconditionFailed(field=("input", "expected_version"))


async def apply(session: TenantSession, record: R, fields: Mapping[str, object]) -> tuple[R, list[str]]:
    """Set what differs; the row then, and the names of that. Where there are none, nothing is done (decision 20)."""
    changed = differences(record, fields)
    if not changed:
        return record, []
    return await session.update(record, **changed, **next_version(record)), sorted(changed)


def differences(record: Stored, fields: Mapping[str, object]) -> Given:
    """The fields that are not as the record has them."""
    return {name: value for name, value in fields.items() if getattr(record, name) != value}


def as_changed(record: R, values: Mapping[str, object]) -> R:
    """The row as it would be."""
    changed: R = record._replace(**values)  # type: ignore[attr-defined]  # a named tuple
    return changed


def next_version(record: Stored) -> Given:
    """Makes the values that every change sets besides: none for a record that has no versions."""
    return {"version": record.version + 1, "updated_at": now()} if hasattr(record, "version") else {}


async def append_event(
    ctx: Acting,
    session: TenantSession,
    type: str,
    data: JsonDict,
    *,
    area: str = "crm",
    told: Sequence[Told] = (),
) -> Event:
    """Append to the organization's change log what the caller did, in the transaction that does it (part 6).

    Gives the event. Its table names every type in `__events__`. What is `told` goes into the records' histories.
    """
    return await records.append_event(session, **event_values(ctx, type, data, area=area), told=told)


def event_draft(ctx: Context, type: str, data: JsonDict, *, area: str = "crm") -> Event:
    """The draft of that event, without its number."""
    return new_row(Event, sequence=0, **event_values(ctx, type, data, area=area))


def event_values(ctx: Acting, type: str, data: JsonDict, *, area: str = "crm") -> Given:
    """Makes the change log's event on something that the caller did, but for its number."""
    told = {**data, **ctx.via}
    return {"type": type, "area": area, "actor": ctx.subject, "request_id": ctx.request_id, "data": told}


def notify(ctx: Context, type: str, data: JsonDict, *, at: datetime | None = None) -> None:
    """Hand a notification to the organization's workflow service once this is committed, at best (part 6)."""
    organization = ctx.active_organization.external_id
    notification = Notification(new_id(), organization, type, at or now(), ctx.request_id, data)
    ctx.after_commit(lambda: ctx.services.notifications.hand(notification))


async def check_references(session: TenantSession, fields: Given, models: Mapping[str, type[Record]]) -> Given:
    """Raise Problems for every given reference that leads to no record of the organization.

    An owner has to be an active member (decision 223). What is named by an identifier that a merge took away is given
    back with the one of the record that stayed (decision 435).
    """
    led, lost = await followed(session, fields, models)
    if lost:
        raise Problems(lost)
    return led


async def followed(
    session: TenantSession, fields: Given, models: Mapping[str, type[Record]], at: Path = ("input",)
) -> tuple[Given, list[Problem]]:
    """The references that lead elsewhere since a merge, by where; and what is wrong with the others."""
    given = {name: (model, fields[name]) for name, model in models.items() if fields.get(name) is not None}
    led, missing = await existing(session, given)
    problems = [Problem((*at, name), ABSENT, "reference") for name in missing]
    owner = fields.get("owner_id")
    if owner is not None and not await members.is_active(session, owner):
        problems.append(Problem((*at, "owner_id"), INACTIVE, "reference"))
    return led, problems


async def existing(
    session: TenantSession, references: Mapping[str, tuple[type[Record], str]]
) -> tuple[Given, list[str]]:
    """Finds references that lead to another record since a merge, each with that; and the names of those to none."""
    missing = await records.missing_references(session, references)
    return await _led(session, {name: references[name] for name in missing}) if missing else ({}, [])


async def _led(session: TenantSession, missing: Mapping[str, tuple[type[Record], str]]) -> tuple[Given, list[str]]:
    """The references that lead to records that stayed, by those; and the names of the others."""
    ids = {name: as_uuid(i) for name, (model, i) in missing.items() if merged_ids.can_lead(model)}
    leads = await merged_ids.leading(session, [i for i in ids.values() if i is not None])
    led = {name: (missing[name][0], leads[i]) for name, i in ids.items() if i in leads}
    gone = await records.missing_references(session, led) if led else []
    found = {name: i for name, (_, i) in led.items() if name not in gone}
    return found, [name for name in missing if name not in found]
