"""Holds what operations cost, for both surfaces: the table, and what follows without being in it (decision 86).

Fields have a weight: that of a row that is read is 1. An operation's is given in points, which are ten rows each.
Fields are named as GraphQL names them; REST paths have the cost of their twin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from contract.errors import CostLine
from contract.integrations import RUNS_KEPT, SYNC_RUNS_DEFAULT, IntegrationProvider
from contract.limits import (
    CANDIDATES_MAX,
    DELIVERIES_DEFAULT,
    DELIVERIES_KEPT,
    ENROLLMENTS_MAX,
    EVIDENCE_MAX,
    GROUPS_DEFAULT,
    GROUPS_MAX,
    HEALTH_FACTORS,
    IMPORT_PREVIEW_ROWS,
    MERGED_MAX,
    NODES_MAX,
    PAGE_DEFAULT,
    PAGE_MAX,
    SEARCH_DEFAULT,
    SEARCH_MAX,
    TAGGED_TOGETHER_MAX,
    TARGETS_TOGETHER_MAX,
    TIMELINE_MAX,
    UPSERT_ROWS_MAX,
    WEBHOOKS_MAX,
)
from contract.tools import TOOLS

READ, FOUND, COUNT, WRITE, WORK, PURCHASE = 1, 2, 20, 50, 500, 1_000
"""A row, one whose kind is to be found out first, a count of a whole list, a change, a computation over many rows, and
what costs money outside."""
UPSERTED, APPLIED, SET, ATTAINED, MERGED, AGGREGATED = 2, 5, 10, 50, 100, 200
"""A row that becomes a record, a record that is tagged, a sales target that is set, how far one is reached, a merge,
and records that are counted and added up by groups."""
ANALYZED = 500
"""A query of analytics, however many rows it gives."""
SENT = 100
"""A message of a chat; its tools cost what their documents do."""
WHOLE_FILE = 100
"""A file that is looked at and read or written by a job."""
ROWS_PER_POINT = 10
CONDITION, TEXT_CONDITION, ALTERNATIVE, LINKED = 1, 5, 1, 5
"""Weights of a filter's parts: a comparison, one that looks into texts, a branch of an `or`, a link to another record.

What is said of a linked record weighs once more for each link that leads there (decision 140).
"""
LISTED_PER_CONDITION = 100
"""Values of a list that weigh as much as a comparison with one."""
LOOKED_THROUGH = 2
"""The factor by which a filter weighs more where every row of a list is looked at: for a count, or sums."""
MILLISECONDS_PER_POINT = 10
"""The database's milliseconds for a point: who spends a whole budget on it has one connection's (decision 141)."""
TIME_FORGIVEN, TIME_FORGIVEN_PER_SECOND = 50, 5
"""The points for time that are forgiven a member in an organization, and those of them that come back each second."""
HEAVY_POINTS = 20
"""Reads that ask for more points than this are heavy: those of one organization come one after the other."""
SKIPPED_PER_ROW, SKIPPED_MAX = 100, 100_000
"""Rows that are skipped by an offset and weigh as much as one that is read, and the most that are reckoned with."""
LEAST = 1
"""The points of a call that asks for next to nothing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """`weight` for each row; and what is below a row weighs that for each row too.

    `multipliers` name the arguments that say how many rows, a number or a list: the largest counts, up to `most`.
    `size` rows are assumed where none of them is given, or there is none. `base` is weighed once, however many.
    """

    weight: int
    multipliers: tuple[str, ...] = ()
    size: int = 1
    most: int = PAGE_MAX
    base: int = 0

    def rows(self, asked: int | None) -> int:
        """The rows to be reckoned with: one for none, which is looked for all the same.

        What is out of range is refused by the field itself.
        """
        return self.size if asked is None else min(max(asked, 1), self.most)


@dataclass(frozen=True, slots=True)
class CostReport:
    """The points that an operation may cost, beside the limit, and its heaviest places."""

    requested: int
    limit: int
    heaviest: tuple[CostLine, ...]


