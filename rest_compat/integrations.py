"""Serves connections to accounts elsewhere, and their runs."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, StrictBool

from contract.errors import NotFound
from contract.integrations import FEED_BYTES_MAX, FEED_PATTERN, IntegrationProvider, IntegrationStatus
from resolvers import integration_feeds, integrations
from resolvers.integration_feeds import FeedConnect
from resolvers.integrations import IntegrationUpdate
from resolvers.shared.inputs import Input
from rest_compat.etags import has_seen, versions_in
from rest_compat.integration_documents import all_shown, answer_of, etag_of, run_document
from rest_compat.operations import RawBody, RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, ListParameters, Where

_PATH: Final = "/integrations/{integration_id}"
_EXAMPLE: Final = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"


class IntegrationsQuery(ListParameters):
    """Has the query parameters of GET /integrations."""

    provider: Annotated[IntegrationProvider | None, Where()] = Field(default=None, description="Only of this provider.")
    status: Annotated[IntegrationStatus | None, Where()] = Field(default=None, description="Only those that stand so.")
    owner_id: Exactly = Field(default=None, description="Only those of this member.")
    everybodys: bool = Field(
        default=False, alias="all", description="Everybody's connections; needs organizations:manage."
    )


class SyncBody(Input):
    """Whether everything is read again."""

    full: StrictBool = False


class DisconnectQuery(Input):
    """Has the query parameters of DELETE."""

    delete_synced: bool = Field(default=False, description="Whether what it brought goes too.")


async def providers(call: RestRequest) -> RestResponse:
    """Lists the providers."""
    found = await integrations.list_providers(call.ctx)
    return RestResponse(
        [
            {
                "provider": each.info.provider.value,
                "name": each.info.name,
                "ownership": each.info.ownership.value,
                "kinds": [kind.value for kind in each.info.kinds],
                "available": each.available,
                "missing_settings": each.missing_settings,
                "permissions": list(each.info.permissions),
                "push": each.push,
            }
            for each in found
        ]
    )


async def listing(call: RestRequest) -> RestResponse:
    """Lists connections."""
    query: IntegrationsQuery = call.query
    if query.limit == 0:
        return RestResponse([])
    page = await integrations.list_integrations(call.ctx, query.listing(), everybodys=query.everybodys)
    return RestResponse(await all_shown(call.ctx, page.rows))


async def detail(call: RestRequest) -> RestResponse:
    """Answers with one connection."""
    found = await integrations.get_integration(call.ctx, call.path["integration_id"])
    if found is None:
        raise NotFound()
    if has_seen(call.headers.get("if-none-match"), str(found.version)):
        return RestResponse(None, etag_of(found.version), status=304)
    return await answer_of(call.ctx, found)


async def connect_feed(call: RestRequest) -> RestResponse:
    """Connects a feed."""
    made = await integration_feeds.connect_feed(call.ctx, call.body)
    answer = await answer_of(call.ctx, made)
    return RestResponse(answer.content, {**answer.headers, "Location": f"{call.root_path}/integrations/{made.id}"})


async def replace_feed(call: RestRequest) -> RestResponse:
    """Replaces the content of an uploaded feed."""
    changed = await integration_feeds.replace_feed(call.ctx, call.path["integration_id"], call.body, ("input",))
    return await answer_of(call.ctx, changed)


async def change(call: RestRequest) -> RestResponse:
    """Changes a connection."""
    seen = versions_in(call.headers.get("if-match"))
    changed = await integrations.update_integration(call.ctx, call.path["integration_id"], call.body, seen=seen)
    return await answer_of(call.ctx, changed)


async def pause(call: RestRequest) -> RestResponse:
    """Stops synchronising."""
    return await answer_of(call.ctx, await integrations.pause_integration(call.ctx, call.path["integration_id"]))


async def resume(call: RestRequest) -> RestResponse:
    """Goes on synchronising."""
    return await answer_of(call.ctx, await integrations.resume_integration(call.ctx, call.path["integration_id"]))


async def synchronise(call: RestRequest) -> RestResponse:
    """Has a connection read now."""
    body: SyncBody = call.body
    queued = await integrations.sync_integration(call.ctx, call.path["integration_id"], body.full)
    return RestResponse(run_document(queued.run))


async def disconnect(call: RestRequest) -> RestResponse:
    """Removes a connection: 202 with the job where that deletes what came."""
    query: DisconnectQuery = call.query
    gone = await integrations.disconnect_integration(call.ctx, call.path["integration_id"], query.delete_synced)
    if gone.job is None:
        return RestResponse(None, status=204)
    return RestResponse({"job_id": gone.job.id, "status_url": f"{call.root_path}/jobs/{gone.job.id}"}, status=202)


async def runs(call: RestRequest) -> RestResponse:
    """Lists the runs of a connection."""
    found = await integrations.list_runs(call.ctx, call.path["integration_id"])
    query: ListParameters = call.query
    return RestResponse([run_document(run) for run in found[query.offset : query.offset + query.limit]])


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/integrations/providers",
        providers,
        "List the providers",
        resolver=integrations.list_providers,
        answer="IntegrationProviderInfo",
        many=True,
        graphql_field="Query.integrationProviders",
        description="Always all five, in the order google, microsoft, zoom, slack, ical.",
        operation_id="integrations_providers",
    ),
    RestOperation(
        "POST",
        "/integrations/feeds",
        connect_feed,
        "Connect an iCalendar feed",
        resolver=integration_feeds.connect_feed,
        status=201,
        body=FeedConnect,
        answer="Integration",
        graphql_field="Mutation.integrationFeedConnect",
        description="Exactly one of `url` and `content`; `webcal` is read as https. 409 where there are too many, "
        "where the policy does not allow feeds, and for an address that the caller has connected already.",
        example={"name": "My calendar", "content": _EXAMPLE},
        response_headers=("Location", "ETag", "X-Ignored-Fields"),
        operation_id="integrations_connect_feed",
    ),
    RestOperation(
        "GET",
        "/integrations",
        listing,
        "List connections",
        resolver=integrations.list_integrations,
        query=IntegrationsQuery,
        answer="Integration",
        many=True,
        graphql_field="Query.integrations",
        description="The caller's own and the organization's, the newest first.",
        operation_id="integrations_listing",
    ),
    RestOperation(
        "GET",
        _PATH,
        detail,
        "Get a connection",
        resolver=integrations.get_integration,
        answer="Integration",
        graphql_field="Query.integration",
        request_headers=("If-None-Match",),
        response_headers=("ETag",),
        errors=(304, 404),
        operation_id="integrations_detail",
    ),
    RestOperation(
        "PATCH",
        _PATH,
        change,
        "Change a connection",
        resolver=integrations.update_integration,
        body=IntegrationUpdate,
        answer="Integration",
        graphql_field="Mutation.integrationUpdate",
        description="A field that is left out stays. The caller's own.",
        example={"name": "Sales calendar", "settings": {"visibility": "subject_only"}},
        request_headers=("If-Match",),
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404, 409, 412),
        operation_id="integrations_change",
    ),
    RestOperation(
        "DELETE",
        _PATH,
        disconnect,
        "Disconnect",
        resolver=integrations.disconnect_integration,
        status=202,
        empty=204,
        query=DisconnectQuery,
        answer="IntegrationRemoval",
        graphql_field="Mutation.integrationDisconnect",
        description="204 unless what it brought goes too. What is secret of it is gone when the answer is there.",
        errors=(404,),
        operation_id="integrations_disconnect",
    ),
    RestOperation(
        "PUT",
        f"{_PATH}/feed",
        replace_feed,
        "Replace an uploaded feed",
        resolver=integration_feeds.replace_feed,
        raw=RawBody("text/calendar", FEED_BYTES_MAX, _EXAMPLE, FEED_PATTERN),
        answer="Integration",
        graphql_field="Mutation.integrationFeedReplace",
        description="409 for a connection that is no uploaded feed; what is no iCalendar text changes nothing.",
        response_headers=("ETag",),
        errors=(404, 409),
        operation_id="integrations_replace_feed",
    ),
    *(
        RestOperation(
            "POST",
            f"{_PATH}/{verb}",
            handler,
            summary,
            resolver=resolver,
            answer="Integration",
            graphql_field=f"Mutation.integration{verb.capitalize()}",
            description=description,
            response_headers=("ETag",),
            errors=(404, 409),
            operation_id=f"integrations_{verb}",
        )
        for verb, handler, summary, resolver, description in (
            (
                "pause",
                pause,
                "Pause a connection",
                integrations.pause_integration,
                "What came stays. Pausing a paused one changes nothing.",
            ),
            (
                "resume",
                resume,
                "Resume a connection",
                integrations.resume_integration,
                "Goes on from where it was, with everything that changed meanwhile.",
            ),
        )
    ),
    RestOperation(
        "POST",
        f"{_PATH}/sync",
        synchronise,
        "Synchronise now",
        resolver=integrations.sync_integration,
        status=202,
        body=SyncBody,
        body_required=False,
        answer="IntegrationRun",
        graphql_field="Mutation.integrationSync",
        description="A run that is queued already is the answer.",
        example={"full": True},
        response_headers=("X-Ignored-Fields",),
        errors=(404, 409),
        operation_id="integrations_sync",
    ),
    RestOperation(
        "GET",
        f"{_PATH}/runs",
        runs,
        "List the runs of a connection",
        resolver=integrations.list_runs,
        query=ListParameters,
        answer="IntegrationRun",
        many=True,
        graphql_field="Integration.runs",
        description="The newest first; 50 are kept.",
        errors=(404,),
        operation_id="integrations_runs",
    ),
)
