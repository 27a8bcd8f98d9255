"""Makes rows of a file into the lines of an upsert, and writes the ledger of those that were refused."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from contract.bulk_vocabulary import ImportKind
from contract.domains import kept_domain
from contract.errors import Problem
from contract.normal_form import folded
from contract.vocabulary import ActivitySource
from reports.csv_cells import looks_like_number, plain_text, text_cell
from resolvers.import_cells import converters, row_of
from resolvers.import_csv import FileRow
from resolvers.import_forms import Definition, free_name
from resolvers.upsert_rows import Kind, Line, read
from storage.base import as_uuid
from storage.new_rows import new_row
from storage.rows import ImportRefusalRow
from storage.tables import ImportRefusal

_SOURCE = "source"


class Seen:
    """Says which values have come, and in which line first: eight bytes of hash and four of line for each of them."""

    def __init__(self, rows: int) -> None:
        size = 1 << (2 * rows + 1).bit_length()
        self._mask = size - 1
        self._hashes = array("Q", bytes(8 * size))
        self._lines = array("I", bytes(4 * size))

    def first(self, value: str, line: int) -> int:
        """The line in which the value came first, which may be this one."""
        hashed = int.from_bytes(blake2b(value.encode(), digest_size=8).digest()) or 1
        place = hashed & self._mask
        while self._hashes[place] not in (0, hashed):
            place = (place + 1) & self._mask
        if self._hashes[place] == 0:
            self._hashes[place], self._lines[place] = hashed, line
        return self._lines[place]


def _domain(text: str) -> str:
    try:
        return kept_domain(text)
    except ValueError:  # the row is refused for it
        return text


_SPELT: Final[Mapping[str, Callable[[str], str]]] = {
    "id": lambda text: as_uuid(text.strip()) or text,
    "domain": _domain,
    "email": folded,
}


class Lines:
    """The lines of one file. It has to see every row once, in order, so that it knows which come a second time."""

    def __init__(self, definition: Definition, rows: int) -> None:
        self._definition = definition
        self._convert = converters(definition.kind, definition.input.told)
        self._fields = definition.fields
        self._match = self._fields.get(definition.match)
        self._spelt = _SPELT.get(definition.match, str)
        self._seen = Seen(rows)

    @property
    def kind(self) -> Kind:
        """The kind of records, whose new ones come from an import where the file does not say it (decision 536)."""
        kind = self._definition.kind
        if self._definition.input.kind is not ImportKind.DEAL or _SOURCE in self._fields:
            return kind
        return replace(kind, usual={**kind.usual, _SOURCE: ActivitySource.IMPORT.value})

    def see(self, rows: Sequence[FileRow]) -> dict[int, int]:
        """The lines whose value to match by came earlier in the file, each with the line of that (decision 534)."""
        repeated = {}
        for line, cells in rows:
            if self._match is None or self._match >= len(cells) or not cells[self._match].strip():
                continue
            first = self._seen.first(self._spelt(plain_text(cells[self._match])), line)
            if first != line:
                repeated[line] = first
        return repeated

    async def read(self, rows: Sequence[FileRow], repeated: Mapping[int, int]) -> list[Line]:
        """The lines of these rows, each with what is wrong with it so far."""
        definition = self._definition
        width = len(definition.columns)
        parsed = [self._row(cells) if len(cells) == width else ({}, []) for _, cells in rows]
        lines = await read(definition.kind, [row for row, _ in parsed])
        for made, (line, cells), (_, problems) in zip(lines, rows, parsed, strict=True):
            made.index, made.noun = line, "line"
            made.added_tags = definition.input.tags or ()
            made.problems[:0] = problems
            if len(cells) != width:
                made.problems = [Problem((), f"has {len(cells)} cells, and there are {width} columns")]
            elif line in repeated and not made.problems:
                made.refuse((definition.match,), f"is that of line {repeated[line]}, too", "duplicate")
        return lines

    def _row(self, cells: Sequence[str]) -> tuple[dict[str, object], list[Problem]]:
        """The row of an upsert. Any: of each field its own."""
        return row_of({field: cells[place] for field, place in self._fields.items()}, self._convert)


def refusal_of(import_id: str, definition: Definition, row: FileRow, problems: Sequence[Problem]) -> ImportRefusal:
    """The entry of the ledger for a row."""
    line, cells = row
    errors = [{"path": list(p.path), "message": p.message, "type": p.type, "names": list(p.names)} for p in problems]
    return new_row(ImportRefusal, import_id=import_id, line=line, cells=definition.cells(cells), errors=errors)


def problems_told(refusal: ImportRefusal | ImportRefusalRow) -> list[Problem]:
    """Read the problems of a refused row."""
    return [Problem(tuple(e["path"]), e["message"], e["type"], tuple(e["names"])) for e in refusal.errors]


def ledger_head(definition: Definition, widest: int) -> bytes:
    """The first line of the refused rows as CSV: the columns as sent, then the line and what is wrong."""
    names = list(definition.cells([""] * max(widest, len(definition.columns))))
    for name in ("line", "error"):
        names.append(free_name(name, names))
    return _line(names)


def ledger_lines(definition: Definition, widest: int, refusals: Sequence[ImportRefusal]) -> bytes:
    """Refused rows as lines of CSV."""
    width = max(widest, len(definition.columns))
    return b"".join(_line([*_filled(refusal, width), str(refusal.line), _error(refusal)]) for refusal in refusals)


def _filled(refusal: ImportRefusal, width: int) -> list[str]:
    cells = [str(cell) for cell in refusal.cells.values()]
    return cells + [""] * (width - len(cells))


def _error(refusal: ImportRefusal | ImportRefusalRow) -> str:
    told = []
    for problem in problems_told(refusal):
        place = ".".join(map(str, problem.path))
        told.append(f"{place}: {problem.words()}" if place else problem.words())
    return "; ".join(told)


def _line(cells: Sequence[str]) -> bytes:
    written = [text_cell(cell, is_number=looks_like_number(cell)) if cell else "" for cell in cells]
    return f"{','.join(written)}\r\n".encode()
