"""Defines what a caller may ask of a list: which rows, in which order, which page. Neutral between the two surfaces."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from contract.errors import Problem, Problems
from contract.limits import PAGE_DEFAULT, PAGE_MAX
from contract.vocabulary import SortDirection


class Op(StrEnum):
    """A comparator of the filter inputs."""

    EQ = "eq"
    NEQ = "neq"
    IN = "in"
    NIN = "nin"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"


@dataclass(frozen=True, slots=True)
class Compare:
    """One field of the record against one value, which for `in` and `nin` is a tuple: conditions are keys."""

    field: str
    op: Op
    value: Any


@dataclass(frozen=True, slots=True)
class Related:
    """The linked record exists and meets the condition."""

    link: str
    condition: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds; with no part, true. Its hash is kept: as a filter it is a key for each row that it is below."""

    parts: tuple["Condition", ...] = ()
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if not self._hash:
            object.__setattr__(self, "_hash", hash(self.parts))
        return self._hash


@dataclass(frozen=True, slots=True)
class Any_:
    """At least one part holds; with no part, false."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """The complement: rows for which the condition is unknown because of a null are in it (decision 8)."""

    part: "Condition"


Condition = Compare | Related | All | Any_ | Not
EVERYTHING = All()


@dataclass(frozen=True, slots=True)
class Order:
    """The sort field by its column name, and the direction; ties are the list's own business."""

    field: str
    direction: SortDirection = SortDirection.DESC


@dataclass(frozen=True, slots=True)
class Page:
    """A window over an ordered list: forward (`first`, `after`), backward (`last`, `before`), or by `offset`."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None
    offset: int | None = None

    def __post_init__(self) -> None:
        problems = [
            Problem((name,), f"must be between 0 and {PAGE_MAX}", "page_size")
            for name, size in (("first", self.first), ("last", self.last))
            if size is not None and not 0 <= size <= PAGE_MAX
        ]
        if self.offset is not None and self.offset < 0:
            problems.append(Problem(("offset",), "must not be negative", "greater_than_equal"))
        backward = self.last is not None or self.before is not None
        if backward and (self.first is not None or self.after is not None):
            problems.append(Problem(("last",), "last and before do not go with first and after", "page_direction"))
        if self.offset is not None and (backward or self.after is not None):
            problems.append(Problem(("offset",), "offset does not go with a cursor or with last", "page_direction"))
        if problems:
            raise Problems(problems)

    @property
    def backward(self) -> bool:
        """Whether the window is counted from its end."""
        return self.last is not None or self.before is not None

    @property
    def size(self) -> int:
        """Rows in the window: what was asked for, or the default."""
        asked = self.last if self.backward else self.first
        return PAGE_DEFAULT if asked is None else asked

    @property
    def cursor(self) -> str | None:
        """The cursor that the window starts behind (or, backward, ends before)."""
        return self.before if self.backward else self.after


@dataclass(frozen=True, slots=True)
class Listing:
    """A whole question to a list."""

    condition: Condition = EVERYTHING
    order: Order | None = None
    page: Page = field(default_factory=Page)


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns that are wanted of each row, and of the rows that its to-one links lead to, theirs."""

    columns: frozenset[str]
    links: frozenset[tuple[str, frozenset[str]]] = frozenset()
    sources: dict[tuple[str, str], object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The sources that lists made of it, by record type and order: made once for the operation it stands in."""
