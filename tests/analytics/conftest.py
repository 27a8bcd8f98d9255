"""The tests of analytics ask both surfaces from outside, as those of `tests/schema` do."""

from tests.schema.conftest import gateway, graphql, one, surface_url, two

__all__ = ["gateway", "graphql", "one", "surface_url", "two"]
