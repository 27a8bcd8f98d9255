"""GraphQL answers as JSON, whatever carries them."""

from collections.abc import Mapping
from typing import Any

import orjson

from contract.errors import ResponseTooLarge
from contract.limits import RESPONSE_MAX_BYTES


def encoded(body: Mapping[str, Any]) -> bytes:
    """The body in UTF-8, times in UTC with a Z. Raises ResponseTooLarge."""
    content = orjson.dumps(body, option=orjson.OPT_UTC_Z)
    if len(content) > RESPONSE_MAX_BYTES:
        error = ResponseTooLarge()
        error.extensions = body.get("extensions")
        raise error
    return content
