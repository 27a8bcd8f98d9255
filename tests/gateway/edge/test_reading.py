"""One reading of every request (decision 105): what could be read in two ways is refused, once, and closes."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import httpx
import orjson
import pytest

from contract.limits import ADDRESS_MAX_BYTES, HEADERS_MAX, HEADERS_MAX_BYTES
from tests.support.live import Live
from tests.support.raw import Heard, exchange, wire
from tests.support.streams import open_socket

pytestmark = pytest.mark.asyncio(loop_scope="module")
SETTINGS = {"LOG_LEVEL": "DEBUG", "CRM_RECEIVE_SECONDS": "4"}  # the client may be on a busy machine

GET = b"GET /health HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /pat/exchange HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
HANDSHAKE = UPGRADE + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

REFUSED = {
    "length beside coding": POST + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX",
    "coding beside length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nX",
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 36\r\n\r\n",
    "one length twice": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "a length in hexadecimal": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "a length with a fraction": POST + b"Content-Length: 2.0\r\n\r\n{}",
    "a length with a blank": POST + b"Content-Length: 1 2\r\n\r\n{}",
    "no length": POST + b"Content-Length: \r\n\r\n",
    "a length beyond all numbers": POST + b"Content-Length: 99999999999999999999\r\n\r\n",
    "chunked, identity": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "identity, chunked": POST + b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n",
    "gzip, chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "xchunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "identity": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "no coding": POST + b"Transfer-Encoding: \r\n\r\n0\r\n\r\n",
    "two codings": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a quoted coding": POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "a coding behind a vertical tab": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "a folded coding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a coding in HTTP/1.0": b"POST /health HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a coding with a blank before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a coding with a tab before the colon": POST + b"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
    "no number as chunk size": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "a chunk size with a prefix": CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
    "a negative chunk size": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
    "a blank before a chunk size": CHUNKED + b" 2\r\n{}\r\n0\r\n\r\n",
    "a blank behind a chunk size": CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n",
    "a chunk size beyond all numbers": CHUNKED + b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "a bare line feed behind a chunk size": CHUNKED + b"2\n{}\r\n0\r\n\r\n",
    "a bare line feed in an extension": CHUNKED + b"2;a\nb\r\n{}\r\n0\r\n\r\n",
    "a bare line feed behind a chunk": CHUNKED + b"2\r\n{}\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
    "a length as trailer": CHUNKED + b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
    "a folded line": GET + b"X: a\r\n b\r\n\r\n",
    "a blank before the first header": b"GET /health HTTP/1.1\r\n Host: a\r\n\r\n",
    "a bare line feed behind the first line": b"GET /health HTTP/1.1\nHost: a\r\n\r\n",
    "a bare line feed behind a header": b"GET /health HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    "a bare line feed at the end": GET + b"\n",
    "a bare carriage return behind a header": b"GET /health HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
    "a bare carriage return in a value": GET + b"X: y\rz\r\n\r\n",
    "a blank before the colon": b"GET /health HTTP/1.1\r\nHost : a\r\n\r\n",
    "a header without a colon": GET + b"X y\r\n\r\n",
    "a header without a name": GET + b": y\r\n\r\n",
    "a blank in a name": GET + b"X Y: z\r\n\r\n",
    "NUL in a value": GET + b"X: a\0b\r\n\r\n",
    "NUL in a name": GET + b"X\0: a\r\n\r\n",
    "a control character in a value": GET + b"X: a\x01b\r\n\r\n",
    "no Host": b"GET /health HTTP/1.1\r\nX: y\r\n\r\n",
    "two Hosts": GET + b"Host: b\r\n\r\n",
    "an empty Host": b"GET /health HTTP/1.1\r\nHost:\r\n\r\n",
    "a Host with a path": b"GET /health HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "a Host with a user": b"GET /health HTTP/1.1\r\nHost: b@a\r\n\r\n",
    "a Host with a blank": b"GET /health HTTP/1.1\r\nHost: a b\r\n\r\n",
    "a Host with a bad port": b"GET /health HTTP/1.1\r\nHost: a:b\r\n\r\n",
    "a Host with line ends in markup": b'GET / HTTP/1.1\r\nHost: a"><script>\r\n\r\n',
    "another host in the address": b"GET http://evil/health HTTP/1.1\r\nHost: a\r\n\r\n",
    "another port in the address": b"GET http://a:81/health HTTP/1.1\r\nHost: a\r\n\r\n",
    "a user in the address": b"GET http://b@a/health HTTP/1.1\r\nHost: a\r\n\r\n",
    "another scheme": b"GET ftp://a/health HTTP/1.1\r\nHost: a\r\n\r\n",
    "a fragment": b"GET /health#a HTTP/1.1\r\nHost: a\r\n\r\n",
    "NUL in the address": b"GET /health\0 HTTP/1.1\r\nHost: a\r\n\r\n",
    "a tab in the address": b"GET /health\t HTTP/1.1\r\nHost: a\r\n\r\n",
    "a blank in the address": b"GET /health /x HTTP/1.1\r\nHost: a\r\n\r\n",
    "no ASCII in the address": b"GET /health\xff HTTP/1.1\r\nHost: a\r\n\r\n",
    "a relative address": b"GET health HTTP/1.1\r\nHost: a\r\n\r\n",
    "an authority": b"GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "CONNECT": b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    "HTTP/0.9": b"GET /health\r\nHost: a\r\n\r\n",
    "HTTP/0.9 by its name": b"GET /health HTTP/0.9\r\n\r\n",
    "HTTP/1.2": b"GET /health HTTP/1.2\r\nHost: a\r\n\r\n",
    "HTTP/2.0": b"GET /health HTTP/2.0\r\nHost: a\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "http in lower case": b"GET /health http/1.1\r\nHost: a\r\n\r\n",
    "an unknown method": b"SMUGGLE /health HTTP/1.1\r\nHost: a\r\n\r\n",
    "a method in lower case": b"get /health HTTP/1.1\r\nHost: a\r\n\r\n",
    "a blank before the method": b" GET /health HTTP/1.1\r\nHost: a\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + bytes(64),
    "an upgrade with a body": b"GET /graphql HTTP/1.1\r\nContent-Length: 36\r\n" + HANDSHAKE + b"\r\n",
    "an upgrade with chunks": b"GET /graphql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + HANDSHAKE + b"\r\n0\r\n\r\n",
    "an upgrade by POST": b"POST /graphql HTTP/1.1\r\nContent-Length: 2\r\n" + HANDSHAKE + b"\r\n{}",
    "an upgrade without a key": b"GET /graphql HTTP/1.1\r\n" + UPGRADE + b"\r\n",
    "an upgrade with a bad key": b"GET /graphql HTTP/1.1\r\n" + UPGRADE + b"Sec-WebSocket-Key: a\r\n\r\n",
}


@pytest.mark.parametrize("case", REFUSED)
async def test_a_request_that_could_be_read_in_two_ways_is_refused_once(live: Live, case: str) -> None:
    heard = await exchange(live.service.address, REFUSED[case] + SMUGGLED)
    assert (heard.statuses, heard.closed) == ([400], True)
    _is_in_the_house_s_shape(heard, "bad_request", graphql="an upgrade" in case and "key" not in case)
    assert live.service.log.read_text().count("/smuggled") == 0


def _is_in_the_house_s_shape(heard: Heard, code: str, *, graphql: bool = False) -> None:
    body = json.loads(heard.body)
    if graphql:
        [error] = body["errors"]
        body = {"detail": error["message"], **error["extensions"], "code": error["extensions"]["code"].lower()}
    assert body.keys() == {"detail", "code", "request_id"}
    assert body["code"] == code
    assert re.fullmatch("[0-9a-f]{32}", body["request_id"])
    headers = heard.headers
    assert headers["x-request-id"] == body["request_id"]
    assert headers["content-type"].startswith("application/json")
    assert headers["connection"] == "close"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


OPEN, CLOSED = False, True
READ = {
    "its own host in the address": (b"GET http://A/health HTTP/1.1\r\nHost: a\r\n\r\n", [200], OPEN),
    "HTTP/1.0 without a Host": (b"GET /health HTTP/1.0\r\n\r\n", [200], CLOSED),
    "an IPv6 host": (b"GET /health HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n", [200], OPEN),
    "ends of lines before it": (b"\r\n\r\n" + GET + b"\r\n", [200], OPEN),
    "two at once": (GET + b"\r\n" + b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n", [200, 404], OPEN),
    "a good one before a bad one": (GET + b"\r\n" + REFUSED["two lengths"] + SMUGGLED, [200], CLOSED),
    "a good one before a slow one": (GET + b"\r\n" + b"GET /none HTTP/1.1\r\nHos", [200, 408], CLOSED),
    "a body without a length, which is none": (POST + b"\r\n{}" + SMUGGLED, [401], CLOSED),
    "an upgrade to what is not spoken": (
        GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + SMUGGLED,
        [200],
        CLOSED,
    ),
    "an upgrade that Connection does not name": (GET + b"Upgrade: websocket\r\n\r\n", [200], OPEN),
    "two upgrades": (
        GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n\r\n" + SMUGGLED,
        [200],
        CLOSED,
    ),
    "an upgrade behind one": (GET + b"\r\n" + b"GET /graphql HTTP/1.1\r\n" + HANDSHAKE + b"\r\n", [200], CLOSED),
    "what is behind the last one": (GET + b"Connection: close\r\n\r\n" + SMUGGLED, [200], CLOSED),
}


@pytest.mark.parametrize("case", READ)
async def test_what_can_be_read_in_one_way_is_answered(live: Live, case: str) -> None:
    data, statuses, closed = READ[case]
    heard = await exchange(live.service.address, data, patience=10 if closed else 0.5)
    assert (heard.statuses, heard.closed) == (statuses, closed)
    assert live.service.log.read_text().count("/smuggled") == 0


async def test_trailers_change_nothing(live: Live) -> None:
    token = live.token()["authorization"].encode()
    head = b"POST /deals HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    heard = await exchange(live.service.address, head + b"2\r\n{}\r\n0\r\nAuthorization: " + token + b"\r\n\r\n")
    assert heard.statuses == [401]


async def test_trailers_are_none_of_the_most_headers(live: Live) -> None:
    headers = b"Host: a\r\nTransfer-Encoding: chunked\r\n" + b"X: a\r\n" * (HEADERS_MAX - 2)
    heard = await exchange(
        live.service.address, b"POST /deals HTTP/1.1\r\n" + headers + b"\r\n0\r\nY: b\r\n\r\n", patience=0.5
    )
    assert (heard.statuses, heard.closed) == ([401], False)


async def test_the_largest_head_may_come_in_pieces(live: Live) -> None:
    """Its method, its version and the ends of its lines are no part of the address and the headers."""
    address = b"GET /health?" + b"a" * (ADDRESS_MAX_BYTES - 8)
    head = address + b" HTTP/1.1\r\nHost: a\r\nX: " + b"a" * (HEADERS_MAX_BYTES - 9 - 5) + b"\r\n\r\n"
    async with wire(live.service.address) as connection:
        for piece in (head[:1], head[1:-1], head[-1:]):
            await connection.say(piece)
            await asyncio.sleep(0.1)
        assert (await connection.head()).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_pipelined_requests_have_an_end(live: Live) -> None:
    heard = await exchange(live.service.address, (GET + b"\r\n") * 500)
    assert heard.closed
    assert heard.statuses == [200]


async def test_a_client_that_asks_first_may_go_on(live: Live) -> None:
    body = orjson.dumps({"query": "{ __typename }"})
    async with wire(live.service.address) as connection:
        head = b"POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        await connection.say(head + b"Content-Length: %d\r\n\r\n" % len(body))
        assert await connection.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await connection.say(body)
        assert (await connection.head()).startswith(b"HTTP/1.1 200 OK\r\n")


LIMITS = {
    "the longest address": (b"GET /health?" + b"a" * (ADDRESS_MAX_BYTES - 8) + b" HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    "an address longer by one": (
        b"GET /health?" + b"a" * (ADDRESS_MAX_BYTES - 7) + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        414,
    ),
    "an address without an end": (b"GET /health?" + b"a" * 400_000, 414),
    "the largest headers": (GET + b"X: " + b"a" * (HEADERS_MAX_BYTES - 9 - 5) + b"\r\n\r\n", 200),
    "headers larger by one": (GET + b"X: " + b"a" * (HEADERS_MAX_BYTES - 9 - 4) + b"\r\n\r\n", 431),
    "a header without an end": (GET + b"X: " + b"a" * 400_000, 431),
    "a name without an end": (GET + b"a" * 400_000, 431),
    "the most headers": (GET + b"X: a\r\n" * (HEADERS_MAX - 1) + b"\r\n", 200),
    "one header more": (GET + b"X: a\r\n" * HEADERS_MAX + b"\r\n", 431),
    "nothing but ends of lines": (b"\r\n" * 100_000, 431),
}
CODES = {414: "uri_too_long", 431: "headers_too_large"}


@pytest.mark.parametrize("case", LIMITS)
async def test_heads_have_limits(live: Live, case: str) -> None:
    data, status = LIMITS[case]
    heard = await exchange(live.service.address, data, patience=0.5 if status == 200 else 10)
    assert (heard.statuses, heard.closed) == ([status], status != 200)
    if status != 200:
        _is_in_the_house_s_shape(heard, CODES[status])


FAULTS = {
    "too large a header": (b"GET /health?token=canary HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 40_000, "GET", "/health"),
    "two lengths": (b"POST /pat%2Fx HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n", "POST", "/pat/x"),
    "a private file": (b"GET /%6Dedia/secret HTTP/1.1\r\n\r\n", "GET", "/media/***"),
    "a signed link behind an address with a slash": (
        b"GET //files/signed/secret HTTP/1.1\r\n\r\n",
        "GET",
        "/files/signed/***",
    ),
    "half an address": (b"GET /" + b"a" * 400_000, "GET", "/" + "a" * 499),
    "an address of a host": (b"GET http://evil/media/secret HTTP/1.1\r\nHost: a\r\n\r\n", "-", "-"),
    "no request behind one": (b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01", "-", "-"),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_the_log_says_what_was_refused_as_far_as_it_is_known(live: Live, case: str) -> None:
    data, method, path = FAULTS[case]
    async with wire(live.service.address) as connection:
        request, more = data, b""
        if "\x16" in data.decode("latin-1"):
            request, more = data[:-3], data[-3:]
        await connection.say(request)
        if more:
            await connection.head()
            await connection.say(more)
        heard = await connection.heard()
    assert heard.closed
    identifier = re.findall(rb"x-request-id: ([0-9a-f]{32})", heard.raw)[-1].decode()
    log = live.service.log.read_text()
    [line] = [line for line in log.splitlines() if identifier in line]
    assert f"method='{method}' path='{path}' status={heard.statuses[-1]}" in line
    assert "canary" not in line
    assert "secret" not in log


@pytest.mark.parametrize("surface", ["/graphql", "/deals"])
@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_that_is_too_long_is_refused_and_not_read(live: Live, surface: str, chunked: bool) -> None:
    """Before it comes where its length is declared; else as soon as it is too long. The answer reaches the client."""
    headers = f"Host: a\r\nContent-Type: application/json\r\nAuthorization: {live.token()['authorization']}\r\n"
    async with wire(live.service.address) as connection:
        length = "Transfer-Encoding: chunked" if chunked else "Content-Length: 100000000"
        await connection.say(f"POST {surface} HTTP/1.1\r\n{headers}{length}\r\n\r\n".encode())
        if chunked:
            for _ in range(48):
                await connection.say(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        heard = await connection.heard()
    assert (heard.statuses, heard.closed) == ([413], True)
    assert heard.headers["connection"] == "close"
    answer = json.loads(heard.body)
    code = answer["errors"][0]["extensions"]["code"] if surface == "/graphql" else answer["code"]
    assert code.upper() == "PAYLOAD_TOO_LARGE"


UNREAD = {"graphql": ("/graphql", 413), "rest": ("/deals", 413), "nobody": ("/deals", 401)}


@pytest.mark.parametrize("case", UNREAD)
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("version", ["1.1", "1.0"])
async def test_an_early_answer_reaches_who_wants_no_other(live: Live, case: str, chunked: bool, version: str) -> None:
    """The client sends all of its body before it reads, and says that the connection ends with the answer."""
    if chunked and version == "1.0":
        pytest.skip("there are no chunks in HTTP/1.0")
    path, status = UNREAD[case]
    headers = "Host: a\r\nConnection: close\r\nContent-Type: application/json\r\n"
    if status == 413:
        headers += f"Authorization: {live.token()['authorization']}\r\n"
    size = 1_100_014 if status == 413 else 1_000_000
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    parts = urlsplit(live.service.address)

    def talk() -> bytes:
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
            connection.sendall(f"POST {path} HTTP/{version}\r\n{headers}{length}\r\n\r\n".encode())
            for begin in range(0, size, 100_000):
                piece = b" " * min(100_000, size - begin)
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
                time.sleep(0.02)
            if chunked:
                connection.sendall(b"0\r\n\r\n")
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
            return answer

    answer = await asyncio.to_thread(talk)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"\r\nconnection: close\r\n" in answer
    assert answer.endswith(b"}")


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "in one piece with the next head"])
async def test_what_comes_of_a_body_behind_its_answer_is_no_head(live: Live, apart: bool) -> None:
    """However much of it comes at once: the next request on the connection is read as it is."""
    async with wire(live.service.address) as connection:
        await connection.say(b"POST /deals HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
        head = await connection.head()
        assert head.startswith(b"HTTP/1.1 401 ")
        assert b"connection: close" not in head
        for piece in (b" " * 60_000, GET) if apart else (b" " * 60_000 + GET,):
            await connection.say(piece)
            await asyncio.sleep(0.1)
        await connection.say(b"Connection: close\r\n\r\n")
        heard = await connection.heard()
    assert (heard.statuses, heard.closed) == ([200], True)


async def test_a_body_and_the_head_of_one_like_it_in_one_piece_are_both_read(live: Live) -> None:
    """Nothing is told of the second that was not told of the first; all of the first one's body has come."""
    head = b"POST /deals HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n"
    async with wire(live.service.address) as connection:
        await connection.say(head)
        assert (await connection.head()).startswith(b"HTTP/1.1 401 ")
        await connection.say(b" " * 60_000 + head)
        await asyncio.sleep(0.1)
        await connection.say(b" " * 60_000 + GET + b"Connection: close\r\n\r\n")
        heard = await connection.heard()
    assert (heard.statuses, heard.closed) == ([401, 200], True)


