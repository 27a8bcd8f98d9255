"""The table of the documented paths. Serving it and describing it both read it from here."""

from __future__ import annotations

from typing import Final

from starlette.routing import Route

from resolvers import campaigns as campaign_resolvers
from resolvers import competitors as competitor_resolvers
from resolvers import credentials as credential_resolvers
from resolvers import cx_reports as cx_report_resolvers
from resolvers import deals as deal_resolvers
from resolvers import feedback as feedback_resolvers
from resolvers import health as health_resolvers
from resolvers import jobs as job_resolvers
from resolvers import lead_conversion
from resolvers import leads as lead_resolvers
from resolvers import meetings as meeting_resolvers
from resolvers import outreach_domains as outreach_domain_resolvers
from resolvers.context import Services
from resolvers.credentials import CredentialCreate, CredentialRename
from resolvers.feedback import FeedbackCreate
from resolvers.leads import CardCapture
from rest_compat import (
    campaigns,
    competitors,
    credentials,
    cx_reports,
    deals,
    exchange,
    feedback,
    health,
    jobs,
    leads,
    liveness,
    media,
    meetings,
    outreach_domains,
    serving,
)
from rest_compat.media import MEDIA_TYPES
from rest_compat.operations import Operation
from transport.readiness import Readiness

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "GET",
        "/activities/meetings",
        meetings.listing,
        "List meetings",
        resolver=meeting_resolvers.list_meetings,
        query=meetings.MeetingQuery,
        answer=meetings.MEETING,
        many=True,
        twin="Query.meetings",
        description="Sorted by due_at in the chosen direction, meetings without it last in either direction, then by "
        "created_at descending. unlinked_account with account_id, or unlinked_deal with deal_id, is an empty array.",
    ),
    Operation(
        "POST",
        "/deals",
        deals.create,
        "Create a deal",
        resolver=deal_resolvers.create_deal,
        status=201,
        body=deals.DealBody,
        dropped=deals.DROPPED,
        answer="DealId",
        twin="Mutation.dealCreate",
        description="The caller becomes the owner. source, champion_id, notes, parent_deal_id and competitors are "
        "accepted and dropped. Emits deal_created.",
        response_headers=("Location", "X-Ignored-Fields"),
    ),
    Operation(
        "GET",
        "/deals",
        deals.listing,
        "List deals",
        resolver=deal_resolvers.list_deals,
        query=deals.DealQuery,
        answer=deals.DEAL,
        many=True,
        twin="Query.deals",
        description="The newest first, then by id.",
    ),
    Operation(
        "GET",
        "/deals/{deal_id}",
        deals.detail,
        "Get a deal",
        resolver=deal_resolvers.get_deal,
        answer=deals.DEAL,
        twin="Query.deal",
        request_headers=("If-None-Match",),
        response_headers=("ETag",),
        errors=(304, 404),
    ),
    Operation(
        "PATCH",
        "/deals/{deal_id}",
        deals.change,
        "Change a deal",
        resolver=deal_resolvers.update_deal,
        body=deals.DealPatch,
        answer=deals.DEAL,
        twin="Mutation.dealUpdate",
        description="A field that is left out stays, an explicit null clears it. parent_deal_id and competitors cannot "
        "be set and are ignored.",
        request_headers=("If-Match",),
        response_headers=("ETag", "X-Ignored-Fields"),
        errors=(404, 412),
    ),
    Operation(
        "DELETE",
        "/deals/{deal_id}/contacts/{contact_id}",
        deals.unlink,
        "Unlink a contact from a deal",
        resolver=deal_resolvers.unlink_contact,
        status=204,
        twin="Mutation.dealContactUnlink",
        description="Idempotent: succeeds whether or not there was a link.",
    ),
    Operation(
        "POST",
        "/deals/{deal_id}/competitors/detect",
        competitors.detect,
        "Detect the competitors on a deal",
        resolver=competitor_resolvers.detect_competitors,
        answer="CompetitorDetection",
        twin="Mutation.dealCompetitorsDetect",
        description="Looks for the catalogue's competitors in the deal's notes and its meetings' subjects, bodies and "
        "transcripts. Those of a confidence from 0.5 on become the deal's competitors. No body is read.",
        errors=(404,),
    ),
    Operation(
        "GET",
        "/accounts/{account_id}/health/latest",
        health.latest,
        "Get the latest health snapshot of an account",
        resolver=health_resolvers.latest_health,
        answer="LatestHealth",
        twin="Account.health",
        description="An empty object for an account that was never scored.",
    ),
    Operation(
        "POST",
        "/accounts/{account_id}/health/refresh",
        health.refresh,
        "Refresh the health of an account",
        resolver=health_resolvers.refresh_health,
        answer=health.SNAPSHOT,
        twin="Mutation.accountHealthRefresh",
        description="Computes and stores a new snapshot with its nine factors.",
        errors=(404,),
    ),
    Operation(
        "PATCH",
        "/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report",
        cx_reports.change,
        "Edit a CX report by hand and render it again",
        resolver=cx_report_resolvers.edit_report,
        status=202,
        body=cx_reports.CXReportPatch,
        answer="CXReportEdited",
        twin="Mutation.cxReportEdit",
        description="Writes a new revision and queues the rendering of PDF, review spreadsheet and deck, and nothing "
        "else. A render that still waits is superseded; until all three new files are there, the last ones stay.",
        response_headers=("Location", "X-Ignored-Fields"),
        errors=(404,),
    ),
    Operation(
        "GET",
        "/jobs/{job_id}",
        jobs.detail,
        "Get a job",
        resolver=job_resolvers.get_job,
        answer=jobs.JOB,
        twin="Query.job",
        description="What has become of work that runs later; a status_url leads here.",
        errors=(404,),
    ),
    Operation(
        "DELETE",
        "/outreach/campaigns/{campaign_id}",
        campaigns.delete,
        "Delete a campaign",
        resolver=campaign_resolvers.delete_campaign,
        status=204,
        twin="Mutation.campaignDelete",
        description="First the sequence at the sequencing provider, then the record with its enrollments. A provider "
        "that cannot be reached blocks nothing; what it is left with is removed later.",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/outreach/campaigns/{campaign_id}/pause",
        campaigns.pause,
        "Pause a campaign",
        resolver=campaign_resolvers.pause_campaign,
        answer=campaigns.CAMPAIGN,
        twin="Mutation.campaignPause",
        description="Takes effect at once; provider_sync shows whether the sequencing provider knows. One that is "
        "paused stays as it is.",
        errors=(404, 409),
    ),
    Operation(
        "GET",
        "/outreach/domains",
        outreach_domains.listing,
        "List outreach domains",
        resolver=outreach_domain_resolvers.list_domains,
        answer=outreach_domains.DOMAIN,
        many=True,
        twin="Query.outreachDomains",
        description="By name.",
    ),
    Operation(
        "POST",
        "/cards/captures/confirm",
        leads.confirm,
        "Confirm a capture",
        resolver=lead_resolvers.confirm_capture,
        body=CardCapture,
        answer="LeadId",
        twin="Mutation.cardCaptureConfirm",
        description="Writes a lead. The same card_id again answers the same lead_id and updates the lead's fields.",
        response_headers=("X-Ignored-Fields",),
    ),
    Operation(
        "GET",
        "/leads",
        leads.listing,
        "List leads",
        resolver=lead_resolvers.list_leads,
        query=leads.LeadQuery,
        answer=leads.LEAD,
        many=True,
        twin="Query.leads",
        description="The newest first, then by id; without their capture payloads.",
    ),
    Operation(
        "GET",
        "/leads/{lead_id}",
        leads.detail,
        "Get a lead",
        resolver=lead_resolvers.get_lead,
        answer=leads.LEAD_WITH_PAYLOAD,
        twin="Query.lead",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/leads/{lead_id}/convert",
        leads.convert,
        "Convert a lead",
        resolver=lead_conversion.convert_lead,
        body=lead_conversion.LeadConversion,
        body_required=False,
        answer="LeadConversionResult",
        twin="Mutation.leadConvert",
        description="In one transaction, into the records that are named, of which only empty fields are filled, or "
        "into new ones; a deal only where deal_id or deal_name is given. Repeating it answers the first conversion.",
        response_headers=("X-Ignored-Fields",),
        errors=(404, 409),
    ),
    Operation(
        "POST",
        "/organization-pats",
        credentials.create_key,
        "Create an organization API key",
        resolver=credential_resolvers.create_organization_key,
        status=201,
        body=CredentialCreate,
        answer="NewOrganizationKey",
        twin="Mutation.organizationKeyCreate",
        description="Bound to the organization that is active now. pat_key is returned this once.",
        response_headers=("Cache-Control", "X-Ignored-Fields"),
    ),
    Operation(
        "GET",
        "/organization-pats",
        credentials.list_keys,
        "List organization API keys",
        resolver=credential_resolvers.list_organization_keys,
        answer="Credential",
        many=True,
        twin="Query.organizationKeys",
        description="The caller's own; with organizations:manage those of all members, who are then named.",
    ),
    Operation(
        "PATCH",
        "/organization-pats/{id}",
        credentials.rename_key,
        "Rename an organization API key",
        resolver=credential_resolvers.rename_organization_key,
        body=CredentialRename,
        answer="Credential",
        twin="Mutation.organizationKeyRename",
        description="The caller's own only.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    Operation(
        "DELETE",
        "/organization-pats/{id}",
        credentials.revoke_key,
        "Revoke an organization API key",
        resolver=credential_resolvers.revoke_organization_key,
        status=204,
        twin="Mutation.organizationKeyRevoke",
        description="The caller's own; with organizations:manage any of the organization's. Takes effect at once.",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/user-pats",
        credentials.create_token,
        "Create a user personal access token",
        resolver=credential_resolvers.create_user_token,
        status=201,
        body=CredentialCreate,
        answer="NewUserToken",
        twin="Mutation.userTokenCreate",
        description="Acts in any organization of its user, chosen per request by X-Service-Org. pat_key is returned "
        "this once.",
        response_headers=("Cache-Control", "X-Ignored-Fields"),
    ),
    Operation(
        "GET",
        "/user-pats",
        credentials.list_tokens,
        "List user personal access tokens",
        resolver=credential_resolvers.list_user_tokens,
        answer="Credential",
        many=True,
        twin="Query.userTokens",
        description="The caller's own, whoever asks.",
    ),
    Operation(
        "PATCH",
        "/user-pats/{id}",
        credentials.rename_token,
        "Rename a user personal access token",
        resolver=credential_resolvers.rename_user_token,
        body=CredentialRename,
        answer="Credential",
        twin="Mutation.userTokenRename",
        description="The caller's own only.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    Operation(
        "DELETE",
        "/user-pats/{id}",
        credentials.revoke_token,
        "Revoke a user personal access token",
        resolver=credential_resolvers.revoke_user_token,
        status=204,
        twin="Mutation.userTokenRevoke",
        description="The caller's own only. Takes effect at once.",
        errors=(404,),
    ),
    Operation(
        "POST",
        "/feedback",
        feedback.submit,
        "Submit feedback on the platform",
        resolver=feedback_resolvers.submit_feedback,
        status=201,
        body=FeedbackCreate,
        answer="FeedbackId",
        twin="Mutation.feedbackSubmit",
        description="Any valid credential will do, with an organization or without.",
        response_headers=("X-Ignored-Fields",),
    ),
    Operation(
        "POST",
        "/pat/exchange",
        exchange.exchange,
        "Exchange a key or token for a short-lived access token",
        form=exchange.ExchangeForm,
        answer="AccessToken",
        description="The credential is the bearer token, or the subject_token of an RFC 8693 form, which wins where "
        "both are given. A session token cannot be exchanged. A user token may name an organization.",
        response_headers=("Cache-Control",),
        errors=(400, 401, 403, 413, 422),
    ),
    Operation(
        "GET",
        "/media/{key}",
        media.read,
        "Read a public file",
        files=MEDIA_TYPES,
        description="A file of a rendered report: its address is an artifact's url. Whoever knows the key may read it; "
        "the bytes of a key never change. Any page may show it, in a frame too, and no script of another origin may "
        "read it. Several ranges in one request are answered with the whole.",
        request_headers=("If-None-Match", "Range", "If-Range"),
        response_headers=(
            *("ETag", "Cache-Control", "Accept-Ranges", "Content-Disposition", "X-Content-Type-Options"),
            *("Cross-Origin-Resource-Policy", "Content-Security-Policy"),
        ),
        errors=(304, 404, 416, 503),
    ),
    Operation(
        "GET",
        "/health",
        liveness.alive,
        "Whether the process lives",
        answer="Liveness",
        description="Touches no dependency.",
        response_headers=("Cache-Control",),
    ),
    Operation(
        "GET",
        "/ready",
        liveness.ready,
        "Whether the service can serve",
        answer="Readiness",
        description="Database, migrations, worker and whatever else is set, each with its own line; within 3 seconds.",
        response_headers=("Cache-Control",),
        errors=(503,),
    ),
)


def liveness_routes(services: Services, readiness: Readiness) -> list[Route]:
    """Those of them that an operator looks at."""
    looked_at = [operation for operation in OPERATIONS if operation.handler in (liveness.alive, liveness.ready)]
    return serving.routes(looked_at, services, readiness)


def rest_routes(services: Services, readiness: Readiness) -> list[Route]:
    """The routes of all the paths, to be mounted at the root."""
    return serving.routes(OPERATIONS, services, readiness)
