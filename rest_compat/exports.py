"""Serves the exports: a list with its own filters, streamed as CSV or as lines of JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, create_model

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Condition
from contract.limits import EXPORT_ROWS_MAX, PAGE_MAX
from resolvers.export_rows import EXPORTED
from resolvers.exports import (
    Export,
    ExportStream,
    export_accounts,
    export_activities,
    export_campaigns,
    export_contacts,
    export_deals,
    export_leads,
    export_meetings,
)
from resolvers.shared.inputs import Input
from rest_compat.activities import ActivityQuery
from rest_compat.deals import DealQuery
from rest_compat.leads import LeadQuery
from rest_compat.meetings import MeetingQuery
from rest_compat.operations import Handler, RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters, Repeatable
from rest_compat.record_types import AccountQuery, CampaignQuery, ContactQuery

_CSV, _LINES = "text/csv", "application/jsonl"
_COLUMNS: Final[Any] = Field(  # Any: pydantic's word for a default
    default=None,
    description="Names of columns in their order: several times, or by commas. All plain ones unless told.",
    json_schema_extra={"minItems": 1, "uniqueItems": True},
)
_OF_A_PAGE = frozenset({"limit", "offset", "order"})


class ListFilters(Input):
    """Has the filters of a list, which a derived class names."""

    listed: ClassVar[type[ListParameters]]

    def condition(self) -> Condition:
        """Returns which records are meant, as the list has it."""
        filters = {name: getattr(self, name) for name in self.listed.model_fields if name not in _OF_A_PAGE}
        return self.listed.model_construct(**filters).condition()


class ExportParameters(ListFilters):
    """Has the query parameters of every export; a derived class adds the filters of its list."""

    limit: ClassVar[int] = PAGE_MAX
    """The rows that an export is charged for before it begins: those of a page (decision 417)."""

    format: ExportFormat = Field(default=ExportFormat.CSV, description="The form of the answer.")
    columns: Annotated[list[str] | None, Repeatable()] = _COLUMNS


def filters_of(listed: type[ListParameters]) -> dict[str, Any]:  # Any: pydantic's pairs
    """Returns the filters of a list as fields of a model."""
    return {
        name: (
            info.rebuild_annotation(),
            Field(default=info.default, alias=info.alias, description=info.description),
        )
        for name, info in listed.model_fields.items()
        if name not in _OF_A_PAGE
    }


def _parameters(kind: ExportKind, listed: type[ListParameters]) -> type[ExportParameters]:
    fields = filters_of(listed)
    one = Annotated[str, Field(json_schema_extra={"enum": list(EXPORTED[kind].columns)})]
    fields["columns"] = (Annotated[list[one] | None, Repeatable()], _COLUMNS)
    made = create_model(f"{listed.__name__.removesuffix('Query')}Export", __base__=ExportParameters, **fields)
    made.listed = listed
    return made


@dataclass(frozen=True, slots=True)
class _List:
    """Has a list that is exported: its records, what its path is called, its resolver and its parameters."""

    kind: ExportKind
    noun: str
    resolver: Callable[..., Awaitable[ExportStream]]
    listed: type[ListParameters]


LISTS: Final = (
    _List(ExportKind.ACCOUNT, "accounts", export_accounts, AccountQuery),
    _List(ExportKind.CONTACT, "contacts", export_contacts, ContactQuery),
    _List(ExportKind.DEAL, "deals", export_deals, DealQuery),
    _List(ExportKind.LEAD, "leads", export_leads, LeadQuery),
    _List(ExportKind.MEETING, "meetings", export_meetings, MeetingQuery),
    _List(ExportKind.ACTIVITY, "activities", export_activities, ActivityQuery),
    _List(ExportKind.CAMPAIGN, "campaigns", export_campaigns, CampaignQuery),
)


def _operation(each: _List) -> RestOperation:
    async def export(call: RestRequest) -> RestResponse:
        """Streams the list."""
        query: ExportParameters = call.query
        wanted = Export(query.condition(), query.columns, query.format)
        stream = await each.resolver(call.ctx, wanted)
        headers = {
            "Content-Type": stream.media_type,
            "Content-Disposition": f'attachment; filename="{each.noun}.{query.format.value}"',
            "X-Export-Bound": stream.bound.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "X-Content-Type-Options": "nosniff",
        }
        return RestResponse(headers=headers, stream=stream.open)

    handler: Handler = export
    return RestOperation(
        "GET",
        f"/export/{each.noun}",
        handler,
        f"Export {each.noun}",
        resolver=each.resolver,
        query=_parameters(each.kind, each.listed),
        files=(_CSV, _LINES),
        graphql_field=f"Query.{each.noun}",
        description="Each record of the list that is there at the start and stays, once, by id; at most "
        f"{EXPORT_ROWS_MAX:,}. X-Export-Bound names the moment up to which records are included. An export that breaks "
        "ends without the last chunk, which clients report as an error. Two of an organization run at once.",
        response_headers=("X-Export-Bound", "Content-Disposition"),
        errors=(429,),
        operation_id=f"exports_{each.noun}",
    )


OPERATIONS: Final = tuple(map(_operation, LISTS))
