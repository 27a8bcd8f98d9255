"""Who makes a plan of a question, in the order in which they are asked (docs/analytics.md)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from contract.analytics_events import AnalyticsPlanner
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.questions.plans import Declined, Plan
from resolvers.questions.reading import read
from resolvers.shared.context import Context


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in which zone, at which moment, and after which other query in the same conversation."""

    text: str
    time_zone: str
    present: datetime
    previous: AnalyticsQuery | None


Planner = Callable[[Context, Question], Awaitable[Plan | Declined]]


async def _parsed(ctx: Context, question: Question) -> Plan | Declined:
    return await read(ctx, question.text, question.time_zone, question.present, question.previous)


PLANNERS: Final[list[tuple[AnalyticsPlanner, Planner]]] = [(AnalyticsPlanner.PARSER, _parsed)]
"""Each is asked where those before it have declined."""


async def plan_of(ctx: Context, question: Question) -> tuple[AnalyticsPlanner | None, Plan | Declined]:
    """The first plan, with who made it; what the first of them says where all decline."""
    refused: Declined | None = None
    for name, planner in PLANNERS:
        found = await planner(ctx, question)
        if isinstance(found, Plan):
            return name, found
        refused = refused or found
    return None, refused or Declined((), ())
