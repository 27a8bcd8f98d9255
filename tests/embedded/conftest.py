"""The embedded answerer's calls run through the service's own tools, as those of the MCP door do."""

from tests.schema.conftest import gateway, graphql, one, surface_url, two

__all__ = ["gateway", "graphql", "one", "surface_url", "two"]
