"""Accounts: the companies, with what hangs on them."""

from contract.criteria import ListQuery, Selection
from contract.errors import Problem, Problems
from contract.scopes import ScopeGroup
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.shared.lists import PageResult, by_id, children, page_of
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Names
from resolvers.shared.writing import change_record, create_record, delete_record
from storage.base import JsonDict
from storage.columns import CREATE, UPDATE
from storage.queries import listables, records
from storage.rows import AccountRow, ActivityRow, ContactRow, DealRow
from storage.tables import Account, Activity, Contact, Deal


@fields_of(Account, CREATE)
class AccountCreate(Input):
    """A new company."""

    tags: Names | None = None


@fields_of(Account, UPDATE)
class AccountUpdate(Input):
    """Changes to a company; null clears domain, industry and owner."""


@requires(ScopeGroup.CRM_READ, finds=(listables.ACCOUNTS,))
async def get_account(
    ctx: Context, account_id: str | None = None, domain: str | None = None, selection: Selection | None = None
) -> AccountRow | None:
    """The account by exactly one of the two, or None. Raises Problems where both or neither are given."""
    if (account_id is None) == (domain is None):
        raise Problems([Problem(("id",), "give exactly one of id and domain", "exactly_one")])
    if domain is None:
        return await by_id(ctx, listables.ACCOUNTS, account_id, selection)
    async with ctx.reading() as session:
        return await records.by_text(session, listables.ACCOUNTS, "domain", domain)


@requires(ScopeGroup.CRM_READ)
async def list_accounts(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[AccountRow]:
    """A page of the accounts."""
    return await page_of(ctx, listables.ACCOUNTS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def contacts_of_account(
    ctx: Context, account_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ContactRow]:
    """A page of the account's contacts."""
    return await children(ctx, listables.CONTACTS, Contact.account_id, account_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def deals_of_account(
    ctx: Context, account_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[DealRow]:
    """A page of the account's deals."""
    return await children(ctx, listables.DEALS, Deal.account_id, account_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def meetings_of_account(
    ctx: Context, account_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the account's meetings, for those who may list meetings (decision 30)."""
    return await children(ctx, listables.MEETINGS, Activity.account_id, account_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_account(ctx: Context, input: AccountCreate) -> Account:
    """Create an account; the caller becomes its owner."""
    return await create_record(ctx, Account, input, created)


def created(account: Account) -> JsonDict:
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
