"""Documents that clients name in place of sending them: those of a file, and those that were sent once before."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import orjson

from storage.bounded_cache import BoundedCache

ENTRIES_MAX = 1_000
BYTES_MAX = 8 * 1024 * 1024
PUBLIC_ENTRIES_MAX = 100
_APOLLO = "apollo-persisted-query-manifest"
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_IDENTIFIER = re.compile(r"(sha256:[0-9a-f]{64})|(x-[\w.~-]+:)?[\w.~-]+", re.ASCII)

Registered = Mapping[str, str]
"""Documents by identifier; each also by `sha256:` and the hash of its text."""


def digest(text: str) -> str:
    """The SHA-256 of a document's text, in lower-case hexadecimals."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_manifest(path: Path) -> Registered:
    """The documents of a file: an object of identifiers and texts, as relay-compiler writes it, or Apollo's manifest.

    Raises ValueError with what is wrong with it.
    """
    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or type(error).__name__}") from None
    except ValueError:
        raise ValueError("is no JSON in UTF-8") from None
    documents: dict[str, str] = {}
    for pair in _pairs(content):
        identifier, text = _checked(*pair)
        if documents.setdefault(identifier, text) != text:
            raise ValueError(f"has two documents under {identifier!r}")
    return documents | {f"sha256:{digest(text)}": text for text in documents.values()}


def _pairs(content: object) -> Iterable[tuple[object, object]]:
    if not isinstance(content, dict):
        raise ValueError("must be an object of identifiers and documents")
    if content.get("format") != _APOLLO:
        return content.items()
    operations = content.get("operations")
    if content.get("version") != 1 or not isinstance(operations, list):
        raise ValueError("must be of version 1, with a list of operations")
    if not all(isinstance(operation, dict) for operation in operations):
        raise ValueError("must have an object for each of its operations")
    return [(operation.get("id"), operation.get("body")) for operation in operations]


def _checked(identifier: object, text: object) -> tuple[str, str]:
    if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
        raise ValueError(f"has an identifier that is none: {str(identifier)[:80]!r}")
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"has no document under {identifier!r}")
    sha256 = identifier.removeprefix("sha256:")
    if _SHA256.fullmatch(sha256) and sha256 != digest(text):
        raise ValueError(f"has a document under {identifier!r}, which is the SHA-256 of another")
    return identifier, text


class Automatic:
    """Documents that clients sent with their hash: the last used, bounded by entries and bytes.

    Only one that `accepts` takes is kept, and only under the hash of its text, which the caller has compared.
    """

    def __init__(self, accepts: Callable[[str], bool]) -> None:
        self._accepts = accepts
        self._kept: BoundedCache[str, str] = BoundedCache(entries=ENTRIES_MAX, size=BYTES_MAX)
        self._public: BoundedCache[str, str] = BoundedCache(entries=PUBLIC_ENTRIES_MAX)

    def get(self, sha256: str, *, is_anonymous: bool = False) -> str | None:
        """The document, as long as it is kept; an unauthenticated caller keeps no member's for longer."""
        found = self._kept.peek(sha256) if is_anonymous else self._kept.get(sha256)
        return self._public.get(sha256) if found is None else found

    def keep_public(self, sha256: str, text: str) -> None:
        """Keep a document that an unauthenticated caller may run, in place of others of theirs alone."""
        if self._kept.peek(sha256) is None and self._public.peek(sha256) is None:
            self._public.put(sha256, text)

    def keep(self, sha256: str, text: str) -> None:
        """Keep a document under its hash, in place of those that were longest not asked for."""
        size = 4 * len(text)  # the most bytes that a text of this length takes
        if self._kept.peek(sha256) is None and size <= BYTES_MAX // 8 and self._accepts(text):
            self._kept.put(sha256, text, size)
