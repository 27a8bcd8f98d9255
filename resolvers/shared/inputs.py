"""Checks what the operations accept, field by field, once for both surfaces.

Each input is a model below `Input`; `parse` reads one from the caller's fields and reports everything wrong in one go.
"""

import math
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeVar

import orjson
import pycountry
from email_validator import EmailNotValidError, validate_email
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictStr,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from contract.domains import kept_domain
from contract.errors import Path, Problem, Problems
from contract.limits import CAPTURE_DEPTH_MAX, EMAIL_MAX, LINE_MAX, MONEY_BELOW, MONEY_DECIMALS, TEXT_MAX
from contract.normal_form import is_invisible, ordered
from contract.plain_email import is_plain_email
from contract.unread import heard
from contract.web_address import is_web_address
from resolvers.shared.sentences import NOT_NULL, sentence
from storage.base import Record, as_uuid, plain_decimal

M = TypeVar("M", bound="Input")

Given = dict[str, Any]
"""Fields by their names. Any: each is of its input's type, and so it is of a JSON schema."""


class Input(BaseModel):
    """Base of the inputs: unknown fields are ignored, and what the caller left out is not in `given`."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)
    of_table: ClassVar[type[Record] | None] = None
    """The table whose columns the input takes, and whether it is a change of a record: `fields_of` says so."""
    is_change: ClassVar[bool] = False
    filled: ClassVar[tuple[str, ...]] = ()
    """Fields that may be left out and not be null, besides those of columns that never are; the resolver refuses it."""

    def given(self) -> Given:
        """The fields that the caller named, nulls included."""
        return {name: getattr(self, name) for name in self.__class__.model_fields if name in self.model_fields_set}


class ExactInput(Input):
    """Base of the inputs in which an unknown name is refused, and named: what is misspelled there would not be left
    out of a record, but let more in, send it to others, or do in earnest what was to be tried (decision 991).
    """

    model_config = ConfigDict(extra="forbid")


def having_all(*names: str) -> JsonValue:
    """The JSON schema of an object that has all of these, and no null in them."""
    return {"required": list(names), "properties": {name: {"type": "string"} for name in names}}


def never_null(*but: str) -> Callable[[Given], None]:
    """Tells the JSON schema of an input that its fields may be left out, and that none is null but these."""

    def tell(schema: Given) -> None:
        for name, field in schema["properties"].items():
            kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
            if name not in but and len(kinds) == 1:
                del field["anyOf"]
                field.update(kinds[0])

    return tell


def parse(model: type[M], fields: object, *, at: Path = ()) -> M:
    """The input, or Problems with a path below `at` for each thing that is wrong."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise Problems(problems_of(error, at)) from None


def problems_of(error: ValidationError, at: Path = ()) -> list[Problem]:
    """Lists what a model found, in the caller's terms."""
    return [
        Problem((*at, *details["loc"]), words_of(details), details["type"])
        for details in error.errors(include_url=False, include_input=False)
    ]


def words_of(details: ErrorDetails) -> str:
    """Says what is wrong: the words of a validator of ours as they are, or our sentence for the constraint."""
    told = details.get("ctx", {})
    raised = told.get("error")
    return str(raised) if isinstance(raised, ValueError) else sentence(details["type"], told)


def storable(text: str) -> str:
    """The text as both databases can keep and index it. Raises ValueError for one that they cannot (decision 136)."""
    if "\x00" in text:
        raise ValueError("must not contain the NUL character")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("must be valid Unicode text")
    return ordered(text)


def json_object(value: object, most: int) -> tuple[dict[str, object], bytes]:
    """An object of JSON, to the last digit of its numbers, and its text. Raises ValueError for one that is too much."""
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    plain = {storable(str(name)): _plain(part, CAPTURE_DEPTH_MAX - 1) for name, part in value.items()}
    text = orjson.dumps(plain)
    if len(text) > most:
        raise ValueError(f"must have at most {most} bytes as JSON text")
    return plain, text


