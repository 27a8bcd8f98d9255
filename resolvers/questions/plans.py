"""What a reading of a question comes to: a query that answers it, or the words that were not read (decision 275)."""

from dataclasses import dataclass

from contract.analytics_results import ChartKind
from resolvers.analytics_inputs import AnalyticsQuery


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
class Declined:
    """The words that were not read, as they were written, and three questions that can be asked instead."""

    unread: tuple[str, ...]
    suggestions: tuple[str, ...]
