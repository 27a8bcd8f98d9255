"""The slots that the words of a question fill, before a query is made of them (decisions 275 and 276)."""

from dataclasses import dataclass, field
from typing import Any, Final

from contract.analytics_queries import Operator
from contract.analytics_results import ChartKind
from contract.catalog import DateGrain
from resolvers.analytics_inputs import AnalyticsCondition
from resolvers.questions.periods import Stretch
from resolvers.questions.tokens import Token

DATE_OF: Final = {
    "meetings": "due_at",
    "accounts": "created_at",
    "contacts": "created_at",
    "leads": "created_at",
    "campaigns": "created_at",
    "enrollments": "enrolled_at",
}
"""The date that periods are about where the question does not say which. Deals have none: it would be a guess."""


DATE_WORDS: Final = {
    **{"close_date": "closing day", "created_at": "day of creation", "due_at": "scheduled time"},
    **{"converted_at": "conversion", "enrolled_at": "enrollment", "completed_at": "completion"},
    **{"closed_at": "day of winning or losing", "last_meeting_at": "last meeting"},
}


@dataclass(slots=True)
class Slots:
    """The parts of a question that were read. `unread` are the words that nothing is made of."""

    entity: str
    has_noun: bool = False
    is_one: bool = False
    """Whether the noun is in the singular."""
    measures: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)
    """The words that measures were named by."""
    by: list[str] = field(default_factory=list)
    grain: DateGrain | None = None
    conditions: list[AnalyticsCondition] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    date: str | None = None
    date_text: str = ""
    weak_date: str | None = None
    """The date that a state brings along, where no other is named."""
    is_undated: bool = False
    """Whether a period may say when records came into a state, which is not known: «disqualified this month»; or when
    they did not: «not won this year»."""
    period_place: int | None = None
    """The place of the first words of a period or of a grouping by periods."""
    first: int | None = None
    order: tuple[str, bool] | None = None
    ranks: bool | None = None
    """Whether the largest come first, where only the first are asked for."""
    rank_word: str = ""
    is_counted: bool = False
    is_listed: bool = False
    is_average: bool = False
    is_total: bool = False
    is_sum: bool = False
    is_how_long: bool = False
    is_much: bool = False
    """Whether it is asked how much, of what need not be said."""
    is_compared: bool = False
    is_within: bool = False
    """Whether groups are what records are in: «in each stage»."""
    is_each: bool = False
    """Whether figures are asked for in the plural: one of each record."""
    is_closing: bool = False
    has_new: bool = False
    has_pipeline: bool = False
    chart: ChartKind | None = None
    assumptions: list[str] = field(default_factory=list)
    unread: list[Token] = field(default_factory=list)
    readings: list[tuple[Token, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    """Names that may be values of several dimensions, each with these and their values."""

    def add(
        self,
        name: str,
        op: Operator = Operator.EQ,
        value: object = None,
        **more: Any,  # Any: of each field its own
    ) -> None:
        """Have one more condition hold; the same one twice is one."""
        found = AnalyticsCondition(field=name, op=op, value=value, **more)
        if found not in self.conditions:
            self.conditions.append(found)

    def assume(self, words: str) -> None:
        """Note what is taken for granted, once."""
        if words and words not in self.assumptions:
            self.assumptions.append(words)

    def condition(self, name: str) -> AnalyticsCondition | None:
        """The condition on a dimension."""
        return next((one for one in self.conditions if one.field == name), None)