def _plain(value: object, depth: int) -> object:
    if depth == 0:
        raise ValueError(f"must not nest deeper than {CAPTURE_DEPTH_MAX} levels")
    if isinstance(value, dict):
        return {storable(str(name)): _plain(part, depth - 1) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part, depth - 1) for part in value]
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, int | Decimal | float) and not _is_finite(value):
        raise ValueError("must have finite numbers only")
    if isinstance(value, Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        return orjson.Fragment(str(value))
    return value


def _is_finite(number: float | Decimal) -> bool:
    """Says whether readers of JSON, which take numbers for doubles, find a finite one."""
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number beyond every double
        return False


def shown(text: str) -> str:
    """The text, where somebody can see something of it. Raises ValueError for one that shows nothing (decision 191)."""
    if is_invisible(text):
        raise ValueError("must have a visible character")
    return text


def _amount(value: object) -> Decimal:
    heard(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("must be a number")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise ValueError("must be a finite number")
    if -MONEY_BELOW < number < MONEY_BELOW:  # of more digits than Decimal rounds there is no need to know the last
        number = round(number, MONEY_DECIMALS)  # half to even, and the range is judged after that (decision 207)
    if number < 0:
        raise ValueError("must not be negative")
    if number >= MONEY_BELOW:
        raise ValueError("must be less than 10^15")
    return plain_decimal(abs(number))  # as it is read back, and -0.0 is 0


@lru_cache(maxsize=1)
def currencies() -> frozenset[str]:
    """The codes of ISO 4217."""
    return frozenset(currency.alpha_3 for currency in pycountry.currencies)


def _currency(code: str) -> str:
    upper = code.upper()
    if upper not in currencies():
        raise ValueError("must be an ISO 4217 currency code")
    return upper


def _calendar_date(value: object) -> date:
    heard(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and len(value) == 10:
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError("must be a date of the form YYYY-MM-DD")


_CAPITALS = str.maketrans("tz", "TZ")


def moment(text: str) -> datetime:
    """An ISO 8601 time in UTC: without an offset it is UTC, a bare date is its midnight. Raises ValueError.

    `t` and `z` may be lower case, as RFC 3339 has it (decision 218).
    """
    try:
        parsed = datetime.fromisoformat(text.translate(_CAPITALS))
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be an ISO 8601 date or time") from None


_FIRST, _LAST = (end.replace(tzinfo=UTC) for end in (datetime.min, datetime.max))


def _moment(value: object) -> datetime:
    heard(value)
    if isinstance(value, str):
        value = moment(value)
    if not isinstance(value, datetime):
        raise ValueError("must be an ISO 8601 date or time")
    if not _FIRST < value < _LAST:  # PostgreSQL's driver takes these two for infinity (decision 120)
        raise ValueError("must be later than 0001-01-01T00:00:00Z and earlier than 9999-12-31T23:59:59.999999Z")
    return value


def _email(address: str) -> str:
    if is_plain_email(address):
        return address
    try:
        validate_email(address, check_deliverability=False)
    except EmailNotValidError:
        raise ValueError("must look like an e-mail address") from None
    return address


def _web_address(text: str) -> str:
    if not is_web_address(text):
        raise ValueError("must be an http:// or https:// address")
    return text


def bounded(longest: int, shortest: int | None = None) -> StringConstraints:
    """A text of no more and no fewer characters."""
    return StringConstraints(strict=True, min_length=shortest, max_length=longest)


def trimmed(longest: int, shortest: int = 1) -> StringConstraints:
    """A text that counts and is kept without the blanks around it; with something in it unless told."""
    return StringConstraints(strict=True, strip_whitespace=True, min_length=shortest, max_length=longest)


Line = Annotated[StrictStr, Field(max_length=LINE_MAX), AfterValidator(storable)]
RequiredLine = Annotated[StrictStr, Field(min_length=1, max_length=LINE_MAX), AfterValidator(storable)]
Text = Annotated[StrictStr, Field(max_length=TEXT_MAX), AfterValidator(storable)]
Amount = Annotated[
    Decimal, BeforeValidator(_amount, json_schema_input_type=Annotated[float, Field(ge=0, lt=float(MONEY_BELOW))])
]
Currency = Annotated[
    StrictStr, AfterValidator(_currency), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z]{3}$"})
]
CalendarDate = Annotated[date, BeforeValidator(_calendar_date, json_schema_input_type=date)]
Moment = Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=datetime)]
Email = Annotated[
    StrictStr,
    Field(max_length=LINE_MAX),
    AfterValidator(storable),
    AfterValidator(_email),
    WithJsonSchema({"type": "string", "format": "email", "maxLength": EMAIL_MAX}),
]
WebAddress = Annotated[Line, AfterValidator(_web_address)]
Domain = Annotated[Line, AfterValidator(kept_domain)]
Reference = Annotated[StrictStr, AfterValidator(lambda text: as_uuid(text) or text)]
"""The identifier of a record; whether it is one of the organization's is found out in the transaction."""


def nulls(fields: Mapping[str, object], names: Collection[str], at: Path = ("input",)) -> list[Problem]:
    """The nulls given for fields that a record cannot be without."""
    return [Problem((*at, n), NOT_NULL, "null") for n in names if n in fields and fields[n] is None]


def not_null(fields: Mapping[str, object], *names: str, at: Path = ("input",)) -> None:
    """Refuse a null for fields that a record cannot be without. Raises Problems."""
    if problems := nulls(fields, names, at):
        raise Problems(problems)
