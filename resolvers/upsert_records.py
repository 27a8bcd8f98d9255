"""Writes the rows of an upsert as records: so many statements, whatever their number."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from contract.bulk_vocabulary import BulkOutcome
from contract.errors import NotFound, Problem, Problems
from contract.limits import TAGS_MAX
from contract.normal_form import folded
from contract.timeline import SUBJECTS, as_told
from contract.vocabulary import DealStatus, TaggedKind
from resolvers.deals import move_of
from resolvers.shared import changes
from resolvers.shared.context import Acting
from resolvers.shared.keys import KEY, TAKEN
from resolvers.shared.pacing import in_turns
from resolvers.shared.record_inputs import references_of
from resolvers.shared.sentences import ABSENT, INACTIVE
from resolvers.shared.tagging import made
from resolvers.shared.writing import standing
from resolvers.upsert_rows import AT_A_TIME, Kind, Line, check_change, check_new, once
from storage.base import Record, as_uuid, with_copies
from storage.new_rows import new_row
from storage.queries import external_keys, history, listables, match_keys, members, merged_ids, records
from storage.queries import tags as tagging
from storage.queries.history import Told
from storage.tables import Deal, Lead, TagLink
from storage.tenancy.sessions import TenantSession


class Raced(Exception):
    """Another request made one of the records meanwhile."""


async def written(
    ctx: Acting, session: TenantSession, kind: Kind, lines: Sequence[Line], match: str, *, all_of_them: bool
) -> None:
    """Write those rows that are good, and say on each what came of it.

    Raises Problems where `all_of_them` have to be good, and Raced.
    """
    await records.take_turns(session, kind.model)
    wanted = _sought_by(kind, lines, match)
    await _refer(session, kind, lines)
    await _find(session, kind, lines, match, wanted)
    async for line in in_turns(_good(lines), AT_A_TIME):
        _make(ctx, kind, line)
    if kind.model is Deal:
        await _stand(session, lines)
    problems = [
        Problem(("rows", line.index, *p.path), p.message, p.type, p.names) for line in lines for p in line.problems
    ]
    if problems and all_of_them:
        raise Problems(problems)
    told = await _tag(session, kind, lines)
    await _write(ctx, session, kind, lines, told)


def _good(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if not line.problems]


async def _refer(session: TenantSession, kind: Kind, lines: Sequence[Line]) -> None:
    """Put identifiers in the place of other records' keys, and refuse what leads nowhere."""
    words = ABSENT
    for name, (column, model) in kind.leads.items():  # a statement for each such field
        keys = {key for line in _good(lines) if (key := line.fields.get(name)) is not None}
        found = await external_keys.ids_by_key(session, model, list(keys))
        for line in lines:
            key = line.fields.pop(name, "")
            if key is None:
                line.fields.setdefault(column, None)
            elif key in found:
                line.fields[column] = found[key]
            elif key in keys:
                line.refuse((name,), words, "reference")
    by_index = {str(line.index): line for line in _good(lines)}
    given = {
        f"{index} {column}": (model, line.fields[column])
        for index, line in by_index.items()
        for column, model in references_of(kind.model).items()
        if line.fields.get(column) is not None
    }
    led, missing = await changes.existing(session, given)
    for name, identifier in led.items():
        index, _, column = name.partition(" ")
        by_index[index].fields[column] = identifier
    for name in missing:
        index, _, column = name.partition(" ")
        by_index[index].refuse((column,), words, "reference")
    owners = {owner for line in by_index.values() if (owner := line.fields.get("owner_id")) is not None}
    active = await members.active_of(session, sorted(owners)) if owners else set()
    for line in by_index.values():
        if line.fields.get("owner_id") in owners - active:
            line.refuse(("owner_id",), INACTIVE, "reference")


def _sought_by(kind: Kind, lines: Sequence[Line], match: str) -> dict[int, str | None]:
    """Find the values that rows seek records by; refuse the second of two rows with the same, or with one key."""
    wanted = {line.index: _sought(kind, line, match) for line in _good(lines)}
    _refuse_second(lines, match, wanted)
    _refuse_second(lines, KEY, {line.index: line.fields.get(KEY) for line in _good(lines)})
    return wanted


