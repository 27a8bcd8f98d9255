"""CSV as it comes: cut anywhere, broken anywhere, and back as it went out."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.csv_cells import joined, looks_like_number, parted, plain_text, text_cell
from resolvers.import_csv import Broken, FileRow, Form, Reader, found_delimiter, found_encoding

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "windows-1252", "gb18030", "shift_jis")
PIECES = st.lists(
    st.sampled_from(
        ["a", "b", ",", ";", '"', '""', "\n", "\r\n", "\r", "\t", "|", " ", "é", "\u2028", "\x85", "=", "株"]
    )
)


def read(data: bytes, form: Form, cuts: list[int]) -> tuple[list[FileRow], bool]:
    """The rows of a file that comes in these pieces, and whether it is one."""
    reader, rows = Reader(form), []
    try:
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            reader.feed(data[begin:end])
            rows += list(reader.rows())
        reader.end()
        rows += list(reader.rows())
    except Broken:
        return rows, False
    return rows, True


@given(PIECES, st.sampled_from(ENCODINGS), st.sampled_from(",;\t|"), st.data())
def test_it_does_not_matter_where_a_file_is_cut(
    parts: list[str], encoding: str, sign: str, data: st.DataObject
) -> None:
    text = "".join(parts)
    content = text.encode(encoding, "replace")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=4)))
    rows, is_whole = read(content, Form(encoding, sign), [])
    assert read(content, Form(encoding, sign), cuts)[1] is is_whole
    if is_whole:
        assert read(content, Form(encoding, sign), cuts)[0] == rows
        plain = io.StringIO(codecs.decode(content, encoding).removeprefix("\ufeff"), newline="")
        expected = [cells for cells in csv.reader(plain, delimiter=sign, strict=True) if any(cells)]
        assert [cells for _, cells in rows] == expected


@given(st.binary(max_size=300), st.sampled_from(ENCODINGS))
def test_bytes_of_any_kind_are_read_or_refused(content: bytes, encoding: str) -> None:
    for form in (Form(encoding, ","), Form(found_encoding(content, is_whole=True), ";")):
        read(content, form, [len(content) // 2])
        assert found_delimiter(content, form.encoding, is_whole=True) in ",;\t|"


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_text_comes_back_as_it_was(text: str) -> None:
    line = text_cell(text, is_number=looks_like_number(text)) + ",end"
    [[cell, _]] = csv.reader(io.StringIO(line, newline=""), strict=True)
    assert plain_text(cell) == text


_QUOTED = re.compile(r'[",\r\n]|^\s|\s$')
_FORMULA = re.compile(r"'*([\s\x00]*[=+\-@＝＋－＠|%]|[\t\r\n\x00])")


@pytest.mark.parametrize("form", ["{}", "{}=", "a{}", "'{}="])
def test_what_begins_with_a_letter_or_a_digit_is_no_formula(form: str) -> None:
    """Of every character there is: a look at the first one says the same as the expressions do."""
    for number in range(sys.maxunicode + 1):
        text = form.format(chr(number))
        plain = f"'{text}" if _FORMULA.match(text) else text
        expected = '"' + plain.replace('"', '""') + '"' if _QUOTED.search(plain) else plain
        assert text_cell(text) == expected, text
    assert (text_cell(""), text_cell("-5", is_number=True)) == ('""', "-5")


@given(st.lists(st.text(st.sampled_from("a;\\=' ,\n"), min_size=1).filter(lambda name: name == name.strip())))
def test_names_of_a_list_come_back_whatever_is_in_them(names: list[str]) -> None:
    """Decision 951: a sign between names, or a backslash, that is part of a name."""
    [[cell, _]] = csv.reader(io.StringIO(f"{text_cell(joined(names))},end", newline=""), strict=True)
    assert parted(plain_text(cell), ";") == names


@pytest.mark.parametrize(
    ("cell", "between", "names"),
    [
        ("a; b ;;c", ";", ["a", "b", "c"]),
        ("R\\D;x", ";", ["R\\D", "x"]),
        ("a\\;b;c", ";", ["a;b", "c"]),
        ("a\\\\;b", ";", ["a\\", "b"]),
        ("a\\, b, c;d", ", ", ["a, b", "c;d"]),
        ("a\\b\\c", "\\", ["a", "b", "c"]),
        ("", ";", []),
        ("\\", ";", ["\\"]),
    ],
)
def test_lists_are_parted(cell: str, between: str, names: list[str]) -> None:
    assert parted(cell, between) == names


@pytest.mark.parametrize("text", ["'=1+1", "''-x", "=1+1", "'", "-5", "'-5", "@x", " =x", "\t", "'\r"])
def test_an_apostrophe_of_its_own_stays(text: str) -> None:
    cell = text_cell(text, is_number=looks_like_number(text))
    assert plain_text(cell.strip('"')) == text
    assert not cell.strip('"').startswith(("=", "@")), "a program would run it"
