"""Reads CSV as it comes: finds encoding and delimiter, and cuts text into rows with their lines, nothing guessed."""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from contract.limits import IMPORT_CELL_MAX, IMPORT_CELLS_MAX, IMPORT_ROW_MAX

DELIMITERS = (",", ";", "\t", "|")
"""The delimiters that are looked for, the likeliest first."""
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_KNOWN = re.compile(
    r"utf-8(-sig)?|utf-16(-[lb]e)?|cp125[0-8]|iso8859-\d+|ascii|latin-1|mac-roman|koi8-[ru]|gb18030|gbk|big5"
    r"|shift_jis|cp932|euc_jp|euc_kr"
)
"""The codecs that may be told; Python knows others, which are no encodings of text files."""
_SAMPLED_ROWS = 50
_MARK = "\ufeff"

csv.field_size_limit(IMPORT_CELL_MAX)  # of the process, in which nothing else reads CSV

FileRow = tuple[int, list[str]]
"""A row: the line that it begins in, counted from 1, and its cells as they were sent."""


class Broken(Exception):
    """The file is no CSV from this line on, or is not in its encoding."""

    def __init__(self, line: int, words: str) -> None:
        self.line = line
        self.words = words
        super().__init__(f"Line {line}: {words}")


@dataclass(frozen=True, slots=True)
class Form:
    """Says how the text is written."""

    encoding: str
    delimiter: str


def known_encoding(name: str) -> str | None:
    """The encoding as it is called here; None for one that is not known."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):  # the latter for a NUL in the name
        return None
    if _KNOWN.fullmatch(found) is None:
        return None
    return {"cp1252": "windows-1252", "utf-8-sig": "utf-8"}.get(found, found)


def found_encoding(head: bytes, *, is_whole: bool) -> str:
    """The encoding: by its mark, else UTF-16 where every other byte of much is NUL, UTF-8 where it fits, Windows-1252.

    `head` is the beginning of the file, or the whole.
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    sample = head[: len(head) // 2 * 2]
    if sample:
        for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
            if sample[first::2].count(0) * 3 > len(sample) // 2 and 0 not in sample[1 - first :: 2]:
                return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, is_whole)
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"


def found_delimiter(head: bytes, encoding: str, *, is_whole: bool) -> str:
    """The delimiter that cuts the first rows into the most cells, as many in each; a comma where none does."""
    best, chosen = (0.0, 0), DELIMITERS[0]
    for delimiter in DELIMITERS:
        widths = [len(cells) for _, cells in head_rows(head, Form(encoding, delimiter), _SAMPLED_ROWS, is_whole)]
        if not widths or widths[0] < 2:
            continue
        alike = widths.count(widths[0]) / len(widths)
        if (alike, widths[0]) > best:
            best, chosen = (alike, widths[0]), delimiter
    return chosen


def head_rows(head: bytes, form: Form, most: int, is_whole: bool) -> list[FileRow]:
    """The first rows of the beginning of a file; those before the line where it breaks."""
    rows: list[FileRow] = []
    try:
        for row in read_head(head, form, is_whole=is_whole):
            rows.append(row)
            if len(rows) == most:
                break
    except Broken:
        pass
    return rows


def read_head(head: bytes, form: Form, *, is_whole: bool) -> Iterator[FileRow]:
    """The whole rows in the beginning of a file. Raises Broken where it breaks."""
    reader = Reader(form)
    reader.feed(head)
    yield from reader.rows()
    if is_whole:
        reader.end()
        yield from reader.rows()


class _More(Exception):
    """The reader has read all lines that came so far."""


class Reader:
    """Takes bytes in pieces, and gives the rows that are whole: never more in memory than a piece and a row."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._decoder = codecs.getincrementaldecoder(form.encoding)()
        self._rest = ""
        self._lines: deque[str] = deque()
        self._taken: list[str] = []
        self._line = 0
        self._has_begun = self._is_over = False
        self._reader = csv.reader(self, delimiter=form.delimiter, strict=True)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """The next line, for the library's reader; what one row takes is kept until the row is whole."""
        if not self._lines:
            if self._is_over:
                raise StopIteration
            raise _More
        line = self._lines.popleft()
        self._taken.append(line)
        return line

    def feed(self, piece: bytes) -> None:
        """Take the next bytes. Raises Broken."""
        self._take(self._decoded(piece, is_last=False), is_last=False)

    def end(self) -> None:
        """Say that these were all. Raises Broken."""
        self._take(self._decoded(b"", is_last=True), is_last=True)
        self._is_over = True

    def rows(self) -> Iterator[FileRow]:
        """The rows that are whole by now; lines without a character in a cell are none. Raises Broken."""
        while True:
            self._taken.clear()
            try:
                cells = next(self._reader)
            except StopIteration:
                return
            except _More:
                self._lines.extendleft(reversed(self._taken))
                self._check_length()
                return
            except csv.Error as error:
                raise Broken(self._line + 1, self._words(str(error))) from None
            self._check_length()
            begun = self._line + 1
            self._line += len(self._taken)
            if len(cells) > IMPORT_CELLS_MAX:
                raise Broken(begun, f"the row has more than {IMPORT_CELLS_MAX} cells")
            if any(cells):
                yield begun, cells

    def _check_length(self) -> None:
        if sum(map(len, self._taken)) > IMPORT_ROW_MAX:
            words = f"the row that begins here has more than {IMPORT_ROW_MAX} characters; is a quote never closed?"
            raise Broken(self._line + 1, words)

    def _words(self, said: str) -> str:
        if "unexpected end of data" in said:
            return "a quote in the row that begins here is never closed"
        if "field larger" in said:
            return f"a cell has more than {IMPORT_CELL_MAX} characters"
        return "something stands between a closing quote and the end of its cell"

    def _decoded(self, piece: bytes, *, is_last: bool) -> str:
        try:
            text = self._decoder.decode(piece, is_last)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(self._form.encoding, "ignore")
            raise Broken(self._line_at(good), f"is not written in {self._form.encoding}") from None
        except UnicodeError:  # of UTF-16 whose mark is missing, which says no more
            raise Broken(1, f"is not written in {self._form.encoding}") from None
        if text and not self._has_begun:
            self._has_begun = True
            text = text.removeprefix(_MARK)
        if (place := text.find("\0")) >= 0:
            raise Broken(self._line_at(text[:place]), "has a NUL character")
        return text

    def _line_at(self, text: str) -> int:
        """The line that comes after what is in hand and this text."""
        return self._line + len(self._lines) + len(_split(self._rest + text + "x"))

    def _take(self, text: str, *, is_last: bool) -> None:
        text = self._rest + text
        kept = len(text)
        if not is_last and text.endswith("\r"):
            kept -= 1  # a line feed may follow
        lines = _split(text[:kept])
        self._rest = text[kept:]
        if lines and not is_last and not lines[-1].endswith(("\n", "\r")):
            self._rest = lines.pop() + self._rest
        self._lines.extend(lines)
        if len(self._rest) > IMPORT_ROW_MAX:
            line = self._line + len(self._lines) + 1
            raise Broken(line, f"the line has more than {IMPORT_ROW_MAX} characters")


def _split(text: str) -> list[str]:
    """The lines with their ends, be they those of Unix, Windows or old Macintoshes."""
    return list(io.StringIO(text, newline=""))
