"""Competitors on the GraphQL surface (specification 2.2, 4.11)."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET

from resolvers import competitors
from schema.connections import Node
from schema.deals import Deal, DealId
from schema.declare import Info, argument, field, operation_field
from schema.errors import UserError
from schema.inputs import DeletePayload, change, deletion
from schema.records import record
from storage import tables as t


@record(
    t.Competitor, "A company of the organization's catalogue that sells the same.", hidden=("folded_name", "created_at")
)
class Competitor(Node):
    """A competitor; the folded name is how a search finds it."""


@strawberry.input(description="A competitor for the catalogue.")
class CompetitorInput:
    name: str = field("The competitor's name, with a letter or a digit, at most 200 characters.")
    aliases: list[str] | None = field("Other names that it goes by, at most 50.", default=UNSET)
    domains: list[str] | None = field("Its domains, such as example.com, at most 50.", default=UNSET)


@strawberry.type(description="What became of a change to the catalogue.")
class CompetitorPayload:
    competitor: Competitor | None = field("The competitor after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="A mention of a competitor.")
class CompetitorEvidence:
    source: str = field("Where it stands: notes, meeting.subject, meeting.body or meeting.transcript.")
    source_id: strawberry.ID = field("The identifier of the deal or the meeting.")
    quote: str = field("The words around it, at most about 200 characters, in one line.")
    at: datetime | None = field("When the meeting was; null for notes.")


@strawberry.type(description="A competitor that the deal's texts mention.")
class DetectedCompetitor:
    name: str = field("The competitor's name in the catalogue.")
    confidence: float = field("How sure it is that it competes for the deal, from 0 to 1; from 0.5 on it is applied.")
    evidence: list[CompetitorEvidence] = field("The mentions, notes first, then the latest meetings; at most 20.")


@strawberry.type(description="What became of a detection.")
class CompetitorDetectionPayload:
    deal: Deal | None = field("The deal after the detection.")
    detected: list[DetectedCompetitor] = field("What was found, the surest first.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type
class CompetitorQueries:
    @operation_field(competitors.list_competitors, "The catalogue of competitors, by name.")
    async def competitors(self, info: Info) -> list[Competitor]:
        return await competitors.list_competitors(info.context)


@strawberry.type
class CompetitorMutations:
    @operation_field(
        competitors.detect_competitors,
        "Looks for the catalogue's competitors in the deal's notes and its meetings' subjects, bodies and transcripts.",
    )
    async def deal_competitors_detect(
        self,
        info: Info,
        deal_id: DealId,
        apply: Annotated[bool | None, argument("Whether what is found becomes the deal's competitors.")] = True,
    ) -> CompetitorDetectionPayload:
        found, problems = await change(info, competitors.detect_competitors, deal_id, apply is not False)
        return CompetitorDetectionPayload(
            deal=found and found.deal, detected=found.detected if found else [], user_errors=problems
        )

    @operation_field(competitors.create_competitor, "Adds a competitor to the catalogue.")
    async def competitor_create(
        self, info: Info, input: Annotated[CompetitorInput, argument("The competitor.")]
    ) -> CompetitorPayload:
        made, problems = await change(
            info, competitors.create_competitor, model=competitors.CompetitorInput, input=input
        )
        return CompetitorPayload(competitor=made, user_errors=problems)

    @operation_field(
        competitors.delete_competitor,
        "Takes a competitor out of the catalogue; deals keep its name until their next detection.",
    )
    async def competitor_delete(
        self, info: Info, id: Annotated[strawberry.ID, argument("The competitor's identifier.")]
    ) -> DeletePayload:
        return await deletion(info, competitors.delete_competitor, id)


QUERIES, MUTATIONS = CompetitorQueries, CompetitorMutations