@pytest.mark.parametrize("endless", [b"0\r\nX: ", b"2;x="], ids=["trailer", "extension of a chunk"])
@pytest.mark.parametrize("status", [431, 401], ids=["before", "behind"])
async def test_what_has_no_end_within_a_body_has_a_bound(live: Live, status: int, endless: bytes) -> None:
    """The parser keeps a trailer until it is whole, and tells of nothing before (decision 106)."""
    async with wire(live.service.address) as connection:
        credential = f"Authorization: {live.token()['authorization']}\r\n".encode() if status == 431 else b""
        headers = b"Host: a\r\nContent-Type: application/json\r\n" + credential
        await connection.say(b"POST /deals HTTP/1.1\r\n" + headers + b"Transfer-Encoding: chunked\r\n\r\n" + endless)
        for _ in range(20):
            await connection.say(b"a" * 10_000)
            await asyncio.sleep(0.01)
        heard = await connection.heard()
    assert (heard.statuses, heard.closed) == ([status], True)
    assert heard.seconds < 3


async def test_python_s_own_client_reads_the_refusal(live: Live) -> None:
    headers = {**live.token(), "Content-Type": "application/json"}
    request = urllib.request.Request(f"{live.service.address}/deals", b" " * 1_100_014, headers)
    for _ in range(5):
        with pytest.raises(urllib.error.HTTPError) as refused:
            await asyncio.to_thread(urllib.request.urlopen, request)
        assert refused.value.status == 413
        assert json.load(refused.value)["code"] == "payload_too_large"


async def test_no_query_reaches_the_log_whatever_is_logged(live: Live) -> None:
    async with open_socket(live.service.address, path="/graphql?token=canary") as client:
        await client.begin({})
    async with httpx.AsyncClient(base_url=live.service.address) as http:
        await http.get("/deals", params={"token": "canary"})
    await asyncio.sleep(0.1)
    log = live.service.log.read_text()
    assert "WEBSOCKET" in log
    assert "canary" not in log
    assert "level='error'" not in log
    assert "Traceback" not in log
