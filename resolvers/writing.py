"""Creates, changes and deletes a record: one transaction, with its event, as its table declares it.

What a record type does besides that it does itself: `change_record` takes it as `then`.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import cache
from typing import Any, TypeVar

from contract.errors import NotFound
from resolvers import changes
from resolvers.context import Context
from resolvers.inputs import Input, not_null
from resolvers.record_inputs import never_null
from storage.base import Record
from storage.columns import WRITE, facts_of
from storage.drafts import model_named
from storage.event_types import event_name
from storage.queries import records
from storage.sessions import TenantSession

R = TypeVar("R", bound=Record)


@cache
def references_of(model: type[Record]) -> Mapping[str, type[Record]]:
    """The columns that a caller may point at another record, with the table that each leads to.

    There are as many cached values as tables.
    """
    return {fact.name: model_named(fact.to) for fact in facts_of(model) if fact.to is not None and fact.uses & WRITE}


async def create_record(
    ctx: Context, model: type[R], input: Input, told: Callable[[R], Mapping[str, Any]] | None = None
) -> R:
    """A new record that the caller owns; `told` is what its event says of it, the identifier unless told.

    Raises Problems for a reference that leads nowhere (decision 14).
    """
    fields = input.given()
    record = model(**{**fields, "owner_id": ctx.caller.subject})
    name = event_name(model)
    data = {f"{name}_id": record.id} if told is None else dict(told(record))
    async with ctx.writing() as session:
        await changes.check_references(session, fields, references_of(model))
        session.add(record)
        await changes.note(ctx, session, f"{name}_created", data)
    ctx.forget()
    return record


async def change_record(
    ctx: Context,
    model: type[R],
    identifier: str,
    input: Input,
    *,
    seen: Collection[int] | None = None,
    then: Callable[[TenantSession, R, Mapping[str, Any]], Awaitable[None]] | None = None,
) -> R:
    """The record after the change; without a difference nothing is written (decision 20).

    `seen` are the versions under any of which the caller would change it (If-Match names several). `then` does what
    else follows of a change, in its transaction: it gets what the changed columns held before. Raises NotFound,
    Problems, or PreconditionFailed for a stale version.
    """
    fields = input.given()
    version = fields.pop("expected_version", None)
    not_null(fields, *never_null(model))
    async with ctx.writing() as session:
        record = await _to_change(session, model, identifier)
        changes.expect(record, version, seen)
        await changes.check_references(session, fields, references_of(model))
        before = {name: getattr(record, name) for name in fields}
        if changed := changes.apply(record, fields):
            if then is not None:
                await then(session, record, {name: before[name] for name in changed})
            name = event_name(model)
            await changes.note(ctx, session, f"{name}_updated", {f"{name}_id": record.id, "changed": changed})
    ctx.forget()
    return record


async def delete_record(ctx: Context, model: type[R], identifier: str) -> str:
    """The identifier of the deleted record. What named it becomes null (decisions 10 and 185).

    Raises NotFound.
    """
    name = event_name(model)
    async with ctx.writing() as session:
        record = await _to_change(session, model, identifier)
        await records.clear(session, *records.references_to(model), value=record.id)
        await session.delete(record)
        await changes.note(ctx, session, f"{name}_deleted", {f"{name}_id": record.id})
    ctx.forget()
    return record.id


async def _to_change(session: TenantSession, model: type[R], identifier: str) -> R:
    """The entity, locked against other writers. Raises NotFound."""
    record = await records.to_change(session, model, identifier)
    if record is None:
        raise NotFound(field=("id",))
    return record
