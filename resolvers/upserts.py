"""Upserts: rows of another system become records, or change those that there are (decisions 411 to 414)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, SkipValidation, StrictBool

from contract.bulk_vocabulary import AccountMatch, BulkOutcome, BulkPolicy, ContactMatch, DealMatch, LeadMatch
from contract.errors import Conflict, Problem
from contract.limits import UPSERT_ROWS_MAX
from contract.scopes import ScopeGroup
from resolvers import upsert_rows as kinds
from resolvers.shared.access import requires
from resolvers.shared.context import Acting, Context
from resolvers.shared.inputs import ExactInput
from resolvers.shared.pacing import in_turns
from resolvers.upsert_records import Raced, written
from resolvers.upsert_rows import AT_A_TIME, Kind, Line, read
from storage.connection_pool import giving_way
from storage.db_errors import is_duplicate
from storage.tenancy.sessions import TenantSession

_Rows = Field(min_length=1, max_length=UPSERT_ROWS_MAX)


class Upsert(ExactInput):
    """Says how rows are written."""

    policy: BulkPolicy = BulkPolicy.SKIP_FAILED
    dry_run: StrictBool = False


class AccountsUpsert(Upsert):
    """Accounts as another system has them. Each row is judged by itself."""

    rows: Annotated[list[SkipValidation[kinds.AccountUpsert]], _Rows]
    match_on: AccountMatch = AccountMatch.EXTERNAL_KEY


class ContactsUpsert(Upsert):
    """Contacts as another system has them. Each row is judged by itself."""

    rows: Annotated[list[SkipValidation[kinds.ContactUpsert]], _Rows]
    match_on: ContactMatch = ContactMatch.EXTERNAL_KEY


class DealsUpsert(Upsert):
    """Deals as another system has them. Each row is judged by itself."""

    rows: Annotated[list[SkipValidation[kinds.DealUpsert]], _Rows]
    match_on: DealMatch = DealMatch.EXTERNAL_KEY


class LeadsUpsert(Upsert):
    """Leads as another system has them. Each row is judged by itself."""

    rows: Annotated[list[SkipValidation[kinds.LeadUpsert]], _Rows]
    match_on: LeadMatch = LeadMatch.EXTERNAL_KEY


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of one row: its place, and the record with its key; or the problems, by their paths in the row."""

    index: int
    outcome: BulkOutcome
    id: str | None
    external_key: str | None
    errors: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class Upserted:
    """The results of the rows, in their order."""

    results: Sequence[RowResult]
    dry_run: bool

    def number(self, outcome: BulkOutcome) -> int:
        """Says how many rows came to this."""
        return sum(result.outcome is outcome for result in self.results)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def upsert_accounts(ctx: Context, input: AccountsUpsert) -> Upserted:
    """Write rows of accounts in one transaction. Raises Problems where all are to be good and one is not."""
    return await upsert(ctx, kinds.ACCOUNTS, input.rows, input.match_on, input)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def upsert_contacts(ctx: Context, input: ContactsUpsert) -> Upserted:
    """Write rows of contacts in one transaction. Raises Problems where all are to be good and one is not."""
    return await upsert(ctx, kinds.CONTACTS, input.rows, input.match_on, input)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def upsert_deals(ctx: Context, input: DealsUpsert) -> Upserted:
    """Write rows of deals in one transaction. Raises Problems where all are to be good and one is not."""
    return await upsert(ctx, kinds.DEALS, input.rows, input.match_on, input)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def upsert_leads(ctx: Context, input: LeadsUpsert) -> Upserted:
    """Write rows of leads in one transaction. Raises Problems where all are to be good and one is not."""
    return await upsert(ctx, kinds.LEADS, input.rows, input.match_on, input)


class _Dry(Exception):
    """Ends the transaction of what is not to be written."""


_TRIES = 3


async def upsert(ctx: Context, kind: Kind, rows: Sequence[object], match: str, how: Upsert) -> Upserted:
    """Write rows of a kind in one transaction; a dry run does all of it and takes it back (decision 413)."""

    async def read_rows() -> list[Line]:
        return await read(kind, rows)

    with giving_way(len(rows) > AT_A_TIME):
        async with ctx.writing() as session:
            all_of_them = how.policy is not BulkPolicy.SKIP_FAILED
            lines = await attempted(ctx, session, kind, read_rows, match, all_of_them=all_of_them, dry_run=how.dry_run)
    ctx.forget()
    results = [_result(line, dry=how.dry_run) async for line in in_turns(lines, AT_A_TIME)]
    return Upserted(results, how.dry_run)


async def attempted(
    ctx: Acting,
    session: TenantSession,
    kind: Kind,
    read_rows: Callable[[], Awaitable[list[Line]]],
    match: str,
    *,
    all_of_them: bool = False,
    dry_run: bool = False,
) -> list[Line]:
    """Write rows in a part of the transaction, again where others took a key meanwhile; a dry run is taken back.

    Raises Problems where `all_of_them` have to be good, and Conflict.
    """
    for _ in range(_TRIES):  # what one reads is done with where the next begins
        lines = await read_rows()
        try:
            async with session.within():
                await written(ctx, session, kind, lines, match, all_of_them=all_of_them)
                if dry_run:
                    raise _Dry
        except _Dry:
            pass
        except Exception as error:  # another request took a key between the look and the write
            if not (isinstance(error, Raced) or is_duplicate(error)):
                raise
            continue
        return lines
    raise Conflict("Others write the same records at this moment")


def _result(line: Line, *, dry: bool) -> RowResult:
    if line.problems:
        key = line.fields.get("external_key")
        return RowResult(line.index, BulkOutcome.FAILED, None, key, tuple(line.problems))
    is_there = line.outcome is not BulkOutcome.CREATED or not dry
    return RowResult(line.index, line.outcome, line.after.id if is_there else None, line.after.external_key, ())