AGGREGATE: Final = Cost(READ, ("first",), GROUPS_DEFAULT, GROUPS_MAX, base=AGGREGATED)
"""The cost of an aggregate: that of counting, and a row for each group."""
COSTS: Final[Mapping[str, Cost]] = {
    "Query.costEstimate": Cost(0),
    "Query.node": Cost(FOUND),
    "Query.nodes": Cost(FOUND, ("ids",), most=NODES_MAX),
    "Query.search": Cost(READ, ("first",), SEARCH_DEFAULT, SEARCH_MAX),
    "Query.dealBoard": Cost(COUNT),
    **dict.fromkeys(
        [f"Query.{kind}Aggregate" for kind in ("deal", "meeting", "lead", "account", "campaign")], AGGREGATE
    ),
    "Query.dealForecast": Cost(AGGREGATED),
    "Query.duplicates": Cost(READ, ("first",), PAGE_DEFAULT, base=WRITE),
    "Query.mergePreview": Cost(WRITE),
    "Query.dealFunnel": Cost(WORK),
    "Query.analyticsQuery": Cost(ANALYZED),
    "Query.sqlQuery": Cost(ANALYZED),
    "Query.savedQueryRun": Cost(ANALYZED),
    "Query.reportPreview": Cost(AGGREGATED),
    "Query.dataImportPreview": Cost(WHOLE_FILE),
    "Mutation.dataImportCreate": Cost(WHOLE_FILE),
    "Mutation.dataExportCreate": Cost(WHOLE_FILE),
    "Query.leadConversionPreview": Cost(WORK),
    "Query.chatTools": Cost(READ, size=len(TOOLS)),
    "Query.integrationProviders": Cost(READ, size=len(IntegrationProvider)),
    "ChatCitation.node": Cost(FOUND),
    "ChatMessage.citations": Cost(0, size=2),
    "ChatRun.events": Cost(READ, ("first",)),
    "Mutation.chatSend": Cost(SENT),
    "Query.chatUsage": Cost(READ, size=100),
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
    "Mutation.reportRun": Cost(AGGREGATED),
    "Mutation.reportEmail": Cost(AGGREGATED),
    "Mutation.campaignLaunch": Cost(WORK),
    "Mutation.enrollmentsCreate": Cost(READ, ("contacts",), most=ENROLLMENTS_MAX),
    "Mutation.domainPurchase": Cost(PURCHASE),
    "Mutation.mailboxProvision": Cost(PURCHASE),
    "Mutation.webhookTest": Cost(WORK),
    "Mutation.tagsApply": Cost(APPLIED, ("ids",), most=TAGGED_TOGETHER_MAX),
    "Mutation.recordsMerge": Cost(MERGED),
    "Mutation.mergeUndo": Cost(MERGED),
    **dict.fromkeys(
        [f"Mutation.{kind}Upsert" for kind in ("accounts", "contacts", "deals", "leads")],
        Cost(UPSERTED, ("rows",), most=UPSERT_ROWS_MAX),
    ),
    "Mutation.salesTargetsPut": Cost(SET, ("inputs",), most=TARGETS_TOGETHER_MAX),
    **dict.fromkeys(
        [f"{kind}.{feed}" for kind in ("Account", "Contact", "Deal", "Lead") for feed in ("timeline", "history")]
        + ["Campaign.history"],
        Cost(READ, ("first",), PAGE_DEFAULT, TIMELINE_MAX),
    ),
    "Campaign.mailboxes": Cost(READ, size=10),
    "Campaign.steps": Cost(0, size=5),
    "CompetitorDetectionPayload.detected": Cost(0, size=EVIDENCE_MAX),
    "ConversionCandidate.node": Cost(0),
    "CXReport.artifacts": Cost(READ, size=3),
    "Deal.stageHistory": Cost(READ, size=10),
    "DealBoard.columns": Cost(0, size=20),
    "DealBoardColumn.stage": Cost(0),
    **dict.fromkeys(
        ("DealBoardColumn.totals", "DealBoardColumn.weightedTotals", "DealBoard.totals", "DealBoard.unstagedTotals"),
        Cost(0, size=3),
    ),
    "DealFunnel.stages": Cost(0, size=20),
    "DuplicateGroup.records": Cost(READ, size=5),
    "DetectedCompetitor.evidence": Cost(0, size=EVIDENCE_MAX),
    "EnrollmentsPayload.created": Cost(0, size=ENROLLMENTS_MAX),
    "EnrollmentsPayload.skipped": Cost(0, size=ENROLLMENTS_MAX),
    "File.attachedTo": Cost(FOUND, size=5),
    "Folder.path": Cost(READ, size=5),
    "FunnelStage.stage": Cost(0),
    "ImportPreview.mapping": Cost(0, size=IMPORT_PREVIEW_ROWS),
    "ImportPreview.rows": Cost(0, size=IMPORT_PREVIEW_ROWS),
    "HealthSnapshot.factors": Cost(0, size=HEALTH_FACTORS),
    "Integration.channels": Cost(READ, size=5),
    "Integration.counts": Cost(COUNT),
    "Integration.runs": Cost(READ, ("first",), SYNC_RUNS_DEFAULT, RUNS_KEPT),
    "Integration.streams": Cost(0, size=2),
    "IntegrationCounts.skippedBy": Cost(0),
    "LeadConversionPreview.accounts": Cost(0, size=CANDIDATES_MAX),
    "LeadConversionPreview.contacts": Cost(0, size=CANDIDATES_MAX),
    "Meeting.participants": Cost(0, size=5),
    "MeetingSync.dealCandidates": Cost(READ, size=2),
    "MeetingSync.sources": Cost(0, size=2),
    "Member.owned": Cost(COUNT),
    "Merge.into": Cost(READ),
    "MergePayload.record": Cost(0),
    "MergePreview.fields": Cost(0, size=10),
    "MergeUndoPayload.restored": Cost(0, size=MERGED_MAX),
    "PipelineStagesPayload.stages": Cost(0, size=20),
    "Report.table": Cost(AGGREGATED),
    "ReportRun.files": Cost(READ, size=3),
    "ReportTable.columns": Cost(0, size=10),
    "ReportTable.rows": Cost(0),
    "ResearchResult.cxReport": Cost(READ),
    "SalesTarget.attainment": Cost(ATTAINED),
    "SearchHit.node": Cost(0),
    "Tag.usage": Cost(COUNT),
    "Viewer.organizations": Cost(0, size=5),
    "Webhook.deliveries": Cost(READ, ("first",), DELIVERIES_DEFAULT, DELIVERIES_KEPT),
}
"""Fields whose cost differs from what follows from their type (`root_cost`, `page_cost`, schema/costs.py)."""


