"""A printed surface is kept for as long as the code is the same that it follows from (decision 1193)."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway import printing
from gateway.packages import PACKAGES, ROOT


class Code:
    """A program of one file, whose schema is the file's text; counts how often that is made."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "program" / "module.py"
        self.kept = folder / "kept"
        self.made = 0
        self.file.parent.mkdir()
        self.kept.mkdir()
        self.file.write_text("first\r\n")

    def make(self) -> str:
        self.made += 1
        return self.file.read_bytes().decode()


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Code:
    made = Code(tmp_path)
    monkeypatch.setattr(printing, "ROOT", tmp_path)
    monkeypatch.setattr(printing, "PACKAGES", ("program",))
    monkeypatch.setattr(printing, "_FOLDER", made.kept)
    monkeypatch.setattr(printing, "_schema", made.make)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return made


def test_a_text_is_made_once_of_the_same_code(code: Code) -> None:
    assert [printing.schema_text(), printing.schema_text()] == ["first\r\n"] * 2
    assert code.made == 1


def test_other_code_has_another_text_which_takes_the_place_of_the_former(code: Code) -> None:
    printing.schema_text()
    code.file.write_text("other")
    assert [printing.schema_text(), printing.schema_text()] == ["other"] * 2
    (code.file.parent / "new.json").write_text("{}")
    printing.schema_text()
    code.file.rename(code.file.with_name("renamed.py"))
    code.file = code.file.with_name("renamed.py")
    printing.schema_text()
    assert code.made == 4
    assert [file.name for file in code.kept.iterdir()] == ["schema.graphql.printed"]


def test_what_python_compiled_is_no_code(code: Code) -> None:
    printing.schema_text()
    (code.file.parent / "__pycache__").mkdir()
    (code.file.parent / "__pycache__" / "module.pyc").write_text("compiled")
    assert (printing.schema_text(), code.made) == ("first\r\n", 1)


def test_a_library_of_another_version_makes_it_anew(
    code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = tmp_path / "site-packages"
    (libraries / "strawberry_graphql-1.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(libraries)])
    printing.schema_text()
    (libraries / "strawberry_graphql-1.0.dist-info").rename(libraries / "strawberry_graphql-1.1.dist-info")
    printing.schema_text()
    assert code.made == 2


def test_code_that_is_changed_meanwhile_is_not_taken_for_what_the_text_was_made_of(
    code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make() -> str:
        text = code.make()
        code.file.write_text("changed" if code.made == 1 else text)
        return text

    monkeypatch.setattr(printing, "_schema", make)
    assert [printing.schema_text(), printing.schema_text()] == ["first\r\n", "changed"]


def test_an_interpreter_without_docstrings_has_a_text_of_its_own(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    printing.schema_text()
    monkeypatch.setattr(sys, "flags", SimpleNamespace(optimize=2))
    printing.schema_text()
    assert code.made == 2


def test_a_file_that_cannot_be_read_keeps_nobody_from_printing(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_file: Path) -> bytes:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", refused)
        patched.setattr(printing, "_schema", lambda: "made")
        assert printing.schema_text() == "made"
    assert list(code.kept.iterdir()) == []
    (code.file.parent / os.fsdecode(b"no utf-8 \xff")).write_text("")
    assert printing.schema_text() == "first\r\n"


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"no digest\nfirst\r\n"])
def test_a_damaged_file_is_made_anew(code: Code, damage: bytes) -> None:
    printing.schema_text()
    [kept] = code.kept.iterdir()
    whole = kept.read_bytes()
    for content in (damage, whole[:-3], whole.replace(b"first", b"forst")):
        kept.write_bytes(content)
        assert printing.schema_text() == "first\r\n"
        assert kept.read_bytes() == whole
    assert code.made == 4


def test_a_text_is_printed_that_cannot_be_kept(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_FOLDER", code.kept / "nowhere")
    assert printing.schema_text() == "first\r\n"
    (code.kept / "schema.graphql.printed").mkdir()  # which no file can take the place of
    monkeypatch.setattr(printing, "_FOLDER", code.kept)
    assert printing.schema_text() == "first\r\n"
    assert [file.name for file in code.kept.iterdir()] == ["schema.graphql.printed"]


def test_nothing_is_kept_where_python_keeps_nothing(code: Code, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    printing.schema_text()
    assert list(code.kept.iterdir()) == []


def _files_of_packages() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


def test_every_module_of_the_program_is_code() -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert named["packages"] == list(PACKAGES)
    names = {part for part in printing._code() if part.endswith(b".py") and len(part) < 200}
    assert {str(file.relative_to(ROOT)).encode() for file in _files_of_packages()} <= names
