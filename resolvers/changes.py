"""Changes a record: under the version that the caller saw, with references that lead somewhere."""

from collections.abc import Collection, Mapping
from typing import Any

from contract.errors import PreconditionFailed, Problem, Problems
from resolvers.context import Context
from storage.base import Record, now
from storage.queries import records
from storage.sessions import TenantSession


def expect(record: Any, version: int | None, seen: Collection[int] | None = None) -> None:
    """Raise PreconditionFailed where the current version is not the one that the caller saw, or none of those."""
    stale = (version is not None and version != record.version) or (seen is not None and record.version not in seen)
    if stale:
        raise PreconditionFailed(field=("input", "expected_version"))


def apply(record: Any, fields: Mapping[str, Any]) -> list[str]:
    """Set what differs; the names of that, and the same version as before where there are none (decision 20)."""
    changed = {name: value for name, value in fields.items() if getattr(record, name) != value}
    for name, value in changed.items():
        setattr(record, name, value)
    if changed and hasattr(record, "version"):
        record.version += 1
        record.updated_at = now()
    return sorted(changed)


async def note(ctx: Context, session: TenantSession, type: str, data: dict[str, Any], *, area: str = "crm") -> Any:
    """Append to the organization's change log what the caller did, in the transaction that does it (part 6).

    Gives the event. Its table names every type in `__events__`.
    """
    return await records.append_event(session, **noted(ctx, type, data, area=area))


def noted(ctx: Context, type: str, data: dict[str, Any], *, area: str = "crm") -> dict[str, Any]:
    """Makes the change log's event on something that the caller did, but for its number."""
    return {"type": type, "area": area, "actor": ctx.caller.subject, "request_id": ctx.request_id, "data": data}


async def check_references(
    session: TenantSession, fields: Mapping[str, Any], models: Mapping[str, type[Record]]
) -> None:
    """Raise Problems for every given reference that leads to no record of the organization."""
    given = {name: (model, fields[name]) for name, model in models.items() if fields.get(name) is not None}
    if problems := [
        Problem(("input", name), "does not exist in this organization", "reference")
        for name in await records.missing(session, given)
    ]:
        raise Problems(problems)
