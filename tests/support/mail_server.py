"""A mail server on the loopback interface: a real one that refuses as it is told, and one that plays a script."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from storage.base import now


@dataclass
class Took:
    """A message as the server took it."""

    sender: str
    recipients: list[str]
    content: bytes
    was_tls: bool
    greeted_as: str


@dataclass
class MailServer:
    """What the server answers, and what it took. `refusals` is by recipient, `data` what it says of a message."""

    port: int = 0
    refusals: Mapping[str, str] = field(default_factory=dict)
    data: str = "250 OK"
    took: list[Took] = field(default_factory=list)

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.data.startswith("2"):
            content = envelope.original_content or envelope.content
            took = Took(envelope.mail_from, list(envelope.rcpt_tos), content, _is_tls(server), session.host_name)
            self.took.append(took)
        return self.data


def _is_tls(server: Any) -> bool:
    return server.transport.get_extra_info("sslcontext") is not None


USER, PASSWORD = "crm", "correct horse"


def _authenticates(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    is_known = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_known, handled=False)


@asynccontextmanager
async def mail_server(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, login: bool = False
) -> AsyncIterator[MailServer]:
    """A server that speaks plainly unless told."""
    server = MailServer()

    def protocol() -> SMTP:
        return SMTP(
            server,
            hostname="mail.internal.example",
            tls_context=starttls,
            require_starttls=starttls is not None,
            authenticator=_authenticates if login else None,
            auth_required=login,
            auth_require_tls=starttls is not None,
        )

    listening = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=tls)
    async with listening:
        server.port = listening.sockets[0].getsockname()[1]
        yield server


Step = str | None
"""What is answered; None for silence, an empty text for the end of the connection."""


@asynccontextmanager
async def scripted(steps: Sequence[Step]) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that says one step when it is called and one after each line, and after the last of them nothing."""
    said: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for step in steps:
                if step is None:
                    await reader.read()
                    return
                if not step:
                    return
                writer.write(step.encode() + b"\r\n")
                await writer.drain()
                line = await reader.readline()
                said.append(line.decode().strip())
                if step.startswith("354"):
                    while line and line != b".\r\n":
                        line = await reader.readline()
            await reader.read()
        except ConnectionError:
            return
        finally:
            writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1], said


@dataclass(frozen=True)
class Authority:
    """A throw-away authority: what a server shows, and what a client trusts."""

    serving: ssl.SSLContext
    trusting: ssl.SSLContext
    file: Path


def authority(folder: Path, *, host: str = "127.0.0.1") -> Authority:
    """Makes one whose certificate is for the host."""
    key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Throw-away")])
    root = _certificate(
        issuer, issuer, key.public_key(), lambda b: b.add_extension(x509.BasicConstraints(True, 0), True)
    )
    named = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    leaf = _certificate(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail")]),
        issuer,
        own.public_key(),
        lambda b: b.add_extension(named, False),
    ).sign(key, hashes.SHA256())
    file, shown = folder / "authority.pem", folder / "server.pem"
    file.write_bytes(root.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    shown.write_bytes(
        own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + leaf.public_bytes(serialization.Encoding.PEM)
    )
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(shown)
    return Authority(serving, ssl.create_default_context(cafile=str(file)), file)


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: Any,
    extend: Callable[[x509.CertificateBuilder], x509.CertificateBuilder],
) -> x509.CertificateBuilder:
    begun = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
    )
    return extend(begun)
