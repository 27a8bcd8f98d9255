"""uvicorn below its documented surface, which is `run`, `Config` and `Server`.

Its protocols are extended because deadlines, limits and one reading of every request have to be decided between the
parser and the application (decision 105). Every member that is relied on is named here with its purpose;
tests/adapters/test_uvicorn.py says what each has to look like.
"""

import asyncio
import socket
from typing import Any

import uvicorn
from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from uvicorn.supervisors import multiprocess

__all__ = [
    "STATUS_LINE",
    "ASGI3Application",
    "ASGISendEvent",
    "HttpProtocol",
    "Multiprocess",
    "Process",
    "RequestResponseCycle",
    "ServerState",
    "WebSocketProtocol",
]

HTTP_MEMBERS = {
    "_get_upgrade": "asked for the protocol that a request upgrades to; overridden",
    "_should_upgrade": "whether the server follows an upgrade",
    "_start_asgi_task": "starts the application for a request; overridden to know which request is under way",
    "_unset_keepalive_if_required": "ends the timer of an idle connection",
    "connection_lost": "the connection has ended; extended",
    "connection_made": "a client has connected; extended",
    "cycle": "the last request and its answer",
    "data_received": "bytes have come; replaced",
    "expect_100_continue": "whether the client waits for word before it sends its body",
    "flow": "holds reading back, and is asked whether it does",
    "handle_websocket_upgrade": "hands the connection to the WebSocket protocol; extended",
    "headers": "the headers of the request that is read",
    "loop": "the event loop",
    "on_body": "the parser has read a piece of the body; extended",
    "on_header": "the parser has read a header; replaced",
    "on_headers_complete": "the parser has read the head; extended",
    "on_message_begin": "the parser begins a request; extended",
    "on_message_complete": "the parser has read a request; extended",
    "on_response_complete": "an answer is written; extended",
    "on_url": "the parser has read a piece of the address; extended",
    "parser": "the parser of the connection",
    "pause_writing": "the client does not read; extended",
    "pipeline": "the requests behind the one under way",
    "resume_writing": "the client has read on; extended",
    "scope": "the ASGI scope of the request that is read",
    "server_state": "the headers that each answer has",
    "timeout_keep_alive_handler": "no further request has come; extended",
    "transport": "the connection",
    "url": "the address of the request that is read",
}
CYCLE_MEMBERS = {
    "disconnected": "set where nobody waits for the answer any more",
    "keep_alive": "set to False where the answer is to be the last one",
    "message_event": "wakes the application that waits for its body",
    "response_complete": "whether the answer is written",
    "response_started": "whether the answer's head is written",
    "transport": "what the answer is written to; replaced by one that joins head and body",
    "waiting_for_100_continue": "whether the client was not yet told to send its body",
}
FLOW_MEMBERS = {
    "read_paused": "whether reading is held back",
    "resume_reading": "lets reading go on",
}
WEBSOCKET_MEMBERS = {
    "client": "the peer's address",
    "close_sent": "whether the application has closed",
    "connection_lost": "the connection has ended; extended",
    "data_received": "bytes have come; extended",
    "frames": "the pieces of a message that have come",
    "handle_connect": "the upgrade; extended",
    "handle_cont": "a further piece of a message; extended",
    "handle_parser_exception": "closes for what came; extended",
    "queue": "the messages that the application has not taken yet",
    "read_paused": "whether nothing is read, because a message waits for the application",
    "scope": "the ASGI scope, which gets an extension",
    "send_receive_event_to_app": "a message is whole; extended",
    "conn": "the library's protocol, replaced by one that refuses in the gateway's words",
    "handle_ping": "a ping has come; extended",
    "handshake_complete": "whether the handshake is over",
    "logger": "where the protocol logs, replaced because its lines have whole addresses in them",
    "loop": "the event loop",
    "run_asgi": "runs the application; extended",
    "send": "sends what the application says; extended",
    "shutdown": "the server ends; extended",
    "stop_keepalive": "ends the timers of the server's pings",
    "transport": "the connection",
    "writable": "whether the client reads what it is sent",
}
SERVER_MEMBERS = {
    "force_exit": "whether a second signal has come",
    "server_state": "the open connections, and the headers that each answer has",
    "servers": "the listening sockets",
    "shutdown": "ends the server; extended",
    "started": "whether it listens",
    "startup": "begins to listen; extended",
}
PROCESS_MEMBERS = {
    "_server": "where a process keeps its server, filled with ours",
    "config": "the server's configuration",
    "is_alive": "asked every half second by the supervisor; replaced by one that does not wait (decision 129)",
    "parent_conn": "the supervisor's end of the pipe on which a process tells that it lives",
    "process": "the operating system's process",
    "server": "the server of a process; replaced",
}
SUPERVISOR_MEMBERS = {
    "join_all": "waits for the processes at the end; replaced",
    "processes": "the processes",
    "should_exit": "an event that ends the supervisor; replaced by one that a signal's handler may set",
}


class HttpProtocol(HttpToolsProtocol):
    """The HTTP protocol, with public names for what a subclass uses and overrides."""

    def asked_upgrade(self) -> bytes | None:
        """The protocol that the request upgrades to, in lower case; to be overridden."""
        return super()._get_upgrade()

    def begins(self, cycle: RequestResponseCycle) -> None:
        """The application is about to be started for the request; to be overridden."""

    def follows_upgrade(self) -> bool:
        """Whether the connection is to change to what the request upgrades to."""
        return self._should_upgrade()

    def end_idleness(self) -> None:
        """End the timer of an idle connection: something has come."""
        self._unset_keepalive_if_required()

    def _get_upgrade(self) -> bytes | None:
        return self.asked_upgrade()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.begins(cycle)
        super()._start_asgi_task(cycle, app)


WebSocketProtocol = WebSocketsSansIOProtocol


def is_idle(connection: Any) -> bool:
    """Whether an HTTP connection waits for a request; a WebSocket never does."""
    cycle = getattr(connection, "cycle", connection)
    return cycle is None or bool(getattr(cycle, "response_complete", False))


def stop_listening(server: uvicorn.Server) -> None:
    """Take no further connections, and keep those that there are."""
    listening: list[asyncio.Server] = server.servers
    for one in listening:
        one.close()


class Process(multiprocess.Process):
    """A process of the supervisor, with a server that `make_server` makes."""

    def make_server(self) -> uvicorn.Server:
        """The server that the process runs; to be overridden."""
        return uvicorn.Server(self.config)

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = self.make_server()
        return self._server


class Multiprocess(multiprocess.Multiprocess):
    """The supervisor, whose processes are of the given class."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], kind: type[Process]) -> None:
        # The supervisor makes its processes by this name, and takes no other class for them.
        multiprocess.Process = kind  # type: ignore[misc]
        super().__init__(config, sockets)
