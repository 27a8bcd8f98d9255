"""The kinds of query parameters, and what an empty value means: nothing but a text like any other (decision 26)."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from contract.limits import LISTING_CAP
from resolvers.inputs import moment

_WHOLE = re.compile(r"-?[0-9]+")
_HUGE = 10**18
_DATE_LENGTH = 10


def _whole(value: object) -> int:
    if not isinstance(value, str) or not _WHOLE.fullmatch(value):
        raise PydanticCustomError(
            "int_parsing", "Input should be a valid integer, unable to parse string as an integer"
        )
    # Numbers beyond every use become one that is beyond it too and that Python reads at once.
    digits = value.lstrip("-").lstrip("0")
    size = int(digits or "0") if len(digits) < len(str(_HUGE)) else _HUGE
    return -size if value.startswith("-") else size


def _moment(value: object) -> datetime:
    """A time (specification 4.1). The "+" of an offset that was not escaped arrives as a space: it is put back."""
    text = str(value)
    space = text.rfind(" ")
    # A space that stands where a date may end parts it from the time.
    return moment(text if space <= _DATE_LENGTH else f"{text[:space]}+{text[space + 1 :]}")


Whole = Annotated[int, Field(ge=0), BeforeValidator(_whole, json_schema_input_type=Annotated[int, Field(ge=0)])]
Offset = Whole
Limit = Annotated[Whole, AfterValidator(lambda size: min(size, LISTING_CAP))]
"""The number of rows; more than the cap is the cap (specification part 8)."""
Moment = Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=datetime)]
