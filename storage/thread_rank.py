"""The rank of a thread on the processor, which threads have on Linux alone (decisions 1194 and 1197)."""

import os
import sys
from contextlib import suppress


def step_back(by: int) -> None:
    """Have other threads precede the one that calls this from now on; where threads have no rank, it keeps its.

    `by` is how much nicer it is. Who is no administrator cannot take that back.
    """
    if sys.platform == "linux":  # elsewhere a process has a rank, and its threads have none
        with suppress(OSError):  # where a process may not even ask for less, it goes on as it is
            os.nice(by)
