"""Says what the compiled ways know of a field: anything else the library runs, or nothing does (decision 151).

A field is read off its row, or called past the library, only where its definition says all that the library would do
for it. The library alone asks permission classes and field extensions. Nothing here asks those of a whole schema, so
a schema that has them is refused when it is built, as is one of which a guard would get lost (decision 177).
"""

from graphql import (
    DirectiveLocation,
    GraphQLField,
    GraphQLIncludeDirective,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLSkipDirective,
    specified_scalar_types,
)
from strawberry import Info

from schema.adapters.strawberry import DEFINITION, StrawberryField, declared_of, is_resolved_as_declared
from schema.scalars import SCALARS

_HONOURED = {GraphQLSkipDirective.name, GraphQLIncludeDirective.name}
_EXECUTABLE = {
    DirectiveLocation.QUERY,
    DirectiveLocation.MUTATION,
    DirectiveLocation.SUBSCRIPTION,
    DirectiveLocation.FIELD,
    DirectiveLocation.FRAGMENT_DEFINITION,
    DirectiveLocation.FRAGMENT_SPREAD,
    DirectiveLocation.INLINE_FRAGMENT,
    DirectiveLocation.VARIABLE_DEFINITION,
}

_SERIALIZERS = {name: kind.serialize for name, kind in specified_scalar_types.items()} | {
    kind.name: kind.serialize for kind in SCALARS.values()
}


class Unsupported(TypeError):
    """A schema has what no way to run an operation would honour; a programming error."""


def unknown_of(field: GraphQLField) -> str:
    """Says what of the field is left to the library; nothing where all of it is known."""
    definition = field.extensions.get(DEFINITION)
    if definition is None:
        return "no definition"
    if type(definition) is not StrawberryField:
        return f"the field class {type(definition).__name__}"
    if definition.permission_classes:
        return f"permission classes {[one.__name__ for one in definition.permission_classes]}"
    if definition.extensions:
        return f"extensions {[type(one).__name__ for one in definition.extensions]}"
    if not is_resolved_as_declared(field):
        return "a resolver of its own"
    return ""


def is_known_scalar(kind: GraphQLScalarType) -> bool:
    """Says whether the scalar is written as this service or the language writes the one of its name."""
    return _SERIALIZERS.get(kind.name) is kind.serialize


def plain_columns(kind: GraphQLObjectType) -> set[str]:
    """The attributes of all plain fields of a type: what a field that is not known may look at."""
    definitions = [field.extensions.get(DEFINITION) for field in kind.fields.values()]
    return {d.python_name for d in definitions if d is not None and d.base_resolver is None}


def refuse_unsupported(schema: GraphQLSchema) -> None:
    """Raises Unsupported for a schema with what neither the compiled ways nor the library's executor would ask."""
    for kind in schema.type_map.values():
        if isinstance(kind, GraphQLInputObjectType):
            _refuse_guarded_inputs(kind)
        elif isinstance(kind, GraphQLObjectType):
            _refuse_lost_guards(kind)
    for directive in schema.directives:
        if directive.name not in _HONOURED and _EXECUTABLE & set(directive.locations):
            raise Unsupported(f"the directive @{directive.name} of documents would do nothing: it is not supported")
    declared = declared_of(schema)
    if declared is None:
        return
    for what, found in (
        ("schema extensions", declared.extensions),
        ("directives of documents", declared.directives),
        ("exception handlers", declared.exception_handlers),
    ):
        if found:
            raise Unsupported(f"{what} would not be asked: {[_name(one) for one in found]} are not supported")
    if declared.config.default_resolver is not getattr:
        raise Unsupported("a default resolver would not be asked: it is not supported")
    if declared.config.info_class is not Info:
        raise Unsupported("an info class would not be used: it is not supported")


def _refuse_guarded_inputs(kind: GraphQLInputObjectType) -> None:
    """Refuses guards on a field of an input, which nobody asks."""
    for name, field in kind.fields.items():
        if guards := _guards(field.extensions.get(DEFINITION)):
            names = sorted(map(_name, guards))
            raise Unsupported(f"{kind.name}.{name} is a field of an input, of which {names} would not be asked")


def _refuse_lost_guards(kind: GraphQLObjectType) -> None:
    """Refuses lost guards of an interface's field: asked where a type inherits the field, not where it has its own."""
    for interface in kind.interfaces:
        for name, field in interface.fields.items():
            inherited, own = (_guards(f.extensions.get(DEFINITION)) for f in (field, kind.fields[name]))
            if lost := inherited - own:
                names = sorted(map(_name, lost))
                raise Unsupported(f"{kind.name}.{name} has not got what guards it in {interface.name}: {names}")


def _guards(definition: StrawberryField | None) -> set[object]:
    """The permission classes of a field, and the classes of its extensions."""
    if definition is None:
        return set()
    return {*definition.permission_classes, *map(type, definition.extensions)}


def _name(one: object) -> str:
    return str(getattr(one, "__name__", None) or getattr(one, "graphql_name", None) or type(one).__name__)
