"""The schema, made once for each process of the tests, since none of them changes it.

To make it, to print it and to read it back take a second and more each, and most folders ask for one of them.
"""

from __future__ import annotations

import gc
from functools import cache

from graphql import GraphQLSchema, build_schema

from gateway.printed import SCHEMA
from schema.adapters.graphql_core import mend_is_one_of
from schema.build import Schema, build


def built() -> Schema:
    """The one that applications have."""
    schema = _made()
    mend_is_one_of(schema.graphql)  # which each schema that a test makes by itself undoes for all of them
    return schema


@cache
def _made() -> Schema:
    """The collector leaves it alone."""
    schema = build()
    gc.freeze()
    return schema


@cache
def sdl() -> str:
    """The same, printed."""
    return built().sdl


@cache
def printed() -> GraphQLSchema:
    """What clients know of it: the committed text, which is compared with the schema elsewhere."""
    return build_schema(SCHEMA.read_text(encoding="utf-8"))
