"""Makes a query of filled slots: what follows, and what is taken for granted and told (decisions 276 and 277)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from contract.analytics_queries import OF_LINKS, Operator
from contract.analytics_results import ChartKind
from contract.catalog import ColumnKind, DateGrain, Entity
from contract.vocabulary import DealStatus, SortDirection
from resolvers.analytics_inputs import AnalyticsCondition, AnalyticsOrder, AnalyticsQuery
from resolvers.questions.listing import Unmade, first_of, listed
from resolvers.questions.periods import Stretch
from resolvers.questions.plans import Plan
from resolvers.questions.slots import DATE_OF, DATE_WORDS, Slots
from storage.queries.analytics_facts import FACTS

_COUNTED: Final = frozenset({"meetings", "contacts", "leads", "enrollments", "research_results"})
"""Entities whose bare name with a condition asks for their number; of the others the records are listed."""
_BESIDE: Final = {
    "win_rate": ("won_count", "count"),
    "conversion_rate": ("converted_count", "count"),
    "reply_rate": ("replied_count", "enrolled_count"),
    "bounce_rate": ("bounced_count", "enrolled_count"),
}
"""The numbers that a rate comes with."""
_OF_STATES: Final[dict[str, tuple[str, Operator, object]]] = {
    "win_rate": ("status", Operator.IN, ["won", "lost"]),
    "sales_cycle_days": ("status", Operator.EQ, "won"),
    "weighted_sum": ("status", Operator.EQ, "open"),
    "days_to_convert": ("status", Operator.EQ, "converted"),
}
"""The records that a measure is about."""
_AVERAGES: Final = frozenset(
    {
        *("value_average", "minutes_average", "health_average", "score_average", "sales_cycle_days", "stage_days"),
        *("days_to_convert", "win_rate", "conversion_rate", "reply_rate", "bounce_rate"),
    }
)
_MAKING: Final = frozenset({"create", "add", "make", "capture"})
"""What somebody does: whoever made a record need not own it."""
_MADE: Final = frozenset({"accounts", "contacts", "campaigns"})
"""Entities of which periods are about their making, for want of another date."""
_LENGTHS: Final = {"deals": frozenset({"sales_cycle_days", "stage_days"}), "leads": frozenset({"days_to_convert"})}


@dataclass(slots=True)
class Made:
    """A plan; or none, with the dates between which the question leaves the choice."""

    plan: Plan | None = None
    dates: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    """Words that were read but make no query together with the others."""


@dataclass(slots=True)
class _Assembly:
    slots: Slots
    entity: Entity
    zone: str
    today: date
    by: list[str] = field(default_factory=list)

    def run(self) -> Plan:
        slots = self.slots
        self.by = list(slots.by)
        self._new()
        self.settle()
        self._contradictions()
        self._periods()
        if len(self.by) > 2:
            raise Unmade("by", *self.by[2:])
        return self._groups() if slots.measures else self._plan(*listed(slots, self.entity))

    @property
    def _date(self) -> str | None:
        slots = self.slots
        closed = {"win_rate", "sales_cycle_days", "weighted_sum"}.intersection(slots.measures) or slots.has_pipeline
        found = slots.date or slots.weak_date or ("close_date" if closed else DATE_OF.get(slots.entity))
        return found if found in self.entity.dimensions else None

    def _new(self) -> None:
        slots = self.slots
        if not slots.has_new:
            return
        if slots.stretches or slots.grain is not None:
            if slots.date not in (None, "created_at"):
                raise Unmade("new")
            slots.date = "created_at"
            slots.assume("new ones are those created then")
        elif slots.entity == "leads":
            slots.add("status", value="new")
            slots.assume("new leads are those with the status new")
        else:
            raise Unmade("new")

    def settle(self) -> None:
        """Have the measures bring along what goes with them."""
        slots = self.slots
        measures = slots.measures
        if len(measures) > 1:
            raise Unmade(*(slots.said.get(name, name) for name in measures[1:]))
        self._wording()
        if slots.is_how_long:
            if slots.entity == "meetings" and not measures:
                measures.append("minutes_average")
            is_stay = slots.is_within and slots.by == ["stage"] and not (slots.conditions or slots.stretches)
            if slots.entity == "deals" and is_stay and not measures:
                measures.append("stage_days")
            if slots.entity != "meetings" and not _LENGTHS.get(slots.entity, frozenset()).intersection(measures):
                raise Unmade("how long")
        if slots.is_average and not _AVERAGES.intersection(measures):
            raise Unmade("average")
        if slots.is_total and _AVERAGES.intersection(measures):
            raise Unmade("total")
        if slots.is_sum and not measures:  # of deals that is their amounts; of what else it is, is not said
            if slots.entity != "deals":
                raise Unmade("sum")
            measures.append("value_sum")
        if slots.has_pipeline:
            if slots.condition("status") is None:
                slots.add("status", value="open")
                slots.assume("the pipeline is the open deals")
            is_grouped = slots.by or slots.grain is not None or slots.is_total
            if measures == ["value_sum"] or (not measures and is_grouped and not slots.is_counted):
                measures[:] = ["value_sum", "count"]
        for name in list(measures):
            if name in _OF_STATES:
                self._of_state(name)
        if measures == ["value_sum"] and "stage" in slots.by and self._has_status("open"):
            measures.append("count")  # which is the pipeline by stage
        if len(measures) == 1:
            measures[:] = [*_BESIDE.get(measures[0], ()), measures[0]]
        if measures == ["stage_days"] and "stage" not in self.by and (not self.by or self._is_each_stage()):
            self.by.insert(0, "stage")
        if not measures and self._is_counted():
            measures.append("count")

    def _wording(self) -> None:
        """Decline words that have one meaning only together with others (decision 1040)."""
        slots, said = self.slots, self.slots.said
        if slots.is_much and not said and not any(map(self._has_status, DealStatus)):
            raise Unmade("how much")
        if slots.condition("owner") is not None and slots.date_text.casefold() in _MAKING:
            raise Unmade(slots.date_text)
        status = slots.condition("status")
        is_of_both = status is not None and status.op is Operator.IN
        if is_of_both and slots.ranks is not None and slots.by == ["owner"] and not slots.measures:
            raise Unmade("closed")  # who closed deals has won them, to many
        length = said.get("sales_cycle_days", "").casefold()
        if length.startswith("to ") and not slots.is_how_long:
            raise Unmade(length)
        stays = said.get("stage_days")
        is_of_stages = "stage" in slots.by or slots.condition("stage") is not None
        if stays is not None and not is_of_stages and "stage" not in stays.casefold():
            raise Unmade(stays)
        share = said.get("conversion_rate", "")
        is_narrowed = bool(slots.by or slots.grain or slots.conditions or slots.stretches)
        if is_narrowed and " of leads that " in share.casefold():
            raise Unmade(share.split()[0])

    def _is_each_stage(self) -> bool:
        """Says whether the words of the time that deals stay name its groups already."""
        return "each stage" in self.slots.said.get("stage_days", "").casefold()

    def _has_status(self, status: str) -> bool:
        found = self.slots.condition("status")
        return found is not None and (found.op, found.value) == (Operator.EQ, status)

    def _of_state(self, measure: str) -> None:
        name, op, value = _OF_STATES[measure]
        earlier = self.slots.condition(name)
        if earlier is None:
            self.slots.add(name, op, value)
        elif (earlier.op, earlier.value) != (op, value):
            raise Unmade(self.slots.said.get(measure, measure))

    def _is_counted(self) -> bool:
        slots = self.slots
        if slots.is_counted or slots.is_total or slots.by or slots.grain is not None:
            return True
        if slots.is_listed or slots.ranks is not None or slots.order or slots.entity not in _COUNTED:
            return False
        if slots.first is not None or slots.chart is ChartKind.TABLE:
            return False
        slots.assume(f"{self.entity.name.replace('_', ' ')} are counted; «list» shows them one by one")
        return True

    def _contradictions(self) -> None:
        """A dimension has one value: two that are asked for at once would find nothing."""
        values: dict[str, object] = {}
        for one in self.slots.conditions:
            is_value = one.op in (Operator.EQ, Operator.IN, Operator.NEQ)
            if is_value and values.setdefault(one.field, (one.op, one.value)) != (one.op, one.value):
                raise Unmade(str(one.value))

    def _periods(self) -> None:
        slots, name = self.slots, self._date
        if slots.is_compared and len(slots.stretches) != 2:
            raise Unmade("compare")
        is_timed = bool(slots.stretches) or slots.grain is not None
        is_of_another_time = slots.weak_date is None and (
            may_be_of_another_time(slots.entity, slots.conditions, slots.measures)
            or (slots.order is not None and _is_health(slots.order[0]))
        )
        if is_timed and slots.date is None and (slots.is_undated or is_of_another_time):
            raise Unmade(slots.stretches[0].words if slots.stretches else f"{slots.grain}")
        if not slots.stretches and slots.grain is None:
            if slots.date is not None:
                raise Unmade(slots.date_text)
            return
        if name is None:
            raise _Dates(("created_at", "close_date") if slots.entity == "deals" else ())
        if slots.is_compared:
            slots.stretches = [self._both(slots.stretches)]
        if len(slots.stretches) > 1:
            raise Unmade(slots.stretches[1].words)
        said = DATE_WORDS.get(name, name)
        if slots.is_closing and slots.condition("status") is None and self._is_ahead():
            slots.add("status", value="open")
            slots.assume("deals that are closing are open")
        for stretch in slots.stretches:
            for op, day in ((Operator.GTE, stretch.start), (Operator.LT, stretch.end)):
                if day is not None:
                    slots.add(name, op, day.isoformat())
            slots.assume(f"{stretch.words} is {days(stretch)}, by {said}")
        if slots.grain is not None:
            self.by.insert(0, name)
            if not slots.stretches:
                slots.add(name, Operator.IS_NOT_NULL)
                slots.assume(f"periods are by {said}")

    def _is_ahead(self) -> bool:
        """Says whether the period has days that are not over."""
        return any(stretch.is_ahead(self.today) for stretch in self.slots.stretches)

    def _both(self, stretches: Sequence[Stretch]) -> Stretch:
        """Two neighbouring periods as one, by whose width the records are grouped."""
        first, second = (
            sorted(stretches, key=lambda one: one.start or date.min) if len(stretches) == 2 else (None, None)
        )
        if first is None or second is None or first.grain is None or first.grain is not second.grain:
            raise Unmade("compare")
        if first.end != second.start or self.slots.grain not in (None, first.grain):
            raise Unmade("compare")
        self.slots.grain, self.slots.chart = first.grain, self.slots.chart or ChartKind.BAR
        if not self.slots.measures:
            self.slots.measures.append("count")
        return Stretch(f"{first.words} and {second.words}", first.start, second.end, first.grain)

    def _plan(self, by: Sequence[str], order: Sequence[tuple[str, bool]], first: int | None) -> Plan:
        slots = self.slots
        query = AnalyticsQuery(
            entity=slots.entity,
            measures=list(slots.measures),
            by=list(by),
            grain=slots.grain or DateGrain.MONTH,
            where=list(slots.conditions),
            order_by=[
                AnalyticsOrder(field=n, direction=SortDirection.DESC if desc else SortDirection.ASC)
                for n, desc in order
            ],
            time_zone=self.zone,
            **({} if first is None else {"first": first}),
        )
        return Plan(query, tuple(slots.assumptions), chart=slots.chart)

    def _groups(self) -> Plan:
        slots = self.slots
        if "stage" in self.by and slots.measures != ["stage_days"] and slots.condition("stage") is None:
            slots.add("stage", Operator.IS_NOT_NULL)
            slots.assume("deals in no stage are left out")
        figure = figure_of(slots.measures)
        order, first = list[tuple[str, bool]](), slots.first
        is_most = slots.is_counted or slots.rank_word in ("", "most", "fewest", "least")
        if slots.measures == ["count"] and not is_most:
            raise Unmade(slots.rank_word)
        if slots.entity == "campaigns" and not self.by and (slots.ranks is not None or slots.is_each):
            self.by.append("name")
        if slots.ranks is not None:
            if not self.by:
                raise Unmade(slots.rank_word or "top")
            order = [slots.order or (figure, slots.ranks)]
            first = first_of(slots)
            self._name_each()
        elif slots.order is not None:
            order = [slots.order]
        elif self._is_by_text() and FACTS[slots.entity].measures[figure].unit != "money":
            order = [(figure, True)]
        for name, _ in order:
            if name not in slots.measures and name not in self.by:
                raise Unmade(name)
            facts = FACTS[slots.entity].measures.get(name)
            if facts is not None and facts.unit == "money" and slots.condition("currency") is None:
                slots.assume("amounts of every currency are compared as numbers")
        return self._plan(self.by, order, first)

    def _name_each(self) -> None:
        """Have no group be without a name: none is no account that could have the most (decision 832)."""
        for name in self.by:
            known = self.entity.dimensions[name]
            is_name = known.kind is ColumnKind.TEXT and known.values is None and name != "currency"
            if is_name and self.slots.condition(name) is None:
                self.slots.add(name, Operator.IS_NOT_NULL)
                told = self.slots.entity.replace("_", " ")
                self.slots.assume(f"{told} without {name.replace('_', ' ')} are left out")

    def _is_by_text(self) -> bool:
        return len(self.by) == 1 and self.by[0] != "stage" and not self.entity.dimensions[self.by[0]].is_date


def may_be_of_another_time(entity: str, conditions: Sequence[AnalyticsCondition], measures: Sequence[str]) -> bool:
    """Says whether a period may be that of something else than when the records were made (decision 1017).

    Their health, what they are linked to and figures have times of their own.
    """
    if entity not in _MADE:
        return False
    is_linked = any(one.op in OF_LINKS for one in conditions)
    return is_linked or any(_is_health(one.field) for one in conditions) or any(name != "count" for name in measures)


def _is_health(name: str) -> bool:
    return name.startswith("health_")


class _Dates(Exception):
    """The question leaves the choice between these dates."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(*names)
        self.names = names


def assemble(slots: Slots, entity: Entity, zone: str, today: date) -> Made:
    """Makes a query of slots that hold every word of the question."""
    try:
        return Made(_Assembly(slots, entity, zone, today).run())
    except _Dates as choice:
        return Made(dates=choice.names, why=tuple(stretch.words for stretch in slots.stretches))
    except Unmade as error:
        return Made(why=tuple(str(word) for word in error.args))


def measured(slots: Slots, entity: Entity, zone: str, today: date) -> bool:
    """Has measures bring along the numbers and the conditions that go with them; whether that can be."""
    try:
        _Assembly(slots, entity, zone, today).settle()
    except Unmade:
        return False
    return True


def figure_of(measures: Sequence[str]) -> str:
    """The measure that the others come with, and that groups are ordered by."""
    return measures[0] if list(measures) == ["value_sum", "count"] else measures[-1]


def days(stretch: Stretch) -> str:
    """The days of a stretch: from the first to the last of them."""
    last = None if stretch.end is None else stretch.end - timedelta(days=1)
    if stretch.start is None:
        return f"until {last}"
    return f"from {stretch.start} on" if last is None else f"{stretch.start} to {last}"
