"""Names how this program is begun again: in a process of its own, or in the place of this one."""

import os
import sys
from pathlib import Path
from typing import Final

from gateway.packages import ROOT

_OPTIONS: Final = {
    **{"isolated": "-I", "ignore_environment": "-E", "no_user_site": "-s", "no_site": "-S", "optimize": "-O"},
    **{"dont_write_bytecode": "-B", "bytes_warning": "-b", "dev_mode": "-Xdev"},
}
"""The interpreter's options, by their names among its flags: such a flag says how often its option was given."""


def command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of this program as this process was started, wherever they are said.

    What lies in the folder where they are said is no part of the program.
    """
    return [sys.executable, *_options(), "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, with which the program is found that it runs."""
    found = dict(os.environ)
    paths = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path]
    program = str(ROOT)
    is_beside = bool(sys.path) and Path(sys.path[0]).resolve() == ROOT  # it was taken from where it was called
    if is_beside and program not in paths:
        found["PYTHONPATH"] = os.pathsep.join([program, *paths])
    return found


def _options() -> list[str]:
    """The options that this interpreter was started with."""
    options = [option for name, option in _OPTIONS.items() for _ in range(getattr(sys.flags, name))]
    return [*options, *(f"-W{each}" for each in dict.fromkeys(sys.warnoptions))]
