"""Serves aggregates: what the paths of all records share."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from contract.catalog import DateGrain
from contract.limits import GROUPS_DEFAULT, GROUPS_MAX
from contract.vocabulary import SortDirection
from resolvers.aggregates import Aggregate, Figures, Grouping, Period, Subject
from resolvers.shared.context import Context
from rest_compat.operations import Resolver, RestRequest, RestResponse
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

    def grouping(self, by: Sequence[StrEnum] | None, order: StrEnum, currency: str | None = None) -> Grouping:
        """Returns how they are grouped."""
        return Grouping(by or (), self.grain, self.time_zone, order, self.order, currency, self.limit, at=("currency",))


@dataclass(frozen=True, slots=True)
class Named:
    """Says how the records of a dimension are found, and which of their keys are shown."""

    find: Resolver
    keys: tuple[str, ...]


async def answered(
    call: RestRequest,
    resolver: Resolver,
    subject: Subject,
    by: Sequence[StrEnum],
    order: StrEnum,
    named: Mapping[str, Named],
) -> RestResponse:
    """Answers with all figures that the caller may see of the groups, and of all of them together.

    The records of a dimension come at once.
    """
    query: AggregateQuery = call.query
    wanted = frozenset((*subject.figures, *subject.parts))
    grouping = query.grouping(by, order, getattr(query, "currency", None))
    found: Aggregate = await resolver(call.ctx, query.condition(), grouping, wanted)
    names, records = tuple(name for name in subject.figures if hasattr(found.total, name)), {}
    for dimension in by:
        if dimension.value in named:
            records[dimension.value] = await _records(
                call.ctx, subject, dimension, named[dimension.value], found.groups
            )
    groups = [{"key": _key(subject, group, by, records), **_figures(group, names)} for group in found.groups]
    return RestResponse(
        {
            "groups": groups,
            "total": _figures(found.total, names),
            "group_count": found.group_count,
            "truncated": found.truncated,
        }
    )


async def _records(
    ctx: Context, subject: Subject, dimension: StrEnum, named: Named, groups: Sequence[Figures]
) -> dict[str, JsonObject]:
    attribute = subject.keys[dimension.value]
    ids = {identifier for group in groups if (identifier := getattr(group.key, attribute)) is not None}
    found = await gather(*(named.find(ctx, identifier) for identifier in sorted(ids)))
    return {row.id: {key: getattr(row, key) for key in named.keys} for row in found if row is not None}


def _key(
    subject: Subject, group: Figures, by: Sequence[StrEnum], records: Mapping[str, Mapping[str, JsonObject]]
) -> JsonObject:
    """Returns the key of a group: the dimensions that were asked for, with the records that the identifiers name."""
    key: JsonObject = {}
    for dimension in by:
        name = dimension.value
        value = getattr(group.key, subject.keys.get(name, name))
        if name in records:
            value = None if value is None else records[name].get(value)
        key[name] = asdict(value) if isinstance(value, Period) else value
    return key


def _figures(group: Figures, names: Sequence[str]) -> JsonObject:
    return {name: _figure(getattr(group, name)) for name in names}


def _figure(value: object) -> object:
    return [asdict(one) for one in value] if isinstance(value, list) else value
