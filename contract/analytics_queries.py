"""Declares the parts of a semantic query beside names of the catalogue: its comparisons, the form of a condition."""

from dataclasses import dataclass
from enum import StrEnum

from contract.criteria import All, Any_, Compare, Not


class Operator(StrEnum):
    """How a condition of a semantic query compares."""

    EQ = "eq"
    NEQ = "neq"
    IN = "in"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IS_NULL = "is_null"
    IS_NOT_NULL = "is_not_null"
    EXISTS = "exists"
    MISSING = "missing"


OF_NULL = frozenset({Operator.IS_NULL, Operator.IS_NOT_NULL})
OF_LINKS = frozenset({Operator.EXISTS, Operator.MISSING})


@dataclass(frozen=True, slots=True)
class Linked:
    """A record of the entity that the link leads to is there and meets the condition; or none is."""

    link: str
    exists: bool
    condition: "Test"


Test = Compare | All | Any_ | Not | Linked
"""The form of a condition: a comparison names a dimension, and holds a value or its place among the parameters."""
