"""The tests of the MCP door ask it from outside, as those of `tests/schema` ask theirs."""

from tests.schema.conftest import gateway, graphql, one, surface_url, two

__all__ = ["gateway", "graphql", "one", "surface_url", "two"]
