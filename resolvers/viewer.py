"""Reads who is calling, and any record by its identifier."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from contract.criteria import Selection
from identity.principal import Principal
from resolvers import chat_approvals, chat_runs, chat_threads
from resolvers.analytics_runs import get_run, runs_of
from resolvers.credentials import CredentialView, list_organization_keys, list_user_tokens
from resolvers.integration_items import items_of, list_items
from resolvers.integrations import get_integration
from resolvers.integrations import visible_of as integrations_of
from resolvers.saved_queries import get_saved_query, visible_of
from resolvers.shared import lists
from resolvers.shared.access import FINDABLE, Rule, requires, rule_of
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from resolvers.shared.node_lookup import NodeResult
from storage.base import Record, as_uuid
from storage.queries import merged_ids
from storage.queries.kinds import kinds_of

_Finder = Callable[[Context, Sequence[str]], Awaitable[Sequence[Record]]]
_Lister = Callable[[Context], Awaitable[Sequence[CredentialView]]]


@requires(None, organization=False)
async def get_viewer(ctx: Context) -> Principal:
    """The caller."""
    return ctx.caller


CREDENTIALS: dict[str, _Lister] = {"OrganizationKey": list_organization_keys, "UserToken": list_user_tokens}
"""Credentials, which no statement finds: they are looked for among those that the caller is shown."""
OWN: dict[str, tuple[Rule, _Finder]] = {
    "AnalyticsRun": (rule_of(get_run), runs_of),
    "SavedQuery": (rule_of(get_saved_query), visible_of),
    "ChatThread": (rule_of(chat_threads.get_thread), chat_threads.threads_of),
    "ChatMessage": (rule_of(chat_threads.list_messages), chat_threads.messages_of),
    "ChatRun": (rule_of(chat_runs.get_run), chat_runs.runs_of),
    "ChatApproval": (rule_of(chat_approvals.get_approval), chat_approvals.approvals_of),
    "Integration": (rule_of(get_integration), integrations_of),
    "IntegrationItem": (rule_of(list_items), items_of),
}
"""The types of what is looked for among those that the caller sees, each with who may and what finds some of them."""


@requires(None, organization=False)
async def get_node(ctx: Context, identifier: str, selections: Mapping[str, Selection]) -> NodeResult | None:
    """Any record that the caller may read; None where it is missing, another organization's, or out of reach.

    It comes with what is selected of its kind.
    """
    canonical = as_uuid(identifier)
    if canonical is None:
        return None
    kind = await _kind(ctx, canonical)
    if kind is None:
        return await _own(ctx, canonical)
    listable, _ = FINDABLE[kind]
    record = await by_id(ctx, listable, canonical, selections[kind])
    return None if record is None else NodeResult(kind, record)


async def _kind(ctx: Context, identifier: str) -> str | None:
    """Finds which of the kinds that the caller may read the record is of, looked up with its neighbours."""
    found = {kind: listable for kind, (listable, rule) in FINDABLE.items() if rule.admits(ctx.principal)}
    readable = {kind: lists.readable(ctx, listable) for kind, listable in found.items()}

    async def load(ids: list[str]) -> list[str | None]:
        async with ctx.reading() as session:
            kinds = await kinds_of(session, readable, ids)
            if leads := await merged_ids.leading(session, [i for i in ids if i not in kinds]):
                stayed = await kinds_of(session, readable, list(leads.values()))
                kinds |= {i: stayed[into] for i, into in leads.items() if into in stayed}
        return [kinds.get(i) for i in ids]

    return await ctx.loader("kinds", load).load(identifier) if readable else None


async def _own(ctx: Context, identifier: str) -> NodeResult | None:
    """Finds a record among those that are the caller's alone."""

    async def load(ids: list[str]) -> list[NodeResult | None]:
        lists = [(kind, await lister(ctx)) for kind, lister in CREDENTIALS.items() if _admits(ctx, lister)]
        found = {
            credential.id: NodeResult(kind, credential) for kind, credentials in lists for credential in credentials
        }
        for kind, (rule, finder) in OWN.items():  # a statement for each kind
            if rule.admits(ctx.principal):
                found |= {record.id: NodeResult(kind, record) for record in await finder(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("own records", load).load(identifier)


def _admits(ctx: Context, resolver: _Lister) -> bool:
    return rule_of(resolver).admits(ctx.principal)
