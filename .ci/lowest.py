"""Whether the environment it runs in has the lowest versions that pyproject.toml allows: `./run lowest`.

A lower bound below every version that can be installed promises what nothing has tried (decision 173).
"""

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Print what is installed above its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    found = 0
    for text in [*project["dependencies"], *(one for extra in extras for one in extra)]:
        wanted = Requirement(text)
        [lowest] = [Version(one.version) for one in wanted.specifier if one.operator == ">="]
        installed = Version(version(wanted.name))
        if installed != lowest:
            print(f"{text}: the lowest version that can be installed is {installed}")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
