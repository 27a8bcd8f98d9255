"""Says who makes a plan of a question, in the order in which they are asked (docs/analytics.md)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from contract.analytics_events import AnalyticsPlanner
from providers.models import ModelError
from resolvers import analytics_model
from resolvers.analytics_checks import can_run
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.questions.plans import Declined, Plan, Question, Written
from resolvers.questions.reading import read
from resolvers.shared.context import Context
from storage.queries import saved_queries

Reading = Plan | Written | Declined
Planner = Callable[[Context, Question], Awaitable[Reading]]


@dataclass(frozen=True, slots=True)
class Planned:
    """A question's reading, and who made it: None where nobody could. `is_model_away` says that a model was missing."""

    by: AnalyticsPlanner | None
    reading: Reading
    is_model_away: bool = False


async def _verified(ctx: Context, question: Question) -> Plan | Declined:
    """The query that an administrator verified for the question, where the asker may run it (decision 293)."""
    async with ctx.reading() as session:
        saved = await saved_queries.verified(session, question.text)
    if saved is None:
        return _NOTHING
    if saved.query is None:
        return await _parsed(ctx, replace(question, previous=None))
    query = AnalyticsQuery.model_validate(saved.query)
    return Plan(query) if can_run(query, frozenset(ctx.caller.scopes), question.present) else _NOTHING


async def _parsed(ctx: Context, question: Question) -> Plan | Declined:
    return await read(ctx, question.text, question.time_zone, question.present, question.previous)


async def _modelled(ctx: Context, question: Question) -> Reading:
    """Have the operator's model read the question, where there is one and the asker lets it be asked."""
    if ctx.services.model is None or not question.may_ask_model:
        return _NOTHING
    return await analytics_model.read(ctx, ctx.services.model, question) or _NOTHING


async def parsed_plan(ctx: Context, text: str) -> Plan | Declined:
    """Read a question by the embedded parser alone, with the days of UTC."""
    return await _parsed(ctx, Question(text, "UTC", ctx.services.clock(), None))


_NOTHING = Declined((), ())
PLANNERS: Final[list[tuple[AnalyticsPlanner, Planner]]] = [
    (AnalyticsPlanner.SAVED, _verified),
    (AnalyticsPlanner.PARSER, _parsed),
    (AnalyticsPlanner.MODEL, _modelled),
]
"""Each is asked where those before it have declined."""


async def plan_of(ctx: Context, question: Question) -> Planned:
    """The first reading, with who made it; what the first of them that read words says where all decline."""
    refused, is_model_away = _NOTHING, False
    for name, planner in PLANNERS:
        try:
            found = await planner(ctx, question)
        except ModelError:
            is_model_away = True
            continue
        if not isinstance(found, Declined):
            return Planned(name, found)
        refused = refused if refused.unread else found
    return Planned(None, refused, is_model_away)
