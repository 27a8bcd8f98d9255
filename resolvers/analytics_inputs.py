"""Semantic queries as callers, the assistant and saved queries write them: names of the catalogue, and values."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StrictStr

from contract.analytics_queries import Operator
from contract.catalog import DateGrain
from contract.limits import ANALYTICS_LIST_MAX, ANALYTICS_ROWS_MAX
from contract.vocabulary import SortDirection
from resolvers.outreach_inputs import TimeZone
from resolvers.shared.inputs import Input, storable

_Name = Annotated[StrictStr, Field(max_length=100), AfterValidator(storable)]


def _as_list(given: object) -> object:
    """Null is as if nothing was named."""
    return [] if given is None else given


def _or_null(schema: dict[str, object]) -> None:
    """The published form of a list that null stands for as well."""
    schema["type"] = ["array", "null"]


_Names = Annotated[
    list[_Name], Field(max_length=ANALYTICS_LIST_MAX, json_schema_extra=_or_null), BeforeValidator(_as_list)
]


class AnalyticsCondition(Input):
    """A condition: a dimension with a value, or a link with conditions on the linked records."""

    field: _Name
    op: Operator = Operator.EQ
    value: Any = None  # Any: what the dimension holds, or a list of that
    where: Annotated[list[AnalyticsCondition], Field(max_length=ANALYTICS_LIST_MAX)] | None = None


class AnalyticsOrder(Input):
    """An order; null is last in either direction."""

    field: _Name
    direction: SortDirection = SortDirection.ASC


class AnalyticsQuery(Input):
    """A semantic query."""

    entity: _Name
    measures: _Names = []
    by: _Names = []
    grain: DateGrain = DateGrain.MONTH
    where: Annotated[
        list[AnalyticsCondition],
        Field(max_length=ANALYTICS_LIST_MAX, json_schema_extra=_or_null),
        BeforeValidator(_as_list),
    ] = []
    order_by: Annotated[
        list[AnalyticsOrder],
        Field(max_length=ANALYTICS_LIST_MAX, json_schema_extra=_or_null),
        BeforeValidator(_as_list),
    ] = []
    first: Annotated[StrictInt, Field(ge=0, le=ANALYTICS_ROWS_MAX)] | None = ANALYTICS_ROWS_MAX
    time_zone: TimeZone = "UTC"

    @property
    def plan(self) -> dict[str, object]:
        """The query as JSON, without what is as it would be anyway."""
        return self.model_dump(mode="json", exclude_defaults=True)
