"""Declares query parameters: their types, and what those of a listing ask of the resolver.

An empty value is a text like any other (decision 26).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from contract.criteria import All, Compare, Condition, ListQuery, Op, Order, PageWindow
from contract.limits import LISTING_CAP, LISTING_DEFAULT
from resolvers.shared.inputs import Input, moment

_WHOLE = re.compile(r"-?[0-9]+")
_HUGE = 10**18
_DATE_LENGTH = 10


def _whole(value: object) -> int:
    if not isinstance(value, str) or not _WHOLE.fullmatch(value):
        raise PydanticCustomError("int_parsing", "is worded by its kind")
    # Numbers beyond every use become one that is beyond it too and that Python reads at once.
    digits = value.lstrip("-").lstrip("0")
    size = int(digits or "0") if len(digits) < len(str(_HUGE)) else _HUGE
    return -size if value.startswith("-") else size


def _moment(value: object) -> datetime:
    """Parses a time (specification 4.1). An unescaped "+" of an offset arrives as a space and is put back."""
    text = str(value)
    space = text.rfind(" ")
    # A space that stands where a date may end parts it from the time.
    return moment(text if space <= _DATE_LENGTH else f"{text[:space]}+{text[space + 1 :]}")


Whole = Annotated[int, Field(ge=0), BeforeValidator(_whole, json_schema_input_type=Annotated[int, Field(ge=0)])]
Offset = Whole
Limit = Annotated[Whole, AfterValidator(lambda size: min(size, LISTING_CAP))]
"""The number of rows; more than the cap is the cap (specification part 8)."""
Moment = Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=datetime)]


@dataclass(frozen=True, slots=True)
class Where:
    """Declares, in the annotation of a query parameter, the condition that its value sets.

    The column has the parameter's name unless another is named. Texts are compared letter case aside where it is
    `is_folded`.
    """

    op: Op = Op.EQ
    column: str | None = None
    is_folded: bool = False


class Repeatable:
    """Marks, in the annotation of a query parameter, a list: each value of the name counts, and each part by commas."""


def repeatable(model: type[Input] | None) -> frozenset[str]:
    """Returns the names of the parameters that may be given several times."""
    fields = {} if model is None else model.model_fields
    return frozenset(
        info.alias or name
        for name, info in fields.items()
        if any(isinstance(said, Repeatable) for said in info.metadata)
    )


Exactly = Annotated[str | None, Where()]
"""A text that the column of this name has to hold."""
Named = Annotated[str | None, Where(is_folded=True)]
"""A text that the column of this name has to hold, letter case aside (decision 237)."""
Since = Annotated[Moment | None, Where(Op.GTE, "updated_at")]
"""A moment at or after which the record last changed (decision 238)."""
Tagged = Annotated[str | None, Where(Op.ANY, "tags")]
"""A tag that the record has to have, letter case aside (decision 242)."""


class Conditions(Input):
    """Has query parameters that say which records are meant, each with a `Where`."""

    def conditions(self) -> Iterator[Condition]:
        """Yields the conditions of the given parameters; a flag that is false sets none."""
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None and value is not False:
                value = tuple(map(_plain, value)) if isinstance(value, list) else _plain(value)
                for where in (said for said in info.metadata if isinstance(said, Where)):
                    value = (value,) if where.op is Op.ANY else value
                    yield Compare(where.column or name, where.op, value, where.is_folded)

    def condition(self) -> Condition:
        """Returns which records are meant."""
        return All(tuple(self.conditions()))


class ListParameters(Conditions):
    """Has the query parameters of every listing; a subclass adds filters, each with a `Where`."""

    limit: Limit = Field(
        default=LISTING_DEFAULT, description=f"Rows at most; more than {LISTING_CAP} is {LISTING_CAP}."
    )
    offset: Offset = Field(default=0, description="Rows to skip.")

    def listing(self) -> ListQuery:
        """Returns the query as the resolver takes it."""
        window = PageWindow(first=self.limit, offset=self.offset)
        return ListQuery(self.condition(), self.sorting(), window)

    def sorting(self) -> Order | None:
        """Returns the order; None for the record type's own."""
        return None


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value
