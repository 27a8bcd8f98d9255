"""Says what the fields of a record are that several become one of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import ConfigDict, Field, StrictInt, StrictStr

from contract.bulk_vocabulary import MergeableKind
from contract.errors import Problem, Problems
from contract.limits import MERGED_MAX
from resolvers.contacts import is_named
from resolvers.shared.inputs import ExactInput
from storage.base import Record, as_uuid
from storage.columns import UPDATE, columns_of
from storage.queries.duplicates import MODELS

_CHOICES_MAX = 100


class MergeChoice(ExactInput):
    """From which record a field is taken."""

    field: StrictStr
    record_id: StrictStr


class MergeInput(ExactInput):
    """Records that are to become one."""

    model_config = ConfigDict(populate_by_name=True)

    kind: MergeableKind
    into: StrictStr
    from_: Annotated[list[StrictStr], Field(min_length=1, max_length=MERGED_MAX, alias="from")]
    choose: Annotated[list[MergeChoice], Field(max_length=_CHOICES_MAX)] | None = None
    expected_version: StrictInt | None = None


@dataclass(frozen=True, slots=True)
class MergeField:
    """A field of the merged record: its value, the record that has it, and whether the others have another."""

    field: str
    value: str | None
    record_id: str | None
    conflicting: bool


def names_of(kind: MergeableKind) -> list[str]:
    """The fields that are merged: those that a caller may change."""
    return [column.name for column in columns_of(MODELS[kind]) if UPDATE in column.uses]


def merged(kind: MergeableKind, records: Sequence[Record], input: MergeInput) -> list[MergeField]:
    """The fields of the merged record, the first of the records being the one that stays. Raises Problems."""
    chosen = _chosen(kind, records, input)
    fields = []
    for name in names_of(kind):
        values = {record.id: getattr(record, name) for record in records}
        of = chosen.get(name) or next((i for i, value in values.items() if not _is_empty(value)), records[0].id)
        value = values[of]
        different = {value for value in values.values() if not _is_empty(value)}
        fields.append(MergeField(name, value, None if value is None else of, len(different) > 1))
    result = {field.field: field.value for field in fields}
    if kind is MergeableKind.CONTACT and not is_named(result):
        raise Problems([Problem(("input", "choose"), "must leave a name or an e-mail address", "missing")])
    return fields


def _is_empty(value: str | None) -> bool:
    return value is None or not value.strip()


def _chosen(kind: MergeableKind, records: Sequence[Record], input: MergeInput) -> Mapping[str, str]:
    """The record that gives the value, by field."""
    known, ids = names_of(kind), [record.id for record in records]
    chosen: dict[str, str] = {}
    problems = []
    for place, choice in enumerate(input.choose or ()):
        at, record = ("input", "choose", place), as_uuid(choice.record_id)
        if choice.field not in known:
            words = f"is no field of such a record; these are {', '.join(known)}"
            problems.append(Problem((*at, "field"), words, "value_error"))
        elif choice.field in chosen:
            problems.append(Problem((*at, "field"), "is chosen twice", "value_error"))
        if record is None or record not in ids:
            problems.append(Problem((*at, "record_id"), "is none of the records", "value_error"))
        elif choice.field in known:
            chosen[choice.field] = record
    if problems:
        raise Problems(problems)
    return chosen
