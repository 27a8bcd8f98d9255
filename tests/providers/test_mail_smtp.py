"""A mail server by SMTP: what it takes, refuses and leaves unsaid, at each step of the conversation."""

from __future__ import annotations

import logging
import ssl
import time
from datetime import UTC, datetime
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from providers.breaker import FAILURES
from providers.calls import Calls
from providers.mail import Attachment, Letter, MailAway, MailError, MailLater, MailRefused
from providers.mail_address import MailServer as Server
from providers.mail_address import check_sender, outbox_folder
from providers.mail_address import mail_server as server_of
from providers.mail_smtp import Smtp
from tests.support.mail_server import PASSWORD, USER, authority, mail_server, scripted

AT = datetime(2026, 11, 24, 16, 30, tzinfo=UTC)
TO = ("a@example.com", "b@example.com", "c@example.com")
HELLO = ["220 hi", "250 hi"]
SILENT_SECONDS = 0.3


def letter(to: tuple[str, ...] = TO, **fields: Any) -> Letter:
    return Letter("01", AT, to, to, fields.pop("subject", "Größe"), fields.pop("text", ".\nÜber\n..\n"), **fields)


def smtp(port: int, *, user: str = "", **options: Any) -> Smtp:
    password, is_tls = options.pop("password", PASSWORD if user else ""), options.pop("is_tls", False)
    server = Server("127.0.0.1", port, is_tls, options.pop("is_plain", not is_tls), user, password)
    return Smtp(server, "CRM <crm@example.com>", **options)


async def test_a_message_arrives_whole() -> None:
    data = bytes(range(256)) * 3_000
    async with mail_server() as server:
        refused = await smtp(server.port).send(
            letter(attachments=[Attachment("Übersicht.pdf", "application/pdf", data)])
        )
    assert refused == {}
    [took] = server.took
    assert (took.sender, tuple(took.recipients), took.greeted_as) == ("crm@example.com", TO, "example.com")
    assert all(len(line) <= 998 for line in took.content.split(b"\r\n"))
    took.content.decode("ascii")
    message = message_from_bytes(took.content, policy=policy.default)
    assert (message["subject"], message["from"]) == ("Größe", "CRM <crm@example.com>")
    assert (message["to"], message["message-id"]) == (", ".join(TO), "<01@example.com>")
    text, file = message.iter_parts()  # type: ignore[attr-defined]
    assert text.get_content().replace("\r\n", "\n") == ".\nÜber\n..\n"
    assert (file.get_filename(), file.get_content()) == ("Übersicht.pdf", data)


async def test_refused_recipients_are_told_and_the_others_get_it() -> None:
    async with mail_server() as server:
        server.refusals = {TO[0]: "550 5.1.1 no such user on relay-7", TO[2]: "450 4.2.0 greylisted"}
        assert await smtp(server.port).send(letter()) == {TO[0]: 550, TO[2]: 450}
        assert [took.recipients for took in server.took] == [[TO[1]]]
        server.refusals = dict.fromkeys(TO, "550 no")
        assert await smtp(server.port).send(letter()) == dict.fromkeys(TO, 550)
    assert len(server.took) == 1


