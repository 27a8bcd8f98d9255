"""The locked requirements are complete, and nothing tracked says where packages are downloaded from."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-uv.lock", "requirements-audit.lock"]
# In pieces, so that this file does not name them itself.
REGISTRY_HOSTS = [
    ".".join(pieces)
    for pieces in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("npm", "pkg", "github", "com"),
    )
]


def tracked_files() -> list[Path]:
    """Every file that is, or is about to be, under version control."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


def requirements(lock: str) -> dict[str, list[str]]:
    """The requirement lines of a lock, each with the options that follow it."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {line.split(" --", 1)[0].strip(): re.findall(r"--\S+", line) for line in lines}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    wrong = {
        requirement: options
        for requirement, options in requirements(lock).items()
        if not re.fullmatch(r"[a-z0-9-]+==[^\s;]+( ; .+)?", requirement)
        or not options
        or not all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option) for option in options)
    }
    assert wrong == {}


def test_the_development_lock_holds_the_runtime_lock() -> None:
    runtime, development = requirements("requirements.lock"), requirements("requirements-dev.lock")
    assert {name: development.get(name) for name in runtime} == runtime


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_no_address(lock: str) -> None:
    assert re.findall(r"\w+://\S+|^-.*", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE) == []


def test_no_tracked_file_names_a_registry() -> None:
    hosts = re.compile("|".join(map(re.escape, REGISTRY_HOSTS)).encode())
    found = {str(path.relative_to(ROOT)) for path in tracked_files() if hosts.search(path.read_bytes())}
    assert found == set()


def test_package_locks_hold_no_download_address() -> None:
    locks = [path for path in tracked_files() if path.name == "package-lock.json"]
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in locks
        for name, package in json.loads(path.read_text(encoding="utf-8"))["packages"].items()
        if "resolved" in package and not package.get("link")
    }
    assert {str(path.relative_to(ROOT)) for path in locks} == {
        "examples/typescript/package-lock.json",
        "tests/gateway/audits/package-lock.json",
        "tests/identity/oidc_provider/package-lock.json",
        "ui/graphiql/package-lock.json",
    }
    assert found == set()
