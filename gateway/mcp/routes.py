"""The addresses of the MCP door, and the documents that say where credentials for them come from (RFC 9728)."""

from collections.abc import Awaitable, Callable
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from contract.scopes import Scope
from gateway.mcp.door import McpDoor
from gateway.mcp.session import Sdk
from gateway.runtime import Runtime
from gateway.settings import McpMode
from transport.streams import Streams

PATH: Final = "/mcp"
READING_PATH: Final = "/mcp/read"
METADATA_PATH: Final = "/.well-known/oauth-protected-resource"


def mcp_routes(runtime: Runtime, streams: Streams) -> list[BaseRoute]:
    """The routes, where the settings have the door; what it begins ends with the process."""
    settings = runtime.settings
    if settings.mcp is McpMode.OFF:
        return []
    sdk = Sdk()
    runtime.closing.append(sdk.close)
    routes: list[BaseRoute] = []
    for path in (PATH, READING_PATH):
        door = McpDoor(
            runtime.services,
            streams,
            sdk,
            f"{METADATA_PATH}{path}",
            settings.cors_origins,
            settings.public_url,
            reading=path == READING_PATH or settings.mcp is McpMode.READ,
        )
        routes += [Route(path, door), Route(f"{METADATA_PATH}{path}", _metadata(runtime, path), methods=["GET"])]
    return routes


def _metadata(runtime: Runtime, path: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        base = (runtime.settings.public_url or str(request.base_url)).rstrip("/")
        document = {
            "resource": f"{base}{path}",
            "authorization_servers": [runtime.settings.oidc_issuer or base],
            "bearer_methods_supported": ["header"],
            "scopes_supported": sorted(Scope),
            "resource_name": "CRM gateway",
            "resource_documentation": f"{base}/docs",
        }
        return Response(orjson.dumps(document), headers={"Cache-Control": "no-cache"}, media_type="application/json")

    return answer