@pytest.mark.parametrize(
    ("answer", "kind", "code"), [("554 relay-7 says no", MailRefused, 554), ("451 x", MailLater, 451)]
)
async def test_a_refused_message_has_its_code_and_no_word_of_the_server(
    answer: str, kind: type[MailRefused | MailLater], code: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with mail_server() as server:
        server.data = answer
        with pytest.raises(kind) as refused, caplog.at_level(logging.DEBUG, logger="providers"):
            await smtp(server.port).send(letter())
    assert refused.value.code == code
    assert "relay-7" not in f"{refused.value} {caplog.text}"
    assert not any(address in caplog.text for address in TO)


CONVERSATION = [*HELLO, "250 sender", "250 a", "250 b", "250 c", "354 go", "250 taken"]


@pytest.mark.parametrize("end", ["", None, "500 internal-host", "nonsense", "421 closing"])
@pytest.mark.parametrize("at", range(len(CONVERSATION)))
async def test_a_conversation_that_breaks_at_any_step_sends_nothing(at: int, end: str | None) -> None:
    async with scripted([*CONVERSATION[:at], end, ""]) as (port, said):
        began = time.monotonic()
        refused: Any = {}
        error: MailError | None = None
        try:
            refused = await smtp(port, deadline=SILENT_SECONDS).send(letter())
        except MailError as raised:
            error = raised
        assert time.monotonic() - began < 10
    if error is None:  # a recipient alone was refused, or the extended greeting, before the older one
        assert refused or (at == 1 and end == "500 internal-host")
    else:
        assert isinstance(error, MailAway) or getattr(error, "code", 0) in (500, 421)
        assert "internal-host" not in str(error)
    assert len(said) <= at + 2


@pytest.mark.parametrize("end", ["", None, "500 bye"])
async def test_what_the_server_took_it_took_however_it_says_goodbye(
    end: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.mail_smtp._FAREWELL", 0.1)
    async with scripted([*CONVERSATION, end]) as (port, _):
        assert await smtp(port).send(letter()) == {}


async def test_nothing_that_listens_is_away() -> None:
    async with scripted([]) as (port, _):
        pass
    with pytest.raises(MailAway, match="cannot be reached"):
        await smtp(port).send(letter())


@pytest.mark.parametrize("is_tls", [True, False])
async def test_tls_is_spoken_and_verified(is_tls: bool, tmp_path: Path) -> None:
    known = authority(tmp_path)
    tls: dict[str, Any] = {"tls": known.serving} if is_tls else {"starttls": known.serving}
    async with mail_server(**tls, login=not is_tls) as server:
        user = "" if is_tls else USER
        options: dict[str, Any] = {"is_tls": is_tls, "is_plain": False, "user": user}
        port = smtp(server.port, certificates=known.trusting, **options)
        assert await port.send(letter()) == {}
        assert "by TLS" in await port.check()
        assert [took.was_tls for took in server.took] == [True]
        with pytest.raises(MailAway, match="certificate that is not trusted"):
            await smtp(server.port, **options).send(letter())
    assert len(server.took) == 1


async def test_a_certificate_of_another_host_is_refused(tmp_path: Path) -> None:
    other = authority(tmp_path, host="127.0.0.2")
    async with mail_server(tls=other.serving) as server:
        with pytest.raises(MailAway, match="certificate that is not trusted"):
            await smtp(server.port, is_tls=True, is_plain=False, certificates=other.trusting).check()


async def test_nothing_is_said_to_a_server_without_starttls(tmp_path: Path) -> None:
    async with scripted(CONVERSATION) as (port, said):
        with pytest.raises(MailAway, match="no STARTTLS"):
            await smtp(port, is_plain=False, user=USER).send(letter())
    assert [line.partition(" ")[0] for line in said if line] == ["EHLO"] or said[0].startswith("EHLO")
    assert not any(line.startswith(("AUTH", "MAIL", "RCPT")) for line in said)


async def test_a_wrong_password_is_told_to_the_operator_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = authority(tmp_path)
    async with mail_server(starttls=known.serving, login=True) as server:
        port = smtp(server.port, is_plain=False, user=USER, password="wrong-secret", certificates=known.trusting)
        with pytest.raises(MailAway, match="does not accept the user") as refused, caplog.at_level(logging.DEBUG):
            await port.check()
    assert "wrong-secret" not in f"{refused.value} {caplog.text} {port!r}"


async def test_a_server_that_fails_again_and_again_is_left_alone() -> None:
    counted: list[tuple[str, str]] = []
    turned: list[tuple[str, bool]] = []
    calls = Calls(lambda provider, outcome, _: counted.append((provider, outcome)), lambda *turn: turned.append(turn))
    async with scripted([""]) as (port, said):
        failing = smtp(port, calls=calls)
        for _ in range(FAILURES):
            with pytest.raises(MailAway):
                await failing.send(letter())
        with pytest.raises(MailAway, match="left alone"):
            await failing.send(letter())
    assert counted == [("mail", "mail_away")] * FAILURES
    assert turned == [("mail", True)]
    assert said == []


async def test_refusals_are_answers_and_leave_nobody_alone() -> None:
    async with mail_server() as server:
        port = smtp(server.port)
        server.data = "554 no"
        for _ in range(FAILURES + 1):
            with pytest.raises(MailRefused):
                await port.send(letter())
        server.data = "250 OK"
        assert await port.send(letter()) == {}


def test_addresses_of_mail_servers() -> None:
    assert server_of("") is server_of("file:///var/outbox") is None
    assert outbox_folder("file:///var/out%20box") == Path("/var/out box")
    assert server_of("smtp://u%40x:p%2Fw@mail.example") == Server("mail.example", 587, False, False, "u@x", "p/w")
    assert server_of("smtps://mail.example") == Server("mail.example", 465, True, False)
    assert server_of("smtp://127.0.0.1:2525?starttls=off") == Server("127.0.0.1", 2525, False, True)
    assert "p/w" not in repr(server_of("smtp://u:p%2Fw@mail.example"))


@pytest.mark.parametrize(
    "address",
    [
        *("http://mail.example", "smtp://", "smtp://mail.example/x", "smtp://mail.example:x", "smtp://[::1", "x"),
        *("smtp://mail.example?starttls=off", "smtps://127.0.0.1?starttls=off", "smtp://127.0.0.1?tls=off"),
        *("smtp://user@mail.example", "smtp://mail.example#x", "file:///", "file://host/x", "file:///x?y"),
    ],
)
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"must|may"):
        server_of(address)


@pytest.mark.parametrize("sender", ["", "x", "@x", "a@", "a@b\nBcc: c@d", "ä@example.com", "a@b, c@d"])
def test_what_is_no_sender_is_refused(sender: str) -> None:
    with pytest.raises(ValueError, match="must be an address"):
        check_sender(sender)
    check_sender("CRM <crm@example.com>")
    check_sender("crm@localhost")


def test_certificates_are_verified_by_default() -> None:
    context = smtp(1)._certificates
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
