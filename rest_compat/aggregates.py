"""Serves aggregates: what the paths of all records share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from contract.catalog import DateGrain
from contract.criteria import All, Condition
from contract.limits import GROUPS_DEFAULT, GROUPS_MAX
from contract.vocabulary import SortDirection
from resolvers.aggregates import Aggregate, Figures, Grouping
from rest_compat.parameters import Conditions, Whole
from rest_compat.schemas import JsonObject

Limit = Annotated[Whole, AfterValidator(lambda size: min(size, GROUPS_MAX))]


class AggregateQuery(Conditions):
    """Has the query parameters of every aggregate; a subclass adds dimensions, orders and filters."""

    grain: DateGrain = Field(default=DateGrain.MONTH, description="The width of the periods of date dimensions.")
    time_zone: str = Field(default="UTC", description="The IANA time zone whose days and months moments fall into.")
    order: SortDirection = Field(default=SortDirection.ASC, description="Which end of the order comes first.")
    limit: Limit = Field(
        default=GROUPS_DEFAULT, description=f"Groups at most; more than {GROUPS_MAX} is {GROUPS_MAX}, 0 lists none."
    )

    def condition(self) -> Condition:
        """Returns which records count."""
        return All(tuple(self.conditions()))

    def grouping(self, by: Sequence[StrEnum] | None, order: StrEnum, currency: str | None = None) -> Grouping:
        """Returns how they are grouped."""
        return Grouping(by or (), self.grain, self.time_zone, order, self.order, currency, self.limit, at=("currency",))


def document(found: Aggregate, keys: Sequence[JsonObject], names: Sequence[str]) -> JsonObject:
    """Returns the document of an aggregate whose groups have these keys and figures of these names."""
    shown = [{"key": key, **_figures(group, names)} for key, group in zip(keys, found.groups, strict=True)]
    return {
        "groups": shown,
        "total": _figures(found.total, names),
        "group_count": found.group_count,
        "truncated": found.truncated,
    }


def key_of(group: Figures, by: Sequence[StrEnum], records: Mapping[str, Mapping[str, JsonObject]]) -> JsonObject:
    """Returns the key of a group: the dimensions that were asked for, with the records that the identifiers name."""
    key: JsonObject = {}
    for dimension in by:
        name = dimension.value
        value = getattr(group.key, _IDENTIFIED.get(name, name))
        if name in records:
            value = None if value is None else records[name].get(value)
        key[name] = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return key


_IDENTIFIED: Final = {name: f"{name}_id" for name in ("stage", "owner", "account", "deal")}


def _figures(group: Figures, names: Sequence[str]) -> JsonObject:
    return {name: _figure(getattr(group, name)) for name in names}


def _figure(value: Any) -> Any:  # Any: a number, or what is there for each currency
    return [asdict(one) for one in value] if isinstance(value, list) else value