def _sought(kind: Kind, line: Line, match: str) -> str | None:
    identifier = line.fields.pop("id", None)
    if match == _ID:
        if identifier is None:
            line.refuse((_ID,), "must be given to match by it", "missing")
        return as_uuid(identifier)
    value: str | None = line.fields.get(match)
    return value if value is None or match == KEY else kind.spelt(value)


_ID = "id"


def _refuse_second(lines: Sequence[Line], field: str, values: Mapping[int, str | None]) -> None:
    first: dict[str, Line] = {}
    for line in _good(lines):
        value = values.get(line.index)
        if value is not None and first.setdefault(value, line) is not line:
            line.refuse((field,), f"is that of {first[value].called}, too", "duplicate")


async def _find(
    session: TenantSession, kind: Kind, lines: Sequence[Line], match: str, wanted: Mapping[int, str | None]
) -> None:
    """Find the records of the rows, locked against other writers."""
    good = _good(lines)
    keys = [key for line in good if (key := line.fields.get(KEY)) is not None]
    held = await external_keys.ids_by_key(session, kind.model, keys)
    found: Mapping[str, str] = held
    if kind.text is not None and match == kind.match:
        texts = [value for line in good if (value := wanted[line.index]) is not None]
        found = await external_keys.ids_by_text(session, kind.text, texts, *kind.conditions)
    ids = {i: value if match == _ID or value is None else found.get(value) for i, value in wanted.items()}
    there = await _locked(session, kind, ids, match)
    _refuse_second(lines, match, ids)
    for line in _good(lines):
        line.record = there.get(ids[line.index] or "")
        if match == _ID and line.record is None:
            line.refuse((_ID,), NotFound.message, "not_found")
        elif match != KEY or line.record is not None:
            _keep_key(line, held)


async def _locked(session: TenantSession, kind: Kind, ids: dict[int, str | None], match: str) -> Mapping[str, Record]:
    """The records of the rows by identifier. One that a merge took away becomes that of the record that stays.

    Raises Raced for one that was found just now, and went into another or was deleted before it could be locked.
    """
    wanted = {i for i in ids.values() if i is not None}
    there = await external_keys.lock(session, kind.model, sorted(wanted))
    gone = sorted(wanted - there.keys())
    if gone and match != _ID:
        raise Raced
    if gone and merged_ids.can_lead(kind.model) and (leads := await merged_ids.leading(session, gone)):
        ids |= {index: leads.get(i or "", i) for index, i in ids.items()}
        there = {**there, **await external_keys.lock(session, kind.model, sorted(leads.values()))}
    return there


def _keep_key(line: Line, held: Mapping[str, str]) -> None:
    """Refuse the key of another record; one that came with a merge stays beside the record's own (decision 410)."""
    key = line.fields.get(KEY)
    if key is not None and (holder := held.get(key)) is not None:
        if line.record is None or holder != line.record.id:
            line.refuse((KEY,), f"The key {TAKEN}", "duplicate")
        elif line.record.external_key != key:
            del line.fields[KEY]


def _make(ctx: Acting, kind: Kind, line: Line) -> None:
    """Say what the row makes of its record, or the new one that it becomes."""
    if line.record is None:
        check_new(kind, line)
        if not line.problems:
            owner = line.fields.get("owner_id") or ctx.subject
            values = {**kind.usual, **line.fields, "owner_id": owner, "org_id": ctx.org_id}
            line.after, line.outcome = new_row(kind.model, **values), BulkOutcome.CREATED
        return
    changed = changes.differences(line.record, line.fields)
    check_change(kind, line, changed)
    line.after, line.outcome = line.record, BulkOutcome.UNCHANGED
    if changed:
        _change(kind, line, changed)


def _change(kind: Kind, line: Line, values: Mapping[str, object]) -> None:
    """Let the row change these columns of its record, whose next version it then is."""
    version = changes.next_version(line.record) if line.outcome is BulkOutcome.UNCHANGED else {}
    line.after = changes.as_changed(line.after, {**with_copies(kind.model, values), **version})
    line.outcome = BulkOutcome.UPDATED


async def _stand(session: TenantSession, lines: Sequence[Line]) -> None:
    """Give the deals that come into another stage what they have of it."""
    moving = [line for line in _good(lines) if _moves(line)]
    if not moving:
        return
    types = {stage.id: str(stage.type) for stage in await records.all_of(session, listables.STAGES)}
    for line in moving:
        status = types.get(line.after.stage_id or "", DealStatus.OPEN.value)
        line.after = changes.as_changed(line.after, standing(status, line.after.updated_at, line.record))


