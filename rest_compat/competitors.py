"""The path of the competitor detection (specification 4.11)."""

from __future__ import annotations

from resolvers.competitors import detect_competitors
from rest_compat.operations import Answer, Call


async def detect(call: Call) -> Answer:
    """What the deal's texts mention, and the names that the deal has now."""
    found = await detect_competitors(call.ctx, call.path["deal_id"])
    return Answer(
        {
            "deal_id": found.deal.id,
            "competitors": found.deal.competitors,
            "detected": [
                {
                    "name": competitor.name,
                    "confidence": competitor.confidence,
                    "evidence": [
                        {"source": e.source, "source_id": e.source_id, "quote": e.quote, "at": e.at}
                        for e in competitor.evidence
                    ],
                }
                for competitor in found.detected
            ],
        }
    )
