"""GraphQL answers as JSON, whatever carries them."""

from collections.abc import Mapping
from typing import Any

from contract.errors import ResponseTooLarge
from contract.limits import RESPONSE_MAX_BYTES
from transport.encoding import written


def encoded(body: Mapping[str, Any]) -> bytes:
    """The body in UTF-8, times in UTC with a Z. Raises ResponseTooLarge."""
    try:
        return written(body, RESPONSE_MAX_BYTES)
    except ResponseTooLarge as error:
        error.extensions = body.get("extensions")
        raise
