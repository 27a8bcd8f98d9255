"""Saved queries: a question, a semantic query or a statement that is kept, shared and verified (decisions 291 to 294).

Each is its owner's, and to others there where it is shared. It runs under the scopes of who runs it.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr

from contract.analytics_results import Result
from contract.criteria import Any_, Compare, ListQuery, Op, Selection
from contract.errors import AnalyticsRefused, Duplicate, InvalidState, NotFound, Problem, Problems
from contract.limits import (
    ANALYTICS_ROWS_MAX,
    SAVED_QUERIES_MAX,
    SAVED_QUERY_DESCRIPTION_MAX,
    SAVED_QUERY_NAME_MAX,
)
from contract.scopes import ScopeGroup
from resolvers.analytics_checks import check
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.analytics_planners import parsed_plan
from resolvers.analytics_queries import run_query
from resolvers.analytics_runs import QuestionText
from resolvers.questions.plans import Declined
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, bounded, not_null, shown, storable, trimmed
from resolvers.shared.lists import PageResult, page_of
from resolvers.sql_queries import SqlQuery, read_statement, run_sql
from storage.base import as_uuid, now
from storage.new_rows import new_row
from storage.queries import listables, records
from storage.queries import saved_queries as statements
from storage.rows import SavedQueryRow
from storage.tables import SavedQuery
from storage.tenancy.sessions import TenantSession

Saved = SavedQuery | SavedQueryRow
"""A saved query as it was read, alone or in a list."""
_TEXTS = ("question", "query", "sql")
_Name = Annotated[str, trimmed(SAVED_QUERY_NAME_MAX), AfterValidator(storable), AfterValidator(shown)]
_Description = Annotated[str, bounded(SAVED_QUERY_DESCRIPTION_MAX), AfterValidator(storable)]
_Rows = Annotated[StrictInt, Field(ge=0, le=ANALYTICS_ROWS_MAX)]
_UNVERIFIED: Final[Given] = {"is_verified": False, "verified_at": None, "verified_by": None}


class SavedQueryCreate(Input):
    """A query to save: `sql`, or `query`, or `question` with or without `query`."""

    name: _Name
    description: _Description | None = None
    question: QuestionText | None = None
    query: AnalyticsQuery | None = None
    sql: StrictStr | None = None


class SavedQueryUpdate(SavedQueryCreate):
    """Changes to a saved query."""

    filled: ClassVar[tuple[str, ...]] = ("name",)

    name: _Name = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    expected_version: StrictInt | None = None


class SavedQueryRun(Input):
    """Says how many rows of a saved query are wanted."""

    first: _Rows | None = ANALYTICS_ROWS_MAX


@requires(ScopeGroup.DATA_ACCESS)
async def get_saved_query(ctx: Context, saved_query_id: str) -> SavedQuery | None:
    """A saved query of the caller's own, or a shared one; None where there is none such."""
    canonical = as_uuid(saved_query_id)
    if canonical is None:
        return None

    async def load(ids: list[str]) -> list[SavedQuery | None]:
        found = {saved.id: saved for saved in await visible_of(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("saved_queries", load).load(canonical)


async def visible_of(ctx: Context, ids: Sequence[str]) -> Sequence[SavedQuery]:
    """Those of these saved queries that the caller sees."""
    async with ctx.reading() as session:
        return await statements.visible(session, ctx.caller.subject, ids)


@requires(ScopeGroup.DATA_ACCESS)
async def list_saved_queries(
    ctx: Context, listing: ListQuery, selection: Selection | None = None
) -> PageResult[SavedQueryRow]:
    """A page of the caller's own saved queries and the shared ones, by name; `listing` says which page."""
    seen = Any_((Compare("owner_id", Op.EQ, ctx.caller.subject), Compare("is_shared", Op.EQ, True)))
    return await page_of(ctx, listables.SAVED_QUERIES, ListQuery(seen, None, listing.page), selection)


@requires(ScopeGroup.DATA_ACCESS)
async def run_saved_query(ctx: Context, saved_query_id: str, run: SavedQueryRun | None = None) -> Result:
    """The rows of a saved query, now.

    Raises NotFound, InvalidState for a statement in another SQL and for a question that cannot be read, and whatever
    running it raises.
    """
    saved = await _visible(ctx, saved_query_id)
    first = ANALYTICS_ROWS_MAX if run is None or run.first is None else run.first
    if saved.sql is not None:
        if saved.dialect != ctx.services.database.dialect:
            raise InvalidState(f"The statement is written in the SQL of {saved.dialect}", field=("id",))
        return await run_sql(ctx, SqlQuery(sql=saved.sql, first=first))
    query = await _query_of(ctx, saved)
    asked = ANALYTICS_ROWS_MAX if query.first is None else query.first
    return await run_query(ctx, query.model_copy(update={"first": min(asked, first)}))


async def _query_of(ctx: Context, saved: SavedQuery) -> AnalyticsQuery:
    """The semantic query; that of a question alone is what it is read as now. Raises InvalidState."""
    if saved.query is not None:
        return AnalyticsQuery.model_validate(saved.query)
    plan = await parsed_plan(ctx, saved.question or "")
    if isinstance(plan, Declined):
        words = ", ".join(f"«{word}»" for word in plan.unread)
        raise InvalidState(f"The question cannot be read: {words}", field=("id",))
    return plan.query


@requires(ScopeGroup.DATA_ACCESS, writes=True)
async def create_saved_query(ctx: Context, input: SavedQueryCreate) -> SavedQuery:
    """Keep a query for the caller.

    Raises Problems, also for a statement that the guard does not let through, Forbidden for a query that needs more
    scopes, and Duplicate for a name that the caller has already.
    """
    fields = input.given()
    values = {"description": None, **dict.fromkeys(_TEXTS), **fields}
    _check_one_of(values)
    values |= await _kept(ctx, values)
    values |= {"name_key": statements.name_key(input.name), "owner_id": ctx.caller.subject}
    async with ctx.writing() as session:
        await records.lock_organization(session)
        if await statements.number(session, ctx.caller.subject) >= SAVED_QUERIES_MAX:
            raise Problems([Problem(("input",), f"there can be at most {SAVED_QUERIES_MAX} of your own", "too_long")])
        await _check_name(session, values)
        [saved] = await session.insert(new_row(SavedQuery, **values))
        await _log(ctx, session, "saved_query_created", saved)
    ctx.forget()
    return saved


@requires(ScopeGroup.DATA_ACCESS, writes=True)
async def update_saved_query(
    ctx: Context, saved_query_id: str, input: SavedQueryUpdate, *, seen: Sequence[int] | None = None
) -> SavedQuery:
    """Change the caller's own saved query; another text loses its verification.

    Raises NotFound, PreconditionFailed, and what `create_saved_query` raises.
    """
    fields = input.given()
    version = fields.pop("expected_version", None)
    not_null(fields, *input.filled)
    kept = fields | await _kept(ctx, fields)
    async with ctx.writing() as session:
        saved = await _own(ctx, session, saved_query_id)
        changes.expect(saved, version, seen)
        differences = changes.differences(saved, kept)
        after = changes.as_changed(saved, differences)
        _check_one_of({name: getattr(after, name) for name in _TEXTS})
        if "name" in differences:
            differences["name_key"] = statements.name_key(after.name)
            await _check_name(session, {"owner_id": saved.owner_id, **differences}, but=saved.id)
        if saved.is_verified and not differences.keys().isdisjoint(_TEXTS):
            differences |= _UNVERIFIED
        saved, changed = await changes.apply(session, saved, differences)
        if changed:
            await _log(ctx, session, "saved_query_updated", saved)
    ctx.forget()
    return saved


@requires(ScopeGroup.DATA_ACCESS, writes=True)
async def delete_saved_query(ctx: Context, saved_query_id: str, *, seen: Sequence[int] | None = None) -> str:
    """Delete the caller's own saved query. Raises NotFound and PreconditionFailed."""
    async with ctx.writing() as session:
        saved = await _own(ctx, session, saved_query_id)
        changes.expect(saved, None, seen)
        await session.delete(saved)
        await _log(ctx, session, "saved_query_deleted", saved)
    ctx.forget()
    return saved.id


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def share_saved_query(ctx: Context, saved_query_id: str, shared: StrictBool) -> SavedQuery:
    """Show the caller's own saved query to the organization, or hide it, which ends its verification.

    Raises NotFound.
    """
    async with ctx.writing() as session:
        saved = await _own(ctx, session, saved_query_id)
        fields: Given = {"is_shared": shared} | ({} if shared else _UNVERIFIED)
        saved, changed = await changes.apply(session, saved, fields)
        if changed:
            await _log(ctx, session, "saved_query_shared", saved, shared=shared)
    ctx.forget()
    return saved


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def verify_saved_query(ctx: Context, saved_query_id: str, verified: StrictBool) -> SavedQuery:
    """Mark a shared question as checked, or take the mark away: the assistant answers the question with it first.

    Raises NotFound, InvalidState for what is not shared or asks no question that has a query or can be read, and
    Duplicate where another one answers the question.
    """
    reading = await _visible(ctx, saved_query_id)
    if verified:
        if not reading.is_shared or reading.question is None:
            raise InvalidState("Only a shared question can be verified", field=("id",))
        await _query_of(ctx, reading)
    async with ctx.writing() as session:
        await records.lock_organization(session)
        saved = await records.lock_for_update(session, SavedQuery, reading.id)
        if saved is None:
            raise NotFound(field=("id",))
        if verified and (not saved.is_shared or saved.version != reading.version):
            raise InvalidState("It has changed meanwhile; look at it again", field=("id",))
        if verified == saved.is_verified:
            return saved
        if verified and await statements.verified(session, saved.question or "") is not None:
            raise Duplicate("Another verified query answers this question", field=("id",))
        by = {"is_verified": True, "verified_at": now(), "verified_by": ctx.caller.subject} if verified else _UNVERIFIED
        saved = await session.update(saved, **by, **changes.next_version(saved))
        await _log(ctx, session, "saved_query_verified", saved, verified=verified)
    ctx.forget()
    return saved


async def _visible(ctx: Context, saved_query_id: str) -> SavedQuery:
    """The saved query that the caller sees. Raises NotFound."""
    canonical = as_uuid(saved_query_id)
    found = [] if canonical is None else await visible_of(ctx, [canonical])
    if not found:
        raise NotFound(field=("id",))
    return found[0]


async def _own(ctx: Context, session: TenantSession, saved_query_id: str) -> SavedQuery:
    """The caller's own, locked against other writers of saved queries. Raises NotFound."""
    await records.lock_organization(session)
    saved = await records.lock_for_update(session, SavedQuery, saved_query_id)
    if saved is None or saved.owner_id != ctx.caller.subject:
        raise NotFound(field=("id",))
    return saved


def _check_one_of(values: Given) -> None:
    """Raises Problems where there is none of the three texts, or a statement beside another."""
    given = {name for name in _TEXTS if values[name] is not None}
    if not given:
        raise Problems([Problem(("input",), "needs a question, a query or a statement", "missing")])
    if "sql" in given and len(given) > 1:
        raise Problems([Problem(("input", "sql"), "does not go with a question or a query", "value_error")])


async def _kept(ctx: Context, fields: Given) -> Given:
    """Check each of the texts that are given under the caller's scopes, and make the columns that are kept of them."""
    kept: Given = {}
    if "question" in fields:
        question = fields["question"]
        kept["question_key"] = None if question is None else statements.question_key(question)
    if fields.get("query") is not None:
        query: AnalyticsQuery = fields["query"]
        check(query, frozenset(ctx.caller.scopes), now(), ("input", "query"))
        kept["query"] = query.plan
    if "sql" in fields:
        kept["dialect"] = None
        if fields["sql"] is not None:
            try:
                await read_statement(ctx, fields["sql"])
            except AnalyticsRefused as refusal:
                problem = Problem(("input", "sql"), refusal.message, "analytics_refused")
                raise Problems([problem]) from None
            kept["dialect"] = ctx.services.database.dialect
    return kept


async def _check_name(session: TenantSession, values: Given, but: str | None = None) -> None:
    """Raises Duplicate where the owner has another of the name; nobody else writes meanwhile."""
    there = await session.find(SavedQuery, owner_id=values["owner_id"], name_key=values["name_key"])
    if there is not None and there.id != but:
        raise Duplicate("You have a saved query of this name", field=("input", "name"))


async def _log(ctx: Context, session: TenantSession, type: str, saved: SavedQuery, **data: bool) -> None:
    await changes.append_event(ctx, session, type, {"saved_query_id": saved.id, **data}, area="admin")
