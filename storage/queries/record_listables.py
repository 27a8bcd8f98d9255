"""Lists the records of a sale and their activities: what most of the others build on.

Apart from `listables`, which has all lists and loads the tables of all: figures of deals and meetings need these alone
(decision 1161).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import literal_column
from sqlmodel import col

from contract.criteria import All, Any_, Compare, Condition, Not, Op, Order
from contract.vocabulary import ActivityType, MeetingState
from storage import rows as r
from storage import tables as t
from storage.base import now
from storage.queries.listable import Listable, in_order_of, linked_by, prefixed, record_listable

PEOPLE: Listable[r.PersonRow] = replace(
    in_order_of("name", "people", t.Person, key="folded_name", called="Member"), is_shared=True
)
"""Members, those who left included: the owners that a record's `owner_id` names."""
ACCOUNTS: Listable[r.AccountRow] = record_listable(t.Account, owner=PEOPLE)
CONTACTS: Listable[r.ContactRow] = record_listable(t.Contact, account=ACCOUNTS, owner=PEOPLE)
COMPETITORS: Listable[r.CompetitorRow] = in_order_of("name", "competitors", t.Competitor, key="folded_name")
STAGES: Listable[r.PipelineStageRow] = replace(in_order_of("position", "stages", t.PipelineStage), is_shared=True)
DEALS: Listable[r.DealRow] = record_listable(t.Deal, account=ACCOUNTS, stage=STAGES, champion=CONTACTS, owner=PEOPLE)


def _in_state(op: Op, value: Any) -> Condition:  # Any: a state, or several
    """The condition that a comparison with the state of a meeting is, at this moment (decision 240)."""
    present = now()
    done = Compare("completed_at", Op.IS_NULL, False)
    open_ = Compare("completed_at", Op.IS_NULL, True)
    conditions: Mapping[str, Condition] = {
        MeetingState.COMPLETED.value: done,
        MeetingState.UNSCHEDULED.value: All((open_, Compare("due_at", Op.IS_NULL, True))),
        MeetingState.SCHEDULED.value: All((open_, Compare("due_at", Op.GT, present))),
        MeetingState.OVERDUE.value: All((open_, Compare("due_at", Op.LTE, present))),
    }
    states = value if op in (Op.IN, Op.NIN) else (value,)
    wanted = Any_(tuple(conditions[state] for state in states if state is not None))
    return Not(wanted) if op in (Op.NEQ, Op.NIN) else wanted


LEADS: Listable[r.LeadRow] = record_listable(t.Lead, account=ACCOUNTS, contact=CONTACTS, deal=DEALS, owner=PEOPLE)
ACTIVITIES: Listable[r.ActivityRow] = replace(
    record_listable(t.Activity, account=ACCOUNTS, deal=DEALS, contact=CONTACTS, lead=LEADS, owner=PEOPLE),
    default=Order("occurred_at"),
    fixed=(col(t.Activity.type).in_([literal_column(f"'{kind}'") for kind in ActivityType]),),
)
"""Activities of every type."""


def _of_type(kind: ActivityType, name: str) -> Listable[r.ActivityRow]:
    own = col(t.Activity.type) == literal_column(f"'{kind}'")  # as the partial indexes have it
    return replace(ACTIVITIES, name=name, called=kind.capitalize(), fixed=(own,))


MEETINGS: Listable[r.ActivityRow] = replace(
    _of_type(ActivityType.MEETING, "meetings"), default=Order("due_at"), computed={"state": _in_state}
)
TASKS = _of_type(ActivityType.TASK, "tasks")
NOTES = _of_type(ActivityType.NOTE, "notes")
CALLS = _of_type(ActivityType.CALL, "calls")
EMAILS = _of_type(ActivityType.EMAIL, "emails")
MEETINGS_WITH_LINKS: Listable[r.ActivityRow] = replace(
    MEETINGS,
    name="meetings_with_links",
    columns=(
        *MEETINGS.columns,
        *prefixed("accounts", col(t.Account.id), col(t.Account.name), col(t.Account.domain)),
        *prefixed("deals", col(t.Deal.id), col(t.Deal.name), col(t.Deal.stage_id)),
        *prefixed(
            "contacts", col(t.Contact.id), col(t.Contact.first_name), col(t.Contact.last_name), col(t.Contact.email)
        ),
    ),
    joins=tuple(
        linked_by(model, col(t.Activity.org_id), column)
        for model, column in (
            (t.Account, col(t.Activity.account_id)),
            (t.Deal, col(t.Activity.deal_id)),
            (t.Contact, col(t.Activity.contact_id)),
        )
    ),
)
"""Meetings with the summaries that the REST listing embeds (specification 2.1), in one statement."""
