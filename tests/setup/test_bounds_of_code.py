"""Modules and functions stay small, and what the type checker cannot see says why (docs/contributing.md).

`Any` is counted wherever an annotation or the value of a name has it. Its reason is a comment on the same line, or, of
a name at the top of a module, the text below it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from gateway.packages import ROOT
from tests.support.internals import sources, tree_of

MODULE_LINES_MAX = 400
MEDIAN_LINES_MAX = 120
FUNCTION_LINES_MAX = 59
# As many as there are. They may become fewer; whoever needs one more looks first for the type that there is.
IN_SIGNATURES_MAX = 119
ELSEWHERE_MAX = 102


class Use(NamedTuple):
    """A use of `Any`, and whether its reason stands beside it."""

    line: int
    in_signature: bool
    is_explained: bool


def uses_of_any(tree: ast.Module, text: str) -> Iterator[Use]:
    """Every `Any` of the signatures, annotations and aliases of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    remarks = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    told = _told_below(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for annotation in _signature(node):
                yield from (Use(line, True, line in remarks) for line in _lines_of_any(annotation))
        elif isinstance(node, ast.AnnAssign):
            alias = node.value if ast.unparse(node.annotation) == "TypeAlias" else None
            for part in filter(None, (node.annotation, alias)):
                yield from (Use(line, False, line in remarks | told) for line in _lines_of_any(part))
        elif isinstance(node, ast.Assign):
            yield from (Use(line, False, line in remarks | told) for line in _lines_of_any(node.value, quoted=False))


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    given = function.args
    several = [one for one in (given.vararg, given.kwarg) if one is not None]
    for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, *several]:
        if argument.annotation is not None:
            yield argument.annotation
    if function.returns is not None:
        yield function.returns


def _lines_of_any(part: ast.expr, *, quoted: bool = True) -> Iterator[int]:
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and node.id == "Any":
            yield node.lineno
        elif quoted and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (node.lineno for _ in re.findall(r"\bAny\b", node.value))


def _told_below(tree: ast.Module) -> set[int]:
    """The lines of names at the top of a module that have a text below them which speaks of Any."""
    told: set[int] = set()
    for name, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(name, ast.Assign | ast.AnnAssign) and isinstance(text, ast.Expr):
            value = text.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and "Any:" in value.value:
                told |= {*range(name.lineno, (name.end_lineno or name.lineno) + 1)}
    return told


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_any_has_its_reason_beside_it_and_becomes_no_more_frequent() -> None:
    numbers: Counter[bool] = Counter()
    bare = []
    for path in sources():
        text = path.read_text()
        if "Any" in text:
            for use in uses_of_any(tree_of(path), text):
                numbers[use.in_signature] += 1
                bare += [] if use.is_explained else [f"{_name(path)}:{use.line}"]
    assert bare == []
    assert numbers[True] <= IN_SIGNATURES_MAX, "see the rules of docs/contributing.md"
    assert numbers[False] <= ELSEWHERE_MAX, "see the rules of docs/contributing.md"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a: Any) -> int: ...", [(True, False)]),
        ("def f(*a: int, **b: Any) -> list[Any]: ...  # Any: of any type", [(True, True), (True, True)]),
        ("async def f(\n    a: dict[str, Any],  # JSON\n) -> Any: ...", [(True, True), (True, False)]),
        ('def f(a: "Any | None") -> None: ...', [(True, False)]),
        ("class A:\n    a: Any = None", [(False, False)]),
        ("Row = Any", [(False, False)]),
        ('Row = Any\n"""A row. Any: of any table."""', [(False, True)]),
        ('Row = Any\n"""A row."""', [(False, False)]),
        ("def f(a: object) -> Anyone: ...", []),
    ],
)
def test_a_use_of_any_is_seen(source: str, expected: list[tuple[bool, bool]]) -> None:
    found = [(use.in_signature, use.is_explained) for use in uses_of_any(ast.parse(source), source)]
    assert found == expected


def test_modules_are_short() -> None:
    lines = {_name(path): len(path.read_text().splitlines()) for path in sources()}
    assert {name: number for name, number in lines.items() if number > MODULE_LINES_MAX} == {}
    assert median(lines.values()) < MEDIAN_LINES_MAX


def test_functions_are_short() -> None:
    long = {
        f"{_name(path)}: {node.name}": length
        for path in sources()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    }
    assert long == {}
