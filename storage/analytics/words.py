"""The layers TEXT and PARSE: which characters and words a statement may have, and that it is one that can be read."""

import logging
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from contract.guard_layers import GuardLayer
from contract.limits import SQL_BYTES_MAX, SQL_DEPTH_MAX, SQL_NODES_MAX
from storage.analytics.refusals import refuse_at

TEXT, PARSE = GuardLayer.TEXT, GuardLayer.PARSE
_WORD: Final = re.compile(
    r"(?P<blank>[ \t\r\n]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r'|(?P<quoted>"[A-Za-z_][A-Za-z0-9_]*")'
    r"|(?P<string>'(?:[^'\\]|'')*')"
    r"|(?P<number>\d+(?:\.\d+)?(?![A-Za-z0-9_.]))"
    r"|(?P<sign><=|>=|<>|!=|==|\|\||::|[-+*/%=<>(),.])",
    re.ASCII,
)
_WHY: Final = (
    ("--", "comments are not allowed"),
    ("/*", "comments are not allowed"),
    ("$", "dollar quotes and parameters are not allowed"),
    ("?", "parameters are not allowed"),
    (":", "parameters are not allowed"),
    ("@", "parameters are not allowed"),
    ("#", "parameters are not allowed"),
    (";", "one statement, without a semicolon"),
    ("`", "names are quoted by nothing but double quotes"),
    ("[", "names are quoted by nothing but double quotes"),
    ("'", "a text without an end, or with a backslash"),
    ('"', "a quoted name has letters, digits and _ alone"),
)
_NAME_MAX: Final = 63
_NUMBER_MAX: Final = 20
_STRING_MAX: Final = 1_000
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_GRAMMARS: Final = {"sqlite": "sqlite", "postgresql": "postgres"}
_SIGNS_IN_A_ROW: Final = 4

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would print the text


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a statement: what kind it is of, and where it begins."""

    kind: str
    text: str
    start: int


def words_of(text: str) -> list[Word]:
    """The words of a statement, blanks left out. Raises AnalyticsRefused (TEXT) for anything else in it."""
    _check_characters(text)
    found: list[Word] = []
    place = 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None or text.startswith(("--", "/*"), place):
            refuse_at(TEXT, _why(text, place), text, place)
        kind = str(match.lastgroup)
        if kind != "blank":
            _check_word(text, kind, match[0], place, found)
            found.append(Word(kind, match[0], place))
        place = match.end()
    return found


def _check_characters(text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        refuse_at(TEXT, "it is no valid Unicode text", text, 0)
    if size > SQL_BYTES_MAX:
        refuse_at(TEXT, f"a statement has at most {SQL_BYTES_MAX:,} bytes", text, 0)
    for offset, character in enumerate(text):
        if not " " <= character <= "~" and character not in "\t\r\n" and unicodedata.category(character) in _HIDDEN:
            refuse_at(TEXT, "control characters and invisible ones are not allowed", text, offset)


def _why(text: str, place: int) -> str:
    for start, reason in _WHY:
        if text.startswith(start, place):
            return reason
    if text[place].isdigit():
        return "a number is written in digits, with a point at most"
    return "this character is not allowed outside of a text in quotes"


def _check_word(text: str, kind: str, word: str, place: int, before: list[Word]) -> None:
    if kind == "string":
        if before and before[-1].kind in ("name", "quoted") and before[-1].start + len(before[-1].text) == place:
            refuse_at(TEXT, "a text has no letters before its quote", text, before[-1].start)
        if before and before[-1].kind == "string":
            refuse_at(TEXT, "two texts in a row", text, place)
        if len(word) > _STRING_MAX:
            refuse_at(TEXT, f"a text has at most {_STRING_MAX:,} characters", text, place)
    if kind == "quoted" and text.startswith('"', place + len(word)):
        refuse_at(TEXT, "a quoted name has letters, digits and _ alone", text, place)
    if kind in ("name", "quoted") and len(word) > _NAME_MAX:
        refuse_at(TEXT, f"a name has at most {_NAME_MAX} characters", text, place)
    if kind == "number" and len(word) > _NUMBER_MAX:
        refuse_at(TEXT, f"a number has at most {_NUMBER_MAX} digits", text, place)


def tree_of(text: str, words: list[Word], dialect: str) -> exp.Query:
    """The statement, read: one SELECT or set operation of bounded size. Raises AnalyticsRefused (PARSE)."""
    if not words:
        refuse_at(PARSE, "there is no statement", text, 0)
    _check_nesting(text, words)
    if words[0].text.lower() not in ("select", "with", "("):
        refuse_at(PARSE, "a statement is one SELECT", text, words[0].start)
    try:
        trees = sqlglot.parse(text, dialect=_GRAMMARS[dialect])
    except SqlglotError as error:
        places = [one for one in getattr(error, "errors", []) if one.get("line")]
        line, column = (places[0]["line"], places[0]["col"]) if places else (1, 1)
        offset = sum(len(one) + 1 for one in text.split("\n")[: line - 1]) + max(column - 1, 0)
        refuse_at(PARSE, "it cannot be read", text, min(offset, len(text)))
    except (RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError):
        # what the parser does with a text that it was not made for
        refuse_at(PARSE, "it cannot be read", text, 0)
    if len(trees) != 1 or not isinstance(trees[0], exp.Select | exp.SetOperation):
        refuse_at(PARSE, "a statement is one SELECT", text, words[0].start)
    _check_size(text, trees[0])
    return trees[0]


def _check_nesting(text: str, words: list[Word]) -> None:
    """Refuse what the parser would go too deep for, before it does."""
    depth = signs = 0
    if len(words) > 2 * SQL_NODES_MAX:
        refuse_at(PARSE, f"a statement has at most {SQL_NODES_MAX:,} parts", text, 0)
    for word in words:
        lower = word.text.lower() if word.kind in ("sign", "name") else ""
        depth += (lower in ("(", "case")) - (lower in (")", "end"))
        signs = signs + 1 if lower in ("not", "-", "+") else 0
        if depth > SQL_DEPTH_MAX or signs > _SIGNS_IN_A_ROW:
            refuse_at(PARSE, "it is nested too deeply", text, word.start)


def _check_size(text: str, tree: exp.Expr) -> None:
    number, level = 0, [tree]
    for _ in range(SQL_DEPTH_MAX):
        number += len(level)
        level = [child for node in level for child in node.iter_expressions()]
        if number > SQL_NODES_MAX:
            refuse_at(PARSE, f"a statement has at most {SQL_NODES_MAX:,} parts", text, 0)
        if not level:
            return
    refuse_at(PARSE, "it is nested too deeply", text, 0)
