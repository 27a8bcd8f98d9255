"""Creates, changes and deletes a record: one transaction, with its event, as its table declares it.

On PostgreSQL most of it is one statement (storage/queries/at_once.py); what that finds in its way, and SQLite's
transaction, which costs no round trips, is done step by step. What a record type does besides that it does itself:
`change_record` takes it.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

from contract.errors import NotFound, Problem, Problems
from contract.vocabulary import DealStatus
from resolvers.shared import changes
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, nulls
from resolvers.shared.keys import KEY, check_key, of_one_record
from resolvers.shared.record_inputs import never_cleared, references_of
from resolvers.shared.tagging import tag_new
from storage.base import JsonDict, Record, Stored, as_uuid
from storage.columns import is_versioned
from storage.event_types import event_name
from storage.new_rows import model_of, new_row
from storage.queries import at_once, files, history, listables, merged_ids, records, tags
from storage.tables import Event, StageChange
from storage.tenancy.sessions import TenantSession

R = TypeVar("R", bound=Record)


async def create_record(ctx: Context, model: type[R], input: Input, told: Callable[[R], JsonDict] | None = None) -> R:
    """A new record that the caller owns; `told` is what its event says of it, the identifier unless told.

    Raises Problems for a reference that leads nowhere (decision 14), or where there is no room for its tags.
    """
    fields = input.given()
    names = fields.pop("tags", None) or []
    record = new_row(model, **{**fields, "org_id": ctx.org_id, "owner_id": ctx.caller.subject})
    name = event_name(model)
    data = {f"{name}_id": record.id} if told is None else told(record)
    with of_one_record(fields):
        async with ctx.writing() as session:
            if names or not await created_at_once(ctx, session, record, fields, f"{name}_created", data):
                record = await _create(ctx, session, record, fields, names, told)
    ctx.forget()
    return record


async def _create(
    ctx: Context,
    session: TenantSession,
    record: R,
    fields: Given,
    names: Sequence[str],
    told: Callable[[R], JsonDict] | None,
) -> R:
    """Insert the draft, its tags and its event, step by step; the draft as it was inserted."""
    model = model_of(record)
    record = changes.as_changed(record, await changes.check_references(session, fields, references_of(model)))
    await check_key(session, model, fields)
    await session.insert(record)
    await tag_new(session, record, names)
    name = event_name(model)
    data = {f"{name}_id": record.id} if told is None else told(record)
    await changes.append_event(ctx, session, f"{name}_created", data)
    return record


async def created_at_once(
    ctx: Context,
    session: TenantSession,
    record: R,
    fields: Given,
    type: str,
    data: JsonDict,
    *,
    move: StageChange | None = None,
) -> R | None:
    """Insert a draft and its event in one statement, and give the row; None where that takes more than one.

    What is wrong with a reference is said in words, and so looked for in a transaction.
    """
    if not (session.can_write_at_once and _leads_plainly(model_of(record), fields)):
        return None
    event = changes.event_draft(ctx, type, data)
    return await at_once.create(session, record, event, move=move)


def _leads_plainly(model: type[Stored], fields: Given) -> bool:
    """Says whether each given reference is an identifier as rows have it, and no key has to be looked for."""
    if fields.get(KEY) is not None:
        return False
    given = [fields[name] for name in references_of(model) if fields.get(name) is not None]
    return all(as_uuid(value) == value for value in given)


async def change_record(
    ctx: Context,
    model: type[R],
    identifier: str,
    input: Input,
    *,
    seen: Collection[int] | None = None,
    check: Callable[[R, Given], None] | None = None,
    move: Callable[[R, Given], StageChange | None] | None = None,
    then: Callable[[TenantSession, R, Given], Awaitable[R]] | None = None,
) -> R:
    """The record after the change; without a difference nothing is written (decision 20).

    `seen` are the versions under any of which the caller would change it (If-Match names several). `check` raises what
    is wrong with the record as it would be; it gets what the changed columns held before, and so do the others. `move`
    gives the move to another stage. `then` does what else follows of a change, in its transaction, and gives the row.
    Raises NotFound, Problems, or PreconditionFailed for a stale version.
    """
    fields = input.given()
    version = fields.pop("expected_version", None)
    refused = nulls(fields, never_cleared(model))
    with of_one_record(fields):
        async with ctx.writing() as session:
            record = await _seen(session, model, identifier, fields) if then is None and not refused else None
            if record is not None:
                record = await _changed_at_once(ctx, session, record, fields, version, seen, check, move)
            if record is None:
                record = await _to_change(session, model, identifier)
                changes.expect(record, version, seen)
                led, lost = await changes.followed(session, fields, references_of(model))
                if problems := [*refused, *lost]:
                    raise Problems([*problems, *_objections(check, record, fields)])
                fields |= led
                await check_key(session, model, fields, record.id)
                record = await _changed(ctx, session, record, fields, check, move, then)
    ctx.forget()
    return record


def _objections(check: Callable[[R, Given], None] | None, record: R, fields: Given) -> Sequence[Problem]:
    """Asks the check what is wrong with the record as it would be, where something else is wrong already."""
    differences = changes.differences(record, fields)
    try:
        if check is not None:
            check(changes.as_changed(record, differences), {name: getattr(record, name) for name in differences})
    except Problems as error:
        return error.problems
    return []


async def _seen(session: TenantSession, model: type[R], identifier: str, fields: Given) -> R | None:
    """The versioned record without a lock, where it can be changed in one statement."""
    canonical = as_uuid(identifier)
    if canonical is None or not (session.can_write_at_once and is_versioned(model) and _leads_plainly(model, fields)):
        return None
    return await session.glance(model, id=canonical)


async def _changed_at_once(
    ctx: Context,
    session: TenantSession,
    record: R,
    fields: Given,
    version: int | None,
    seen: Collection[int] | None,
    check: Callable[[R, Given], None] | None,
    move: Callable[[R, Given], StageChange | None] | None,
) -> R | None:
    """The record after the change in one statement; None where a transaction has to look what is in its way.

    Another writer may come between the look and the statement, which then finds another version and does nothing.
    """
    changes.expect(record, version, seen)
    differences = changes.differences(record, fields)
    if fields.get("owner_id") is not None and "owner_id" not in differences:
        return None  # whether the owner that it has is still active (decision 223)
    if not differences:
        return record
    if move is not None and "stage_id" in differences and differences["stage_id"] is None:
        return None  # out of every stage: there is none to take the status from
    values = {**differences, **changes.next_version(record)}
    after, before = changes.as_changed(record, values), {name: getattr(record, name) for name in differences}
    try:
        if check is not None:
            check(after, before)
    except Problems:  # what is wrong with a reference is said before
        return None
    moved = None if move is None else move(after, before)
    name = event_name(model_of(record))
    data = {f"{name}_id": record.id, "changed": sorted(differences)}
    event = changes.event_draft(ctx, f"{name}_updated", data)
    return await at_once.change(session, record, values, event, move=moved, told=history.edited(record, after))


async def _changed(
    ctx: Context,
    session: TenantSession,
    record: R,
    fields: Given,
    check: Callable[[R, Given], None] | None,
    move: Callable[[R, Given], StageChange | None] | None,
    then: Callable[[TenantSession, R, Given], Awaitable[R]] | None,
) -> R:
    """The locked record after the change, step by step."""
    differences = changes.differences(record, fields)
    if not differences:
        return record
    seen, before = record, {name: getattr(record, name) for name in differences}
    if check is not None:
        check(changes.as_changed(record, differences), before)
    record, changed = await changes.apply(session, record, differences)
    if move is not None and (moved := move(record, before)) is not None:
        standing = await stage_standing(session, moved.to_stage_id, getattr(record, "updated_at"), record)  # noqa: B009  # of deals
        record = await session.update(record, **standing)
        await session.insert(moved)
    if then is not None:
        record = await then(session, record, before)
    name = event_name(model_of(record))
    data, told = {f"{name}_id": record.id, "changed": changed}, history.edited(seen, record)
    await changes.append_event(ctx, session, f"{name}_updated", data, told=told)
    return record


async def delete_record(ctx: Context, model: type[R], identifier: str) -> str:
    """The identifier of the deleted record. What named it becomes null (decisions 10 and 185).

    Raises NotFound.
    """
    canonical = as_uuid(identifier)
    if canonical is None:
        raise NotFound(field=("id",))
    async with ctx.writing() as session:
        if not await _deleted_at_once(ctx, session, model, canonical):
            record = await _to_change(session, model, canonical)
            await _delete(session, record, _deletion(ctx, model, record.id))
            canonical = record.id
    ctx.forget()
    return canonical


async def _deleted_at_once(ctx: Context, session: TenantSession, model: type[R], identifier: str) -> bool:
    """Says whether the record was there, and has been deleted in one statement behind its lock (decision 940).

    The lock is a statement of its own: the next one sees what others had put on the record until they let go of it.
    """
    if not session.can_write_at_once:
        return False
    await session.begin_with_lock(model, identifier)
    return await at_once.delete(session, model, _deletion(ctx, model, identifier), id=identifier)


async def _delete(session: TenantSession, record: R, event: Event) -> None:
    """Delete a locked record, and append the draft of the event."""
    model = model_of(record)
    if session.dialect == "postgresql":
        await at_once.delete(session, model, event, id=record.id)
        return
    references = records.references_to(model)
    await history.tell_of_deletion(session, event, model, references, record.id)
    await records.null_references(session, *references, value=record.id)
    if tags.kind_of(model) is not None:
        await tags.unlink(session, [record.id])
    if (kind := files.kind_of(model)) is not None:
        await files.unlink_record(session, kind, record.id)
    await session.delete(record)
    await records.append_events(session, [event])


def _deletion(ctx: Context, model: type[Record], identifier: str) -> Event:
    name = event_name(model)
    return changes.event_draft(ctx, f"{name}_deleted", {f"{name}_id": identifier})


async def stage_standing(
    session: TenantSession, stage_id: str | None, changed_at: datetime, deal: Record | None = None
) -> Given:
    """Make the deal's status, which is the stage's type (decision 4), and the moment at which the deal is closed.

    That is the one at which the deal changes. It keeps it while its status stays, and has none while it is open
    (decision 239).
    """
    stage = await records.one(session, listables.STAGES, stage_id)
    return standing(DealStatus.OPEN.value if stage is None else str(stage.type), changed_at, deal)


def standing(status: str, changed_at: datetime, deal: Record | None = None) -> Given:
    """Make a deal's status and closing moment in a stage of this type; `stage_standing` says which these are."""
    if deal is not None and status == getattr(deal, "status"):  # noqa: B009  # of deals alone
        return {}
    return {"status": status, "closed_at": None if status == DealStatus.OPEN.value else changed_at}


async def _to_change(session: TenantSession, model: type[R], identifier: str) -> R:
    """The row, locked against other writers, or the one that it went into (decision 435). Raises NotFound."""
    record = await records.lock_for_update(session, model, identifier)
    if record is None and (stays := await merged_ids.stays(session, model, identifier)) is not None:
        record = await records.lock_for_update(session, model, stays)
    if record is None:
        raise NotFound(field=("id",))
    return record
