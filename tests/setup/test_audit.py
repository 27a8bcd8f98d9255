"""`./run audit`: what it finds, what it takes as accepted, and that it never calls silence good news."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "audit.py"
KNOWN = {"name": "jinja2", "version": "2.10", "vulns": [{"id": "PYSEC-2019-217", "aliases": []}]}
FINE = {"name": "orjson", "version": "3.13", "vulns": []}
BAD = {"name": "lxml", "version": "6.0", "vulns": [{"id": "PYSEC-2026-1", "aliases": ["GHSA-aaaa-bbbb-cccc"]}]}
SKIPPED = {"name": "uv", "skip_reason": "not found"}
NPM_BAD = {"left": {"via": [{"url": "https://example.com/advisories/GHSA-1111-2222-3333"}]}, "right": {"via": ["left"]}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one package of npm, and nothing accepted."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "audit-exceptions.toml").write_text("# none\n")
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "package-lock.json").write_text("{}")
    return tmp_path


def _audit(root: Path, locked: Any, npm: Any, known: Any = KNOWN) -> tuple[int, list[str]]:
    """The audit with stand-ins for both tools, which answer this."""
    tools = root / "tools"
    tools.mkdir(exist_ok=True)
    script = f"#!{sys.executable}\nimport json, sys\n"
    packages = f"[{known!r}] if sys.argv[-1].endswith('known.txt') else {locked!r}"
    (tools / "pip-audit").write_text(f"{script}print(json.dumps({{'dependencies': {packages}}}))\n")
    trouble = "npm warn user\nnpm warn audit 405"
    (tools / "npm").write_text(f"{script}print(json.dumps({npm!r}))\nprint({trouble!r}, file=sys.stderr)\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    result = subprocess.run(
        [sys.executable, SCRIPT],
        check=False,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "CRM_AUDIT_ROOT": str(root)},
        capture_output=True,
        text=True,
    )
    assert result.stderr == ""
    return result.returncode, result.stdout.splitlines()


def test_nothing_is_known(root: Path) -> None:
    assert _audit(root, [FINE], {"vulnerabilities": {}}) == (
        0,
        ["Python packages: no known vulnerability", "npm packages: no known vulnerability"],
    )


def test_a_known_vulnerability_fails(root: Path) -> None:
    code, lines = _audit(root, [FINE, BAD], {"vulnerabilities": NPM_BAD})
    assert code == 1
    assert lines[0] == "VULNERABLE: requirements.lock: lxml 6.0: GHSA-aaaa-bbbb-cccc, PYSEC-2026-1"
    assert lines[-2:] == ["VULNERABLE: ui: left: GHSA-1111-2222-3333", "npm packages: 1 known vulnerabilities"]


@pytest.mark.parametrize(
    ("until", "code"), [("2999-01-01", 0), ("2026-01-01", 1)], ids=["accepted for now", "accepted no longer"]
)
def test_an_exception_ends(root: Path, until: str, code: int) -> None:
    exceptions = root / ".ci" / "audit-exceptions.toml"
    exceptions.write_text(f'[[exception]]\nid = "GHSA-aaaa-bbbb-cccc"\nreason = "not used"\nuntil = {until}\n')
    found, lines = _audit(root, [BAD], {"vulnerabilities": {}})
    assert found == code
    assert lines[0].startswith("VULNERABLE: " if code else "accepted: ")


@pytest.mark.parametrize(
    ("locked", "npm", "known", "said"),
    [
        ([FINE], {"error": {}}, KNOWN, "npm packages: NOT AUDITED: npm audit in ui: npm warn audit 405"),
        ([FINE], {"vulnerabilities": {}}, {**KNOWN, "vulns": []}, "does not even know of jinja2==2.10"),
        ([FINE], {"vulnerabilities": {}}, {"name": "jinja2", "skip_reason": "not found"}, "does not even know"),
        ([FINE, SKIPPED], {"vulnerabilities": {}}, KNOWN, "NOT AUDITED: requirements.lock: not found"),
    ],
)
def test_a_service_that_cannot_be_asked_is_said(root: Path, locked: Any, npm: Any, known: Any, said: str) -> None:
    code, lines = _audit(root, locked, npm, known)
    assert code == 69
    assert any(said in line for line in lines), lines


def test_what_is_known_fails_even_where_the_other_service_is_silent(root: Path) -> None:
    assert _audit(root, [BAD], {"error": {}})[0] == 1


def test_the_committed_exceptions_are_in_order() -> None:
    code = (
        "import audit, datetime, pathlib as p; audit.accepted(p.Path('audit-exceptions.toml'), datetime.date.today())"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=SCRIPT.parent)
