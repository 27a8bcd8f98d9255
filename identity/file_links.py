"""Links to files that work without a credential until they end: made and read by a key of the pepper (decision 393)."""

import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime

SIGNED = "/files/signed/"
_VERSION = "v1"
_TOKEN = re.compile(r"v1\.([0-9a-f]{32})\.([0-9a-f]{32})\.([0-9]{1,12})\.([01])\.([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SignedFile:
    """The file, the organization and the end that a link names."""

    org_id: str
    file_id: str
    ends: datetime
    is_inline: bool


def signed_path(pepper: bytes, org_id: str, file_id: str, ends: datetime, *, is_inline: bool = False) -> str:
    """The path of a link to the file that works until then."""
    said = [_VERSION, *(i.replace("-", "") for i in (org_id, file_id)), str(int(ends.timestamp()))]
    text = ".".join([*said, "1" if is_inline else "0"])
    return f"{SIGNED}{text}.{_signature(pepper, text)}"


def read_signed(pepper: bytes, token: str) -> SignedFile | None:
    """Read the end of a link; None for what was not signed with this pepper."""
    found = _TOKEN.fullmatch(token)
    text, _, signature = token.rpartition(".")
    if found is None or not hmac.compare_digest(signature, _signature(pepper, text)):
        return None
    return SignedFile(found[1], found[2], datetime.fromtimestamp(int(found[3]), UTC), found[4] == "1")


def _signature(pepper: bytes, text: str) -> str:
    """Sign the text by a key of today's pepper, which proves that it was made here."""
    key = hmac.digest(bytes(pepper), b"links to files", "sha256")
    return urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")).rstrip(b"=").decode()
