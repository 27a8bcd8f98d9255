"""Names how this program is begun again: in a process of its own, or in the place of this one."""

import os
import sys

from gateway.packages import ROOT


def command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of this program, wherever they are said: what lies there is no part of it."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The environment of this process, with which the program is found that it runs."""
    found = dict(os.environ)
    program = str(ROOT)
    if sys.path[:1] == [program]:  # `python -m gateway` takes it from where it is called
        found["PYTHONPATH"] = os.pathsep.join(filter(None, (program, found.get("PYTHONPATH"))))
    return found
