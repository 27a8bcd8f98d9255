"""Prints the surfaces: anew, or as they were printed from the same code before (decision 1193).

To make one of the texts takes two seconds, nearly all of them for loading what it follows from.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

from gateway import printed
from gateway.packages import PACKAGES, ROOT

_FOLDER: Final = Path(cache_from_source(__file__)).parent
"""Names where Python keeps what it compiled of this package: what follows from code is kept beside that."""
_PRINTED: Final = frozenset({printed.SCHEMA, printed.TOOLS, printed.OPENAPI})


def schema_text() -> str:
    """The GraphQL schema."""
    return _kept(printed.SCHEMA, _schema)


def tools_text() -> str:
    """The definitions of all tools, as a model reads them, as JSON."""
    return _kept(printed.TOOLS, _tools)


def openapi_text() -> str:
    """The OpenAPI document, as JSON."""
    return _kept(printed.OPENAPI, _openapi)


def _schema() -> str:
    from schema.build import build

    return build().sdl


def _tools() -> str:
    from schema.build import build
    from schema.tools import Catalogue

    return Catalogue(build().graphql).print().decode()


def _openapi() -> str:
    from rest_compat.openapi import openapi_text

    return openapi_text().decode()


def _kept(file: Path, make: Callable[[], str]) -> str:
    """The text that was last made of the same code, or a new one, which takes its place where it can be written."""
    digest, kept = _digest_of_code(), _FOLDER / f"{file.name}.printed"
    if digest is None:
        return make()
    with suppress(OSError):
        of, _, found = kept.read_bytes().partition(b"\n")
        if of == f"{digest}{sha256(found).hexdigest()}".encode():
            return found.decode()
    text = make()
    if not sys.dont_write_bytecode and _digest_of_code() == digest:  # nobody changed it meanwhile
        _keep(kept, f"{digest}{sha256(text.encode()).hexdigest()}\n{text}".encode())
    return text


def _keep(kept: Path, content: bytes) -> None:
    """Write the file at once, as Python writes what it compiled: not where the folder is somebody else's, or full."""
    new = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        with new.open("xb") as file:
            file.write(content)
        new.replace(kept)
    except OSError:
        with suppress(OSError):
            new.unlink()


def _digest_of_code() -> str | None:
    """Stands for all that a text follows from: the files of this program, Python, and which libraries there are.

    None where a file cannot be read.
    """
    digest = sha256(f"{sys.version} {sys.flags.optimize}".encode())  # without docstrings texts are others
    try:
        for part in _code():
            digest.update(b"%d %b" % (len(part), part))
    except OSError:
        return None
    return digest.hexdigest()


def _code() -> Iterator[bytes]:
    """The name and the content of each file of the program, and the names under which libraries were installed."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*")):
            if "__pycache__" not in file.parts and file not in _PRINTED and file.is_file():
                yield os.fsencode(file.relative_to(ROOT))
                yield file.read_bytes()
    for folder in sys.path:
        for library in sorted(Path(folder).glob("*-info")):  # dist-info, and egg-info of older ones
            yield os.fsencode(library.name)
