"""Serves the path of the competitor detection (specification 4.11)."""

from __future__ import annotations

from typing import Final

from resolvers.competitors import detect_competitors
from rest_compat.operations import RestOperation, RestRequest, RestResponse


async def detect(call: RestRequest) -> RestResponse:
    """Detects what the deal's texts mention, and answers with that and the names that the deal has now."""
    found = await detect_competitors(call.ctx, call.path["deal_id"])
    return RestResponse(
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


OPERATIONS: Final = (
    RestOperation(
        "POST",
        "/deals/{deal_id}/competitors/detect",
        detect,
        "Detect the competitors on a deal",
        resolver=detect_competitors,
        answer="CompetitorDetection",
        graphql_field="Mutation.dealCompetitorsDetect",
        description="Looks for the catalogue's competitors in the deal's notes and its meetings' subjects, bodies and "
        "transcripts. Those of a confidence from 0.5 on become the deal's competitors. No body is read.",
        errors=(404,),
    ),
)
