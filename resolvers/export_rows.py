"""Writes rows of a list as CSV or as lines of JSON: which columns there are, and what they hold there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

import orjson

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Selection
from contract.errors import Path, Problem, Problems
from contract.vocabulary import TaggedKind
from reports.csv_cells import joined, looks_like_number, text_cell
from storage.columns import JSON, OBJECT, OBJECTS, columns_of
from storage.queries import listables
from storage.queries.listable import Listable
from storage.rows import Row
from storage.statements import AnyRow

_MEETING = (
    *("id", "type", "subject", "body", "due_at", "completed_at", "duration_minutes", "account_id", "deal_id"),
    *("contact_id", "lead_id", "owner_id", "source", "direction", "created_at", "updated_at", "version"),
)
_HIDDEN: Mapping[ExportKind, frozenset[str]] = {
    ExportKind.ACTIVITY: frozenset({"external_id"}),
    ExportKind.CAMPAIGN: frozenset({"revision"}),
}
"""Columns that are the service's own."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A kind of records: the list, all columns that can be asked for, and the plain ones among them."""

    kind: ExportKind
    listable: Listable[Row]
    columns: tuple[str, ...]
    plain: tuple[str, ...]

    def chosen(self, names: Sequence[str] | None, at: Path) -> tuple[str, ...]:
        """The columns of these names, in this order; the plain ones unless told.

        Raises Problems for each that there is not, or that stands there twice.
        """
        if names is None:
            return self.plain
        problems = [
            Problem((*at, n), f"there is no column {name[:100]}", "value_error")
            if name not in self.columns
            else Problem((*at, n), "is named twice", "value_error")
            for n, name in enumerate(names)
            if name not in self.columns or name in names[:n]
        ]
        if problems or not names:
            raise Problems(problems or [Problem(at, "must name a column", "too_short")])
        return tuple(names)

    def selecting(self, columns: Sequence[str]) -> Listable[Row]:
        """The list with what these columns need."""
        return self.listable.selecting(Selection(frozenset(columns)))

    @property
    def tagged(self) -> TaggedKind | None:
        """The kind of records whose tags are read beside the row; a lead has its own with it."""
        return None if self.kind is ExportKind.LEAD else self.listable.tagged


def _exported(kind: ExportKind, listable: Listable[Row]) -> Exported:
    declared = columns_of(listable.entity)
    plain = [c.name for c in declared if c.kind not in (JSON, OBJECT, OBJECTS)]
    if kind is ExportKind.MEETING:
        plain = [name for name in _MEETING if name != "id"]
    tags = ["tags"] if listable.tagged is not None and "tags" not in plain else []
    known = ["id", *plain, *tags]
    hidden = _HIDDEN.get(kind, frozenset())
    structured = [c.name for c in declared if c.name not in known and c.kind in (JSON, OBJECT, OBJECTS)]
    return Exported(
        kind,
        listable,
        tuple(name for name in [*known, *structured] if name not in hidden),
        tuple(name for name in known if name not in hidden),
    )


_LISTS: Mapping[ExportKind, Listable[Row]] = {
    ExportKind.ACCOUNT: listables.ACCOUNTS,
    ExportKind.CONTACT: listables.CONTACTS,
    ExportKind.DEAL: listables.DEALS,
    ExportKind.LEAD: listables.LEADS,
    ExportKind.MEETING: listables.MEETINGS,
    ExportKind.ACTIVITY: listables.ACTIVITIES,
    ExportKind.CAMPAIGN: listables.CAMPAIGNS,
}
EXPORTED: Mapping[ExportKind, Exported] = {kind: _exported(kind, listable) for kind, listable in _LISTS.items()}

Values = Sequence[object]
"""The values of a row, in the order of the columns."""


@dataclass(frozen=True, slots=True)
class Form:
    """A format: its media type, what comes first, and what writes rows."""

    media_type: str
    head: Callable[[Sequence[str]], bytes]
    write: Callable[[Sequence[str], Sequence[Values]], bytes]


def values_of(columns: Sequence[str], rows: Sequence[AnyRow], tags: Mapping[str, list[str]]) -> list[Values]:
    """The values of rows; the names of tags stand beside them unless the row has them."""
    if not rows:
        return []
    places = {name: place for place, name in enumerate(rows[0]._fields)}
    beside = "tags" if "tags" not in places else ""
    return [[tags.get(row.id, []) if name == beside else row[places[name]] for name in columns] for row in rows]


def _json_lines(columns: Sequence[str], rows: Sequence[Values]) -> bytes:
    option = orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
    return b"".join(orjson.dumps(dict(zip(columns, row, strict=True)), default=_number, option=option) for row in rows)


def _number(value: object) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    raise TypeError(type(value).__name__)


def _csv_lines(_columns: Sequence[str], rows: Sequence[Values]) -> bytes:
    return "".join(f"{','.join(map(_cell, row))}\r\n" for row in rows).encode()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_cell(value, is_number=looks_like_number(value))
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return text_cell(joined(value)) if value else ""
    return text_cell(orjson.dumps(value, default=_number, option=orjson.OPT_UTC_Z).decode())


FORMS: Mapping[ExportFormat, Form] = {
    ExportFormat.CSV: Form(
        "text/csv; charset=utf-8; header=present", lambda names: _csv_lines((), [names]), _csv_lines
    ),
    ExportFormat.JSONL: Form("application/jsonl", lambda _names: b"", _json_lines),
}
