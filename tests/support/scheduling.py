"""Deals the tests out to the processes of `./run test`: a module's on one database, then those on the other."""

from __future__ import annotations

import re

from xdist.scheduler import LoadFileScheduling

_DATABASE = re.compile(r"\[(?:[^\[]*-)?(sqlite|postgresql)\b")


_BROWSER = "tests/browser"
"""All of them share a browser and a service with its demo, which take a quarter of a minute to start."""


def part_of(test: str) -> str:
    """Name the tests that are run in one process, one after the other, by the name of one of them."""
    file, _, name = test.partition("::")
    if file.startswith(_BROWSER):
        return _BROWSER
    database = _DATABASE.search(name)
    return f"{file} on {database[1]}" if database else file


class ByModuleAndDatabase(LoadFileScheduling):
    """Gives a process all tests of a module on one database: what they share is made once.

    Applications of several modules outlive each of them, so that a process which stays with a database for as long as
    there is work for it has each made once, and not again with every module.
    """

    def _split_scope(self, nodeid: str) -> str:
        return part_of(nodeid)
