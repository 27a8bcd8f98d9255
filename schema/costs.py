"""Says what each field costs, as `@cost` in the schema's text and for the executor; and what an operation would cost.

The numbers come from contract/costs.py. What is not there follows from the field's type: a root field reads or writes,
a page costs its rows, a record that came along with another costs nothing, another record is one row (decision 86).
"""

from typing import Annotated

import strawberry
from graphql import (
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_introspection_type,
)
from strawberry import UNSET
from strawberry.scalars import JSON
from strawberry.schema_directive import Location

from contract.costs import COSTS, COUNT, READ, Cost, page_cost, root_cost
from resolvers import costs as service
from schema.adapters.strawberry import DEFINITION, class_of
from schema.connections import Node, is_inside_page, is_page
from schema.declare import LINK, Info, argument, field, operation_field
from schema.execution.costing import COST

_ROOTS = ("Query", "Mutation", "Subscription")
_SIZES = ("first", "last")
_FREE = Cost(0)


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    name="cost",
    description="What a field costs: its weight for each row that it gives, and for each of them all that is below a "
    "row; `base` is weighed once besides. Every ten of it that are begun are a point of the operation. A field without "
    "it weighs one if it is a root field or gives a record, and else nothing; the rows of a page weigh where the page "
    "is asked for.",
)
class CostDirective:
    weight: int = strawberry.directive_field(name="weight")
    multipliers: list[str] | None = strawberry.directive_field(name="multipliers", default=UNSET)
    assumed_size: int | None = strawberry.directive_field(name="assumedSize", default=UNSET)
    base: int | None = strawberry.directive_field(name="base", default=UNSET)


@strawberry.type(description="A place of an operation, and what it costs by itself.")
class CostLine:
    path: str = field("The place, by the names that the answer has.")
    cost: int = field("Its points, those of what is below it left out.")


@strawberry.type(description="What an operation may cost.")
class CostReport:
    requested: int = field("The points that the operation asks for; an answer may cost less.")
    limit: int = field("The most points that one operation may ask for.")
    heaviest: list[CostLine] = field("The three places that cost most, the heaviest first.")


@strawberry.type
class CostQueries:
    @operation_field(service.estimate_cost, "What an operation would cost, without running it. Free.")
    async def cost_estimate(
        self,
        info: Info,
        document: Annotated[str, argument("The document, as it would be sent.")],
        variables: Annotated[JSON | None, argument("The variables, as an object.")] = UNSET,
        operation_name: Annotated[str | None, argument("Which of the document's operations.")] = UNSET,
    ) -> CostReport:
        values = None if variables is UNSET else variables
        name = None if operation_name is UNSET else operation_name
        return await service.estimate_cost(info.context, document, values, name)


QUERIES = CostQueries


def declare_costs(schema: GraphQLSchema) -> None:
    """Give every field its cost, and the directive where it says something."""
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLObjectType) and not is_introspection_type(kind):
            for name, field in kind.fields.items():
                _declare(kind, name, field)


def _declare(kind: GraphQLObjectType, name: str, field: GraphQLField) -> None:
    usual = _usual(kind, field)
    cost = _cost(kind, name, field)
    field.extensions[COST] = cost
    definition = field.extensions[DEFINITION]
    # Fields are as old as their classes: another schema of the same process has found them before.
    others = [d for d in definition.directives if not isinstance(d, CostDirective)]
    if cost == usual:
        definition.directives = others
        return
    size = cost.size if _is_many(field) and not cost.multipliers else UNSET
    definition.directives = [
        *others,
        CostDirective(
            weight=cost.weight, multipliers=list(cost.multipliers) or UNSET, assumed_size=size, base=cost.base or UNSET
        ),
    ]


def _usual(kind: GraphQLNamedType, field: GraphQLField) -> Cost:
    """Says what a field without the directive costs; the rows of a page are reckoned where the page is asked for."""
    if kind.name in _ROOTS:
        return Cost(READ)
    return Cost(READ) if _is_record(get_named_type(field.type)) and not is_inside_page(kind) else _FREE


def _cost(kind: GraphQLNamedType, name: str, field: GraphQLField) -> Cost:
    place = f"{kind.name}.{name}"
    given = get_named_type(field.type)
    if is_page(given):
        return page_cost(place, tuple(size for size in _SIZES if size in field.args))
    if kind.name in _ROOTS:
        return root_cost(place)
    if place in COSTS:
        return COSTS[place]
    if name == "totalCount" and is_page(kind):
        return Cost(COUNT)
    if LINK in field.extensions[DEFINITION].metadata:
        return _FREE
    return _usual(kind, field)


def _is_record(kind: object) -> bool:
    if isinstance(kind, GraphQLInterfaceType):
        return True
    return isinstance(kind, GraphQLObjectType) and issubclass(class_of(kind), Node)


def _is_many(field: GraphQLField) -> bool:
    return isinstance(get_nullable_type(field.type), GraphQLList) or is_page(get_named_type(field.type))
