"""The tests of integrations each ask the application from outside, and have its jobs done when they say so."""

from tests.schema.conftest import gateway, graphql, one, surface_url, two

__all__ = ["gateway", "graphql", "one", "surface_url", "two"]
