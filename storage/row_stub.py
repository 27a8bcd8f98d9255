"""Writes what the type checker knows of the tables: their classes, and the columns of each with their types.

`./run rows` runs this module; with `--check` it only says whether the committed files are the current ones.
"""

import sys
from collections.abc import Iterator
from inspect import formatannotation
from pathlib import Path

from sqlalchemy.orm import Mapper
from sqlmodel import SQLModel

import storage.tables
from storage.adapters.sqlmodel import mappers
from storage.base import JsonDict, Opaque, Record
from storage.columns import is_copy

_ROWS = Path(__file__).with_name("rows.pyi")
_CLASSES = Path(__file__).with_name("tables") / "__init__.pyi"
_CLASSES_HEAD = """\
# Made of TABLES by ./run rows
from typing import Final

from sqlmodel import SQLModel

"""
_CLASSES_END = """
TABLES: Final[dict[str, str]]

def load(table: str) -> type[SQLModel]: ...
def load_all() -> None: ...
"""
_HEAD = """\
# Made of the tables by ./run rows
import datetime
import decimal
from typing import dataclass_transform

from storage.base import JsonDict

@dataclass_transform(frozen_default=True)
class Row: ...

class RecordRow(Row):
    org_id: str
    id: str
"""


def stubs() -> dict[Path, str]:
    """The stubs by their files."""
    return {_CLASSES: _classes(), _ROWS: rows_stub()}


def _classes() -> str:
    homes = (home.split(".") for home in sorted(storage.tables.TABLES.values(), key=str.casefold))
    lines = (f"from storage.tables.{module} import {name} as {name}\n" for module, name in homes)
    return "".join((_CLASSES_HEAD, *lines, _CLASSES_END))


def rows_stub() -> str:
    """The stub of `storage/rows.py`."""
    shipped = (mapper for mapper in mappers() if mapper.class_.__module__.startswith(storage.tables.__name__))
    by_name = sorted(shipped, key=lambda mapper: str(mapper.class_.__name__))
    return _HEAD + "".join(f"\n{line}" if line[0] == "c" else line for mapper in by_name for line in _class(mapper))


def _class(mapper: Mapper[SQLModel]) -> Iterator[str]:
    """Each column under its name in the database, as rows have it; JSON that reads leave unparsed is opaque."""
    is_record = issubclass(mapper.class_, Record)
    yield f"class {mapper.class_.__name__}Row({'RecordRow' if is_record else 'Row'}):\n"
    for attribute in mapper.column_attrs:
        if is_record and attribute.key in Record.model_fields:
            continue
        stored = attribute.columns[0]
        if is_copy(stored):
            continue
        annotation = mapper.class_.model_fields[attribute.key].annotation
        said = "object" if isinstance(stored.type, Opaque) else formatannotation(annotation)
        said = said.replace(formatannotation(JsonDict), "JsonDict")
        yield f"    {stored.name}: {said}\n"


def main() -> None:
    """Write the stubs, or compare them: exit with 1 where one differs."""
    for path, text in stubs().items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.parent.name}/{path.name} differs from the tables: ./run rows")


if __name__ == "__main__":
    main()
