"""Accounts: the companies, with what hangs on them."""

from typing import Any

from contract.criteria import Listing, Selection
from contract.errors import Problem, Problems
from contract.scopes import ScopeGroup
from resolvers.access import requires
from resolvers.context import Context
from resolvers.inputs import Input
from resolvers.lists import PageOf, by_id, children, page_of
from resolvers.record_inputs import fields_of
from resolvers.writing import change_record, create_record, delete_record
from storage.columns import CREATE, UPDATE
from storage.queries import nouns, records
from storage.tables import Account, Activity, Contact, Deal


@fields_of(Account, CREATE)
class AccountCreate(Input):
    """A new company."""


@fields_of(Account, UPDATE)
class AccountUpdate(Input):
    """Changes to a company; null clears domain, industry and owner."""


@requires(ScopeGroup.CRM_READ, finds=(nouns.ACCOUNTS,))
async def get_account(ctx: Context, account_id: str | None = None, domain: str | None = None) -> Any:
    """The account by exactly one of the two, or None. Raises Problems where both or neither are given."""
    if (account_id is None) == (domain is None):
        raise Problems([Problem(("id",), "give exactly one of id and domain", "exactly_one")])
    if domain is None:
        return await by_id(ctx, nouns.ACCOUNTS, account_id)
    async with ctx.reading() as session:
        return await records.by_text(session, nouns.ACCOUNTS, "domain", domain)


@requires(ScopeGroup.CRM_READ)
async def list_accounts(ctx: Context, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the accounts."""
    return await page_of(ctx, nouns.ACCOUNTS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def contacts_of_account(
    ctx: Context, account_id: str, listing: Listing, selection: Selection | None = None
) -> PageOf:
    """A page of the account's contacts."""
    return await children(ctx, nouns.CONTACTS, Contact.account_id, account_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def deals_of_account(
    ctx: Context, account_id: str, listing: Listing, selection: Selection | None = None
) -> PageOf:
    """A page of the account's deals."""
    return await children(ctx, nouns.DEALS, Deal.account_id, account_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def meetings_of_account(
    ctx: Context, account_id: str, listing: Listing, selection: Selection | None = None
) -> PageOf:
    """A page of the account's meetings, for those who may list meetings (decision 30)."""
    return await children(ctx, nouns.MEETINGS, Activity.account_id, account_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_account(ctx: Context, input: AccountCreate) -> Account:
    """Create an account; the caller becomes its owner."""
    return await create_record(ctx, Account, input, created)


def created(account: Account) -> dict[str, Any]:
    """Makes the data of the change log's event on a new account."""
    return {
        "account_id": account.id,
        "name": account.name,
        "domain": account.domain,
        "owner_id": account.owner_id,
    }


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_account(ctx: Context, account_id: str, input: AccountUpdate) -> Account:
    """Change an account. Raises NotFound, Problems, or PreconditionFailed for a stale version."""
    return await change_record(ctx, Account, account_id, input)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_account(ctx: Context, account_id: str) -> str:
    """Delete an account and its health history; contacts, deals and meetings stay, unlinked (decision 10)."""
    return await delete_record(ctx, Account, account_id)
