"""Proves that a notice comes from Slack or Zoom, by a signature over the body as it came, and over its moment."""

import hmac
from collections.abc import Mapping
from datetime import datetime

from contract.integrations import HOOK_AGE_SECONDS, IntegrationProvider

_DIGITS = 12
HEADERS: Mapping[IntegrationProvider, tuple[str, str]] = {
    IntegrationProvider.SLACK: ("x-slack-request-timestamp", "x-slack-signature"),
    IntegrationProvider.ZOOM: ("x-zm-request-timestamp", "x-zm-signature"),
}
"""The headers with the moment and the signature, by provider."""


def signature(secret: bytes, moment: str, body: bytes) -> str:
    """The signature of a body that was sent at a moment, in seconds."""
    return f"v0={hmac.new(secret, b'v0:' + moment.encode() + b':' + body, 'sha256').hexdigest()}"


def is_signed(secret: bytes, moment: str, given: str, body: bytes, present: datetime) -> bool:
    """Says whether the body was signed under this secret, and lately."""
    if not (moment.isascii() and moment.isdigit() and len(moment) <= _DIGITS and given.isascii()):
        return False
    is_late = abs(present.timestamp() - int(moment)) > HOOK_AGE_SECONDS
    return hmac.compare_digest(signature(secret, moment, body), given) and not is_late


def answer_to(secret: bytes, plain: str) -> dict[str, str]:
    """The answer to Zoom's question whether the address is ours."""
    return {"plainToken": plain, "encryptedToken": hmac.new(secret, plain.encode(), "sha256").hexdigest()}
