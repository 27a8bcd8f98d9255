"""The GraphQL twin that a path names is in the schema, and lets the same callers through."""

from __future__ import annotations

import pytest
from graphql import GraphQLInterfaceType, GraphQLObjectType

from rest_compat.openapi import openapi_document
from rest_compat.operations import RestOperation
from rest_compat.routes import OPERATIONS
from tests.support.schemas import printed

SCHEMA = printed()
PUBLIC = {"/pat/exchange", "/media/{key}", "/files/signed/{token}", "/health", "/ready"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_a_path_and_its_twin_have_the_same_rule(operation: RestOperation) -> None:
    described = openapi_document()["paths"][operation.path][operation.method.lower()]
    if operation.path in PUBLIC:
        assert described["x-graphql-operation"] is None
        assert operation.rule is None
        return
    parent, _, name = described["x-graphql-operation"].partition(".")
    owner = SCHEMA.get_type(parent)
    assert isinstance(owner, GraphQLObjectType | GraphQLInterfaceType)
    node = owner.fields[name].ast_node
    assert node is not None
    rules = [
        {argument.name.value: getattr(argument.value, "value", None) for argument in directive.arguments}
        for directive in node.directives or ()
        if directive.name.value == "requiresScope"
    ]
    rule = operation.rule
    assert rule is not None
    # Without a group the schema has no directive, but a sentence: any valid credential will do.
    expected = [] if rule.group is None else [{"group": rule.group.name, "organization": rule.organization}]
    assert rules == expected
    assert rule.line in (owner.fields[name].description or "")
