"""The forms in which a consent under way is known: the state that the provider hands back, and what is kept of it.

Both are sealed, and hold once (decision 570).
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import orjson
from cryptography.exceptions import InvalidTag

from contract.integrations import IntegrationProvider
from identity.encryption import opened, seal
from identity.secrets import peppers

_STATE = "consent state"
STATE_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Grant:
    """The secrets of a consent: PKCE's verifier, and the provider's code once it is there.

    `kinds` are the kinds of streams to be followed; `subject` began it.
    """

    verifier: str = field(repr=False)
    return_to: str | None = None
    code: str = field(default="", repr=False)
    kinds: Sequence[str] = ()
    subject: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A state as it is read: the organization's connection that it was made for, and a number used once."""

    org_id: str
    integration_id: str
    provider: str
    nonce: str = field(repr=False)


def sealed_grant(pepper: bytes, integration_id: str, grant: Grant) -> bytes:
    """The grant as it is kept."""
    return seal(pepper, f"grant:{integration_id}", orjson.dumps(asdict(grant)))


def opened_grant(pepper: bytes, integration_id: str, sealed: bytes) -> Grant:
    """The grant. Raises InvalidTag."""
    return Grant(**orjson.loads(opened(peppers(pepper), f"grant:{integration_id}", sealed)))


def new_state(pepper: bytes, org_id: str, integration_id: str, provider: IntegrationProvider, nonce: str) -> str:
    """The state as the provider hands it back, letter by letter."""
    sealed = seal(pepper, _STATE, orjson.dumps([org_id, integration_id, provider.value, nonce]))
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def read_state(pepper: bytes, text: str) -> State | None:
    """The state; None for what was not made here, or was altered."""
    try:
        if not text.isascii() or len(text) > STATE_MAX:
            return None
        sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != text:
            return None
        return State(*orjson.loads(opened(peppers(pepper), _STATE, sealed)))
    except (InvalidTag, binascii.Error, ValueError, TypeError):
        return None
