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


LATE = {
    *("lxml", "typst", "PIL", "pptx", "xlsxwriter", "protego", "icalendar"),  # child processes do, when they need it
    *("puremagic", "email.headerregistry"),  # signatures of files, headers of mails
    *("gateway.demo.calendar", "mimesis", "alembic"),  # what makes a demo
    *("aiosmtplib", "httpcore", "mcp", "obstore", "redis"),  # other services' clients
    "providers.embedded.answering",  # the grammar of chats without a language model (decision 1185)
}
"""What parses, decodes or draws, and what few processes need."""
TERMINAL = {"rich", "pygments"}
"""What httpx and structlog load, where they are loaded as they come (gateway/adapters/lean.py)."""
SERVICE = "gateway.app, jobs.kinds, gateway.commands.serve, gateway.server.serving"
_LOADED = """
import sys
import {first}
from providers.chat_model_choice import chat_model
chat_model(None)
print(*sorted(sys.modules))
import httpx, structlog
print(*sorted(sys.modules))
import rich.console
print(rich.console.Console.__name__)
"""


@pytest.mark.parametrize(
    ("first", "named", "late"),
    [(SERVICE, {"jobs.research", "gateway.commands.serve"}, LATE), ("gateway.commands.working", set(), set())],
)
def test_the_service_loads_nothing_late_and_nothing_for_a_terminal(first: str, named: set[str], late: set[str]) -> None:
    """In one process each: to load the service takes seconds."""
    loaded = _LOADED.format(first=first)
    run = subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True)
    alone, with_clients, console = (set(line.split()) for line in run.stdout.splitlines())
    assert named | {first.partition(",")[0]} <= alone
    assert alone & late == set()
    assert {"httpx", "structlog"} <= with_clients
    assert with_clients & TERMINAL == set()
    assert console == {"Console"}
