"""Defines what a caller may ask of a list: which rows, in which order, which page. Neutral between the two surfaces."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from contract.errors import Problem, Problems
from contract.limits import PAGE_DEFAULT, PAGE_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import SortDirection, TaggedKind


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
    ANY = "any"
    ALL = "all"
    NONE = "none"
    IS_EMPTY = "is_empty"


@dataclass(frozen=True, slots=True)
class Compare:
    """One field of the record against one value, or a tuple of them: conditions are keys.

    What `is_folded` is compared letter case and width aside; lists of texts always are (decision 237).
    """

    field: str
    op: Op
    value: object
    is_folded: bool = False


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


class TagMatch(StrEnum):
    """Names tags: one, one of several or each of them by what their names fold to, or one by its very name.

    FEW is each of a few names, which have a place each among the parameters; EACH is of a list of them in one place.
    """

    ONE = "one"
    SOME = "some"
    FEW = "few"
    EACH = "each"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class HasTag:
    """A record of the kind has the tag that is named, or one of those, or each; any tag at all where none is named.

    Storage makes it of a comparison with `tags`.
    """

    kind: TaggedKind
    names: Any  # Any: the place of the names among a statement's parameters, or several
    match: TagMatch = TagMatch.SOME
    number: Any = None  # Any: the place of the number of names, where each is asked for


@dataclass(frozen=True, slots=True)
class UsedOn:
    """A tag is on at least one record of one of these kinds."""

    kinds: Any  # Any: the kinds, or their place among a statement's parameters


@dataclass(frozen=True, slots=True)
class AttachedTo:
    """A file is attached to this record."""

    record_id: Any  # Any: the identifier, or its place among a statement's parameters


Condition = Compare | Related | All | Any_ | Not | HasTag | UsedOn | AttachedTo
EVERYTHING = All()


@dataclass(frozen=True, slots=True)
class Order:
    """The sort field by its column name, and the direction; ties are the list's own business."""

    field: str
    direction: SortDirection = SortDirection.DESC


@dataclass(frozen=True, slots=True)
class PageWindow:
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
        return self.last is not None or self.before is not None

    @property
    def size(self) -> int:
        asked = self.last if self.backward else self.first
        return PAGE_DEFAULT if asked is None else asked

    @property
    def cursor(self) -> str | None:
        return self.before if self.backward else self.after


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A whole question to a list."""

    condition: Condition = EVERYTHING
    order: Order | None = None
    page: PageWindow = field(default_factory=PageWindow)


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns that are wanted of each row, and of the rows that its to-one links lead to, theirs.

    `along` has what may come in the statement of a record that is asked for alone. Where no cursor of a row is wanted,
    the columns that its list is ordered by are not either.
    """

    columns: frozenset[str]
    links: frozenset[tuple[str, frozenset[str]]] = frozenset()
    along: tuple["Along", ...] = ()
    has_cursors: bool = True
    sources: dict[tuple[str, str], object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The sources that lists made of it, by record type and order: made once for the operation it stands in."""


@dataclass(frozen=True, slots=True)
class Along:
    """A list that is wanted below a record: its name, which page of it, and how many rows that takes.

    It is below the record itself, or below the one that a to-one `link` of that leads to. Without a page, and without a
    number, it is all rows. Who is in none of the scopes of `group` does not get it.
    """

    name: str
    link: str | None
    listing: ListQuery | None
    rows: int | None
    selection: Selection
    group: ScopeGroup | None = None
