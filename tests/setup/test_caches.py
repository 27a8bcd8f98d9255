"""Every cache of the process is in the table of docs/caches.md, and the table names none that is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.packages import PACKAGES

ROOT = Path(__file__).parents[2]
CACHING = {"cache", "lru_cache", "alru_cache", "cached", "BoundedCache", "OrderedDict", "TTLCache", "LRUCache"}
EMPTY = {"dict", "list", "set", "defaultdict", "Counter", "deque", "WeakValueDictionary", "WeakKeyDictionary"}
ITSELF = "storage/bounded_cache.py"


def _called(node: ast.expr) -> str:
    """The name of what is called, subscripted and called again or not."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_empty(node: ast.expr) -> bool:
    """Whether a container begins empty, so that something is to be put into it later."""
    if isinstance(node, ast.Dict):
        return not node.keys
    if isinstance(node, ast.List):
        return not node.elts
    return isinstance(node, ast.Call) and _called(node) in EMPTY and (not node.args or _called(node) == "defaultdict")


def _assigned(node: ast.AST) -> tuple[str, ast.expr] | None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return None
    name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    return None if node.value is None else (name, node.value)


def caches(source: str) -> Iterator[str]:
    """The names of what a module keeps: decorated functions, instances of caches, containers of the module."""
    tree = ast.parse(source)

    def within(node: ast.AST, place: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                if any(_called(one) in CACHING for one in child.decorator_list):
                    yield f"{place}{child.name}"
                yield from within(child, place)
                continue
            found = _assigned(child)
            if found is not None:
                name, value = found
                is_kept = isinstance(value, ast.Call) and _called(value) in CACHING
                if is_kept or (node is tree and _is_empty(value)):
                    yield f"{place}{name}"
            yield from within(child, f"{child.name}." if isinstance(child, ast.ClassDef) else place)

    yield from within(tree, "")


def listed() -> set[str]:
    """The names in the document: a file and what it has, several of them after one another."""
    names, file = set(), ""
    text = (ROOT / "docs" / "caches.md").read_text().partition("\n## Kept with")[0]
    for quoted in re.findall(r"`([^`]+)`", text.partition("\n## ")[2]):
        path, colon, name = quoted.rpartition(": ")
        file = path if colon else file
        if colon or (re.fullmatch(r"\w+", name) and not name.isupper() and name != "BoundedCache"):
            names.add(f"{file}: {name}")
    return names


def there() -> set[str]:
    """The names in the code."""
    return {
        f"{path.relative_to(ROOT)}: {name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if str(path.relative_to(ROOT)) != ITSELF
        for name in caches(path.read_text())
    } | {"schema/execution/documents.py: Documents._registered"}


def test_every_cache_is_in_the_table() -> None:
    assert there() - listed() == set()
    assert listed() - there() == set()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("@cache\ndef f(): ...", {"f"}),
        ("import functools\n@functools.lru_cache(maxsize=9)\nasync def f(): ...", {"f"}),
        ("class A:\n @lru_cache\n def f(self): ...", {"A.f"}),
        ("def f():\n @cache\n def g(): ...", {"g"}),
        ("g = lru_cache(maxsize=1)(f)", {"g"}),
        (
            "class A:\n def f(self):\n  self.x: BoundedCache[int, int] = BoundedCache()\n  self.y = OrderedDict()",
            {"A.x", "A.y"},
        ),
        ("a = {}\nb: dict[str, int] = dict()\nc = defaultdict(list)\nd: list[int] = []", {"a", "b", "c", "d"}),
        ("a = {1: 2}\nb = (1,)\ndef f():\n c = {}", set()),
    ],
)  # fmt: skip
def test_what_counts_as_a_cache(source: str, names: set[str]) -> None:
    assert set(caches(source)) == names
