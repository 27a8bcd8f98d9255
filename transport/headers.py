"""The headers of a request, whatever is asked over it."""

from collections.abc import Mapping

from starlette.types import Scope

Headers = Mapping[bytes, bytes]
"""The values by name, in lower case."""


def headers_of(scope: Scope) -> Headers:
    """The headers; the values of a name that is there twice as one list (decision 127).

    REST reads them so too (rest_compat/serving.py).
    """
    headers = dict(scope["headers"])
    if len(headers) != len(scope["headers"]):
        headers.clear()
        for name, value in scope["headers"]:
            headers[name] = b"%b, %b" % (headers[name], value) if name in headers else value
    return headers
