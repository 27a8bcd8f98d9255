"""GraphQL answers as JSON, whatever carries them."""

from contract.errors import ResponseTooLarge
from contract.limits import RESPONSE_MAX_BYTES
from transport.encoding import written
from transport.request_log import Answer


def encoded(body: Answer) -> bytes:
    """The body in UTF-8, times in UTC with a Z. Raises ResponseTooLarge."""
    try:
        return written(body, RESPONSE_MAX_BYTES)
    except ResponseTooLarge as error:
        error.extensions = body.get("extensions")
        raise
