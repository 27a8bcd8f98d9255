"""What operations cost, for both doors: the table, and the numbers that follow without being in it (decision 86).

Fields have a weight: that of a row that is read is 1. An operation's weight is told in points, which are ten rows each.
Fields are named as GraphQL names them; REST paths have the cost of their twin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contract.errors import CostLine
from contract.limits import (
    CANDIDATES_MAX,
    DELIVERIES_DEFAULT,
    DELIVERIES_KEPT,
    ENROLLMENTS_MAX,
    EVIDENCE_MAX,
    HEALTH_FACTORS,
    NODES_MAX,
    PAGE_DEFAULT,
    PAGE_MAX,
    SEARCH_DEFAULT,
    SEARCH_MAX,
    WEBHOOKS_MAX,
)

READ, COUNT, WRITE, WORK, PURCHASE = 1, 20, 50, 500, 1_000
"""A row, a count of a whole list, a change, a computation over many rows, and what costs money outside."""
ROWS_PER_POINT = 10
LEAST = 1
"""The points of a call that asks for next to nothing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """`weight` for each row; and what is below a row weighs that for each row too.

    `multipliers` name the arguments that say how many rows, a number or a list: the largest counts, up to `most`.
    `size` rows are assumed where none of them is given, or there is none.
    """

    weight: int
    multipliers: tuple[str, ...] = ()
    size: int = 1
    most: int = PAGE_MAX

    def rows(self, asked: int | None) -> int:
        """The rows to be reckoned with: one for none, which is looked for all the same.

        What is out of range is refused by the field itself.
        """
        return self.size if asked is None else min(max(asked, 1), self.most)


@dataclass(frozen=True, slots=True)
class CostReport:
    """What an operation may cost, beside what one may, and its heaviest places."""

    requested: int
    limit: int
    heaviest: tuple[CostLine, ...]


COSTS: Final[Mapping[str, Cost]] = {
    "Query.costEstimate": Cost(0),
    "Query.nodes": Cost(READ, ("ids",), most=NODES_MAX),
    "Query.search": Cost(READ, ("first",), SEARCH_DEFAULT, SEARCH_MAX),
    "Query.dealBoard": Cost(COUNT),
    "Query.leadConversionPreview": Cost(WORK),
    "Query.pipelineStages": Cost(READ, size=20),
    "Query.competitors": Cost(READ, size=50),
    "Query.outreachDomains": Cost(READ, size=20),
    "Query.mailboxes": Cost(READ, size=20),
    "Query.organizationKeys": Cost(READ, size=20),
    "Query.userTokens": Cost(READ, size=20),
    "Query.webhooks": Cost(READ, size=WEBHOOKS_MAX),
    "Mutation.accountHealthRefresh": Cost(WORK),
    "Mutation.dealCompetitorsDetect": Cost(PURCHASE),
    "Mutation.researchRunCreate": Cost(PURCHASE),
    "Mutation.cxReportEdit": Cost(WORK),
    "Mutation.campaignLaunch": Cost(WORK),
    "Mutation.enrollmentsCreate": Cost(READ, ("contacts",), most=ENROLLMENTS_MAX),
    "Mutation.domainPurchase": Cost(PURCHASE),
    "Mutation.mailboxProvision": Cost(PURCHASE),
    "Mutation.webhookTest": Cost(WORK),
    "Campaign.mailboxes": Cost(READ, size=10),
    "Campaign.steps": Cost(0, size=5),
    "CompetitorDetectionPayload.detected": Cost(0, size=EVIDENCE_MAX),
    "ConversionCandidate.node": Cost(0),
    "CXReport.artifacts": Cost(READ, size=3),
    "Deal.stageHistory": Cost(READ, size=10),
    "DealBoard.columns": Cost(0, size=20),
    "DealBoardColumn.stage": Cost(0),
    "DealBoardColumn.totals": Cost(0, size=3),
    "DetectedCompetitor.evidence": Cost(0, size=EVIDENCE_MAX),
    "EnrollmentsPayload.created": Cost(0, size=ENROLLMENTS_MAX),
    "EnrollmentsPayload.skipped": Cost(0, size=ENROLLMENTS_MAX),
    "HealthSnapshot.factors": Cost(0, size=HEALTH_FACTORS),
    "LeadConversionPreview.accounts": Cost(0, size=CANDIDATES_MAX),
    "LeadConversionPreview.contacts": Cost(0, size=CANDIDATES_MAX),
    "PipelineStagesPayload.stages": Cost(0, size=20),
    "ResearchResult.cxReport": Cost(READ),
    "SearchHit.node": Cost(0),
    "Viewer.organizations": Cost(0, size=5),
    "Webhook.deliveries": Cost(READ, ("first",), DELIVERIES_DEFAULT, DELIVERIES_KEPT),
}
"""Fields whose cost differs from what follows from their type (`root_cost`, `page_cost`, schema/costs.py)."""


def root_cost(field: str) -> Cost:
    """The cost of a root field, such as `Mutation.dealCreate`, that gives no page."""
    return COSTS.get(field) or Cost(WRITE if field.startswith("Mutation.") else READ)


def page_cost(field: str, arguments: tuple[str, ...]) -> Cost:
    """The cost of a field that gives a page of a list; it is by the rows of the page."""
    return COSTS.get(field) or Cost(READ, arguments, PAGE_DEFAULT)


def rest_cost(twin: str | None, rows: int | None) -> int:
    """The points of a REST call whose GraphQL twin is this field, and which asks for so many rows if it says."""
    if twin is None:
        return LEAST
    cost = root_cost(twin)
    return points(cost.weight * (cost.size if rows is None else min(max(rows, 0), PAGE_MAX)))


def points(weight: int) -> int:
    """The points of a weight: one for every ten rows that are begun."""
    return -(-weight // ROWS_PER_POINT)
