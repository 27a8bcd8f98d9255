"""Who makes a plan of a question, in the order in which they are asked (docs/analytics.md)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from contract.analytics_events import AnalyticsPlanner
from contract.errors import Forbidden, Problems
from resolvers.analytics_checks import check
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.questions.plans import Declined, Plan
from resolvers.questions.reading import read
from resolvers.shared.context import Context
from storage.queries import saved_queries


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in which zone, at which moment, and after which other query in the same conversation."""

    text: str
    time_zone: str
    present: datetime
    previous: AnalyticsQuery | None


Planner = Callable[[Context, Question], Awaitable[Plan | Declined]]


async def _verified(ctx: Context, question: Question) -> Plan | Declined:
    """The query that an administrator verified for the question, where the asker may run it (decision 293)."""
    async with ctx.reading() as session:
        saved = await saved_queries.verified(session, question.text)
    if saved is None:
        return _NOTHING
    if saved.query is None:
        return await _parsed(ctx, replace(question, previous=None))
    query = AnalyticsQuery.model_validate(saved.query)
    try:
        check(query, frozenset(ctx.caller.scopes), question.present)
    except (Problems, Forbidden):  # a name that there is no longer, or one that is hidden from the asker
        return _NOTHING
    return Plan(query)


async def _parsed(ctx: Context, question: Question) -> Plan | Declined:
    return await read(ctx, question.text, question.time_zone, question.present, question.previous)


async def parsed_plan(ctx: Context, text: str) -> Plan | Declined:
    """What the embedded parser makes of a question by itself, with the days of UTC."""
    return await _parsed(ctx, Question(text, "UTC", ctx.services.clock(), None))


_NOTHING = Declined((), ())
PLANNERS: Final[list[tuple[AnalyticsPlanner, Planner]]] = [
    (AnalyticsPlanner.SAVED, _verified),
    (AnalyticsPlanner.PARSER, _parsed),
]
"""Each is asked where those before it have declined."""


async def plan_of(ctx: Context, question: Question) -> tuple[AnalyticsPlanner | None, Plan | Declined]:
    """The first plan, with who made it; what the first of them that read words says where all decline."""
    refused = _NOTHING
    for name, planner in PLANNERS:
        found = await planner(ctx, question)
        if isinstance(found, Plan):
            return name, found
        refused = refused if refused.unread else found
    return None, refused
