"""Names where the processes of one service count together."""

from typing import Final

SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The variable by which the library that counts knows it."""
