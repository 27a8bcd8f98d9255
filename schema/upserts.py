"""Upserts on the GraphQL surface: up to 1,000 rows of another system in one transaction."""

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.bulk_vocabulary import AccountMatch, BulkOutcome, BulkPolicy, ContactMatch, DealMatch, LeadMatch
from contract.errors import Problem
from resolvers import upserts
from schema.adapters.strawberry import to_camel_case
from schema.declare import DeclaredField, Info, argument, enum, field, operation_field
from schema.errors import UserError, UserErrorCode
from schema.filters import camel
from schema.inputs import change, given
from schema.records import record_input
from storage import tables as t
from storage.columns import UPDATE

enum(
    BulkPolicy,
    "What one bad row means for the others.",
    SKIP_FAILED="Rows with problems are left out and told; the others are written.",
    ALL_OR_NOTHING="One problem and nothing is written.",
)
enum(
    BulkOutcome,
    "What came of a row.",
    CREATED="The row became a record.",
    UPDATED="The row changed a record.",
    UNCHANGED="The record says that already.",
    FAILED="The row has problems; nothing of it was written.",
)
_BY_KEY = "By externalKey, old keys of merged records included; a row without one is a new record."
_BY_ID = "By id; never creates."
enum(
    AccountMatch,
    "By what a row finds its account.",
    EXTERNAL_KEY=_BY_KEY,
    DOMAIN="By domain, without scheme, www. and letter case; of several the oldest.",
    ID=_BY_ID,
)
_BY_EMAIL = "By e-mail address, letter case aside; of several the oldest."
enum(ContactMatch, "By what a row finds its contact.", EXTERNAL_KEY=_BY_KEY, EMAIL=_BY_EMAIL, ID=_BY_ID)
enum(DealMatch, "By what a row finds its deal.", EXTERNAL_KEY=_BY_KEY, ID=_BY_ID)
enum(
    LeadMatch,
    "By what a row finds its lead.",
    EXTERNAL_KEY=_BY_KEY,
    EMAIL=f"{_BY_EMAIL.rstrip('.')}. Converted leads do not count.",
    ID=_BY_ID,
)


def _identifier() -> DeclaredField:
    return field("The record's identifier; counts only where rows are matched by it.", default=UNSET)


def _names() -> DeclaredField:
    return field("Names of tags, all that it is to have; those that there are not are made.", default=UNSET)


def _account_key() -> DeclaredField:
    return field("The external key of the account; excludes accountId.", default=UNSET)


@record_input(t.Account, UPDATE, "An account as another system has it; what is left out stays.", of_one=False)
class AccountUpsertInput:
    """A row of accounts."""

    id: strawberry.ID | None = _identifier()
    tags: list[str] | None = _names()


@record_input(t.Contact, UPDATE, "A contact as another system has it; what is left out stays.", of_one=False)
class ContactUpsertInput:
    """A row of contacts."""

    id: strawberry.ID | None = _identifier()
    account_key: str | None = _account_key()
    tags: list[str] | None = _names()


@record_input(
    t.Deal,
    UPDATE,
    "A deal as another system has it; what is left out stays. A new one belongs to the caller unless ownerId names a "
    "member.",
    of_one=False,
)
class DealUpsertInput:
    """A row of deals."""

    id: strawberry.ID | None = _identifier()
    account_key: str | None = _account_key()
    champion_key: str | None = field("The external key of the champion; excludes championId.", default=UNSET)
    tags: list[str] | None = _names()


@record_input(t.Lead, UPDATE, "A lead as another system has it; what is left out stays.", of_one=False)
class LeadUpsertInput:
    """A row of leads."""

    id: strawberry.ID | None = _identifier()


@strawberry.type(description="What came of one row.")
class BulkResult:
    index: int = field("The row's place in the input, from 0.")
    outcome: BulkOutcome = field("What came of it.")
    id: strawberry.ID | None = field("The record; null where it failed, and where a dry run would create it.")
    external_key: str | None = field("The key in another system.")
    errors: list[UserError] = field("Which field of the row, and why.")


@strawberry.type(description="What came of the rows: one result for each, in their order.")
class BulkPayload:
    results: list[BulkResult] = field("One for each row, in their order; none where the call as a whole failed.")
    created: int = field("How many rows became records.")
    updated: int = field("How many rows changed a record.")
    unchanged: int = field("How many rows changed nothing.")
    failed: int = field("How many rows have problems.")
    dry_run: bool = field("Whether nothing was written on purpose.")
    user_errors: list[UserError] = field("Problems of the call as a whole.")


