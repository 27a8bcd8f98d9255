"""An edited report is rendered, and nothing is read, scored or written anew (specification 4.3)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_an_edit_of_a_report_and_its_render_load_nothing_that_reads_scores_or_writes() -> None:
    """What is not loaded cannot be called. The import contract says the same of every path of imports."""
    loaded = "import sys, resolvers.cx_reports, jobs.render, reports.files; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(run.stdout.split())
    assert {"jobs.render", "reports.pdf"} <= modules
    assert [name for name in modules if name == "jobs.research" or name.startswith("jobs.cx")] == []


def test_the_service_loads_nothing_that_parses_decodes_or_draws() -> None:
    """Child processes do, when they first need it."""
    loaded = "import sys, gateway.app, jobs.kinds; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(run.stdout.split())
    assert "jobs.research" in modules
    assert modules & {"lxml", "typst", "PIL", "pptx", "xlsxwriter", "protego", "icalendar"} == set()


def test_the_service_loads_nothing_that_few_processes_need() -> None:
    """Signatures of files, headers of mails, other services' clients, and all that makes a demo."""
    names = "gateway.app, jobs.kinds, gateway.commands.serve, gateway.server.serving"
    loaded = f"import sys, {names}; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(run.stdout.split())
    assert "gateway.commands.serve" in modules
    late = {"puremagic", "email.headerregistry", "gateway.demo.calendar", "mimesis", "alembic"}
    assert modules & (late | {"aiosmtplib", "httpcore", "mcp", "obstore", "redis"}) == set()


@pytest.mark.parametrize("first", ["gateway.app", "gateway.commands.working"])
def test_the_service_loads_nothing_for_a_terminal(first: str) -> None:
    """httpx and structlog would, where they are loaded as they come (gateway/adapters/lean.py)."""
    loaded = f"import sys, {first}, httpx, structlog; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = set(run.stdout.split())
    assert modules & {"rich", "pygments"} == set()
    shown = f"import {first}, rich.console; print(rich.console.Console.__name__)"
    run = subprocess.run([sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["Console"]
