"""The headers of a message, as whoever sent it wrote them."""

import re
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import getaddresses

from contract.integrations import ADDRESSES_OF_A_MAIL_MAX, SUBJECT_KEPT
from contract.limits import MESSAGE_ID_MAX
from providers.accounts.shown import is_address, text_of

_HEADER_MAX = 32_000
_MESSAGE_ID = re.compile(rf"[\x21-\x7e]{{1,{MESSAGE_ID_MAX}}}")


def line(value: object) -> str | None:
    """The text on one line; None where there is none."""
    found = text_of(value, SUBJECT_KEPT)
    return None if found is None else " ".join(found.split())


def message_id(value: object) -> str | None:
    """The Message-ID, angle brackets and all; None for what is none."""
    found = value.strip() if isinstance(value, str) else ""
    return found if _MESSAGE_ID.fullmatch(found) else None


def decoded(value: str | None) -> str | None:
    """The text on one line, without the encoding of RFC 2047 where it has some; as it is where that is broken."""
    if value is None or "=?" not in value:
        return line(value)
    try:
        return line(str(make_header(decode_header(value[: 4 * SUBJECT_KEPT]))))
    except (HeaderParseError, LookupError, ValueError):
        return line(value)


def addresses(value: str | None) -> tuple[str, ...]:
    """The addresses of a header, each once."""
    found = (email.strip() for _, email in getaddresses([(value or "")[:_HEADER_MAX]]))
    return tuple(dict.fromkeys(each for each in found if is_address(each)))[:ADDRESSES_OF_A_MAIL_MAX]
