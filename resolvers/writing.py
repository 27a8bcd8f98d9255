"""Creates, changes and deletes a record that needs nothing else done: one transaction, with its event."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from contract.errors import NotFound
from resolvers import changes
from resolvers.context import Context
from resolvers.inputs import Input, not_null
from resolvers.record_inputs import required_columns
from storage.base import Record
from storage.columns import WRITE, facts_of
from storage.drafts import model_named
from storage.queries import records

R = TypeVar("R", bound=Record)


@cache
def references_of(model: type[Record]) -> Mapping[str, type[Record]]:
    """The columns that a caller may point at another record, with the table that each leads to.

    There are as many cached values as tables.
    """
    return {fact.name: model_named(fact.to) for fact in facts_of(model) if fact.to is not None and fact.uses & WRITE}


async def create_record(
    ctx: Context, model: type[R], input: Input, noun: str, told: Callable[[R], Mapping[str, Any]]
) -> R:
    """A new record that the caller owns; `told` is what the event `<noun>_created` says of it.

    Raises Problems for a reference that leads nowhere (decision 14).
    """
    fields = input.given()
    record = model(**{**fields, "owner_id": ctx.caller.subject})
    async with ctx.writing() as session:
        await changes.check_references(session, fields, references_of(model))
        session.add(record)
        await changes.note(ctx, session, f"{noun}_created", dict(told(record)))
    ctx.forget()
    return record


async def change_record(ctx: Context, model: type[R], identifier: str, input: Input, noun: str) -> R:
    """The record after the change; without a difference nothing is written (decision 20).

    Raises NotFound, Problems, or PreconditionFailed for a stale version.
    """
    fields = input.given()
    version = fields.pop("expected_version", None)
    not_null(fields, *required_columns(model))
    async with ctx.writing() as session:
        record = await records.to_change(session, model, identifier)
        if record is None:
            raise NotFound(field=("id",))
        changes.expect(record, version)
        await changes.check_references(session, fields, references_of(model))
        if changed := changes.apply(record, fields):
            await changes.note(ctx, session, f"{noun}_updated", {f"{noun}_id": record.id, "changed": changed})
    ctx.forget()
    return record


async def delete_record(ctx: Context, model: type[R], identifier: str, noun: str, *references: Any) -> str:
    """The identifier of the deleted record. The columns of other records that named it become null (decision 10).

    Raises NotFound.
    """
    async with ctx.writing() as session:
        record = await records.to_change(session, model, identifier)
        if record is None:
            raise NotFound(field=("id",))
        await records.clear(session, *references, value=record.id)
        await session.delete(record)
        await changes.note(ctx, session, f"{noun}_deleted", {f"{noun}_id": record.id})
    ctx.forget()
    return record.id
