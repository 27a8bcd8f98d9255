"""Who is calling, and any record by its identifier."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from contract.criteria import Selection
from identity.principal import Principal
from resolvers.access import requires, rule_of
from resolvers.accounts import get_account
from resolvers.campaigns import get_campaign
from resolvers.competitors import list_competitors
from resolvers.contacts import get_contact
from resolvers.context import Context
from resolvers.credentials import CredentialView, list_organization_keys, list_user_tokens
from resolvers.deals import get_deal
from resolvers.enrollments import enrollments_of_campaign
from resolvers.found import Found
from resolvers.health import latest_health
from resolvers.jobs import get_job
from resolvers.leads import get_lead
from resolvers.lists import by_id
from resolvers.mailboxes import list_mailboxes
from resolvers.meetings import get_meeting
from resolvers.outreach_domains import list_domains
from resolvers.pipeline_stages import get_stage
from resolvers.research import get_result, get_run
from resolvers.webhooks import list_webhooks
from storage.base import as_uuid
from storage.queries import nouns
from storage.queries.kinds import kinds_of

_Lister = Callable[[Context], Awaitable[Sequence[CredentialView]]]


@requires(None, organization=False)
async def get_viewer(ctx: Context) -> Principal:
    """The caller."""
    return ctx.caller


_RECORDS = {
    "Account": (nouns.ACCOUNTS, rule_of(get_account)),
    "Contact": (nouns.CONTACTS, rule_of(get_contact)),
    "Deal": (nouns.DEALS, rule_of(get_deal)),
    "Competitor": (nouns.COMPETITORS, rule_of(list_competitors)),
    "PipelineStage": (nouns.STAGES, rule_of(get_stage)),
    "Lead": (nouns.LEADS, rule_of(get_lead)),
    "Meeting": (nouns.MEETINGS, rule_of(get_meeting)),
    "HealthSnapshot": (nouns.SNAPSHOTS, rule_of(latest_health)),
    "ResearchRun": (nouns.RESEARCH_RUNS, rule_of(get_run)),
    "ResearchResult": (nouns.RESEARCH_RESULTS, rule_of(get_result)),
    "Job": (nouns.JOBS, rule_of(get_job)),
    "HealthFactor": (nouns.FACTORS, rule_of(latest_health)),
    "Campaign": (nouns.CAMPAIGNS, rule_of(get_campaign)),
    "Enrollment": (nouns.ENROLLMENTS, rule_of(enrollments_of_campaign)),
    "OutreachDomain": (nouns.DOMAINS, rule_of(list_domains)),
    "Mailbox": (nouns.MAILBOXES, rule_of(list_mailboxes)),
    "Webhook": (nouns.WEBHOOKS, rule_of(list_webhooks)),
}
"""The kinds that can be found by an identifier, each with the rule of the operation that reads it."""

_CREDENTIALS: dict[str, _Lister] = {"OrganizationKey": list_organization_keys, "UserToken": list_user_tokens}


@requires(None, organization=False)
async def get_node(ctx: Context, identifier: str, selections: Mapping[str, Selection]) -> Found | None:
    """Any record that the caller may read; None where it is missing, another organization's, or out of reach.

    It comes with what is selected of its kind.
    """
    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    kind = await _kind(ctx, canonical)
    if kind is None:
        return await _credential(ctx, canonical)
    noun, _ = _RECORDS[kind]
    record = await by_id(ctx, noun, canonical, selections[kind])
    return None if record is None else Found(kind, record)


async def _kind(ctx: Context, identifier: str) -> str | None:
    """Of which of the kinds that the caller may read the record is, looked up with its neighbours."""
    readable = {kind: noun for kind, (noun, rule) in _RECORDS.items() if rule.admits(ctx.principal)}

    async def load(ids: list[str]) -> list[str | None]:
        async with ctx.reading() as session:
            kinds = await kinds_of(session, readable, ids)
        return [kinds.get(i) for i in ids]

    result: str | None = await ctx.loader("kinds", load).load(identifier) if readable else None
    return result


async def _credential(ctx: Context, identifier: str) -> Found | None:
    async def load(ids: list[str]) -> list[Found | None]:
        lists = [(kind, await lister(ctx)) for kind, lister in _CREDENTIALS.items() if _admits(ctx, lister)]
        found = {credential.id: Found(kind, credential) for kind, credentials in lists for credential in credentials}
        return [found.get(i) for i in ids]

    result: Found | None = await ctx.loader("credentials", load).load(identifier)
    return result


def _admits(ctx: Context, resolver: object) -> bool:
    return rule_of(resolver).admits(ctx.principal)
