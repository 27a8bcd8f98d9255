"""Says in one voice what is wrong with a value that breaks a declared constraint, on both surfaces (decision 986).

What a library finds comes as a kind with its numbers; its own phrases never reach a caller. What the code itself finds
wrong it says in the same manner: what the value must be, or is, without the field's name, which stands beside it.
"""

from collections.abc import Callable, Mapping
from typing import Final

REQUIRED: Final = "is required"
NOT_NULL: Final = "must not be null"
TEXT: Final = "must be a text"
WHOLE: Final = "must be a whole number"
NUMBER: Final = "must be a number"
FLAG: Final = "must be true or false"
LIST: Final = "must be a list"
OBJECT: Final = "must be an object"
UNKNOWN: Final = "is not known here"
ABSENT: Final = "does not exist in this organization"
INACTIVE: Final = "is no active member of this organization"
OTHERWISE: Final = "is not acceptable"

Context = Mapping[str, object]
"""The numbers and names of a constraint."""


def sentence(kind: str, told: Context) -> str:
    """The sentence for a constraint of this kind, as pydantic calls them."""
    said = _SENTENCES.get(kind, OTHERWISE)
    return said if isinstance(said, str) else said(told)


def one_of(names: list[str]) -> str:
    """That a value is none of these."""
    if len(names) == 1:
        return f"must be {names[0]}"
    return f"must be {', '.join(names[:-1])} or {names[-1]}"


def _counted(number: object, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _number(bound: object) -> object:
    """The bound as people write it: a whole one without a point."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _shortest(noun: str) -> Callable[[Context], str]:
    def say(told: Context) -> str:
        least = told["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {_counted(least, noun)}"

    return say


def _longest(noun: str) -> Callable[[Context], str]:
    return lambda told: f"must have at most {_counted(told['max_length'], noun)}"


def _expected(told: Context) -> str:
    return f"must be {told['expected']}"


_SENTENCES: Final[Mapping[str, str | Callable[[Context], str]]] = {
    "missing": REQUIRED,
    "none_required": "must be null",
    "extra_forbidden": UNKNOWN,
    "string_type": TEXT,
    "string_unicode": "must be valid Unicode text",
    "string_too_short": _shortest("character"),
    "string_too_long": _longest("character"),
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": WHOLE,
    "int_from_float": WHOLE,
    "float_type": NUMBER,
    "float_parsing": NUMBER,
    "decimal_type": NUMBER,
    "decimal_parsing": NUMBER,
    "finite_number": "must be a finite number",
    "greater_than": lambda told: f"must be more than {_number(told['gt'])}",
    "greater_than_equal": lambda told: f"must be at least {_number(told['ge'])}",
    "less_than": lambda told: f"must be less than {_number(told['lt'])}",
    "less_than_equal": lambda told: f"must be at most {_number(told['le'])}",
    "multiple_of": lambda told: WHOLE if told["multiple_of"] == 1 else f"must be a multiple of {told['multiple_of']}",
    "bool_type": FLAG,
    "bool_parsing": FLAG,
    "enum": _expected,
    "literal_error": _expected,
    "list_type": LIST,
    "tuple_type": LIST,
    "iterable_type": LIST,
    "too_short": _shortest("item"),
    "too_long": _longest("item"),
    "dict_type": OBJECT,
    "mapping_type": OBJECT,
    "model_type": OBJECT,
    "model_attributes_type": OBJECT,
    "dataclass_type": OBJECT,
    "union_tag_not_found": REQUIRED,
    "union_tag_invalid": lambda told: f"must be one of {told['expected_tags']}",
    "bytes_type": "must be the bytes of a file",
    "json_invalid": "must be valid JSON",
    "json_type": "must be JSON",
    "date_type": "must be a date of the form YYYY-MM-DD",
    "date_parsing": "must be a date of the form YYYY-MM-DD",
    "date_from_datetime_parsing": "must be a date of the form YYYY-MM-DD",
    "date_from_datetime_inexact": "must be a date of the form YYYY-MM-DD",
    "datetime_type": "must be an ISO 8601 date or time",
    "datetime_parsing": "must be an ISO 8601 date or time",
    "datetime_from_date_parsing": "must be an ISO 8601 date or time",
    "url_type": "must be an address",
    "url_parsing": "must be an address",
    "uuid_type": "must be a UUID",
    "uuid_parsing": "must be a UUID",
}
