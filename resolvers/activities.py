"""Activities of every type: read in one list, and written by what tasks, notes, calls and e-mails have in common."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final

from pydantic import AfterValidator

from contract.criteria import All, Any_, Compare, Condition, ListQuery, Op, Selection
from contract.errors import NotFound, Problem, Problems
from contract.scopes import ScopeGroup
from contract.vocabulary import SYNCED, ActivityDirection, ActivitySource, ActivityType, TaskState
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, not_null
from resolvers.shared.lists import PageResult, by_id, children, page_of
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.record_inputs import never_cleared, references_of
from resolvers.shared.tagging import tag_new
from storage.base import JsonDict, now
from storage.expressions import AnyColumn
from storage.new_rows import new_row
from storage.queries import activities as statements
from storage.queries import files, listables, records, sync, tags
from storage.queries.listable import Listable
from storage.queries.watches import watch
from storage.rows import ActivityRow
from storage.tables import Activity, ReminderWatch
from storage.tables.activities import LINKS
from storage.tenancy.sessions import TenantSession

LISTED: Final[Mapping[ActivityType, Listable[ActivityRow]]] = {
    ActivityType.MEETING: listables.MEETINGS,
    ActivityType.TASK: listables.TASKS,
    ActivityType.NOTE: listables.NOTES,
    ActivityType.CALL: listables.CALLS,
    ActivityType.EMAIL: listables.EMAILS,
}
_REFERENCES = references_of(Activity)
_MOVABLE = frozenset({*LINKS, "owner_id"})
"""The fields that may be changed of a record that was synced (decision 229)."""
_OWN = (listables.TASKS, listables.NOTES, listables.CALLS, listables.EMAILS)

Direction = Annotated[ActivityDirection, AfterValidator(lambda direction: direction.value)]

Check = Callable[[Activity, Given], list[Problem]]
"""Looks at an activity and what is to be changed of it, for what is wrong with that."""


@requires(ScopeGroup.MEETINGS_READ, finds=_OWN)
async def get_activity(ctx: Context, activity_id: str, selection: Selection | None = None) -> NodeResult | None:
    """The activity of any type, or None."""
    found = await by_id(ctx, listables.ACTIVITIES, activity_id, selection)
    return None if found is None else named(found)


@requires(ScopeGroup.MEETINGS_READ)
async def list_activities(
    ctx: Context, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the activities of every type, in one order."""
    return _named(await page_of(ctx, listables.ACTIVITIES, listing, selection))


