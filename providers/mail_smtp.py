"""A mail server by SMTP: each message is one conversation, with a deadline over all of it.

What the server says stays out of what clients and logs are told; its codes do not.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parseaddr
from typing import Final

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPTimeoutError,
)

from providers.breaker import Breaker
from providers.calls import Calls
from providers.mail import Letter, MailAway, MailError, MailLater, MailRefused, written
from providers.mail_address import PROVIDER, MailServer

_log = logging.getLogger(__name__)

DEADLINE: Final = 30.0
_FAREWELL: Final = 2.0
_TEMPORARY, _FINAL = range(400, 500), range(500, 600)


class Smtp:
    """The mail server of the settings. TLS is verified; without it only a server on this machine is told anything."""

    def __init__(
        self,
        server: MailServer,
        sender: str,
        *,
        calls: Calls | None = None,
        deadline: float = DEADLINE,
        certificates: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._sender = sender
        self._address = parseaddr(sender)[1]
        self._calls = calls or Calls()
        self._breaker = Breaker("of mail", calls=self._calls, label=PROVIDER)
        self._deadline = deadline
        self._certificates = certificates or ssl.create_default_context()

    async def send(self, letter: Letter) -> Mapping[str, int]:
        try:
            data = await asyncio.to_thread(written, letter, self._sender)  # of large files it takes a while
        except ValueError as error:
            raise MailRefused("no header can hold it") from error
        left_alone = MailAway("is left alone for a while after failures in a row")
        with self._breaker.call(left_alone, (MailLater, MailRefused)), self._calls.one(PROVIDER):
            return await self._talk(letter, data)

    async def check(self) -> str:
        with self._calls.one(PROVIDER):
            await self._talk(None)
        how = "without TLS" if self._server.is_plain else "by TLS"
        return f"{self._server.host}:{self._server.port} answers {how}{' and lets in' if self._server.user else ''}"

    async def _talk(self, letter: Letter | None, data: bytes = b"") -> Mapping[str, int]:
        """One conversation: until the server lets in, and then the message. Raises MailError."""
        server = self._server
        client = SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user or None,
            password=server.password or None,
            local_hostname=self._address.rpartition("@")[2],
            use_tls=server.is_tls,
            start_tls=not (server.is_tls or server.is_plain),
            tls_context=self._certificates,
            timeout=self._deadline,
        )
        try:
            async with asyncio.timeout(self._deadline):  # the library's begins anew with every command
                try:
                    await client.connect()
                except (SMTPException, OSError) as error:
                    raise _unreached(error) from None
                refused = {} if letter is None else await self._hand(client, letter, data)
            with suppress(SMTPException, OSError, TimeoutError):  # what it took, it took
                async with asyncio.timeout(_FAREWELL):
                    await client.quit()
            return refused
        except TimeoutError:
            raise self._failed(MailAway("did not answer in time")) from None
        except MailError as error:
            raise self._failed(error) from None
        finally:
            client.close()

    async def _hand(self, client: SMTP, letter: Letter, data: bytes) -> Mapping[str, int]:
        try:
            refused, _ = await client.sendmail(self._address, list(letter.still_to), data)
            return {address: answer.code for address, answer in refused.items()}
        except SMTPRecipientsRefused as error:
            return {each.recipient: each.code for each in error.recipients}
        except SMTPResponseException as error:
            raise _refused(error.code) from None
        except SMTPTimeoutError:
            raise MailAway("did not answer in time") from None
        except (SMTPException, OSError):
            raise MailAway("broke the connection off") from None
        except ValueError:  # an address that no command can hold
            raise MailRefused("no command can hold an address of it") from None

    def _failed(self, error: MailError) -> MailError:
        _log.warning("mail server %s", error)
        return error


def _refused(code: int) -> MailError:
    if code in _FINAL:
        refused = MailRefused(f"refused the message ({code})")
        refused.code = code
        return refused
    if code in _TEMPORARY:
        later = MailLater(f"does not take the message now ({code})")
        later.code = code
        return later
    return MailAway("gave an answer that cannot be understood")


def _unreached(error: Exception) -> MailAway:
    """Say why the server could not be spoken to."""
    if isinstance(error, TimeoutError):
        return MailAway("did not answer in time")
    if isinstance(error, SMTPAuthenticationError):
        return MailAway(f"does not accept the user and the password ({error.code})")
    if type(error) is SMTPException:  # of what the library misses in the answer to EHLO
        return MailAway("offers no STARTTLS, or no way to log in")
    if isinstance(error, SMTPResponseException):
        return MailAway(f"does not let this service in ({error.code})")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return MailAway(f"has a certificate that is not trusted ({cause.verify_message})")
        if isinstance(cause, ssl.SSLError):
            return MailAway("does not speak TLS as it has to")
        cause = cause.__cause__ or cause.__context__
    return MailAway("cannot be reached")
