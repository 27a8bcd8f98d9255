"""Names the surfaces as they are printed and committed: what is served of them, and what the checks compare.

To make the texts takes an eighth of a start, and they follow from the code alone: `./run check` holds them to it
(decision 1002).
"""

from typing import Final

from gateway.packages import ROOT

SCHEMA: Final = ROOT / "schema" / "schema.graphql"
TOOLS: Final = ROOT / "schema" / "tools.json"
OPENAPI: Final = ROOT / "rest_compat" / "openapi.json"
