"""Whether a locked dependency has a known vulnerability: `./run audit`, with pip-audit for Python and npm for pages.

Exit codes: 0 none that is not recorded, 1 some, 69 a service could not be asked, which is said and is no good news.
What is accepted for now stands in audit-exceptions.toml, each with a reason and the day on which it has to be looked
at again. A release that is known to be vulnerable is asked for first: a service that does not know it knows nothing.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
KNOWN = "jinja2==2.10"
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-uv.lock", "requirements-audit.lock")
FOUND, NOT_ASKED = 1, 69


class Unreachable(Exception):
    """A service could not be asked; the text says which and why."""


class Vulnerability(NamedTuple):
    """One finding: where, in what, and the names that it goes by."""

    place: str
    package: str
    names: frozenset[str]

    def __str__(self) -> str:
        return f"{self.place}: {self.package}: {', '.join(sorted(self.names))}"


def of_python(root: Path) -> Iterator[Vulnerability]:
    """Those of the locked Python packages. Raises Unreachable."""
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder) / "known.txt"
        known.write_text(f"{KNOWN}\n")
        if not any(package.get("vulns") for package in _pip_audit(known, "--no-deps")):
            raise Unreachable(f"the service behind pip-audit does not even know of {KNOWN}")
    for name in LOCKS:
        for package in _pip_audit(root / name, "--require-hashes"):
            if "skip_reason" in package:
                raise Unreachable(f"{name}: {package['skip_reason']}")
            for found in package["vulns"]:
                names = frozenset({found["id"], *found["aliases"]})
                yield Vulnerability(name, f"{package['name']} {package['version']}", names)


def _pip_audit(requirements: Path, *options: str) -> list[dict[str, Any]]:
    command = ["pip-audit", "--disable-pip", "--progress-spinner=off", "-f", "json", *options, "-r", str(requirements)]
    result = _run(command, requirements.parent)
    try:
        packages: list[dict[str, Any]] = json.loads(result.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise Unreachable(f"pip-audit: {_last_line(result.stderr)}") from None
    return packages


def of_pages(root: Path) -> Iterator[Vulnerability]:
    """Those of the packages that npm locks. Raises Unreachable."""
    for lock in sorted(root.glob("*/**/package-lock.json")):
        if "node_modules" in lock.parts or ".venv" in lock.parts or ".tools" in lock.parts:
            continue
        place = lock.parent.relative_to(root).as_posix()
        # Asked for in so many words, since the .npmrc files turn it off for installations.
        result = _run(["npm", "audit", "--audit=true", "--package-lock-only", "--json"], lock.parent)
        try:
            found = json.loads(result.stdout)["vulnerabilities"]
        except (ValueError, KeyError):
            raise Unreachable(f"npm audit in {place}: {_first_line(result.stderr)}") from None
        for package, details in found.items():
            names = {via["url"].rpartition("/")[2] for via in details["via"] if isinstance(via, dict)}
            if names:  # else it only depends on one that is listed itself
                yield Vulnerability(place, package, frozenset(names))


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=600)
    except FileNotFoundError:
        raise Unreachable(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Unreachable(f"{command[0]} did not come to an end") from None


def _first_line(text: str) -> str:
    lines = [line for line in text.splitlines() if " audit " in line]
    return lines[0] if lines else "no answer"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no answer"


def accepted(file: Path, today: date) -> frozenset[str]:
    """The names of what is accepted today. Raises ValueError for an exception without a reason or a day."""
    names = set()
    for exception in tomllib.loads(file.read_text()).get("exception", []):
        if not exception.get("reason", "").strip() or not isinstance(exception.get("until"), date):
            raise ValueError(f"{file.name}: {exception.get('id')} needs a reason, and until when")
        if exception["until"] >= today:
            names.add(exception["id"])
    return frozenset(names)


def main(root: Path = ROOT) -> int:
    """Audit everything, and say what was found."""
    exceptions = accepted(root / ".ci" / "audit-exceptions.toml", datetime.now(UTC).date())
    code = 0
    for what, ask in (("Python packages", of_python), ("npm packages", of_pages)):
        try:
            new = _report(ask(root), exceptions)
        except Unreachable as error:
            print(f"{what}: NOT AUDITED: {error}")
            code = code or NOT_ASKED
            continue
        print(f"{what}: {'no known vulnerability' if not new else f'{new} known vulnerabilities'}")
        code = FOUND if new else code
    return code


def _report(found: Iterable[Vulnerability], exceptions: frozenset[str]) -> int:
    new = 0
    for vulnerability in found:
        is_accepted = bool(vulnerability.names & exceptions)
        new += not is_accepted
        print(f"{'accepted' if is_accepted else 'VULNERABLE'}: {vulnerability}")
    return new


if __name__ == "__main__":
    sys.exit(main(Path(os.environ.get("CRM_AUDIT_ROOT", ROOT))))
