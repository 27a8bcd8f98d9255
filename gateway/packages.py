"""Names what this program is made of: `pyproject.toml` lists the same packages, which a test compares."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = (
    *("contract", "storage", "identity", "providers", "reports", "jobs", "resolvers", "transport", "schema"),
    *("rest_compat", "gateway"),
)
"""From what knows of nothing else to what knows of all."""
