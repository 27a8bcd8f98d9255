"""Says how a file is read: what a caller tells of it, what is found in it, and which column becomes which field."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictBool, StrictStr

from contract.bulk_vocabulary import ImportKind
from contract.errors import Path, Problem, Problems
from contract.limits import IMPORT_COLUMNS_MAX, IMPORT_HEADING_MAX
from resolvers import upsert_rows as kinds
from resolvers.import_cells import Told, day_pattern
from resolvers.import_csv import Form, Reader, known_encoding
from resolvers.shared.context import Context
from resolvers.shared.inputs import ExactInput, Line, Reference
from resolvers.shared.lists import readable
from resolvers.shared.sentences import ABSENT
from resolvers.shared.tagging import Names
from resolvers.shared.told_at_once import leading
from resolvers.upsert_rows import Kind
from storage.base import JsonDict
from storage.queries import listables, records
from storage.tenancy.sessions import TenantSession

KINDS: Final[Mapping[ImportKind, Kind]] = {
    ImportKind.ACCOUNT: kinds.ACCOUNTS,
    ImportKind.CONTACT: kinds.CONTACTS,
    ImportKind.DEAL: kinds.DEALS,
    ImportKind.LEAD: kinds.LEADS,
}
_SEPARATING: Final = re.compile(r"[\W_]+")


def _encoding(name: str) -> str:
    found = known_encoding(name)
    if found is None:
        raise ValueError("is no encoding that is known here, such as utf-8, utf-16 or windows-1252")
    return found


def _delimiter(text: str) -> str:
    if text in ('"', "\r", "\n", "\0", " "):
        raise ValueError("must be no quote, blank or line break")
    return text


def _date_format(text: str) -> str:
    day_pattern(text)
    return text


class ColumnMapping(ExactInput):
    """Which field a column becomes; null leaves it out."""

    column: Line
    field: Line | None = None


async def _to_file(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
    """The look for files that are not in the trash; an import reads one."""
    found = [await records.one(session, readable(ctx, listables.FILES), each) for each in identifiers]
    there = {each for each, file in zip(identifiers, found, strict=True) if file is not None and not file.trashed_at}
    return {each: ABSENT for each in identifiers if each not in there}


@leading({("file_id",): _to_file})
class DataImportInput(ExactInput):
    """How a file is read and written."""

    file_id: Reference
    kind: ImportKind
    mapping: Annotated[list[ColumnMapping], Field(max_length=IMPORT_COLUMNS_MAX)] | None = None
    match_on: StrictStr = "external_key"
    has_header: StrictBool = True
    delimiter: Annotated[StrictStr, Field(min_length=1, max_length=1), AfterValidator(_delimiter)] | None = None
    encoding: Annotated[Line, AfterValidator(_encoding)] | None = None
    date_format: Annotated[StrictStr, Field(max_length=40), AfterValidator(_date_format)] = "YYYY-MM-DD"
    decimal_sign: Literal[".", ","] = "."
    list_separator: Annotated[StrictStr, Field(min_length=1, max_length=10)] = ";"
    tags: Names | None = None
    dry_run: StrictBool = False

    @property
    def told(self) -> Told:
        """Says how days, decimals and lists are written."""
        return Told(self.date_format, self.decimal_sign, self.list_separator)


@dataclass(frozen=True, slots=True)
class Mapped:
    """A column, and the field that it becomes."""

    column: str
    field: str | None


@dataclass(frozen=True, slots=True)
class Definition:
    """All that it takes to read the file again: it is kept with the import as JSON (`kept`, `definition_of`)."""

    input: DataImportInput
    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    mapping: tuple[Mapped, ...]
    match: str

    @property
    def kind(self) -> Kind:
        """The kind of records that the rows become."""
        return KINDS[self.input.kind]

    @property
    def fields(self) -> Mapping[str, int]:
        """The fields that cells become, each with the place of its column."""
        return {each.field: place for place, each in enumerate(self.mapping) if each.field is not None}

    def reader(self) -> Reader:
        """A reader of the file, which begins with the headings where it has some."""
        return Reader(Form(self.encoding, self.delimiter))

    def cells(self, row: Sequence[str]) -> dict[str, str]:
        """The cells of a row by column; those that stand beyond the last column by their numbers."""
        names = list(self.columns)
        while len(names) < len(row):
            names.append(free_name(str(len(names) + 1), names))
        return dict(zip(names, row, strict=False))


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or where it is taken the first with a number behind it that is not."""
    made, number = name, 1
    while made in taken:
        number += 1
        made = f"{name} {number}"
    return made


