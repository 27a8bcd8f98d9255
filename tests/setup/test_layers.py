"""What the import contracts of pyproject.toml cannot say, because they see external packages as one piece."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_loaders_take_the_dataloader_alone_from_strawberry() -> None:
    tree = ast.parse((ROOT / "resolvers" / "context.py").read_text(encoding="utf-8"))
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name for name in plain + modules if name.split(".")[0] == "strawberry"} == {"strawberry.dataloader"}
