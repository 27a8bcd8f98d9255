"""A field of a record type is one line: this follows the recipe of docs/contributing.md on a made-up column."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import strawberry
from graphql import GraphQLInputObjectType, GraphQLSchema, print_type
from sqlalchemy import MetaData
from sqlalchemy.orm import registry
from strawberry.schema.config import StrawberryConfig

from contract.errors import Problems
from contract.vocabulary import GeoScope
from resolvers.shared.inputs import Input, parse
from resolvers.shared.record_inputs import fields_of, never_cleared
from rest_compat import example_identifiers
from rest_compat.documents import Document
from schema.connections import Node
from schema.declare import field
from schema.records import record, record_filter, record_input, record_order
from schema.scalars import SCALARS
from storage.base import Record
from storage.columns import CREATE, FILTER, LINE, SORT, UPDATE, WHOLE, WRITE, column, created, folds, versioned
from storage.queries.listable import record_listable


class Apart(Record, registry=registry(metadata=MetaData())):
    """The tables of this module are none of the service's."""


class Planet(Apart, table=True):
    """A record type before the new field."""

    __tablename__ = "planets"

    name: str = column(LINE, "The planet's name.", WRITE | FILTER | SORT, least=1, short="the name", example="Saturn")
    folded_name: str | None = folds("name")
    created_at: datetime = created()
    version: int = versioned()


class RingedPlanet(Apart, table=True):
    """The same with it: the one line is `rings`."""

    __tablename__ = "ringed_planets"

    name: str = column(LINE, "The planet's name.", WRITE | FILTER | SORT, least=1, short="the name", example="Saturn")
    folded_name: str | None = folds("name")
    rings: int | None = column(WHOLE, "How many rings it has.", WRITE | FILTER | SORT, default=None, least=0, example=7)
    created_at: datetime = created()
    version: int = versioned()


def surface(model: type[Record]) -> GraphQLSchema:
    """The types that are derived of a table, in a schema that has nothing else."""
    plural = "planets"

    @record(model, "A planet.")
    class PlanetType(Node):
        pass

    global PlanetFilter  # which it names itself

    @record_filter(model, plural=plural)
    class PlanetFilter:
        pass

    @record_order(model, plural=plural)
    class PlanetOrder:
        pass

    @record_input(model, CREATE, "A new planet.")
    class PlanetCreateInput:
        pass

    @record_input(model, UPDATE, "Changes to a planet.")
    class PlanetUpdateInput:
        pass

    def planets(filter: Any, order: Any, create: Any, update: Any) -> Any:
        return None

    arguments = {"filter": PlanetFilter, "order": PlanetOrder, "create": PlanetCreateInput, "update": PlanetUpdateInput}
    planets.__annotations__ = {**arguments, "return": PlanetType}
    query = strawberry.type(type("Query", (), {"planets": strawberry.field(planets)}))
    return strawberry.Schema(query=query, config=StrawberryConfig(scalar_map=SCALARS))._schema


def printed(schema: GraphQLSchema) -> list[str]:
    types = [t for name, t in schema.type_map.items() if name.startswith("Planet")]
    return [line for t in types for line in print_type(t).splitlines()]


def test_a_new_column_is_on_every_type_and_input_and_nothing_else_changes() -> None:
    before, after = printed(surface(Planet)), printed(surface(RingedPlanet))
    new = [line.strip() for line in after if line not in before and '"""' not in line]
    assert sorted(new) == ["RINGS", "rings: Int", "rings: Int", "rings: Int", "rings: IntFilter"]
    assert [line for line in before if line not in after] == []


def test_its_sentences() -> None:
    types: Any = surface(RingedPlanet).type_map
    assert types["PlanetType"].fields["rings"].description == "How many rings it has."
    assert types["PlanetFilter"].fields["rings"].description == "On how many rings it has."
    assert (
        types["PlanetOrderField"].values["RINGS"].description == "How many rings it has; planets without one come last."
    )
    assert types["PlanetCreateInput"].fields["rings"].description == "How many rings it has."
    assert types["PlanetUpdateInput"].fields["expectedVersion"].description == "Change only this version of the record."


def test_a_field_of_the_class_takes_the_place_of_the_derived_one() -> None:
    @record_input(RingedPlanet, CREATE, "A new planet.")
    class Own:
        rings: strawberry.ID = field("Their catalogue number.")

    query = strawberry.type(type("Query", (), {"planet": strawberry.field(_taking(Own))}))
    kind = strawberry.Schema(query=query)._schema.type_map["Own"]
    assert isinstance(kind, GraphQLInputObjectType)
    assert [(name, str(field.type)) for name, field in kind.fields.items()] == [("name", "String!"), ("rings", "ID!")]


def _taking(kind: type) -> Any:
    def planet(own: Any) -> str:
        return ""

    planet.__annotations__ = {"own": kind, "return": str}
    return planet


@fields_of(RingedPlanet, CREATE)
class RingedPlanetCreate(Input):
    """A new planet."""


@fields_of(RingedPlanet, UPDATE)
class RingedPlanetUpdate(Input):
    """Changes to one."""


def test_the_inputs_read_and_refuse() -> None:
    assert parse(RingedPlanetCreate, {"name": "Saturn", "rings": 7}).given() == {"name": "Saturn", "rings": 7}
    assert parse(RingedPlanetUpdate, {"rings": None, "expected_version": 2}).given() == {
        "rings": None,
        "expected_version": 2,
    }
    assert never_cleared(RingedPlanet) == ("name",)
    for fields, path in (
        ({"rings": 1}, ("name",)),
        ({"name": "S", "rings": -1}, ("rings",)),
        ({"name": ""}, ("name",)),
    ):
        with pytest.raises(Problems) as refused:
            parse(RingedPlanetCreate, fields)
        assert [problem.path for problem in refused.value.problems] == [path]


def test_a_column_that_is_named_has_to_have_the_use() -> None:
    with pytest.raises(TypeError, match=r"RingedPlanet.created_at is named in an input to UPDATE"):

        @fields_of(RingedPlanet, UPDATE, only=("created_at",))
        class _Anything(Input):
            """No columns."""


def test_lists_can_be_ordered_by_it() -> None:
    orders = record_listable(RingedPlanet).orders
    assert list(orders) == ["name", "rings", "created_at"]
    assert [(key.name, key.descending, key.nullable) for key in orders["rings"]] == [
        ("rings", None, True),
        ("created_at", True, False),
        ("id", False, False),
    ]


def test_a_document_shows_it_once_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(example_identifiers.IDENTIFIERS, "ringed_planets", "a")
    document = Document("Planet", RingedPlanet, "A planet.", ("id", "name", "rings"))
    assert document.components["Planet"]["properties"]["rings"] == {
        "type": ["integer", "null"],
        "minimum": 0,
        "description": "How many rings it has.",
    }
    assert document.example == {"id": "a", "name": "Saturn", "rings": 7}
    assert document.of(RingedPlanet(id="b", name="Uranus", rings=13)) == {"id": "b", "name": "Uranus", "rings": 13}
    with pytest.raises(TypeError, match="RingedPlanet has no column ring; it has org_id, id, name, rings"):
        _ = Document("Planet", RingedPlanet, "A planet.", ("ring",)).components


def test_a_vocabulary_with_a_filter_says_how_it_is_compared() -> None:
    class Comet(Apart, table=True):
        __tablename__ = "comets"

        reach: str = column(GeoScope, "Its reach.", FILTER, default="local")

    with pytest.raises(TypeError, match="reach is a GeoScope, whose filter stands in the body of its class"):

        @record_filter(Comet)
        class CometFilter:
            pass
