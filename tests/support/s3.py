"""A small server that speaks as much of S3 as the service uses: put, also in parts, get with a range, delete."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs


@dataclass
class Bucket:
    """What is stored, and what was asked; `failing` makes every answer a 403."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    failing: bool = False


@contextmanager
def s3_server() -> Iterator[Bucket]:
    """The bucket, on a port of its own."""
    bucket = Bucket()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_PUT(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            path, _, query = self.path.partition("?")
            if not self._noted():
                return
            if query:
                asked = parse_qs(query)
                number = int(asked["partNumber"][0])
                bucket.parts[asked["uploadId"][0]][number] = data
                self._answer(200, b"", ETag=f'"{number}"')
            else:
                bucket.objects[path] = data
                self._answer(200, b"", ETag='"1"')

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path, _, query = self.path.partition("?")
            if not self._noted():
                return
            asked = parse_qs(query, keep_blank_values=True)
            if "uploads" in asked:
                identifier = f"upload-{len(bucket.parts)}"
                bucket.parts[identifier] = {}
                words = f"<Bucket>b</Bucket><Key>k</Key><UploadId>{identifier}</UploadId>"
                self._answer(200, f"<InitiateMultipartUploadResult>{words}</InitiateMultipartUploadResult>".encode())
                return
            parts = bucket.parts.pop(asked["uploadId"][0])
            bucket.objects[path] = b"".join(parts[number] for number in sorted(parts))
            words = "<Location>l</Location><Bucket>b</Bucket><Key>k</Key><ETag>1</ETag>"
            self._answer(200, f"<CompleteMultipartUploadResult>{words}</CompleteMultipartUploadResult>".encode())

        def do_GET(self) -> None:
            if not self._noted():
                return
            data = bucket.objects.get(self.path)
            if data is None:
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
                return
            extra = {"ETag": '"1"', "Last-Modified": "Sat, 21 Nov 2026 09:30:00 GMT"}
            asked = self.headers.get("Range")
            if asked is None:
                self._answer(200, data, **extra)
                return
            first, last = (int(part) for part in asked.removeprefix("bytes=").split("-"))
            part = data[first : last + 1]
            place = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
            self._answer(206, part, **extra, **{"Content-Range": place})

        def do_DELETE(self) -> None:
            if self._noted():
                path, _, query = self.path.partition("?")
                if query:
                    bucket.parts.pop(parse_qs(query)["uploadId"][0], None)
                else:
                    bucket.objects.pop(path, None)
                self._answer(204, b"")

        def _noted(self) -> bool:
            authorization = self.headers.get("Authorization")
            bucket.requests.append((self.command, self.path, authorization and authorization.split(",")[0]))
            if bucket.failing:
                self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            return not bucket.failing

        def _answer(self, status: int, data: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    bucket.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