def time_points(seconds: float) -> int:
    """The whole points of the time that the database worked."""
    return int(seconds * 1_000) // MILLISECONDS_PER_POINT


def list_condition(items: int) -> int:
    """The weight of a comparison with any of so many values."""
    return CONDITION * max(1, -(-items // LISTED_PER_CONDITION))


def condition_points(weight: int) -> int:
    """The points of conditions of this weight: those that are complete."""
    return weight // ROWS_PER_POINT


def pages(rows: int) -> int:
    """Counts the pages of the usual size that so many rows make up."""
    return -(-rows // PAGE_DEFAULT)


def skipped(offset: int) -> int:
    """The weight of an offset; one that is out of range is refused by the field itself."""
    return min(max(offset, 0), SKIPPED_MAX) // SKIPPED_PER_ROW


def root_cost(field: str) -> Cost:
    """The cost of a root field, such as `Mutation.dealCreate`, that gives no page."""
    return COSTS.get(field) or Cost(WRITE if field.startswith("Mutation.") else READ)


def page_cost(field: str, arguments: tuple[str, ...]) -> Cost:
    """The cost of a field that gives a page of a list; it is by the rows of the page."""
    return COSTS.get(field) or Cost(READ, arguments, PAGE_DEFAULT)


def rest_cost(graphql_field: str | None, rows: int | None, offset: int = 0) -> int:
    """The points of a REST call whose GraphQL twin is this field, and which asks for so many rows if it says.

    What it filters by are values of the record's own columns, and weighs nothing.
    """
    if graphql_field is None:
        return LEAST
    cost = root_cost(graphql_field)
    read = cost.base + cost.weight * (cost.size if rows is None else min(max(rows, 0), PAGE_MAX))
    return points(read) + condition_points(skipped(offset))


def points(weight: int) -> int:
    """The points of a weight: one for every ten rows that are begun."""
    return -(-weight // ROWS_PER_POINT)