@requires(ScopeGroup.MEETINGS_READ)
async def activities_of_account(
    ctx: Context, account_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the activities on the account, latest first."""
    return await _of_parent(ctx, Activity.account_id, account_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def activities_of_contact(
    ctx: Context, contact_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the activities with the contact, latest first."""
    return await _of_parent(ctx, Activity.contact_id, contact_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def activities_of_deal(
    ctx: Context, deal_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the activities on the deal, latest first."""
    return await _of_parent(ctx, Activity.deal_id, deal_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def activities_of_lead(
    ctx: Context, lead_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[ActivityRow]:
    """A page of the activities with the lead, latest first."""
    return await _of_parent(ctx, Activity.lead_id, lead_id, listing, selection)


OF_RECORD: Final[Mapping[str, Callable[..., Awaitable[PageResult[ActivityRow]]]]] = {
    "account": activities_of_account,
    "contact": activities_of_contact,
    "deal": activities_of_deal,
    "lead": activities_of_lead,
}
"""The resolvers that list the activities of each kind of record."""


async def _of_parent(
    ctx: Context, parent: AnyColumn, parent_id: str, listing: ListQuery, selection: Selection | None
) -> PageResult[ActivityRow]:
    return _named(await children(ctx, listables.ACTIVITIES, parent, parent_id, listing, selection))


def named(row: ActivityRow) -> NodeResult:
    """The row as one that says which type it is of."""
    return NodeResult(row.type.capitalize(), row)


def _named(page: PageResult[ActivityRow]) -> PageResult[ActivityRow]:
    rows: Sequence[ActivityRow] = [named(row) for row in page.rows]  # type: ignore[misc]  # read as the rows are
    return replace(page, rows=rows)


def state_of(task: ActivityRow) -> TaskState:
    """Says what the task's times say about it now."""
    if task.completed_at is not None:
        return TaskState.DONE
    return TaskState.OVERDUE if task.due_at is not None and task.due_at < now() else TaskState.OPEN


def in_states(states: Sequence[TaskState]) -> Condition:
    """The tasks that are in one of the states now; what is no task is in none (decision 228)."""
    undone, due = Compare("completed_at", Op.IS_NULL, True), Compare("due_at", Op.LT, now())
    ahead = Any_((Compare("due_at", Op.IS_NULL, True), Compare("due_at", Op.GTE, due.value)))
    meant: Mapping[TaskState, Condition] = {
        TaskState.OPEN: All((undone, ahead)),
        TaskState.OVERDUE: All((undone, due)),
        TaskState.DONE: Compare("completed_at", Op.IS_NULL, False),
    }
    is_task = Compare("type", Op.EQ, ActivityType.TASK.value)
    return All((is_task, Any_(tuple([meant[state] for state in states]))))


async def create(ctx: Context, kind: ActivityType, verb: str, given: Given) -> ActivityRow | None:
    """Insert an activity that was made by hand; the caller owns it unless another owner is given.

    Where there is one with its Message-ID, that is the record, as it is (decision 230). Raises Problems.
    """
    values = _stored(kind, given)
    names = values.pop("tags", None) or []
    owned = {**values, "owner_id": values.get("owner_id") or ctx.caller.subject}
    activity = new_row(Activity, **owned, type=kind.value, source=ActivitySource.MANUAL.value, org_id=ctx.org_id)
    activity_id: str | None = None
    async with ctx.writing() as session:
        activity = changes.as_changed(activity, await changes.check_references(session, values, _REFERENCES))
        while activity_id is None:  # again only where the message that was there is deleted meanwhile
            if await _inserted(session, activity):
                await tag_new(session, activity, names)
                await tell(ctx, session, activity, verb, {name: getattr(activity, name) for name in LINKS})
                activity_id = activity.id
            else:
                activity_id = await statements.of_message(session, values["message_id"])
        row = await records.one(session, LISTED[kind], activity_id)
    ctx.forget()
    return row


async def _inserted(session: TenantSession, activity: Activity) -> bool:
    """Says whether the activity is new: of several with one Message-ID that race, one is."""
    if activity.message_id is not None:
        return await records.insert_missing(session, activity)
    await session.insert(activity)
    return True


async def change(
    ctx: Context,
    kind: ActivityType,
    activity_id: str,
    given: Given,
    *,
    filled: Sequence[str],
    seen: Collection[int] | None = None,
    check: Check | None = None,
) -> ActivityRow | None:
    """Change an activity of the type; without a difference nothing is written (decision 20).

    What was synced keeps its content. `filled` are fields that are never null. `seen` are the versions under any of
    which the caller would change it. Raises NotFound, Problems, or PreconditionFailed for a stale version.
    """
    values = _stored(kind, given)
    version = values.pop("expected_version", None)
    not_null(values, *never_cleared(Activity), *filled)
    async with ctx.writing() as session:
        activity = await to_change(session, activity_id)
        if activity.type != kind:
            raise Problems([Problem(("id",), f"is {article(activity.type)}, not {article(kind)}", "activity_type")])
        changes.expect(activity, version, seen)
        led, lost = await changes.followed(session, values, _REFERENCES)
        refused = [] if check is None else check(activity, values)
        if problems := [*lost, *_synced(activity, values), *refused]:
            raise Problems(problems)
        values |= led
        activity, changed = await changes.apply(session, activity, values)
        if changed:
            shown = dict.fromkeys(_shown(kind, name) for name in changed)
            await tell(ctx, session, activity, "updated", {"changed": sorted(shown)})
        row = await records.one(session, LISTED[kind], activity.id)
    ctx.forget()
    return row


def article(kind: str) -> str:
    """The type as words of a sentence."""
    return f"an {kind}" if kind == ActivityType.EMAIL else f"a {kind}"


_TIMES: Final[Mapping[str, str]] = {ActivityType.CALL: "started_at", ActivityType.EMAIL: "sent_at"}
"""The names that types have for the time that the table keeps as `due_at`, and as `completed_at` with it."""


def _stored(kind: ActivityType, given: Given) -> Given:
    """The fields by the names of their columns."""
    values = dict(given)
    if (time := _TIMES.get(kind)) in values:
        values["due_at"] = values["completed_at"] = values.pop(time)
    return values


def _shown(kind: str, column: str) -> str:
    return _TIMES.get(kind, column) if column in ("due_at", "completed_at") else column


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_activity(ctx: Context, activity_id: str) -> str:
    """Delete an activity of any type."""
    async with ctx.writing() as session:
        activity = await to_change(session, activity_id)
        if activity.source != ActivitySource.MANUAL or activity.message_id is not None:
            await sync.forget_meeting(session, activity.id)
        await tags.unlink(session, [activity.id])
        await files.unlink_record(session, "activity", activity.id)
        await session.delete(activity)
        await tell(ctx, session, activity, "deleted", {})
    ctx.forget()
    return activity.id


async def to_change(session: TenantSession, activity_id: str) -> Activity:
    """The activity of any type, locked against other writers. Raises NotFound."""
    activity = await records.lock_for_update(session, Activity, activity_id)
    if activity is None:
        raise NotFound(field=("id",))
    return activity


async def tell(ctx: Context, session: TenantSession, activity: Activity, verb: str, told: JsonDict) -> None:
    """Append the event; after it, for its lock, have workers look for the reminder that may have been set."""
    data = {f"{activity.type}_id": activity.id, **told}
    await changes.append_event(ctx, session, f"{activity.type}_{verb}", data)
    if verb != "deleted" and activity.remind_at is not None and activity.completed_at is None:
        await watch(session, ReminderWatch, activity.remind_at)


def _synced(activity: Activity, values: Given) -> list[Problem]:
    """The changes to the content of what a provider brought, which stays."""
    if activity.source not in SYNCED:
        return []
    kept = [name for name, value in values.items() if name not in _MOVABLE and getattr(activity, name) != value]
    shown = dict.fromkeys(_shown(activity.type, name) for name in kept)
    return [Problem(("input", name), "was synced and stays as it is", "synced") for name in shown]
