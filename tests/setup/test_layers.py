"""What the import contracts of pyproject.toml cannot say, because they see external packages as one piece."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_loaders_take_the_dataloader_alone_from_strawberry() -> None:
    tree = ast.parse((ROOT / "resolvers" / "context.py").read_text(encoding="utf-8"))
    plain = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name for name in plain + modules if name.split(".")[0] == "strawberry"} == {"strawberry.dataloader"}


def test_an_edit_of_a_report_and_its_render_load_nothing_that_reads_scores_or_writes() -> None:
    """Specification 4.3: only the render step can be reached. The import contract says the same of every path."""
    loaded = "import sys, resolvers.cx_reports, jobs.render, reports.files; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(run.stdout.split())
    assert {"jobs.render", "reports.pdf"} <= modules
    assert [name for name in modules if name == "jobs.research" or name.startswith("jobs.cx")] == []
