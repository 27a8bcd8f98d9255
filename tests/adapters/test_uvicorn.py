"""What is relied on of uvicorn below its documented surface (gateway/adapters/uvicorn.py), and that it is all there."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from uvicorn.supervisors import multiprocess

from gateway.adapters import uvicorn as adapter
from gateway.server.http_protocol import HttpServerProtocol
from gateway.server.serving import Process, Processes, Server
from gateway.server.websocket_protocol import WebSocketServerProtocol
from tests.support.internals import attributes_of, library_members, members_in_use, signature_of

HTTP_MEMBERS = {
    "_get_upgrade": "asked for the protocol that a request upgrades to; overridden",
    "_should_upgrade": "whether the server follows an upgrade",
    "_start_asgi_task": "starts the application for a request; overridden to know which request is under way",
    "_unset_keepalive_if_required": "a connection idles no longer; replaced",
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
    "on_response_complete": "an answer is written; replaced by one without a timer of its own for each",
    "on_url": "the parser has read a piece of the address; extended",
    "parser": "the parser of the connection",
    "pause_writing": "the client does not read; extended",
    "pipeline": "the requests behind the one under way",
    "resume_writing": "the client has read on; extended",
    "scope": "the ASGI scope of the request that is read",
    "server_state": "the headers that each answer has",
    "timeout_keep_alive": "the seconds for which a connection may idle",
    "timeout_keep_alive_handler": "no further request has come; extended",
    "transport": "the connection",
    "url": "the address of the request that is read",
}
CYCLE_MEMBERS = {
    "disconnected": "set where nobody waits for the answer any more",
    "keep_alive": "set to False where the answer is to be the last one",
    "message_event": "wakes the application that waits for its body",
    "on_response": "called behind the answer; replaced in a request that is never begun",
    "response_complete": "whether the answer is written",
    "response_started": "whether the answer's head is written",
    "transport": "what the answer is written to; replaced by one that joins head and body",
    "waiting_for_100_continue": "whether the client was not yet told to send its body",
}
HEAD_MEMBERS = {
    "chunked_encoding": "whether the body goes in chunks, once that is known",
    "default_headers": "the headers that each answer has",
    "disconnected": "whether nobody waits for the answer any more",
    "expected_content_length": "the bytes that the body has to have",
    "flow": "is asked whether the client reads",
    "keep_alive": "whether another request may follow",
    "response_started": "whether the head is written",
    "scope": "the ASGI scope",
    "send": "sends what the application says; its first part, the head, is replaced",
    "transport": "what the answer is written to",
    "waiting_for_100_continue": "whether the client was not yet told to send its body",
}
FLOW_MEMBERS = {
    "_is_writable_event": "whether the client reads; replaced by a small one",
    "_transport": "the connection",
    "read_paused": "whether reading is held back",
    "resume_reading": "lets reading go on",
    "write_paused": "whether writing is held back",
}
WEBSOCKET_MEMBERS = {
    "client": "the peer's address",
    "close_sent": "whether a close was sent",
    "close_timer": "ends a connection whose peer does not, after a close",
    "connection_lost": "the connection has ended; extended",
    "data_received": "bytes have come; extended",
    "frames": "the pieces of a message that have come",
    "handle_connect": "the upgrade; extended",
    "handle_cont": "a further piece of a message; extended",
    "curr_msg_data_type": "whether the message that comes is text",
    "disconnected": "whether the application can send no more",
    "handle_parser_exception": "closes for what came; replaced by one that lets the peer read why",
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
    "always_pong": "the thread of a process that answers its supervisor; extended",
    "config": "the server's configuration",
    "is_alive": "asked every half second by the supervisor; replaced by one that does not wait (decision 129)",
    "parent_conn": "the supervisor's end of the pipe on which a process tells that it lives",
    "process": "the operating system's process",
    "server": "the server of a process; replaced",
}
SUPERVISOR_MEMBERS = {
    "join_all": "waits for the processes at the end; replaced",
    "keep_subprocess_alive": "puts another in the place of each process that died or hangs; extended",
    "processes": "the processes",
    "should_exit": "an event that ends the supervisor; replaced by one that a signal's handler may set",
}

SIGNATURES: list[tuple[Any, str, str]] = [
    (HttpToolsProtocol, "__init__", "(self, config, server_state, app_state, _loop=None)"),
    (HttpToolsProtocol, "_get_upgrade", "(self)"),
    (HttpToolsProtocol, "_should_upgrade", "(self)"),
    (HttpToolsProtocol, "_start_asgi_task", "(self, cycle, app)"),
    (HttpToolsProtocol, "_unset_keepalive_if_required", "(self)"),
    (HttpToolsProtocol, "connection_lost", "(self, exc)"),
    (HttpToolsProtocol, "connection_made", "(self, transport)"),
    (HttpToolsProtocol, "data_received", "(self, data)"),
    (HttpToolsProtocol, "handle_websocket_upgrade", "(self)"),
    (HttpToolsProtocol, "on_body", "(self, body)"),
    (HttpToolsProtocol, "on_header", "(self, name, value)"),
    (HttpToolsProtocol, "on_headers_complete", "(self)"),
    (HttpToolsProtocol, "on_message_begin", "(self)"),
    (HttpToolsProtocol, "on_message_complete", "(self)"),
    (HttpToolsProtocol, "on_response_complete", "(self)"),
    (HttpToolsProtocol, "on_url", "(self, url)"),
    (HttpToolsProtocol, "pause_writing", "(self)"),
    (HttpToolsProtocol, "resume_writing", "(self)"),
    (HttpToolsProtocol, "timeout_keep_alive_handler", "(self)"),
    (FlowControl, "resume_reading", "(self)"),
    (WebSocketsSansIOProtocol, "__init__", "(self, config, server_state, app_state, _loop=None)"),
    (WebSocketsSansIOProtocol, "connection_lost", "(self, exc)"),
    (WebSocketsSansIOProtocol, "data_received", "(self, data)"),
    (WebSocketsSansIOProtocol, "handle_connect", "(self, event)"),
    (WebSocketsSansIOProtocol, "handle_cont", "(self, event)"),
    (WebSocketsSansIOProtocol, "handle_parser_exception", "(self)"),
    (WebSocketsSansIOProtocol, "send_receive_event_to_app", "(self)"),
    (WebSocketsSansIOProtocol, "handle_ping", "(self)"),
    (WebSocketsSansIOProtocol, "run_asgi", "(self)"),
    (WebSocketsSansIOProtocol, "send", "(self, message)"),
    (WebSocketsSansIOProtocol, "shutdown", "(self)"),
    (WebSocketsSansIOProtocol, "stop_keepalive", "(self)"),
    (uvicorn.Server, "startup", "(self, sockets=None)"),
    (uvicorn.Server, "shutdown", "(self, sockets=None)"),
    (multiprocess.Process, "__init__", "(self, config, sockets)"),
    (multiprocess.Process, "is_alive", "(self, timeout=5)"),
    (multiprocess.Process, "server", "(self)"),
    (multiprocess.Multiprocess, "__init__", "(self, config, sockets)"),
    (multiprocess.Multiprocess, "join_all", "(self)"),
    (multiprocess.Multiprocess, "keep_subprocess_alive", "(self)"),
]


@pytest.mark.parametrize(("owner", "name", "expected"), SIGNATURES)
def test_a_member_is_as_expected(owner: Any, name: str, expected: str) -> None:
    assert signature_of(owner, name) == expected


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (HttpServerProtocol, HTTP_MEMBERS),
        (adapter.HttpProtocol, HTTP_MEMBERS),
        (adapter.Cycle, HEAD_MEMBERS),
        (WebSocketServerProtocol, WEBSOCKET_MEMBERS),
        (Server, SERVER_MEMBERS),
        (Process, PROCESS_MEMBERS),
        (adapter.Process, PROCESS_MEMBERS),
        (Processes, SUPERVISOR_MEMBERS),
    ],
)
def test_every_member_in_use_is_named_and_there(kind: type, named: dict[str, str]) -> None:
    assert members_in_use(kind) - set(named) == set()
    assert set(named) - library_members(kind) == set()
    assert all(named.values())


@pytest.mark.parametrize(
    ("named", "kinds"),
    [
        (HTTP_MEMBERS, [HttpServerProtocol, adapter.HttpProtocol]),
        (HEAD_MEMBERS, [adapter.Cycle]),
        (WEBSOCKET_MEMBERS, [WebSocketServerProtocol]),
        (PROCESS_MEMBERS, [Process, adapter.Process]),
        (SUPERVISOR_MEMBERS, [Processes]),
    ],
)
def test_nothing_is_named_that_is_not_in_use(named: dict[str, str], kinds: list[type]) -> None:
    assert set(named) - {name for kind in kinds for name in members_in_use(kind)} == set()


def test_what_is_used_of_a_cycle_and_of_the_flow_is_named_and_there() -> None:
    cycles = attributes_of("gateway/server/http_protocol.py", "self.cycle", "self._running", "cycle", "running")
    cycles |= attributes_of("gateway/adapters/uvicorn.py", "cycle")
    assert cycles == set(CYCLE_MEMBERS)
    assert set(CYCLE_MEMBERS) <= library_members(RequestResponseCycle)
    flows = attributes_of("gateway/server/http_protocol.py", "self.flow") | members_in_use(adapter.Flow)
    assert flows == set(FLOW_MEMBERS)
    assert set(FLOW_MEMBERS) <= library_members(FlowControl)


def test_the_state_of_a_server_has_its_connections_and_headers() -> None:
    state = ServerState()
    assert state.connections == set()
    assert state.default_headers == []


def test_a_status_line_ends_where_the_headers_begin() -> None:
    assert STATUS_LINE[413].startswith(b"HTTP/1.1 413 ")
    assert STATUS_LINE[413].endswith(b"\r\n")


def test_the_protocol_makes_its_cycles_and_flows_by_their_global_names() -> None:
    assert "RequestResponseCycle" in HttpToolsProtocol.on_headers_complete.__code__.co_names
    assert httptools_impl.RequestResponseCycle is adapter.Cycle
    assert "FlowControl" in HttpToolsProtocol.connection_made.__code__.co_names
    assert httptools_impl.FlowControl is adapter.Flow


def test_a_flow_has_what_the_librarys_has() -> None:
    transport: Any = Mock()
    assert vars(adapter.Flow(transport)).keys() == vars(FlowControl(transport)).keys()


async def test_the_small_event_is_one() -> None:
    """Several wait and are woken, one that gives up is forgotten, and what was set and cleared at once has woken."""
    event = adapter.Event()
    waiting = [asyncio.create_task(event.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    event.set()
    event.clear()
    assert await asyncio.gather(*waiting[1:]) == [True, True]
    assert waiting[0].cancelled()
    assert not event.is_set()
    later = asyncio.create_task(event.wait())
    await asyncio.sleep(0)
    assert not later.done()
    event.set()
    assert await later
    assert await event.wait()


async def test_a_connection_keeps_few_names_of_its_own() -> None:
    """Python keeps the names of 30 attributes once for all instances of a class (decision 1171)."""
    config = uvicorn.Config(Mock(), log_config=None)
    loop = asyncio.get_running_loop()
    protocol = HttpServerProtocol(config, ServerState(), {}, loop, seconds=30.0, security=Mock())
    transport: Any = Mock(get_extra_info=Mock(return_value=None))
    protocol.connection_made(transport)
    protocol.data_received(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    assert len(vars(protocol)) <= 30
    assert isinstance(protocol.cycle.message_event, adapter.Event)
    protocol.connection_lost(None)
    await asyncio.gather(*protocol.tasks, return_exceptions=True)


HEADS: list[tuple[int, list[tuple[bytes, bytes]]]] = [
    (200, [(b"Content-Type", b"a/b"), (b"content-length", b"2")]),
    (200, [(b"transfer-encoding", b"Chunked"), (b"vary", b"")]),
    (404, [(b"connection", b"x, Close "), (b"content-length", b"2")]),
    (201, []),
    (204, [(b"x", b"1"), (b"x", b"1")]),
    (304, []),
]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize(("status", "headers"), HEADS)
async def test_an_answer_is_the_librarys_to_the_byte(
    status: int, headers: list[tuple[bytes, bytes]], keep_alive: bool, method: str
) -> None:
    written = [
        await _written(kind, status, headers, keep_alive, method) for kind in (RequestResponseCycle, adapter.Cycle)
    ]
    assert written[0] == written[1]
    assert written[0][0].startswith(STATUS_LINE[status])


async def _written(
    kind: type[RequestResponseCycle], status: int, headers: list[tuple[bytes, bytes]], keep_alive: bool, method: str
) -> tuple[bytes, bool, bool]:
    transport: Any = Mock()
    cycle = kind(
        scope={"method": method},  # type: ignore[typeddict-item]  # as much of one as is asked
        transport=transport,
        flow=FlowControl(transport),
        logger=Mock(),
        access_logger=Mock(),
        access_log=False,
        default_headers=[(b"server", b"x")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=Mock(),
    )
    body = b"" if status in (204, 304) else b"ab"
    await cycle.send({"type": "http.response.start", "status": status, "headers": headers})
    await cycle.send({"type": "http.response.body", "body": body})
    sent = b"".join(call.args[0] for call in transport.write.call_args_list)
    return sent, cycle.keep_alive, transport.close.called


@pytest.mark.parametrize("header", [(b"a b", b"c"), (b"a", b"b\r\nc: d"), (b"a", b"\x00")])
async def test_what_is_no_header_is_in_no_answer(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(RuntimeError, match="header"):
        await _written(adapter.Cycle, 200, [header], True, "GET")


def test_the_supervisor_makes_its_processes_by_their_global_name() -> None:
    for method in ("init_processes", "restart_all", "keep_subprocess_alive", "handle_ttin"):
        code = inspect.unwrap(getattr(multiprocess.Multiprocess, method)).__code__
        assert "Process" in code.co_names, method


def test_the_supervisor_is_told_that_a_process_lives_by_its_pipe() -> None:
    source = inspect.getsource(multiprocess.Process.pong)
    assert "self.child_conn.recv()" in source
    assert "self.child_conn.send(" in source
