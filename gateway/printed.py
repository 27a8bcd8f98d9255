"""Names the surfaces as they are printed and committed: what is served of them, and what the checks compare.

To make the texts takes an eighth of a start, and they follow from the code alone: `./run check` holds them to it
(decision 1002).
"""

from pathlib import Path
from typing import Final

_ROOT = Path(__file__).resolve().parents[1]
SCHEMA: Final = _ROOT / "schema" / "schema.graphql"
TOOLS: Final = _ROOT / "schema" / "tools.json"
OPENAPI: Final = _ROOT / "rest_compat" / "openapi.json"
