"""Writes rows of a list as CSV or as lines of JSON, by one function for the columns that are wanted.

Of a list of so many rows, all that is the same for each of them is decided once: which place of the row a column has,
and what it takes to write that. So the function is made of source text, such as

    lambda rows, tags: join([dumps({"id": r[0], "value": None if r[3] is None else d0(r[3])}, ...) for r in rows])

The rows are as the driver sent them (decision 1186).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache

import orjson

from contract.bulk_vocabulary import ExportFormat
from reports.csv_cells import is_harmless, joined, looks_like_number, text_cell
from storage.sent_records import SentColumn
from storage.statements import AnyRow, Decode

Tags = Mapping[str, list[str]]
"""The names of the tags of each record that has some, by its identifier."""
Write = Callable[[Sequence[AnyRow], Tags], bytes]
"""Writes rows that have the same columns."""
Names = dict[Decode, str]
"""The functions that a source calls, each with the name that it has there."""

_OPTION = orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC | orjson.OPT_APPEND_NEWLINE
_LAYOUTS_MAX = 100


@dataclass(frozen=True, slots=True)
class Form:
    """A format: its media type, what comes first, and what makes the function that writes rows.

    `writer` is told the columns that are wanted and those that the rows have, both in their order. Tags stand beside
    the rows unless these have them.
    """

    media_type: str
    head: Callable[[Sequence[str]], bytes]
    writer: Callable[[tuple[str, ...], tuple[SentColumn, ...]], Write]


_Value = Callable[[str, SentColumn, Names], str]
"""The source of the value of a column that a row has, given that of what it holds; it may name further functions."""
_TAGS = SentColumn("tags", None, None, None)


def _values(columns: Sequence[str], sent: Sequence[SentColumn], value: _Value, names: Names) -> list[str]:
    """The source of each value of the row `r`. Raises ValueError for a column that is neither there nor `tags`."""
    places = {column.name: place for place, column in enumerate(sent)}
    sources = []
    for name in columns:
        place = places.get(name)
        if place is None and name == "tags":
            sources.append(value(f"tags.get(r[{places['id']}], none)", _TAGS, names))
        elif place is None:
            raise ValueError(f"{name} is not in the rows")
        else:
            sources.append(value(f"r[{place}]", sent[place], names))
    return sources


def _called(held: str, decode: Decode | None, names: Names, *, null: str) -> str:
    """The source of what the function makes of what a row holds; `null` is that of what stands for nothing."""
    if decode is None:
        return held
    name = names.setdefault(decode, f"d{len(names)}")
    return f"({null} if {held} is None else {name}({held}))"


def _made(source: str, functions: Names, **others: object) -> Write:
    names = {"none": [], **{name: function for function, name in functions.items()}, **others}
    made: Write = eval(source, names)  # noqa: S307  # of our own columns' names, quoted, and numbers
    return made


@lru_cache(maxsize=_LAYOUTS_MAX)
def _json_writer(columns: tuple[str, ...], sent: tuple[SentColumn, ...]) -> Write:
    functions: Names = {}
    values = _values(columns, sent, _json_value, functions)
    pairs = ", ".join(f"{name!r}: {value}" for name, value in zip(columns, values, strict=True))
    source = f"lambda rows, tags: join([dumps({{{pairs}}}, number, option) for r in rows])"
    return _made(source, functions, join=b"".join, dumps=orjson.dumps, number=_number, option=_OPTION)


def _json_value(held: str, column: SentColumn, names: Names) -> str:
    return _called(held, column.for_json, names, null="None")


def _number(value: object) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    raise TypeError(type(value).__name__)


@lru_cache(maxsize=_LAYOUTS_MAX)
def _csv_writer(columns: tuple[str, ...], sent: tuple[SentColumn, ...]) -> Write:
    functions: Names = {}
    cells = ",".join(f"{{{value}}}" for value in _values(columns, sent, _csv_value, functions))
    source = f'lambda rows, tags: "".join([f"{cells}\\r\\n" for r in rows]).encode()'
    return _made(source, functions, cell=_cell)


def _csv_value(held: str, column: SentColumn, names: Names) -> str:
    if column.as_text is not None:
        return _called(held, column.as_text, names, null="''")
    return f"cell({_called(held, column.decode, names, null='None')})"


def _csv_head(columns: Sequence[str]) -> bytes:
    return (",".join(map(_cell, columns)) + "\r\n").encode()


def _cell(value: object) -> str:
    """The cell of a value, found by its class: the classes are few, and each is looked up in one step."""
    return _CELLS.get(value.__class__, _structure)(value)


def _text(text: str) -> str:
    return text_cell(text, is_number=not is_harmless(text) and looks_like_number(text))


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _list(value: list[object]) -> str:
    if not value:
        return ""
    texts = [name for name in value if isinstance(name, str)]
    return text_cell(joined(texts)) if len(texts) == len(value) else _structure(value)


def _structure(value: object) -> str:
    if isinstance(value, str):  # of a class of its own, such as a vocabulary's
        return _text(str(value))
    return text_cell(orjson.dumps(value, default=_number, option=orjson.OPT_UTC_Z).decode())


_CELLS: Mapping[type, Callable[..., str]] = {
    type(None): lambda _none: "",
    bool: lambda flag: "true" if flag else "false",
    str: _text,
    Decimal: lambda number: format(number, "f"),
    datetime: _moment,
    date: date.isoformat,
    int: str,
    float: str,
    list: _list,
}

FORMS: Mapping[ExportFormat, Form] = {
    ExportFormat.CSV: Form("text/csv; charset=utf-8; header=present", _csv_head, _csv_writer),
    ExportFormat.JSONL: Form("application/jsonl", lambda _names: b"", _json_writer),
}
