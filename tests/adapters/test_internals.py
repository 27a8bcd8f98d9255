"""Nothing but the adapters touches what a library does not document (decision 172): a new use fails here.

Three things are looked for in every module that is shipped: imports of a library's modules and names that are not
documented; attributes with a leading underscore of what the module has not made itself; and members with a leading
underscore that a class of ours uses or overrides of a library's class.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from gateway.packages import PACKAGES, ROOT
from tests.support.internals import (
    is_adapter,
    is_dunder,
    library_members,
    library_of,
    source_of,
    sources,
    tree_of,
    used_members,
)

DOCUMENTED = {
    "aiosqlite": {"aiosqlite"},
    "graphql": {"graphql", "graphql.execution", "graphql.language", "graphql.pyutils", "graphql.utilities"},
    "joserfc": {"joserfc", "joserfc.errors", "joserfc.jwk", "joserfc.jws", "joserfc.jwt"},
    "pptx": {
        "pptx",
        "pptx.chart.data",
        "pptx.dml.color",
        "pptx.enum.chart",
        "pptx.enum.shapes",
        "pptx.enum.text",
        "pptx.util",
    },
    "sqlalchemy": {
        "sqlalchemy",
        "sqlalchemy.dialects.postgresql",
        "sqlalchemy.engine",
        "sqlalchemy.exc",
        "sqlalchemy.ext.asyncio",
        "sqlalchemy.ext.compiler",
        "sqlalchemy.orm",
        "sqlalchemy.pool",
        "sqlalchemy.sql.functions",
        "sqlalchemy.sql.visitors",
        "sqlalchemy.types",
    },
    "sqlmodel": {"sqlmodel"},
    "strawberry": {
        "strawberry",
        "strawberry.scalars",
        "strawberry.schema.config",
        "strawberry.schema_directive",
        "strawberry.tools",
    },
    "uvicorn": {"uvicorn"},
    "websockets": {"websockets", "websockets.datastructures", "websockets.http11", "websockets.typing"},
}
"""The modules that the library's own documentation imports from; of a library that is not here, those without `_`."""

OF_THE_LANGUAGE = {"_asdict", "_exit", "_fields", "_make", "_replace", "_value_"}
"""What the standard library documents: members of named tuples and enums, and `os._exit`."""

BY_NAME = ("getattr", "setattr", "delattr", "hasattr")
"""What takes the name of an attribute as its second argument."""


def _is_hidden(name: str) -> bool:
    return name.startswith("_") and not is_dunder(name)


def _imports(nodes: list[ast.AST]) -> Iterator[tuple[str, str | None]]:
    """Modules with the name that is imported from each, if one is."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def undocumented_import(module: str, name: str | None) -> bool:
    """Whether a library does not promise that this can be imported."""
    library = module.partition(".")[0]
    if library in PACKAGES or library in sys.stdlib_module_names:
        return False
    if any(map(_is_hidden, [*module.split("."), name or ""])):
        return True
    known = DOCUMENTED.get(library)
    if known is None:
        return False
    if module not in known:
        return f"{module}.{name}" not in known
    if name is None or f"{module}.{name}" in known:
        return False
    home = importlib.import_module(module)
    return isinstance(getattr(home, name, None), ModuleType) and name not in getattr(home, "__all__", [name])


def hidden_attributes(nodes: list[ast.AST]) -> set[str]:
    """The attributes with a leading underscore of anything but `self` that the module does not define itself."""
    own = set(OF_THE_LANGUAGE)
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            own.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    found = {n.attr for n in nodes if isinstance(n, ast.Attribute) and not _is_self(n.value)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BY_NAME:
            found |= {a.value for a in node.args[1:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return {name for name in found if _is_hidden(name)} - own


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def test_every_module_stays_on_the_documented_surface() -> None:
    found: dict[str, set[str]] = {}
    for path in sources():
        if not is_adapter(path):
            nodes = list(ast.walk(tree_of(path)))  # once: to walk takes ten times as long as to look
            imports = {f"{module}: {name}" for module, name in _imports(nodes) if undocumented_import(module, name)}
            found[path.relative_to(ROOT).as_posix()] = imports | hidden_attributes(nodes)
    assert len(found) > 300
    assert {path: names for path, names in found.items() if names} == {}


def _classes() -> Iterator[type]:
    for package in PACKAGES:
        home = importlib.import_module(package)
        for found in pkgutil.walk_packages(home.__path__, f"{package}."):
            if found.name.endswith("__main__") or ".migrations." in found.name or ".adapters" in found.name:
                continue
            module = importlib.import_module(found.name)
            for kind in vars(module).values():
                if inspect.isclass(kind) and kind.__module__ == module.__name__:
                    yield kind


def test_no_class_uses_or_overrides_a_hidden_member_of_a_librarys_class() -> None:
    found = {}
    for kind in _classes():
        if not any(library_of(base) for base in kind.__mro__) or not _is_written(kind):
            continue
        hidden = {name for name in used_members(kind) & library_members(kind) if _is_hidden(name)}
        if hidden:
            found[f"{kind.__module__}.{kind.__name__}"] = hidden
    assert found == {}


def _is_written(kind: type) -> bool:
    """Whether the class stands in its module's text, rather than being made by a function."""
    return "." not in kind.__qualname__ and source_of(kind) is not None


@pytest.mark.parametrize(
    ("module", "name", "is_hidden"),
    [
        ("uvicorn", "Config", False),
        ("uvicorn._types", "ASGISendEvent", True),
        ("uvicorn.supervisors", "multiprocess", True),
        ("uvicorn.supervisors.multiprocess", None, True),
        ("graphql.execution", "Executor", False),
        ("graphql.execution", "values", True),
        ("graphql.execution.collect_fields", "collect_fields", True),
        ("sqlalchemy.util", "greenlet_spawn", True),
        ("sqlalchemy.dialects", "postgresql", False),
        ("another_library", "_name", True),
        ("another_library.part", "name", False),
        ("typing", "_GenericAlias", False),
    ],
)
def test_an_undocumented_import_is_seen(module: str, name: str | None, is_hidden: bool) -> None:
    assert undocumented_import(module, name) is is_hidden


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("driver._connection.interrupt()", {"_connection"}),
        ("getattr(model, '_sa_registry')", {"_sa_registry"}),
        ("super()._start()", {"_start"}),
        ("row._asdict()", set()),
        ("class A:\n    def _own(self): ...\nA._own", set()),
        ("x.__class__", set()),
    ],
)
def test_a_hidden_attribute_is_seen(source: str, expected: set[str]) -> None:
    assert hidden_attributes(list(ast.walk(ast.parse(source)))) == expected


def test_a_hidden_member_of_a_librarys_class_is_seen() -> None:
    from gateway.adapters.uvicorn import HttpProtocol

    assert {"_get_upgrade", "_start_asgi_task"} <= used_members(HttpProtocol) & library_members(HttpProtocol)
