"""Questions, and what a reading comes to: what answers it, or the words that were not read (decision 275)."""

from dataclasses import dataclass
from datetime import datetime

from contract.analytics_results import ChartKind
from resolvers.analytics_inputs import AnalyticsQuery


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with its zone, its moment, and the query before it in the same conversation.

    `may_ask_model` says whether the asker lets a model be asked.
    """

    text: str
    time_zone: str
    present: datetime
    previous: AnalyticsQuery | None
    may_ask_model: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """A semantic query that answers the question, with what was taken for granted, in sentences.

    `follows` says that the query is the last plan of the conversation, changed; `chart` is the kind that was asked for,
    or that suits a list as well.
    """

    query: AnalyticsQuery
    assumptions: tuple[str, ...] = ()
    follows: bool = False
    chart: ChartKind | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A statement of ad-hoc SQL that answers the question, which the guard has let through for the asker."""

    sql: str


@dataclass(frozen=True, slots=True)
class Declined:
    """The words that were not read, as they were written, and three questions that can be asked instead."""

    unread: tuple[str, ...]
    suggestions: tuple[str, ...]
