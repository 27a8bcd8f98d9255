"""Serves files with bare Starlette: a body is appended to a file as it comes, and a file is sent.

The environment says in which folder they lie (BENCH_FOLDER).
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route


def create() -> Starlette:
    """Make the application."""
    file = Path(os.environ["BENCH_FOLDER"]) / "bare"

    async def take(request: Request) -> Response:
        with file.open("ab") as target:
            async for piece in request.stream():
                await asyncio.to_thread(target.write, piece)
        return Response(status_code=204)

    async def send(_request: Request) -> Response:
        return FileResponse(file)

    return Starlette(routes=[Route("/file", take, methods=["PATCH"]), Route("/file", send)])
