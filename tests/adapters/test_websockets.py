"""What is relied on of websockets below its documented surface (gateway/adapters/websockets.py)."""

from __future__ import annotations

import logging

import pytest
from websockets.server import ServerProtocol

from gateway.adapters.websockets import QuietProtocol
from tests.support.internals import library_members, signature_of

HANDSHAKE = (
    b"GET /graphql?token=secret HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def test_a_protocol_reads_off_its_logger_once_whether_it_logs_frames() -> None:
    logger = logging.getLogger("tests.adapters.loud")
    logger.setLevel(logging.DEBUG)
    assert ServerProtocol(logger=logger).debug is True
    assert QuietProtocol(logger=logger).debug is False
    assert "debug" in library_members(ServerProtocol)


@pytest.mark.parametrize(("kind", "is_quiet"), [(ServerProtocol, False), (QuietProtocol, True)])
def test_a_quiet_protocol_logs_no_header_and_no_frame(
    kind: type[ServerProtocol], is_quiet: bool, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger("tests.adapters.loud")
    with caplog.at_level(logging.DEBUG, logger.name):
        protocol = kind(logger=logger)
        protocol.receive_data(HANDSHAKE)
        [request] = protocol.events_received()
        protocol.send_response(protocol.accept(request))
        protocol.receive_data(b"\x81\x82\x00\x00\x00\x00hi")
        protocol.send_text(b"there")
    assert protocol.data_to_send()
    frames = [message for message in caplog.messages if message[0] in "<>"]
    assert (frames == []) is is_quiet
    assert any("secret" in message for message in frames) is not is_quiet


def test_a_refusal_goes_through_one_method() -> None:
    assert signature_of(ServerProtocol, "reject") == "(self, status, text)"


def test_what_is_unfinished_is_counted_limited_and_forgotten() -> None:
    protocol = QuietProtocol(max_size=4)
    protocol.receive_data(HANDSHAKE)
    [request] = protocol.events_received()
    protocol.send_response(protocol.accept(request))
    protocol.receive_data(b"\x01\x82\x00\x00\x00\x00hi")
    assert protocol.unfinished == 2
    protocol.receive_data(b"\x00\x82\x00\x00\x00\x00h")
    assert protocol.unfinished == 3
    protocol.forget()
    assert protocol.unfinished == 2
    protocol.receive_data(b"hi")
    assert protocol.unfinished == 4
    protocol.take(5)
    protocol.receive_data(b"\x00\x82\x00\x00\x00\x00hi")
    assert protocol.parser_exc is not None
