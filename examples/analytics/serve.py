"""Serves the example page, and passes on to the gateway what it asks: `python3 examples/analytics/serve.py`.

The page's policy lets it reach nobody but this server (decision 305). The gateway is at CRM_URL, http://127.0.0.1:8000
unless set; the port is the first argument, 8300 unless given.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

PAGE = Path(__file__).with_name("page")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
PASSED_ON = ("/analytics/", "/viewer")
REQUEST_HEADERS = ("Accept", "Authorization", "Content-Type", "Last-Event-ID", "X-Service-Org")
ANSWER_HEADERS = ("Content-Type", "Content-Length", "Retry-After", "X-Request-Id")
PATIENCE_SECONDS = 60


class Handler(SimpleHTTPRequestHandler):
    """Answers with the page's files, or as the gateway does."""

    gateway = urlsplit(os.environ.get("CRM_URL", "http://127.0.0.1:8000"))

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments, directory=str(PAGE))  # type: ignore[arg-type]  # what the server gives

    def do_GET(self) -> None:
        """Answers with a file, or passes the request on."""
        if self.path.startswith(PASSED_ON):
            self.pass_on()
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """Passes the request on."""
        if self.path.startswith(PASSED_ON):
            self.pass_on()
        else:
            self.send_error(404)

    def pass_on(self) -> None:
        """Answers as the gateway does, each piece as it comes."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
        sent = {name: self.headers[name] for name in REQUEST_HEADERS if name in self.headers}
        kind = HTTPSConnection if self.gateway.scheme == "https" else HTTPConnection
        connection = kind(self.gateway.netloc, timeout=PATIENCE_SECONDS)
        with closing(connection):
            try:
                connection.request(self.command, self.gateway.path.rstrip("/") + self.path, body, sent)
                answer = connection.getresponse()
            except (OSError, HTTPException):
                self.send_error(502, f"There is no gateway at {self.gateway.geturl()}")
                return
            self.send_response(answer.status)
            for name in ANSWER_HEADERS:
                if (value := answer.headers[name]) is not None:
                    self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # the reader has left; the gateway works on
                while piece := answer.read1(65_536):
                    self.wfile.write(piece)

    def end_headers(self) -> None:
        """Adds the policy, to whatever is answered."""
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Says nothing of each request: the gateway's log has them."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8300), Handler)
    print(f"The page is at http://127.0.0.1:{server.server_port}/", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
