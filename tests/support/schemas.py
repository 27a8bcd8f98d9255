"""The schema, made once for each process of the tests, since none of them changes it.

To make it, to print it and to read it back take a second and more each, and most folders ask for one of them.
"""

from __future__ import annotations

import gc
from functools import cache

from graphql import GraphQLSchema, build_schema

from gateway.commands.schema import COMMITTED
from schema.build import Schema, build


@cache
def built() -> Schema:
    """The one that applications have; the collector leaves it alone."""
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
    return build_schema(COMMITTED.read_text(encoding="utf-8"))
