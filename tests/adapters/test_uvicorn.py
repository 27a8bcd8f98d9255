"""What is relied on of uvicorn below its documented surface (gateway/adapters/uvicorn.py), and that it is all there."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import uvicorn
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
]


@pytest.mark.parametrize(("owner", "name", "expected"), SIGNATURES)
def test_a_member_is_as_expected(owner: Any, name: str, expected: str) -> None:
    assert signature_of(owner, name) == expected


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (HttpServerProtocol, adapter.HTTP_MEMBERS),
        (adapter.HttpProtocol, adapter.HTTP_MEMBERS),
        (WebSocketServerProtocol, adapter.WEBSOCKET_MEMBERS),
        (Server, adapter.SERVER_MEMBERS),
        (Process, adapter.PROCESS_MEMBERS),
        (adapter.Process, adapter.PROCESS_MEMBERS),
        (Processes, adapter.SUPERVISOR_MEMBERS),
    ],
)
def test_every_member_in_use_is_named_and_there(kind: type, named: dict[str, str]) -> None:
    assert members_in_use(kind) - set(named) == set()
    assert set(named) - library_members(kind) == set()
    assert all(named.values())


@pytest.mark.parametrize(
    ("named", "kinds"),
    [
        (adapter.HTTP_MEMBERS, [HttpServerProtocol, adapter.HttpProtocol]),
        (adapter.WEBSOCKET_MEMBERS, [WebSocketServerProtocol]),
        (adapter.PROCESS_MEMBERS, [Process, adapter.Process]),
        (adapter.SUPERVISOR_MEMBERS, [Processes]),
    ],
)
def test_nothing_is_named_that_is_not_in_use(named: dict[str, str], kinds: list[type]) -> None:
    assert set(named) - {name for kind in kinds for name in members_in_use(kind)} == set()


def test_what_is_used_of_a_cycle_and_of_the_flow_is_named_and_there() -> None:
    cycles = attributes_of("gateway/server/http_protocol.py", "self.cycle", "self._running", "cycle", "running")
    assert cycles == set(adapter.CYCLE_MEMBERS)
    assert set(adapter.CYCLE_MEMBERS) <= library_members(RequestResponseCycle)
    assert attributes_of("gateway/server/http_protocol.py", "self.flow") == set(adapter.FLOW_MEMBERS)
    assert set(adapter.FLOW_MEMBERS) <= library_members(FlowControl)


def test_the_state_of_a_server_has_its_connections_and_headers() -> None:
    state = ServerState()
    assert state.connections == set()
    assert state.default_headers == []


def test_a_status_line_ends_where_the_headers_begin() -> None:
    assert STATUS_LINE[413].startswith(b"HTTP/1.1 413 ")
    assert STATUS_LINE[413].endswith(b"\r\n")


def test_the_supervisor_makes_its_processes_by_their_global_name() -> None:
    for method in ("init_processes", "restart_all", "keep_subprocess_alive", "handle_ttin"):
        code = inspect.unwrap(getattr(multiprocess.Multiprocess, method)).__code__
        assert "Process" in code.co_names, method


def test_the_supervisor_is_told_that_a_process_lives_by_its_pipe() -> None:
    source = inspect.getsource(multiprocess.Process.pong)
    assert "self.child_conn.recv()" in source
    assert "self.child_conn.send(" in source
