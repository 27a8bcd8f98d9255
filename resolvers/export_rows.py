"""Says which lists are exported, and which columns each of them has; `resolvers/export_forms.py` writes their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contract.bulk_vocabulary import ExportKind
from contract.criteria import Selection
from contract.errors import Path, Problem, Problems
from contract.vocabulary import TaggedKind
from storage.columns import JSON, OBJECT, OBJECTS, columns_of
from storage.queries import listables
from storage.queries.listable import Listable
from storage.rows import Row

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
