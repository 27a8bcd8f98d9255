"""Answers as gzip, for clients that ask for it (decision 209)."""

import zlib
from functools import lru_cache

from transport.headers import weights_of

try:  # a fifth of zlib's time; where no wheel of it fits the machine, the standard library does
    from isal.isal_zlib import compress as _deflated
except ImportError:
    from zlib import compress as _deflated

COMPRESSED_FROM = 1024
"""Smaller bodies gain nothing."""
_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS
"""The window's size, and that a gzip header and trailer go around."""


def gzipped(content: bytes) -> bytes:
    """The content compressed, the same bytes for the same content."""
    return _deflated(content, _LEVEL, _GZIP)


@lru_cache(maxsize=200)
def takes_gzip(accept_encoding: str) -> bool:
    """Says whether a client prefers gzip to what it is made of, by the weights that it gives (RFC 9110, 12.5.3).

    Without a weight of its own gzip has that of `*`, and what is not encoded comes last.
    """
    weights = weights_of(accept_encoding)
    gzip = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return gzip > 0 and gzip >= weights.get("identity", 0.0)
