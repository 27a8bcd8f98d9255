"""Signatures by Standard Webhooks, with which a receiver sees who calls and that nothing was changed on the way."""

from base64 import b64decode
from collections.abc import Iterable
from datetime import datetime

from standardwebhooks.webhooks import Webhook as Signer


def is_secret(text: str) -> bool:
    """Says whether a secret is as Standard Webhooks writes one: 24 to 64 bytes in base64, behind `whsec_` or alone."""
    try:
        return 24 <= len(b64decode(text.removeprefix("whsec_"), validate=True)) <= 64
    except ValueError:
        return False


def signed_headers(secrets: Iterable[str], identifier: str, moment: datetime, body: str) -> dict[str, str]:
    """The headers of a signed call; with several secrets it has as many signatures, of which one has to be right."""
    return {
        "content-type": "application/json",
        "webhook-id": identifier,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(Signer(secret).sign(identifier, moment, body) for secret in secrets),
    }
