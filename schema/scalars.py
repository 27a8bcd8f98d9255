"""The scalars of the schema, as both surfaces write them."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import strawberry
from graphql import FloatValueNode, IntValueNode, StringValueNode, ValueNode
from strawberry.scalars import JSON

DECIMAL_DIGITS_MAX = 100
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _write_moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _read_moment(value: object) -> datetime:
    if isinstance(value, str) and len(value) <= 64:
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is not None and len(value) > 10:
                return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise ValueError("must be an ISO 8601 time with an offset, such as 2026-05-01T09:30:00Z")


def _read_date(value: object) -> date:
    if isinstance(value, str) and len(value) == 10:
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise ValueError("must be a date of the form YYYY-MM-DD")


def _read_decimal(value: object) -> Decimal:
    """An exact number; Python alone would take other scripts' digits, blanks and underscores too (decision 217)."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        text = value if isinstance(value, str) else repr(value)
        if len(text) <= DECIMAL_DIGITS_MAX and _DECIMAL.fullmatch(text):
            number = Decimal(text)
            if abs(number.adjusted()) <= DECIMAL_DIGITS_MAX:
                return number
    raise ValueError('must be a finite number, best as a string, such as "1200.50"')


def _read_decimal_literal(node: ValueNode, _variables: object = None) -> Decimal:
    if isinstance(node, FloatValueNode | IntValueNode | StringValueNode):
        return _read_decimal(node.value)
    return _read_decimal(None)


DATE_TIME = strawberry.scalar(
    name="DateTime",
    description='A moment: ISO 8601 with an offset, to the microsecond at most, such as "2026-05-01T09:30:00+02:00". '
    'Answers are always in UTC: "2026-05-01T07:30:00Z".',
    specified_by_url="https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
    serialize=_write_moment,
    parse_value=_read_moment,
)
DATE = strawberry.scalar(
    name="Date",
    description='A calendar day without a time zone, YYYY-MM-DD, such as "2026-05-01".',
    specified_by_url="https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
    serialize=date.isoformat,
    parse_value=_read_date,
)
DECIMAL = strawberry.scalar(
    name="Decimal",
    description='An exact decimal number, as a string without an exponent, such as "1200.5". Numbers of JSON are '
    "taken, too, though a client's own arithmetic may have rounded them.",
    specified_by_url="https://www.w3.org/TR/xmlschema11-2/#decimal",
    serialize=lambda value: format(value, "f"),
    parse_value=_read_decimal,
    parse_literal=_read_decimal_literal,
)
JSON_VALUE = strawberry.scalar(
    name="JSON",
    description='Any JSON value: an object, a list, a string, a number, true, false or null, such as {"seats": 12}.',
    specified_by_url="https://www.rfc-editor.org/rfc/rfc8259",
    serialize=lambda value: value,
    parse_value=lambda value: value,
)

SCALARS: dict[object, Any] = {  # Any: the library says no more
    datetime: DATE_TIME,
    date: DATE,
    Decimal: DECIMAL,
    JSON: JSON_VALUE,
}
