"""Calls to addresses that somebody else chose: what is refused, what bounds them, and that names cannot move."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from providers.addresses import is_allowed
from providers.outbound import (
    Limits,
    NotAllowed,
    Outbound,
    OutboundError,
    TooLarge,
    TooManyRedirects,
    TooSlow,
    Unreachable,
    WrongType,
)
from tests.support.web import Asked, Reply, Web, open_web

CLOSED = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%1",
    "fec0::1",
    "ff02::1",
    "2606:4700::1%1",
]
OPEN = ["8.8.8.8", "1.1.1.1", "93.184.215.14", "172.15.255.255", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111"]


@pytest.mark.parametrize("text", CLOSED)
def test_what_is_not_on_the_public_internet_is_not_called(text: str) -> None:
    assert not is_allowed(ip_address(text))


@pytest.mark.parametrize("text", OPEN)
def test_public_addresses_are_called(text: str) -> None:
    assert is_allowed(ip_address(text))


def test_the_setting_opens_this_machine_and_nothing_else() -> None:
    opened = [text for text in CLOSED if is_allowed(ip_address(text), loopback=True)]

    assert opened == ["127.0.0.1", "127.255.255.254", "::1"]


@pytest.fixture
async def outbound() -> AsyncIterator[Outbound]:
    client = Outbound(allow_loopback=True)
    yield client
    await client.close()


async def refused(url: str, resolve: Callable[[str, int], object] | None = None) -> OutboundError:
    client = Outbound(resolve=resolve) if resolve else Outbound()  # type: ignore[arg-type]
    try:
        with pytest.raises(OutboundError) as caught:
            await client.request("GET", url)
    finally:
        await client.close()
    return caught.value


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.com/", "the address must start with http:// or https://"),
        ("file:///etc/passwd", "the address must start with http:// or https://"),
        ("example.com", "the address must start with http:// or https://"),
        ("http://", "the address names no host"),
        ("http:///path", "the address names no host"),
        ("http://me:secret@example.com/", "the address must not hold a credential"),
        ("http://example.com:99999/", "the address names a port that is none"),
        ("http://example.com:0/", "the address names a port that is none"),
        ("http://exa\x00mple.com/", "the address is not a valid one"),
        ("http://example.com/" + "x" * 4_000, "the address is longer than 4000 characters"),
        ("http://127.0.0.1/", "127.0.0.1 is not on the public internet"),
        ("http://127.1/", "127.1 is not on the public internet"),
        ("http://2130706433/", "2130706433 is not on the public internet"),
        ("http://0x7f000001/", "0x7f000001 is not on the public internet"),
        ("http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1 is not on the public internet"),
        ("http://[::1]:8000/", "::1 is not on the public internet"),
        ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is not on the public internet"),
        ("http://localhost/", "localhost is not on the public internet"),
    ],
)
async def test_addresses_that_are_not_called(url: str, reason: str) -> None:
    error = await refused(url)

    assert (type(error), str(error)) == (NotAllowed, reason)


@pytest.mark.parametrize("found", [["8.8.8.8", "10.0.0.1"], ["2606:4700::1", "::ffff:10.0.0.1"], ["no address"]])
async def test_one_closed_address_closes_the_name(found: list[str]) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return found

    error = await refused("http://two.example/", resolve)

    assert (type(error), str(error)) == (NotAllowed, "two.example is not on the public internet")


async def test_a_name_that_is_none() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    error = await refused("http://nowhere.example/", resolve)

    assert (type(error), str(error)) == (Unreachable, "the name nowhere.example cannot be resolved")


async def test_a_slow_name_service() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        await asyncio.sleep(30)
        return ["8.8.8.8"]

    client = Outbound(resolve=resolve)
    with pytest.raises(TooSlow, match=r"^the name slow\.example is not resolved in time$"):
        await client.request("GET", "http://slow.example/", limits=Limits(resolve_seconds=0.05))
    await client.close()


async def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """A name that answers differently the second time is asked once per hop; Host stays the name."""
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    asked: list[tuple[str, int]] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return next(answers)

    client = Outbound(allow_loopback=True, resolve=resolve)
    async with open_web({"/": Reply(b"hello")}) as web:
        answer = await client.request("GET", f"http://moves.example:{web.port}/")

        assert answer.body == b"hello"
        assert asked == [("moves.example", web.port)]
        assert web.asked[0].headers["host"] == f"moves.example:{web.port}"
        with pytest.raises(NotAllowed):
            await client.request("GET", f"http://moves.example:{web.port}/")
        assert len(web.asked) == 1
    await client.close()


async def test_the_next_address_is_tried() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["127.0.0.9", "127.0.0.1"]  # the server listens on the second only

    client = Outbound(allow_loopback=True, resolve=resolve)
    async with open_web({"/": Reply(b"hello")}) as web:
        assert (await client.request("GET", f"http://two.example:{web.port}/")).body == b"hello"
    await client.close()


def _certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's side and the client's, which trusts this one certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    made = (
        builder.not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=made.public_bytes(serialization.Encoding.PEM).decode())


async def test_the_certificate_is_that_of_the_name(tmp_path: Path) -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    server, trust = _certificate(tmp_path, "secure.example")
    client = Outbound(allow_loopback=True, resolve=resolve, certificates=trust)
    async with open_web({"/": Reply(b"hello")}, server) as web:
        answer = await client.request("GET", f"https://secure.example:{web.port}/")
        with pytest.raises(Unreachable, match=r"^other\.example cannot be reached$"):
            await client.request("GET", f"https://other.example:{web.port}/")

        assert answer.body == b"hello"
        assert answer.url == f"https://secure.example:{web.port}/"
        assert web.names == ["secure.example", "other.example"]
        assert [request.headers["host"] for request in web.asked] == [f"secure.example:{web.port}"]
    await client.close()


async def test_redirects_are_followed_and_remembered(outbound: Outbound) -> None:
    replies = {
        "/": Reply(status=302, headers={"Location": "/two#part"}),
        "/two": Reply(status=308, headers={"Location": "three"}),
        "/three": Reply(b"there"),
    }
    async with open_web(replies) as web:
        answer = await outbound.request("GET", web.url)

        assert (answer.status, answer.body, answer.url) == (200, b"there", f"{web.url}/three")
        assert answer.redirects == (web.url, f"{web.url}/two")
        assert answer.media_type == "text/html"


async def test_a_redirect_is_checked_like_any_address(outbound: Outbound) -> None:
    targets = ["http://10.0.0.1/", "//169.254.169.254/", "ftp://example.com/", "http://me:pw@127.0.0.1/", "http://[::"]
    async with open_web({f"/{n}": Reply(status=302, headers={"Location": t}) for n, t in enumerate(targets)}) as web:
        for number in range(len(targets)):
            with pytest.raises(NotAllowed):
                await outbound.request("GET", f"{web.url}/{number}")


async def test_five_redirects_and_no_more(outbound: Outbound) -> None:
    chain = {f"/{n}": Reply(status=301, headers={"Location": f"/{n + 1}"}) for n in range(6)}
    async with open_web({**chain, "/6": Reply(b"end")}) as web:
        assert (await outbound.request("GET", f"{web.url}/1")).body == b"end"
        with pytest.raises(TooManyRedirects, match=r"^127\.0\.0\.1 redirects more than 5 times$"):
            await outbound.request("GET", f"{web.url}/0")


async def test_what_is_meant_for_one_origin_stays_there(outbound: Outbound) -> None:
    async with open_web({"/": Reply(b"end")}) as second:
        async with open_web({"/": Reply(status=302, headers={"Location": second.url})}) as first:
            headers = {"Authorization": "Bearer secret", "Cookie": "a=b", "User-Agent": "test"}
            await outbound.request("GET", first.url, headers=headers)

            assert first.asked[0].headers["authorization"] == "Bearer secret"
        assert set(second.asked[0].headers) == {"host", "accept", "accept-encoding", "user-agent"}
        assert second.asked[0].headers["user-agent"] == "test"


async def test_a_post_is_sent_once_and_its_redirect_is_the_answer(outbound: Outbound) -> None:
    def reply(asked: Asked) -> Reply:
        return Reply(asked.body, 307, {"Location": "/elsewhere", "X-Method": asked.method})

    async with open_web({"/hook": reply}) as web:
        answer = await outbound.request("POST", f"{web.url}/hook", content=b'{"a": 1}')

        assert (answer.status, answer.body, answer.headers["x-method"]) == (307, b'{"a": 1}', "POST")
        assert web.paths == ["/hook"]


async def test_a_body_over_the_limit(outbound: Outbound) -> None:
    async with open_web({"/": Reply(b"x" * 1_001), "/endless": Reply(b"x" * 5_000, length=False)}) as web:
        exact = await outbound.request("GET", web.url, limits=Limits(body_bytes=1_001))
        cut = await outbound.request("GET", f"{web.url}/endless", limits=Limits(body_bytes=1_000, cut=True))
        for path in ("/", "/endless"):
            with pytest.raises(TooLarge, match=r"^the answer of 127\.0\.0\.1 is larger than 1000 bytes$"):
                await outbound.request("GET", web.url + path, limits=Limits(body_bytes=1_000))

    assert (len(exact.body), len(cut.body)) == (1_001, 1_000)


async def test_a_compressed_body_counts_as_what_it_becomes(outbound: Outbound) -> None:
    zipped = {"Content-Type": "text/html", "Content-Encoding": "gzip"}
    bomb = gzip.compress(b"\0" * 50_000_000)
    replies = {
        "/": Reply(gzip.compress(b"hello"), headers=zipped),
        "/bomb": Reply(bomb, headers=zipped),
        "/damaged": Reply(b"no gzip", headers=zipped),
        "/half": Reply(gzip.compress(b"hello" * 1_000)[:-9], headers=zipped),
        "/other": Reply(b"...", headers={"Content-Encoding": "br"}),
    }
    async with open_web(replies) as web:
        assert (await outbound.request("GET", web.url)).body == b"hello"
        for path, error in (
            ("/bomb", TooLarge),
            ("/damaged", Unreachable),
            ("/half", Unreachable),
            ("/other", WrongType),
        ):
            with pytest.raises(error):
                await outbound.request("GET", web.url + path)


async def test_nothing_behind_a_compressed_body_is_read(outbound: Outbound) -> None:
    zipped = {"Content-Encoding": "gzip", "Content-Length": "1000000000"}
    body = gzip.compress(b"hello") + b"x" * 1_000_000
    async with open_web({"/": Reply(body, headers=zipped, length=False)}) as web:
        assert (await outbound.request("GET", web.url)).body == b"hello"


async def test_types_that_are_not_asked_for(outbound: Outbound) -> None:
    pdf = {"Content-Type": "application/pdf"}
    async with open_web({"/": Reply(b"%PDF", headers=pdf), "/gone": Reply(b"%PDF", 404, pdf)}) as web:
        with pytest.raises(WrongType, match=r"^127\.0\.0\.1 answers with another type of content$"):
            await outbound.request("GET", web.url, types={"text/html"})
        assert (await outbound.request("GET", f"{web.url}/gone", types={"text/html"})).status == 404


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(read_seconds=0.1), "127.0.0.1 does not answer in time"),
        (Limits(seconds=0.1), "127.0.0.1 took longer than 0.1 seconds"),
    ],
)
async def test_deadlines(outbound: Outbound, limits: Limits, words: str) -> None:
    async with open_web({"/": Reply(b"late", wait_first=5), "/body": Reply(b"late", wait=5)}) as web:
        for path in ("/", "/body"):
            with pytest.raises(TooSlow) as caught:
                await outbound.request("GET", web.url + path, limits=limits)
            assert str(caught.value) == words


@pytest.mark.parametrize(
    "said", [b"not http at all\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"]
)
async def test_an_answer_that_is_none(outbound: Outbound, said: bytes) -> None:
    class Garbage(Web):
        async def _send(self, reply: Reply, writer: object) -> None:
            writer.write(said)  # type: ignore[attr-defined]

    web = Garbage(0, {})
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.port = server.sockets[0].getsockname()[1]
    with pytest.raises(Unreachable, match=r"^127\.0\.0\.1 cannot be reached$"):
        await outbound.request("GET", web.url)
    server.close()


async def test_nobody_listens(outbound: Outbound) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable, match=r"^127\.0\.0\.1 cannot be reached$"):
            await outbound.request("GET", f"http://127.0.0.1:{taken.getsockname()[1]}/")


async def test_the_proxies_of_the_environment_play_no_part(outbound: Outbound, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    client = Outbound(allow_loopback=True)
    async with open_web({"/": Reply(b"hello")}) as web:
        assert (await client.request("GET", web.url)).body == b"hello"
    await client.close()
