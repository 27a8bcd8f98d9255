"""Makes the folder through which the processes of one service count together, and names where it is told."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which the library that counts knows it."""


@contextmanager
def adding_up() -> Iterator[None]:
    """Have a folder through which the processes, which inherit its name, count together (decision 123)."""
    if SHARED_FOLDER in os.environ:
        yield
        return
    try:
        made = tempfile.TemporaryDirectory(prefix="crm-metrics-")
    except OSError:
        logging.getLogger(__name__).warning("no temporary folder can be written: /metrics tells of one process alone")
        yield
        return
    with made as folder:
        os.environ[SHARED_FOLDER] = folder
        yield
