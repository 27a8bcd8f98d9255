"""What docs/architecture.md names is there: each path, and each `path: name` in that file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"([\w.]+/[\w./]*)(?:: ([\w.]+))?")
NAMED = sorted({found.groups() for quoted in QUOTED.findall(TEXT) if (found := PATH.fullmatch(quoted))}, key=str)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_what_is_named_is_there(path: str, name: str | None) -> None:
    assert (ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file()
    if name is not None:
        source = (ROOT / path).read_text(encoding="utf-8")
        for part in name.split("."):
            made = rf"^\s*(?:(?:async )?def|class) {part}\b|^\s*(?:self\.)?{part}\b.* = "
            assert re.search(made, source, re.MULTILINE)


def test_the_document_names_its_places() -> None:
    assert len(NAMED) > 80
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {path.partition("/")[0] for path, _ in NAMED} == {"benchmarks"}
