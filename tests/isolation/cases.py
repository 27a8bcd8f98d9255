"""Every operation: the group that guards it, by the specification, and requests that reach it through each surface.

Those of a record type with a module in `tests/records` stand there.
"""

from __future__ import annotations

from contract.criteria import EVERYTHING, ListQuery, PageWindow
from tests.isolation.analytics import CASES as ANALYTICS
from tests.isolation.bulk import CASES as BULK
from tests.isolation.chat import CASES as CHAT
from tests.isolation.requests import EACH_LINK, ERRORS, Case, Graph, Rest, by_id, change, fill, names, of, put, q
from tests.support.record_types import record_types

__all__ = ["CASES", "Case", "Graph", "Rest", "fill", "names", "put", "q"]

_BEGINNING = "WyJzZXF1ZW5jZSIsImEiLDBd"  # the cursor before the first event of any log
_RECORDS = [
    "account",
    "contact",
    "deal",
    "lead",
    "stage",
    "meeting",
    "snapshot",
    "factor",
    "run",
    "result",
    "job",
    "key",
    "token",
    "campaign",
    "enrollment",
    "outreach domain",
    "mailbox",
    "webhook",
    "question",
    "thread",
    "message",
    "chat run",
    "approval",
    *(record.name for record in record_types() if record.is_node),
]

