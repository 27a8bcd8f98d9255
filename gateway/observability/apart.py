"""Answers an operator's questions on a port of its own: by `worker`, and by `serve` where one is set (decision 872)."""

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.observability.metrics_endpoint import MetricsEndpoint
from gateway.runtime import Runtime
from rest_compat.routes import liveness_routes


def operators_app(runtime: Runtime, metrics: MetricsEndpoint) -> Starlette:
    """/metrics, /health and /ready, and nothing else."""
    return Starlette(
        routes=[Route("/metrics", metrics.answer), *liveness_routes(runtime.services, runtime.readiness)],
    )


class Apart:
    """Sends what comes to one of the server's ports to an application of its own."""

    def __init__(self, app: ASGIApp, port: int, operators: ASGIApp) -> None:
        self.app = app
        self.port = port
        self.operators = operators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = scope.get("server")
        is_apart = scope["type"] != "lifespan" and server is not None and server[1] == self.port
        await (self.operators if is_apart else self.app)(scope, receive, send)
