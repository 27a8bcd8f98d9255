"""Messages that the service sends by mail: what they are, how they are written down, and the folder that takes them.

Where no mail server is set up they lie in the outbox, a folder of files that any mail program opens.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from pathlib import Path
from secrets import token_hex
from time import time
from typing import Protocol

from contract.limits import OUTBOX_MAX

ENCODED = "=?"
"""The beginning of an encoded word."""


_CUT_OFF_SECONDS = 3_600.0
"""How old a file is that nobody writes any more."""


class MailError(Exception):
    """The message was not sent; the words are for the operator."""


class MailAway(MailError):
    """There was no answer, or none that can be understood: it may be tried again."""


class MailLater(MailError):
    """The mail server does not take the message now: it may be tried again."""

    code = 400


class MailRefused(MailError):
    """The mail server does not take the message, whenever it is tried."""

    code = 500


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file within a message."""

    name: str
    content_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to be sent. All but `still_to` is the same at every attempt: those who have not got it yet."""

    id: str
    made_at: datetime
    to: Sequence[str]
    still_to: Sequence[str]
    subject: str
    text: str = field(repr=False)
    attachments: Sequence[Attachment] = ()


class MailPort(Protocol):
    """The port."""

    async def send(self, letter: Letter) -> Mapping[str, int]:
        """Hand the message on; the addresses that will not get it, each with the code of its refusal.

        From 400 on it may be tried again, from 500 on not. Raises MailError where nobody gets it.
        """

    async def check(self) -> str:
        """Find out whether messages can be sent, without sending one; what was found, in words. Raises MailError."""


def written(letter: Letter, sender: str) -> bytes:
    """The message as it goes out. Raises ValueError for what no header can hold, line breaks above all."""
    # The reader of headers, which few processes need, takes more memory than all else of mail.
    from email.headerregistry import Address
    from email.policy import SMTP

    name, address = parseaddr(sender)
    # Headers with line breaks are refused, and whatever the text is, every mail server can take the message.
    message = EmailMessage(SMTP.clone(cte_type="7bit"))
    try:
        message["From"] = Address(name, addr_spec=address)
        message["To"] = [Address(addr_spec=each) for each in letter.to]
    except (HeaderParseError, IndexError) as error:
        raise ValueError("not an address") from error
    message["Subject"] = as_words(letter.subject)
    message["Date"] = format_datetime(letter.made_at.astimezone(UTC))
    message["Message-ID"] = f"<{letter.id}@{address.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"  # nobody's absence is answered (RFC 3834)
    message.set_content(letter.text, cte="quoted-printable")
    for attached in letter.attachments:
        main, _, sub = attached.content_type.partition("/")
        message.add_attachment(attached.data, main, sub, filename=as_words(one_line(attached.name)))
    return message.as_bytes()


def as_words(text: str) -> str:
    """The text as one that no program takes for encoded words (RFC 2047), whose decoding could have line breaks.

    A word joiner, which nobody sees, stands within the sign of their beginning (decision 953).
    """
    return text.replace(ENCODED, f"{ENCODED[0]}\u2060{ENCODED[1]}")


def one_line(text: str) -> str:
    """The text with blanks in the place of line breaks and all else that does not print."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


class Nowhere:
    """A port for which nobody has set up a way: it refuses every message."""

    async def send(self, letter: Letter) -> Mapping[str, int]:
        raise MailAway("is not set up")

    async def check(self) -> str:
        raise MailAway("is not set up")


class Outbox:
    """Writes each message into a folder, with mode 0600; of more than a thousand the oldest are removed.

    A file is named by its message, so that one that is written again is the same file.
    """

    def __init__(self, folder: Path, sender: str, most: int = OUTBOX_MAX) -> None:
        self.folder = folder
        self._sender = sender
        self._most = most

    async def send(self, letter: Letter) -> Mapping[str, int]:
        await asyncio.to_thread(self._write, letter)
        return {}

    async def check(self) -> str:
        await asyncio.to_thread(self._check)
        return f"no mail server: messages lie in {self.folder}"

    def _check(self) -> None:
        folder = next(folder for folder in (self.folder, *self.folder.parents) if folder.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise MailAway("the folder cannot be written to")

    def _write(self, letter: Letter) -> None:
        try:
            data = written(letter, self._sender)
        except ValueError as error:
            raise MailRefused("no header can hold it") from error
        name = f"{letter.made_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{letter.id}.eml"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            aside = self.folder / f".{name}.{token_hex(8)}"
            try:
                _write_durably(aside, data)
                os.replace(aside, self.folder / name)
            finally:
                aside.unlink(missing_ok=True)
            self._make_room()
        except OSError as error:
            raise MailAway("the folder cannot be written to") from error

    def _make_room(self) -> None:
        entries = list(os.scandir(self.folder))
        names = sorted(entry.name for entry in entries if entry.name.endswith(".eml"))
        cut_off = [entry.name for entry in entries if entry.name.startswith(".") and _is_left(entry)]
        for name in [*names[: -self._most], *cut_off]:
            with suppress(FileNotFoundError):  # another process makes room, too
                (self.folder / name).unlink()


def _is_left(entry: "os.DirEntry[str]") -> bool:
    """Says whether a process died over this file."""
    try:
        return entry.stat().st_mtime < time() - _CUT_OFF_SECONDS
    except FileNotFoundError:  # it has its name by now
        return False


def _write_durably(path: Path, data: bytes) -> None:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
