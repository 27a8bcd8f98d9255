"""Serves the paths of sales targets."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Final

from pydantic import Field

from contract.criteria import Condition
from contract.vocabulary import TargetMetric
from resolvers.sales_targets import SalesTargets, attainment_of, delete_target, list_targets, put_targets, wanted
from resolvers.shared.context import Context
from resolvers.shared.inputs import CalendarDate
from rest_compat.documents import AnyRow, Document
from rest_compat.examples import ANSWERS
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.resources import Resource
from rest_compat.schemas import JsonObject, reference_to
from storage import tables as t

_PLAIN: Final = (
    *("id", "owner_id", "metric", "currency", "period", "starts_on", "ends_on", "time_zone", "amount", "created_at"),
    *("updated_at", "version"),
)
_TARGET: Final = Document("SalesTargetRow", t.SalesTarget, "A sales target.", _PLAIN)
SALES_TARGET: Final = Document(
    "SalesTarget",
    t.SalesTarget,
    "What the organization, or a member of it, is to reach in a period, and how far it is.",
    _PLAIN,
    added={"attainment": reference_to("TargetAttainment")},
    examples={"attainment": ANSWERS["TargetAttainment"]},
)


class SalesTargetQuery(ListParameters):
    """Has the query parameters of GET /sales-targets."""

    owner_id: str | None = Field(default=None, description="Only targets of this member.")
    organization_wide: bool | None = Field(
        default=None, description="True: only those of the whole organization; false: only members'."
    )
    on: CalendarDate | None = Field(default=None, description="Only targets whose period contains this day.")
    metric: TargetMetric | None = Field(default=None, description="Only targets of this metric.")

    def conditions(self) -> Iterator[Condition]:
        """Yields the condition that the parameters set together."""
        owners = None if self.owner_id is None else [self.owner_id]
        metric = None if self.metric is None else self.metric.value
        yield wanted(owners, self.organization_wide, metric, on=self.on)


async def listing(call: RestRequest) -> RestResponse:
    """Lists the targets with how far they are reached."""
    if call.query.limit == 0:
        return RestResponse([])
    page = await list_targets(call.ctx, call.query.listing())
    return RestResponse(await _shown(call.ctx, page.rows))


async def put(call: RestRequest) -> RestResponse:
    """Sets targets, all or none."""
    body: SalesTargets = call.body
    return RestResponse(await _shown(call.ctx, await put_targets(call.ctx, body)))


async def _shown(ctx: Context, rows: Sequence[AnyRow]) -> list[JsonObject]:
    """Returns the documents with the attainments, which come in the same statements for all."""
    attained = await gather(*(attainment_of(ctx, row.id) for row in rows))
    documents = _TARGET.all_of(rows)
    return [d | {"attainment": asdict(attainment)} for d, attainment in zip(documents, attained, strict=True)]


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/sales-targets",
        listing,
        "List sales targets",
        resolver=list_targets,
        query=SalesTargetQuery,
        answer=SALES_TARGET,
        many=True,
        graphql_field="Query.salesTargets",
        description="By first day, latest first; the organization's before members'.",
        operation_id="sales_targets_listing",
    ),
    RestOperation(
        "PUT",
        "/sales-targets",
        put,
        "Set sales targets",
        resolver=put_targets,
        body=SalesTargets,
        listed="inputs",
        answer=SALES_TARGET,
        many=True,
        graphql_field="Mutation.salesTargetsPut",
        description="A JSON array of at most 200, all or none. What has the same member, metric, currency and days "
        "already is changed.",
        operation_id="sales_targets_put",
    ),
    Resource("/sales-targets/{target_id}", SALES_TARGET, has_etags=False).delete(delete_target),
)
