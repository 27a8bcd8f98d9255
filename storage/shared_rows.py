"""Rows that many rows of a page link to, such as their owners: read once, and had in common (decision 970)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

SHARED: Final = "shared_row"
"""The name, among the columns of a linked row, of the column that has the row itself."""


class _Identified(Protocol):
    @property
    def id(self) -> str:
        """What other rows name it by."""


class SharedRow:
    """A row that rows of one answer link to, and what was last made of it for that, with the function that did."""

    __slots__ = ("made", "maker", "row")

    def __init__(self, row: _Identified) -> None:
        self.row = row
        self.made: object = None
        self.maker: object = None


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Reads the linked rows of a page of their JSON; `local` is the column that says which of them a row links to."""

    local: str
    read: Callable[[Sequence[Sequence[object]]], Sequence[_Identified]]

    def __call__(self, texts: Iterable[str | None]) -> Callable[[str | None], SharedRow | None]:
        """The function that finds the row with an identifier, of what the page's rows have in their column."""
        text = next((text for text in texts if text is not None), "[]")
        found: dict[str | None, SharedRow] = {row.id: SharedRow(row) for row in self.read(orjson.loads(text))}
        return found.get
