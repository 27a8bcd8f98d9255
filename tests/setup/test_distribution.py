"""What an installed distribution holds, since the checkout itself runs from the folders and would not notice a gap."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return zipfile.Path(built)


def names(wheel: zipfile.Path, folder: str) -> set[str]:
    return {name for name in wheel.root.namelist() if name.startswith(folder + "/") and not name.endswith("/")}


def on_disk(folder: str) -> set[str]:
    paths = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in paths}


@pytest.mark.parametrize("folder", ["gateway/static", "storage/migrations", "schema", "reports"])
def test_data_files_go_along(wheel: zipfile.Path, folder: str) -> None:
    assert names(wheel, folder) == on_disk(folder)


def test_only_the_packages_go_along(wheel: zipfile.Path) -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"benchmarks"}
    metadata = {name.split("/")[0] for name in wheel.root.namelist() if ".dist-info/" in name}
    assert {name.split("/")[0] for name in wheel.root.namelist()} == packages | metadata


def test_the_command_is_declared(wheel: zipfile.Path) -> None:
    (info,) = (entry for entry in wheel.iterdir() if entry.name.endswith(".dist-info"))
    assert (info / "entry_points.txt").read_text(encoding="utf-8") == (
        "[console_scripts]\ncrm-gateway = gateway.cli:main\n"
    )
    assert "Classifier: Private :: Do Not Upload" in (info / "METADATA").read_text(encoding="utf-8").splitlines()
