"""Files are asked for from outside, as those of `tests/schema` are."""

from tests.schema.conftest import gateway, graphql, one, surface_url, two

__all__ = ["gateway", "graphql", "one", "surface_url", "two"]