def kept(definition: Definition) -> JsonDict:
    """The definition as JSON."""
    return {
        "input": definition.input.model_dump(mode="json"),
        "encoding": definition.encoding,
        "delimiter": definition.delimiter,
        "columns": list(definition.columns),
        "mapping": [[each.column, each.field] for each in definition.mapping],
        "match": definition.match,
    }


def definition_of(stored: JsonDict) -> Definition:
    """The definition that was kept."""
    return Definition(
        DataImportInput.model_validate(stored["input"]),
        stored["encoding"],
        stored["delimiter"],
        tuple(stored["columns"]),
        tuple(Mapped(column, field) for column, field in stored["mapping"]),
        stored["match"],
    )


def _plain(name: str) -> str:
    """The name as headings and fields are compared: without case, blanks and marks."""
    return _SEPARATING.sub("", name).casefold()


def _field_named(kind: Kind, name: str) -> str | None:
    wanted = _plain(name)
    return next((field for field in kind.row.model_fields if _plain(field) == wanted), None)


def match_of(kind: Kind, name: str) -> str:
    """The field by which rows find their records. Raises Problems."""
    possible = ["external_key", "id", *([kind.match] if kind.match else [])]
    found = next((each for each in possible if _plain(each) == _plain(name)), None)
    if found is None:
        raise Problems([Problem(("input", "match_on"), "must be one of", "enum", tuple(possible))])
    return found


def columns_of_head(first: Sequence[str], *, has_header: bool, at: Path) -> tuple[str, ...]:
    """The names of the columns: the headings, numbers where there is none. Raises Problems for a heading twice."""
    if len(first) > IMPORT_COLUMNS_MAX:
        raise Problems([Problem(at, f"has more than {IMPORT_COLUMNS_MAX} columns", "too_long")])
    if not has_header:
        return tuple(str(number + 1) for number in range(len(first)))
    named = [heading.strip() or str(number + 1) for number, heading in enumerate(first)]
    # Each refused row is kept with the headings beside its cells.
    if long := [place for place, name in enumerate(named, 1) if len(name) > IMPORT_HEADING_MAX]:
        words = f"has a heading of more than {IMPORT_HEADING_MAX} characters in column {long[0]}"
        raise Problems([Problem(at, words, "too_long")])
    problems = [
        Problem(at, f"has the heading {name[:100]} in columns {named.index(name) + 1} and {place + 1}", "value_error")
        for place, name in enumerate(named)
        if name in named[:place]
    ]
    if problems:
        raise Problems(problems)
    return tuple(named)


def mapping_of(input: DataImportInput, columns: Sequence[str]) -> tuple[Mapped, ...]:
    """Says which column becomes which field: as told, and those that are not told of by their names (decision 532).

    Raises Problems.
    """
    kind = KINDS[input.kind]
    told: dict[str, str | None] = {}
    problems = []
    for number, each in enumerate(input.mapping or ()):
        at: Path = ("input", "mapping", number)
        field = None if each.field is None else _field_named(kind, each.field)
        if each.column.strip() not in columns:
            problems.append(Problem((*at, "column"), f"there is no column {each.column[:100]}", "value_error"))
        elif each.column.strip() in told:
            problems.append(Problem((*at, "column"), "is named twice", "value_error"))
        elif each.field is not None and field is None:
            problems.append(Problem((*at, "field"), f"there is no field {each.field[:100]}", "value_error"))
        elif field is not None and field in told.values():
            problems.append(Problem((*at, "field"), "is that of another column, too", "value_error"))
        else:
            told[each.column.strip()] = field
    taken = set(told.values())
    mapped = []
    for column in columns:
        field = told[column] if column in told else _field_named(kind, column)
        if column not in told and field is not None:
            if field in taken:
                words = f"{column[:100]} is the second column for"
                problems.append(Problem(("input", "mapping"), words, "value_error", (field,)))
            taken.add(field)
        mapped.append(Mapped(column, field))
    if problems:
        raise Problems(problems)
    if not taken - {None}:
        raise Problems([Problem(("input", "mapping"), "must name a field: no column has the name of one", "missing")])
    return tuple(mapped)