_SYNC = ("meetings.get_meeting", "meeting_sync.sync_of_meeting")
CASES: dict[str, Case] = {
    # Who is calling.
    "viewer.get_viewer": Case(
        None,
        (Rest("GET", "/viewer"), q("{ viewer { subject organization { id } organizations { id } } }")),
        organization=False,
    ),
    "costs.estimate_cost": Case(
        None, (q('{ costEstimate(document: "{ deals { nodes { id } } }") { requested } }'),), organization=False
    ),
    "viewer.get_node": Case(
        None,
        (
            *(q("query($id: ID!) { node(id: $id) { id __typename } }", id=f"<{record}>") for record in _RECORDS),
            q("query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }", ids=[f"<{r}>" for r in _RECORDS]),
        ),
        organization=False,
    ),
    # Meetings.
    "meetings.get_meeting": Case("MEETINGS_READ", (of("meeting", "subject"),)),
    "meetings.list_meetings": Case(
        "MEETINGS_READ",
        (
            Rest("GET", "/activities/meetings?account_id=<account>"),
            Rest("GET", "/activities/meetings?deal_id=<deal>"),
            Rest("GET", "/activities/meetings"),
            q(
                "query($a: ID!, $d: ID!, $c: ID!) { meetings(filter: {or: [{accountId: {eq: $a}}, {dealId: {in: [$d]}},"
                " {contactId: {eq: $c}}, {deal: {id: {eq: $d}}}, {account: {id: {eq: $a}}}]})"
                " { nodes { subject } totalCount } }",
                a="<account>",
                d="<deal>",
                c="<contact>",
            ),
        ),
    ),
    "meetings.log_meeting": Case(
        "CRM_MANAGE",
        (
            *(
                put("meetingLog", "MeetingLogInput", "meeting { subject }", subject="<name>", **link)
                for link in EACH_LINK
            ),
        ),
    ),
    "meetings.update_meeting": Case(
        "CRM_MANAGE",
        (
            change("meetingUpdate", "MeetingUpdateInput", "meeting { subject }", "<meeting>", subject="<name>"),
            *(
                change("meetingUpdate", "MeetingUpdateInput", "meeting { id }", "<own meeting>", **link)
                for link in EACH_LINK
            ),
        ),
    ),
    "meetings.complete_meeting": Case("CRM_MANAGE", (by_id("meetingComplete", "meeting", "meeting { id }"),)),
    "meetings.delete_meeting": Case("CRM_MANAGE", (by_id("meetingDelete", "meeting", "deletedId"),)),
    # Accounts.
    "accounts.get_account": Case(
        "CRM_READ",
        (
            Rest("GET", "/accounts/<account>"),
            of("account", "name"),
            q("query($domain: String!) { account(domain: $domain) { name } }", domain="<domain>"),
        ),
    ),
    "accounts.list_accounts": Case(
        "CRM_READ",
        (
            Rest("GET", "/accounts?name=<name>"),
            q("query($id: ID!) { accounts(filter: {id: {eq: $id}}) { nodes { name } totalCount } }", id="<account>"),
        ),
    ),
    "accounts.contacts_of_account": Case(
        "CRM_READ",
        (of("account", "contacts { nodes { lastName } totalCount }"),),
        below=("accounts.get_account",),
        direct=("<account>", ListQuery()),
    ),
    "accounts.deals_of_account": Case(
        "CRM_READ",
        (of("account", "deals { nodes { name } totalCount }"),),
        below=("accounts.get_account",),
        direct=("<account>", ListQuery()),
    ),
    "accounts.meetings_of_account": Case(
        "MEETINGS_READ",
        (of("account", "meetings { nodes { subject } totalCount }"),),
        below=("accounts.get_account",),
        direct=("<account>", ListQuery()),
    ),
    "accounts.create_account": Case(
        "CRM_MANAGE", (put("accountCreate", "AccountCreateInput", "account { name }", name="<name>"),)
    ),
    "accounts.update_account": Case(
        "CRM_MANAGE", (change("accountUpdate", "AccountUpdateInput", "account { name }", "<account>", name="<name>"),)
    ),
    "accounts.delete_account": Case("CRM_MANAGE", (by_id("accountDelete", "account", "deletedId"),)),
    # Health.
    "health.latest_health": Case(
        "MEETINGS_READ",
        (Rest("GET", "/accounts/<account>/health/latest"), of("account", "health { score }")),
        below=("accounts.get_account",),
        direct=("<account>",),
    ),
    "health.factors_of": Case(
        "MEETINGS_READ",
        (of("account", "health { score factors { score } }"),),
        below=("accounts.get_account", "health.latest_health"),
        direct=("<snapshot>",),
    ),
    "health.health_history": Case(
        "MEETINGS_READ",
        (of("account", "healthHistory { nodes { score } totalCount }"),),
        below=("accounts.get_account",),
        direct=("<account>", PageWindow()),
    ),
    "health.refresh_health": Case(
        "CRM_MANAGE",
        (
            Rest("POST", "/accounts/<account>/health/refresh"),
            by_id("accountHealthRefresh", "account", "snapshot { score }"),
        ),
    ),
    # Contacts.
    "contacts.get_contact": Case("CRM_READ", (Rest("GET", "/contacts/<contact>"), of("contact", "lastName"))),
    "contacts.list_contacts": Case(
        "CRM_READ",
        (
            Rest("GET", "/contacts?account_id=<account>"),
            q(
                "query($a: ID!, $c: ID!) { contacts(filter: {or: [{id: {eq: $c}}, {accountId: {eq: $a}},"
                " {account: {id: {eq: $a}}}]}) { nodes { lastName } totalCount } }",
                a="<account>",
                c="<contact>",
            ),
        ),
    ),
    "contacts.deals_of_contact": Case(
        "CRM_READ",
        (of("contact", "deals { nodes { name } totalCount }"),),
        below=("contacts.get_contact",),
        direct=("<contact>", ListQuery()),
    ),
    "contacts.meetings_of_contact": Case(
        "MEETINGS_READ",
        (of("contact", "meetings { nodes { subject } totalCount }"),),
        below=("contacts.get_contact",),
        direct=("<contact>", ListQuery()),
    ),
    "contacts.create_contact": Case(
        "CRM_MANAGE",
        (put("contactCreate", "ContactCreateInput", "contact { lastName }", lastName="<name>", accountId="<account>"),),
    ),
    "contacts.update_contact": Case(
        "CRM_MANAGE",
        (
            change("contactUpdate", "ContactUpdateInput", "contact { lastName }", "<contact>", lastName="<name>"),
            change("contactUpdate", "ContactUpdateInput", "contact { id }", "<own contact>", accountId="<account>"),
        ),
    ),
    "contacts.delete_contact": Case("CRM_MANAGE", (by_id("contactDelete", "contact", "deletedId"),)),
    # Deals.
    "deals.get_deal": Case("CRM_READ", (Rest("GET", "/deals/<deal>"), of("deal", "name"))),
    "deals.list_deals": Case(
        "CRM_READ",
        (
            Rest("GET", "/deals?account_id=<account>"),
            Rest("GET", "/deals?stage_id=<stage>"),
            Rest("GET", "/deals?unstaged=true"),
            q(
                "query($a: ID!, $c: ID!, $d: ID!, $s: ID!) { deals(filter: {or: [{id: {eq: $d}}, {accountId: {eq: $a}},"
                " {championId: {eq: $c}}, {stageId: {eq: $s}}, {account: {id: {in: [$a]}}}]})"
                " { nodes { name } totalCount } }",
                a="<account>",
                c="<contact>",
                d="<deal>",
                s="<stage>",
            ),
        ),
    ),
    "deals.contacts_of_deal": Case(
        "CRM_READ",
        (Rest("GET", "/deals/<deal>/contacts"), of("deal", "contacts { nodes { lastName } totalCount }")),
        below=("deals.get_deal",),
        direct=("<deal>", ListQuery()),
    ),
    "deals.meetings_of_deal": Case(
        "MEETINGS_READ",
        (of("deal", "meetings { nodes { subject } totalCount }"),),
        below=("deals.get_deal",),
        direct=("<deal>", ListQuery()),
    ),
    "deals.stage_history": Case(
        "CRM_READ",
        (of("deal", "stageHistory { at by toStage { name } }"),),
        below=("deals.get_deal",),
        direct=("<deal>",),
    ),
    "deals.deal_board": Case(
        "CRM_READ",
        (
            q(
                "query($a: ID!) { dealBoard(filter: {accountId: {eq: $a}})"
                " { columns { stage { name } totals { amount count } } } }",
                a="<account>",
            ),
        ),
    ),
    "deals.deals_of_stage": Case(
        "CRM_READ",
        (
            q(
                "query($a: ID!) { dealBoard(filter: {accountId: {eq: $a}}) { columns { deals { nodes { name } } } } }",
                a="<account>",
            ),
        ),
        below=("deals.deal_board",),
        direct=("<second stage>", ListQuery()),
    ),
    "deals.unstaged_deals": Case(
        "CRM_READ",
        (
            q(
                "query($a: ID!) { dealBoard(filter: {accountId: {eq: $a}}) { unstaged { nodes { name } } } }",
                a="<account>",
            ),
        ),
        below=("deals.deal_board",),
        direct=(EVERYTHING,),
    ),
    "deals.create_deal": Case(
        "CRM_MANAGE",
        (
            Rest("POST", "/deals", {"name": "<name>", "account_id": "<account>", "stage_id": "<stage>"}),
            put("dealCreate", "DealCreateInput", "deal { name }", name="<name>", accountId="<account>"),
            put("dealCreate", "DealCreateInput", "deal { name }", name="<name>", stageId="<stage>"),
        ),
    ),
    "deals.update_deal": Case(
        "CRM_MANAGE",
        (
            Rest("PATCH", "/deals/<deal>", {"name": "<name>"}),
            Rest("PATCH", "/deals/<own deal>", {"account_id": "<account>", "champion_id": "<contact>"}),
            change("dealUpdate", "DealUpdateInput", "deal { name }", "<deal>", name="<name>"),
            change("dealUpdate", "DealUpdateInput", "deal { id }", "<own deal>", accountId="<account>"),
            change("dealUpdate", "DealUpdateInput", "deal { id }", "<own deal>", stageId="<stage>"),
            change("dealUpdate", "DealUpdateInput", "deal { id }", "<own deal>", championId="<contact>"),
        ),
    ),
    "deals.delete_deal": Case("CRM_MANAGE", (by_id("dealDelete", "deal", "deletedId"),)),
    "deals.link_contact": Case(
        "CRM_MANAGE",
        tuple(
            request
            for deal, contact in (("<deal>", "<contact>"), ("<own deal>", "<contact>"), ("<deal>", "<own contact>"))
            for request in (
                Rest("PUT", f"/deals/{deal}/contacts/{contact}", {"role": "r"}),
                q(
                    "mutation($deal: ID!, $contact: ID!) {"
                    ' dealContactLink(dealId: $deal, contactId: $contact, role: "r")'
                    f" {{ deal {{ id }} {ERRORS} }} }}",
                    deal=deal,
                    contact=contact,
                ),
            )
        ),
    ),
    "deals.unlink_contact": Case(
        "CRM_MANAGE",
        (
            Rest("DELETE", "/deals/<deal>/contacts/<contact>"),
            q(
                "mutation($deal: ID!, $contact: ID!) { dealContactUnlink(dealId: $deal, contactId: $contact)"
                f" {{ dealId contactId {ERRORS} }} }}",
                deal="<deal>",
                contact="<contact>",
            ),
        ),
    ),
    # The search.
    "search.search": Case(
        "CRM_READ", (q("query($query: String!) { search(query: $query) { node { id } snippet } }", query="<domain>"),)
    ),
    # Pipeline stages.
    "pipeline_stages.list_stages": Case(
        "CRM_READ", (Rest("GET", "/pipeline-stages"), q("{ pipelineStages { name } }"))
    ),
    "pipeline_stages.get_stage": Case(
        "CRM_READ", (of("deal", "stage { name }"),), below=("deals.get_deal",), direct=("<stage>",)
    ),
    "pipeline_stages.create_stage": Case(
        "ORG_ADMIN", (put("pipelineStageCreate", "PipelineStageInput", "stage { name }", name="<name>"),)
    ),
    "pipeline_stages.update_stage": Case(
        "ORG_ADMIN",
        (change("pipelineStageUpdate", "PipelineStageUpdateInput", "stage { name }", "<stage>", name="<name>"),),
    ),
    "pipeline_stages.reorder_stages": Case(
        "ORG_ADMIN",
        (
            q(
                f"mutation($ids: [ID!]!) {{ pipelineStageReorder(ids: $ids) {{ stages {{ name }} {ERRORS} }} }}",
                ids=["<second stage>", "<stage>"],
            ),
        ),
    ),
    "pipeline_stages.delete_stage": Case("ORG_ADMIN", (by_id("pipelineStageDelete", "stage", "deletedId"),)),
    # Leads.
    "leads.get_lead": Case("CRM_READ", (Rest("GET", "/leads/<lead>"), of("lead", "name capturePayload"))),
    "leads.list_leads": Case(
        "CRM_READ",
        (
            Rest("GET", "/leads"),
            q(
                "query($id: ID!) { leads(filter: {id: {eq: $id}})"
                " { nodes { name account { name } contact { lastName } deal { name } } totalCount } }",
                id="<lead>",
            ),
        ),
    ),
    "leads.confirm_capture": Case(
        "CRM_MANAGE",
        (
            Rest("POST", "/cards/captures/confirm", {"card_id": "<name>", "name": "<name>"}),
            put("cardCaptureConfirm", "CardCaptureInput", "lead { name }", cardId="<name>", name="<name>"),
        ),
    ),
    "leads.update_lead": Case(
        "CRM_MANAGE", (change("leadUpdate", "LeadUpdateInput", "lead { name }", "<lead>", name="<name>"),)
    ),
    "leads.disqualify_lead": Case(
        "CRM_MANAGE",
        (
            q(
                f'mutation($id: ID!) {{ leadDisqualify(id: $id, reason: "r") {{ lead {{ id }} {ERRORS} }} }}',
                id="<lead>",
            ),
        ),
    ),
    "leads.reopen_lead": Case("CRM_MANAGE", (by_id("leadReopen", "lead", "lead { id }"),)),
    "lead_conversion.preview_conversion": Case(
        "CRM_READ",
        (
            q(
                "query($id: ID!) { leadConversionPreview(id: $id)"
                " { accounts { reason node { id } } contacts { reason node { id } } } }",
                id="<lead>",
            ),
        ),
    ),
    "lead_conversion.convert_lead": Case(
        "CRM_MANAGE",
        (
            Rest("POST", "/leads/<lead>/convert", {"deal_name": "<name>"}),
            Rest("POST", "/leads/<own lead>/convert", {"account_id": "<account>", "deal_id": "<deal>"}),
            Rest("POST", "/leads/<own lead>/convert", {"contact_id": "<contact>"}),
            put("leadConvert", "LeadConvertInput", "lead { id }", leadId="<lead>", dealName="<name>"),
            put("leadConvert", "LeadConvertInput", "lead { id }", leadId="<own lead>", accountId="<account>"),
            put("leadConvert", "LeadConvertInput", "lead { id }", leadId="<own lead>", contactId="<contact>"),
            put("leadConvert", "LeadConvertInput", "lead { id }", leadId="<own lead>", dealId="<deal>"),
        ),
    ),
    # Feedback.
    "feedback.submit_feedback": Case(
        None,
        (
            Rest("POST", "/feedback", {"kind": "idea", "message": "<name>"}),
            put("feedbackSubmit", "FeedbackInput", "id", kind="IDEA", message="<name>"),
        ),
        organization=False,
    ),
    # Credentials.
    "credentials.list_organization_keys": Case(
        "PATS_READ", (Rest("GET", "/organization-pats"), q("{ organizationKeys { name } }"))
    ),
    "credentials.create_organization_key": Case(
        "PATS_CREATE",
        (
            Rest("POST", "/organization-pats", {"name": "<name>"}),
            put("organizationKeyCreate", "CredentialCreateInput", "organizationKey { name }", name="<name>"),
        ),
    ),
    "credentials.rename_organization_key": Case(
        "PATS_CREATE",
        (
            Rest("PATCH", "/organization-pats/<key>", {"name": "<name>"}),
            q(
                "mutation($id: ID!, $name: String!) { organizationKeyRename(id: $id, name: $name)"
                f" {{ organizationKey {{ name }} {ERRORS} }} }}",
                id="<key>",
                name="<name>",
            ),
        ),
    ),
    "credentials.revoke_organization_key": Case(
        "PATS_DELETE",
        (Rest("DELETE", "/organization-pats/<key>"), by_id("organizationKeyRevoke", "key", "deletedId")),
    ),
    "credentials.list_user_tokens": Case(
        "PATS_READ", (Rest("GET", "/user-pats"), q("{ userTokens { name } }")), organization=False, in_person=True
    ),
    "credentials.create_user_token": Case(
        "PATS_CREATE",
        (
            Rest("POST", "/user-pats", {"name": "<name>"}),
            put("userTokenCreate", "CredentialCreateInput", "userToken { name }", name="<name>"),
        ),
        organization=False,
        in_person=True,
    ),
    "credentials.rename_user_token": Case(
        "PATS_CREATE",
        (
            Rest("PATCH", "/user-pats/<token>", {"name": "<name>"}),
            q(
                "mutation($id: ID!, $name: String!) { userTokenRename(id: $id, name: $name)"
                f" {{ userToken {{ name }} {ERRORS} }} }}",
                id="<token>",
                name="<name>",
            ),
        ),
        organization=False,
        in_person=True,
    ),
    "credentials.revoke_user_token": Case(
        "PATS_DELETE",
        (Rest("DELETE", "/user-pats/<token>"), by_id("userTokenRevoke", "token", "deletedId")),
        organization=False,
        in_person=True,
    ),
    # Customer intelligence.
    "research.get_run": Case("CRM_READ", (q("query($id: ID!) { researchRun(id: $id) { name status } }", id="<run>"),)),
    "research.list_runs": Case("CRM_READ", (q("{ researchRuns { nodes { name status } totalCount } }"),)),
    "research.get_result": Case(
        "CRM_READ",
        (q("query($id: ID!) { researchResult(id: $id) { companyName domain factors error } }", id="<result>"),),
    ),
    "research.results_of_run": Case(
        "CRM_READ",
        (
            q(
                "query($id: ID!) { researchRun(id: $id) { id results { nodes { companyName } totalCount } } }",
                id="<run>",
            ),
        ),
        below=("research.get_run",),
        direct=("<run>", ListQuery()),
    ),
    "research.create_run": Case(
        "CRM_MANAGE",
        (
            put(
                "researchRunCreate",
                "ResearchRunInput",
                "run { name }",
                name="<name>",
                targets=[{"companyName": "Company", "domain": "company.example"}],
            ),
        ),
    ),
    "research.cancel_run": Case("CRM_MANAGE", (by_id("researchRunCancel", "run", "run { status }"),)),
    "cx_reports.report_of_result": Case(
        "CRM_READ",
        (
            Rest("GET", "/customer-intelligence/runs/<run>/results/<result>/cx-report"),
            q("query($id: ID!) { researchResult(id: $id) { id cxReport { copyBlobs brand } } }", id="<result>"),
        ),
        below=("research.get_result",),
        direct=("<result>",),
    ),
    "cx_reports.artifacts_of": Case(
        "CRM_READ",
        (q("query($id: ID!) { researchResult(id: $id) { id cxReport { artifacts { url } } } }", id="<result>"),),
        below=("research.get_result", "cx_reports.report_of_result"),
        direct=("<report>",),
    ),
    "cx_reports.edit_report": Case(
        "CRM_MANAGE",
        tuple(
            request
            for run, result in (("<run>", "<result>"), ("<own run>", "<result>"), ("<run>", "<own result>"))
            for request in (
                Rest(
                    "PATCH",
                    f"/customer-intelligence/runs/{run}/results/{result}/cx-report",
                    {"copy_blobs": {"headline": "<name>"}},
                ),
                q(
                    "mutation($run: ID!, $result: ID!, $input: CXReportEditInput!)"
                    " { cxReportEdit(runId: $run, resultId: $result, input: $input)"
                    f" {{ report {{ copyBlobs }} job {{ id }} {ERRORS} }} }}",
                    run=run,
                    result=result,
                    input={"copyBlobs": {"headline": "<name>"}},
                ),
            )
        ),
    ),
    # Jobs.
    "jobs.get_job": Case("CRM_READ", (Rest("GET", "/jobs/<job>"), of("job", "kind status error"))),
    "jobs.watch_job": Case(
        "CRM_READ", (q("subscription($id: ID!) { jobUpdated(id: $id) { id kind status error } }", id="<job>"),)
    ),
    "integration_watch.watch_integration": Case(
        "CRM_READ",
        (q("subscription($id: ID!) { integrationUpdated(id: $id) { id } }", id="<integration>"),),
    ),
    "meeting_sync.sync_of_meeting": Case(
        "MEETINGS_READ", (of("meeting", "sync { uid }"),), below=("meetings.get_meeting",), direct=("<meeting>",)
    ),
    "meeting_sync.participants_of_meeting": Case(
        "MEETINGS_READ",
        (of("meeting", "participants { email }"),),
        below=("meetings.get_meeting",),
        direct=("<meeting>",),
    ),
    "meeting_sync.candidates_of_meeting": Case(
        "CRM_READ",
        (of("meeting", "sync { dealCandidates { id } }"),),
        below=("meetings.get_meeting", "meeting_sync.sync_of_meeting"),
        direct=("<meeting>",),
    ),
    "meeting_sync.sources_of_meeting": Case(
        "MEETINGS_READ",
        (of("meeting", "sync { sources { integrationId } }"),),
        below=("meetings.get_meeting", "meeting_sync.sync_of_meeting"),
        direct=("<meeting>",),
    ),
    # Outreach.
    "campaigns.get_campaign": Case(
        "OUTREACH_READ", (Rest("GET", "/outreach/campaigns/<campaign>"), of("campaign", "name steps { subject }"))
    ),
    "campaigns.list_campaigns": Case(
        "OUTREACH_READ",
        (
            Rest("GET", "/outreach/campaigns"),
            q("query($id: ID!) { campaigns(filter: {id: {eq: $id}}) { nodes { name } totalCount } }", id="<campaign>"),
        ),
    ),
    "campaigns.mailboxes_of_campaign": Case(
        "OUTREACH_READ",
        (of("campaign", "mailboxes { email }"),),
        below=("campaigns.get_campaign",),
        direct=("<campaign>",),
    ),
    "campaigns.create_campaign": Case(
        "OUTREACH_MANAGE",
        (put("campaignCreate", "CampaignCreateInput", "campaign { name }", name="<name>", mailboxIds=["<mailbox>"]),),
    ),
    "campaigns.update_campaign": Case(
        "OUTREACH_MANAGE",
        (
            change("campaignUpdate", "CampaignUpdateInput", "campaign { name }", "<campaign>", name="<name>"),
            change(
                "campaignUpdate", "CampaignUpdateInput", "campaign { id }", "<own campaign>", mailboxIds=["<mailbox>"]
            ),
        ),
    ),
    "campaigns.launch_campaign": Case("OUTREACH_MANAGE", (by_id("campaignLaunch", "campaign", "campaign { id }"),)),
    "campaigns.pause_campaign": Case(
        "OUTREACH_MANAGE",
        (
            Rest("POST", "/outreach/campaigns/<running campaign>/pause"),
            by_id("campaignPause", "running campaign", "campaign { id }"),
        ),
    ),
    "campaigns.resume_campaign": Case(
        "OUTREACH_MANAGE",
        (
            Rest("POST", "/outreach/campaigns/<running campaign>/resume"),
            by_id("campaignResume", "running campaign", "campaign { id }"),
        ),
    ),
    "campaigns.archive_campaign": Case("OUTREACH_MANAGE", (by_id("campaignArchive", "campaign", "campaign { id }"),)),
    "campaigns.delete_campaign": Case(
        "OUTREACH_MANAGE",
        (
            Rest("DELETE", "/outreach/campaigns/<campaign>"),
            by_id("campaignDelete", "campaign", "deletedId deletedEnrollmentCount providerOutcome"),
        ),
    ),
    "enrollments.enrollments_of_campaign": Case(
        "OUTREACH_READ",
        (of("campaign", "enrollments { nodes { email } totalCount }"),),
        below=("campaigns.get_campaign",),
        direct=("<campaign>", ListQuery()),
    ),
    "enrollments.enroll_contacts": Case(
        "OUTREACH_MANAGE",
        tuple(
            q(
                "mutation($id: ID!, $contacts: [EnrollmentInput!]!) { enrollmentsCreate(campaignId: $id,"
                f" contacts: $contacts) {{ created {{ email }} skipped {{ email reason }} {ERRORS} }} }}",
                id=campaign,
                contacts=[{"email": "new@example.com", "contactId": contact}],
            )
            for campaign, contact in (("<campaign>", "<own contact>"), ("<own campaign>", "<contact>"))
        ),
    ),
    "enrollments.remove_enrollment": Case("OUTREACH_MANAGE", (by_id("enrollmentRemove", "enrollment", "deletedId"),)),
    "outreach_domains.list_domains": Case(
        "OUTREACH_READ", (Rest("GET", "/outreach/domains"), q("{ outreachDomains { name status mailboxCount } }"))
    ),
    "outreach_domains.get_domain": Case(
        "OUTREACH_READ",
        (of("campaign", "mailboxes { domain { name } }"),),
        below=("campaigns.get_campaign", "campaigns.mailboxes_of_campaign"),
        direct=("<outreach domain>",),
    ),
    "outreach_domains.purchase_domain": Case(
        "OUTREACH_PROVISION",
        (
            q(
                f"mutation($name: String!) {{ domainPurchase(name: $name) {{ domain {{ name }} {ERRORS} }} }}",
                name="<name>.com",
            ),
        ),
    ),
    "mailboxes.list_mailboxes": Case("OUTREACH_READ", (q("{ mailboxes { email status } }"),)),
    "mailboxes.provision_mailbox": Case(
        "OUTREACH_PROVISION",
        (put("mailboxProvision", "MailboxInput", "mailbox { email }", domainId="<outreach domain>", localPart="new"),),
    ),
    # Webhooks.
    "webhooks.list_webhooks": Case("ORG_ADMIN", (q("{ webhooks { url types active } }"),)),
    "webhooks.deliveries_of_webhook": Case(
        "ORG_ADMIN",
        (q("{ webhooks { url deliveries { eventId error } } }"),),
        below=("webhooks.list_webhooks",),
        direct=("<webhook>", 20),
    ),
    "webhooks.create_webhook": Case(
        "ORG_ADMIN",
        (put("webhookCreate", "WebhookInput", "webhook { url } secret", url="https://<name>/"),),
    ),
    "webhooks.delete_webhook": Case("ORG_ADMIN", (by_id("webhookDelete", "webhook", "deletedId"),)),
    "webhooks.try_webhook": Case("ORG_ADMIN", (by_id("webhookTest", "webhook", "delivery { error }"),)),
    # The change log.
    "events.list_events": Case("CRM_READ", (q("{ events { nodes { type data } } }"),)),
    "events.list_changes": Case(
        "CRM_READ",
        (
            Rest("GET", "/changes?since=2000-01-01T00:00:00Z"),
            q('{ changes(since: "2000-01-01T00:00:00Z") { nodes { type data } } }'),
        ),
    ),
    "chat_tools.list_tools": Case("CRM_READ", (Rest("GET", "/chat/tools"), q("{ chatTools { name documents } }"))),
    "events.watch_events": Case(
        "CRM_READ", (q("subscription($after: String) { events(after: $after) { type data } }", after=_BEGINNING),)
    ),
    **ANALYTICS,
    **BULK,
    **CHAT,
    **{name: case for record in record_types() for name, case in record.cases.items()},
}
