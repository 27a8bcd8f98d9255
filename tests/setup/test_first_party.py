"""The project's packages bear plain names, such as `schema`, that others on the package index bear too."""

from __future__ import annotations

import importlib
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_the_one_of_this_checkout(name: str) -> None:
    assert importlib.import_module(name).__file__ == str(ROOT / name / "__init__.py")


@pytest.mark.parametrize("name", PACKAGES)
def test_no_other_distribution_claims_a_package(name: str) -> None:
    # An editable install records a path file instead of the packages, hence no claim at all.
    assert set(packages_distributions().get(name, [])) <= {"crm-gateway"}


def test_every_list_of_packages_is_the_same() -> None:
    tools = PYPROJECT["tool"]
    on_disk = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    shipped = on_disk - {"benchmarks"}
    assert {
        "wheel": set(PACKAGES),
        "import-linter": set(tools["importlinter"]["root_packages"]),
        "ruff": set(tools["ruff"]["lint"]["isort"]["known-first-party"]),
        "mypy": set(tools["mypy"]["files"]),
    } == {"wheel": shipped, "import-linter": shipped, "ruff": on_disk, "mypy": on_disk}