def _moves(line: Line) -> bool:
    return bool(line.after.stage_id != (None if line.record is None else line.record.stage_id))


_Names = dict[int, tuple[list[str], list[str]]]
"""The names of tags before and after, by the rows that change them."""


async def _tag(session: TenantSession, kind: Kind, lines: Sequence[Line]) -> _Names:
    """Make the tags that rows name, and say which rows change those of their records."""
    named = [line for line in _good(lines) if line.tags is not None or line.added_tags]
    tagged = TaggedKind(SUBJECTS[str(kind.model.__tablename__)])
    known = [line.record.id for line in named if line.record is not None]
    links = await tagging.links_of(session, dict.fromkeys(known, tagged))
    had = {line.index: [link.name for link in links.get(line.after.id, ())] for line in named}
    for line in named:
        line.tags = once([*(had[line.index] if line.tags is None else line.tags), *line.added_tags])
        if len(line.tags) > TAGS_MAX:
            line.refuse(("tags",), f"has at most {TAGS_MAX}, with those for every row", "too_long")
    other = [line for line in _good(named) if [*map(folded, line.tags or ())] != [*map(folded, had[line.index])]]
    wanted = [name for line in other for name in line.tags or ()]
    tags = await made(session, wanted, ("rows",)) if wanted else {}
    told: _Names = {}
    for line in other:
        names = [tags[folded(name)].name for name in line.tags or ()]
        told[line.index] = had[line.index], names
        values = {"tags": names} if kind.model is Lead else {}
        if line.record is None:
            line.after = changes.as_changed(line.after, values)
        else:
            _change(kind, line, values)
    if old := [line.record.id for line in other if had[line.index]]:
        await tagging.unlink(session, old)
    line_of = {line.index: line for line in other}
    await tagging.link(
        session,
        [
            new_row(
                TagLink,
                kind=tagged.value,
                record_id=line_of[index].after.id,
                tag_id=tags[folded(name)].id,
                position=place,
                record_created_at=line_of[index].after.created_at,  # of records that are not written yet
            )
            for index, (_, names) in told.items()
            for place, name in enumerate(names)
        ],
    )
    return told


async def _write(ctx: Acting, session: TenantSession, kind: Kind, lines: Sequence[Line], tagged: _Names) -> None:
    """Write records, moves, histories and the event."""
    new = [line for line in _good(lines) if line.outcome is BulkOutcome.CREATED]
    changed = [line for line in _good(lines) if line.outcome is BulkOutcome.UPDATED]
    drafts = [line.after for line in new]
    has_keys_left = match_keys.are_counted_behind(session, drafts)
    async with match_keys.counted_behind(session) if has_keys_left else nullcontext():
        made = await session.insert_each_missing(drafts)
    if len(made) < len(new):
        raise Raced
    if changed:
        await session.update_each([line.after for line in changed], *_changed_columns(changed))
    if kind.model is Deal and (moved := [line for line in [*new, *changed] if _moves(line)]):
        before = {line.index: None if line.record is None else line.record.stage_id for line in moved}
        await session.insert(*(move_of(ctx, line.after, before[line.index]) for line in moved))
    if new or changed:
        data = {
            outcome: [line.after.id for line in which] for outcome, which in (("created", new), ("updated", changed))
        }
        told = [each for line in changed if (each := _told(kind, line, tagged)) is not None]
        await changes.append_event(ctx, session, f"{kind.model.__tablename__}_upserted", data, told=told)
    if has_keys_left:
        await match_keys.count(session, drafts)


def _changed_columns(lines: Sequence[Line]) -> list[str]:
    """The columns in which any of the records differs."""
    return sorted(
        {n for line in lines for n in line.after._fields if getattr(line.after, n) != getattr(line.record, n)}
    )


def _told(kind: Kind, line: Line, tagged: _Names) -> Told | None:
    """Make what a record's history is told of the change by a row; None where nothing changed."""
    fields = {name: values for told in history.edited(line.record, line.after) for name, values in told.fields.items()}
    if line.index in tagged:
        fields["tags"] = [as_told(names) for names in tagged[line.index]]
    return Told(SUBJECTS[str(kind.model.__tablename__)], line.after.id, fields) if fields else None
