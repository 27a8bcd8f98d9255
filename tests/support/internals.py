"""What of a library's members a class of ours uses: read off the source of both."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gateway.packages import PACKAGES, ROOT


def sources() -> list[Path]:
    """Every module that is shipped."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def is_adapter(path: Path) -> bool:
    """Whether a module may touch what a library does not document."""
    return path.parent.name == "adapters"


@cache
def tree_of(path: Path) -> ast.Module:
    """The module, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def library_of(kind: type) -> str | None:
    """The library that a class comes from; None for the standard one's and for ours."""
    import sys

    name = kind.__module__.partition(".")[0]
    return None if name in PACKAGES or name in sys.stdlib_module_names or name == "builtins" else name


@cache
def source_of(kind: type) -> str | None:
    """The text of a class; None where it is not written in Python. To find one takes all of its module's text."""
    try:
        return textwrap.dedent(inspect.getsource(kind))
    except (OSError, TypeError):
        return None


def library_members(kind: type) -> frozenset[str]:
    """The names that the library's classes among its bases define, or set on their instances."""
    return frozenset(name for base in kind.__mro__ if library_of(base) for name in _members(base))


@cache
def _members(kind: type) -> frozenset[str]:
    names = {*vars(kind), *getattr(kind, "__annotations__", {})}
    source = source_of(kind)
    if source is None:
        return frozenset(names)
    return frozenset(names | {name for name, stored in _of_self(ast.parse(source)) if stored})


def used_members(kind: type) -> frozenset[str]:
    """The names that a class of ours defines, or uses of itself; those of its own bases are not among them."""
    source = source_of(kind)
    assert source is not None
    tree = ast.parse(source)
    [body] = (node.body for node in tree.body if isinstance(node, ast.ClassDef))
    defined = {n.name for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(defined | {name for name, _ in _of_self(tree)})


def members_in_use(kind: type) -> frozenset[str]:
    """What the class takes of its library: used or overridden by it, and defined by the library; no dunders."""
    return frozenset(n for n in used_members(kind) & library_members(kind) if not is_dunder(n))


def attributes_of(path: str, *owners: str) -> frozenset[str]:
    """The attributes that a module reads or sets of what these expressions stand for, such as `self.cycle`."""
    found = (node for node in ast.walk(tree_of(ROOT / path)) if isinstance(node, ast.Attribute))
    return frozenset(node.attr for node in found if ast.unparse(node.value) in owners)


def signature_of(owner: Any, name: str) -> str:
    """The signature of a member, without its annotations."""
    member = inspect.getattr_static(owner, name)
    function = member.fget if isinstance(member, property) else getattr(owner, name)
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def is_dunder(name: str) -> bool:
    """Whether the language, rather than a library, gives the name its meaning."""
    return name.startswith("__") and name.endswith("__")


def _of_self(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """The names that are used of `self`, `cls` and `super()`, each with whether it is set."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_of_itself(node.value):
            yield node.attr, isinstance(node.ctx, ast.Store)


def _is_of_itself(node: ast.expr) -> bool:
    """Whether this is `self`, `cls` or `super()`."""
    if isinstance(node, ast.Call):
        return ast.unparse(node) == "super()"
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
