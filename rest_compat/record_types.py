"""Declares the paths of the record types that need no more than the standard operations.

The keys of a document stand by hand, because they are the published contract; the rest is read off table and resolvers.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from contract.bulk_vocabulary import MergeableKind
from contract.outreach_vocabulary import CampaignStatus
from contract.vocabulary import TaggedKind
from resolvers.accounts import get_account, list_accounts
from resolvers.campaigns import delete_campaign, get_campaign, list_campaigns, pause_campaign, resume_campaign
from resolvers.contacts import get_contact, list_contacts
from resolvers.jobs import get_job
from resolvers.merging import merged_from
from resolvers.outreach_domains import list_domains
from resolvers.pipeline_stages import list_stages
from resolvers.shared.context import Context
from rest_compat.documents import Document
from rest_compat.parameters import Exactly, ListParameters, Named, Since, Tagged, Where
from rest_compat.resources import Resource
from rest_compat.schemas import JsonObject, Schema
from storage import tables as t
from storage.statements import AnyRow


class AccountQuery(ListParameters):
    """Has the query parameters of GET /accounts."""

    name: Named = Field(default=None, description="Only accounts of this name, letter case aside.")
    domain: Named = Field(default=None, description="Only accounts of this domain, however it is spelt.")
    owner_id: Exactly = Field(default=None, description="Only accounts owned by this user.")
    tag: Tagged = Field(default=None, description="Only accounts with this tag, letter case aside.")
    updated_since: Since = Field(default=None, description="Only accounts that changed at or after this time.")


class ContactQuery(ListParameters):
    """Has the query parameters of GET /contacts."""

    email: Named = Field(default=None, description="Only contacts with this e-mail address, letter case aside.")
    account_id: Exactly = Field(default=None, description="Only contacts of this account.")
    owner_id: Exactly = Field(default=None, description="Only contacts owned by this user.")
    tag: Tagged = Field(default=None, description="Only contacts with this tag, letter case aside.")
    updated_since: Since = Field(default=None, description="Only contacts that changed at or after this time.")


class CampaignQuery(ListParameters):
    """Has the query parameters of GET /outreach/campaigns."""

    status: Annotated[CampaignStatus | None, Where()] = Field(default=None, description="Only campaigns that stand so.")


@dataclass(frozen=True)
class _Mergeable(Document):
    """Describes a record that others may have gone into; their identifiers come last."""

    merges: MergeableKind = MergeableKind.ACCOUNT

    async def shown(self, ctx: Context, rows: Sequence[AnyRow]) -> list[JsonObject]:
        """Returns the documents, with the identifiers, which come in a statement of their own."""
        documents = await super().shown(ctx, rows)
        found = await gather(*(merged_from(ctx, self.merges, row.id) for row in rows))
        for document, ids in zip(documents, found, strict=True):
            document["merged_from"] = ids
        return documents


_NONE_WENT: Final[Mapping[str, object]] = {"merged_from": []}


def _merged_from(noun: str) -> Mapping[str, Schema]:
    text = f"The ids of the {noun} that were merged into this one; they still lead here."
    return {"merged_from": {"type": "array", "items": {"type": "string", "format": "uuid"}, "description": text}}


ACCOUNT: Final = _Mergeable(
    "Account",
    t.Account,
    "A company that the organization sells to.",
    ("id", "org_id", "owner_id", "name", "domain", "industry", "created_at", "updated_at", "version", "tags"),
    tagged=TaggedKind.ACCOUNT,
    added=_merged_from("accounts"),
    examples=_NONE_WENT,
)
_ACCOUNTS: Final = Resource("/accounts/{account_id}", ACCOUNT)

CONTACT: Final = _Mergeable(
    "Contact",
    t.Contact,
    "A person, with or without an account.",
    (
        *("id", "org_id", "owner_id", "first_name", "last_name", "email", "phone", "title", "linkedin", "account_id"),
        *("created_at", "updated_at", "version", "tags"),
    ),
    tagged=TaggedKind.CONTACT,
    added=_merged_from("contacts"),
    examples=_NONE_WENT,
    merges=MergeableKind.CONTACT,
)
_CONTACTS: Final = Resource("/contacts/{contact_id}", CONTACT)

_STAGES: Final = Resource(
    "/pipeline-stages/{stage_id}",
    Document(
        "PipelineStage",
        t.PipelineStage,
        "A column of the board.",
        ("id", "name", "position", "type", "probability"),
    ),
)

_JOBS: Final = Resource(
    "/jobs/{job_id}",
    Document(
        "Job",
        t.Job,
        "A piece of work that runs later.",
        (
            *("id", "org_id", "kind", "status", "attempts", "error", "progress", "created_at", "started_at"),
            "finished_at",
        ),
        texts={"status": "The last three are final."},
    ),
)

_CAMPAIGNS: Final = Resource(
    "/outreach/campaigns/{campaign_id}",
    Document(
        "Campaign",
        t.Campaign,
        "An outreach campaign.",
        (
            *("id", "org_id", "name", "status", "status_reason", "daily_limit", "timezone", "stop_on_reply"),
            *("provider", "provider_campaign_id", "provider_sync", "created_at", "updated_at"),
        ),
    ),
)

_DOMAINS: Final = Resource(
    "/outreach/domains/{domain_id}",
    Document(
        "OutreachDomain",
        t.OutreachDomain,
        "A domain that mailboxes are made on.",
        ("id", "org_id", "name", "status", "spf", "dkim", "dmarc", "mailbox_count", "created_at"),
        schemas={"mailbox_count": {"type": "integer", "description": "How many mailboxes are on it."}},
        examples={"mailbox_count": 2},
    ),
)

OPERATIONS: Final = (
    _ACCOUNTS.listing(list_accounts, AccountQuery),
    _ACCOUNTS.detail(get_account),
    _CONTACTS.listing(list_contacts, ContactQuery),
    _CONTACTS.detail(get_contact),
    _STAGES.listing(list_stages, description="In the order of the board."),
    _JOBS.detail(get_job, description="What has become of work that runs later; a status_url leads here."),
    _CAMPAIGNS.listing(list_campaigns, CampaignQuery),
    _CAMPAIGNS.detail(get_campaign),
    _CAMPAIGNS.delete(
        delete_campaign,
        description="First the sequence at the sequencing provider, then the record with its enrollments. A provider "
        "that cannot be reached blocks nothing; what it is left with is removed later.",
    ),
    _CAMPAIGNS.action(
        "pause",
        pause_campaign,
        description="Takes effect at once; provider_sync shows whether the sequencing provider knows. One that is "
        "paused stays as it is.",
    ),
    _CAMPAIGNS.action(
        "resume",
        resume_campaign,
        description="Goes on with a paused campaign, or with a blocked one if the provider says that it may.",
    ),
    _DOMAINS.listing(list_domains, description="By name."),
)