_CODES = {code.value.lower(): code for code in UserErrorCode}


def user_error(problem: Problem) -> UserError:
    """A problem of a row as the client sees it: its path is one within the row."""
    code = _CODES.get(problem.type, UserErrorCode.VALIDATION)
    return UserError(code=code, message=problem.words(to_camel_case), field=camel(problem.path))


Policy = Annotated[BulkPolicy, argument("What one bad row means for the others.")]
DryRun = Annotated[bool, argument("Whether nothing is written; the results are those of the run.")]


async def _upsert(
    info: Info,
    resolver: Callable[..., Awaitable[object]],
    model: type[upserts.Upsert],
    rows: Sequence[object],
    match_on: Enum,
    policy: BulkPolicy,
    dry_run: bool,
) -> BulkPayload:
    input = {"rows": given(list(rows)), "match_on": match_on.value, "policy": policy.value, "dry_run": dry_run}
    done, problems = await change(info, resolver, model=model, input=input, at=())
    if done is None:
        failed = {error.field[1] for error in problems if error.field is not None and len(error.field) > 1}
        return BulkPayload(
            results=[],
            created=0,
            updated=0,
            unchanged=0,
            failed=len(failed),
            dry_run=dry_run,
            user_errors=problems,
        )
    results = [
        BulkResult(
            index=result.index,
            outcome=result.outcome,
            id=result.id,
            external_key=result.external_key,
            errors=[user_error(problem) for problem in result.errors],
        )
        for result in done.results
    ]
    counts = {outcome.value: done.number(outcome) for outcome in BulkOutcome}
    return BulkPayload(results=results, **counts, dry_run=done.dry_run, user_errors=[])


_TEXT = "1 to 1,000 rows in one transaction."


@strawberry.type
class UpsertMutations:
    @operation_field(upserts.upsert_accounts, _TEXT)
    async def accounts_upsert(
        self,
        info: Info,
        rows: Annotated[list[AccountUpsertInput], argument("The accounts.")],
        match_on: Annotated[AccountMatch, argument("By what a row finds its account.")] = AccountMatch.EXTERNAL_KEY,
        policy: Policy = BulkPolicy.SKIP_FAILED,
        dry_run: DryRun = False,
    ) -> BulkPayload:
        return await _upsert(info, upserts.upsert_accounts, upserts.AccountsUpsert, rows, match_on, policy, dry_run)

    @operation_field(upserts.upsert_contacts, _TEXT)
    async def contacts_upsert(
        self,
        info: Info,
        rows: Annotated[list[ContactUpsertInput], argument("The contacts.")],
        match_on: Annotated[ContactMatch, argument("By what a row finds its contact.")] = ContactMatch.EXTERNAL_KEY,
        policy: Policy = BulkPolicy.SKIP_FAILED,
        dry_run: DryRun = False,
    ) -> BulkPayload:
        return await _upsert(info, upserts.upsert_contacts, upserts.ContactsUpsert, rows, match_on, policy, dry_run)

    @operation_field(upserts.upsert_deals, _TEXT)
    async def deals_upsert(
        self,
        info: Info,
        rows: Annotated[list[DealUpsertInput], argument("The deals.")],
        match_on: Annotated[DealMatch, argument("By what a row finds its deal.")] = DealMatch.EXTERNAL_KEY,
        policy: Policy = BulkPolicy.SKIP_FAILED,
        dry_run: DryRun = False,
    ) -> BulkPayload:
        return await _upsert(info, upserts.upsert_deals, upserts.DealsUpsert, rows, match_on, policy, dry_run)

    @operation_field(upserts.upsert_leads, _TEXT)
    async def leads_upsert(
        self,
        info: Info,
        rows: Annotated[list[LeadUpsertInput], argument("The leads.")],
        match_on: Annotated[LeadMatch, argument("By what a row finds its lead.")] = LeadMatch.EXTERNAL_KEY,
        policy: Policy = BulkPolicy.SKIP_FAILED,
        dry_run: DryRun = False,
    ) -> BulkPayload:
        return await _upsert(info, upserts.upsert_leads, upserts.LeadsUpsert, rows, match_on, policy, dry_run)


MUTATIONS = UpsertMutations
