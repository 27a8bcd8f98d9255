"""The locked requirements are complete, and nothing tracked says where packages are downloaded from."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = [
    "requirements.lock",
    "requirements-image.lock",
    "requirements-dev.lock",
    "requirements-uv.lock",
    "requirements-audit.lock",
]
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


_PACKAGES = {
    "prometheus": "prometheus-client",
    "pptx": "python-pptx",
    "strawberry": "strawberry-graphql",
    "lean": "httpx",
    "lean-http": "httpx",
}
"""Libraries whose package has another name; `lean` loads structlog by its documented imports, too."""


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


@pytest.mark.parametrize("larger", ["requirements-dev.lock", "requirements-image.lock"])
def test_a_larger_lock_holds_the_runtime_lock(larger: str) -> None:
    runtime, more = requirements("requirements.lock"), requirements(larger)
    assert {name: more.get(name) for name in runtime} == runtime


def test_the_extras_are_locked_once_and_are_in_the_image() -> None:
    # Decision 174.
    """Both are tested by what the image has."""
    image, development = requirements("requirements-image.lock"), requirements("requirements-dev.lock")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {re.split(r"[<>=]", one)[0] for extra in extras.values() for one in extra}
    locked = {line.split("==")[0]: line for line in image}
    assert names <= set(locked)
    assert {locked[name] for name in names} <= set(development)
    assert "-r requirements-image.lock" in (ROOT / "Dockerfile").read_text()


def test_what_is_used_below_its_surface_has_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    bounds = {re.split(r"[\[<>=]", one)[0]: one for one in named}
    libraries = {path.stem.replace("_", "-") for path in ROOT.glob("*/adapters/[!_]*.py") if path.parts[-3] != "tests"}
    names = {_PACKAGES.get(library, library) for library in libraries}
    assert len(names) > 8
    assert {name: bounds[name] for name in names if "<" not in bounds[name]} == {}
    assert all(">=" in bound for bound in bounds.values())


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
        "benchmarks/mercurius/package-lock.json",
        "examples/analytics/package-lock.json",
        "examples/chat/package-lock.json",
        "examples/react/package-lock.json",
        "examples/typescript/package-lock.json",
        "tests/chat/npm/package-lock.json",
        "tests/files/npm/package-lock.json",
        "tests/gateway/audits/package-lock.json",
        "tests/identity/oidc_provider/package-lock.json",
        "tests/mcp/npm/package-lock.json",
        "ui/graphiql/package-lock.json",
    }
    assert found == set()
