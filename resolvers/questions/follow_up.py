"""Questions that go on from the last query of their conversation: «by owner», «and last month?» (decision 282)."""

from collections.abc import Sequence
from datetime import date
from typing import Final

from contract.analytics_queries import Operator
from contract.catalog import Entity
from contract.vocabulary import SortDirection
from resolvers.analytics_checks import name_of
from resolvers.analytics_inputs import AnalyticsCondition, AnalyticsOrder, AnalyticsQuery
from resolvers.questions.assembling import days, figure_of, may_be_of_another_time, measured
from resolvers.questions.grammar import Reader
from resolvers.questions.names import Names
from resolvers.questions.plans import Plan
from resolvers.questions.slots import DATE_OF, DATE_WORDS, Slots
from resolvers.questions.tokens import Token
from storage.queries.analytics_facts import FACTS

_OPENERS: Final = frozenset(
    {"and", "now", "only", "just", "but", "then", "same", "instead", "also", "what", "how", "about", "for"}
)
_ENDS: Final = frozenset({"instead", "only", "too", "then", "one", "please"})


def follow(
    tokens: Sequence[Token], previous: AnalyticsQuery, known: dict[str, Entity], names: Names, today: date, me: str
) -> Plan | list[Token]:
    """The last plan with the slots changed that the question names; or the words that were not read."""
    entity = known.get(previous.entity)
    words = _bare(tokens)
    if entity is None or not words:
        return list(tokens)
    reader = Reader(words, entity, known, names, today, me)
    slots = reader.read()
    unread = [token for token in slots.unread if token.form not in _OPENERS - {"for", "how"}]
    is_changed = slots.by or slots.grain or slots.stretches or slots.conditions or slots.first or slots.chart
    if unread or slots.readings or slots.is_compared or slots.has_new or slots.is_how_long or len(slots.stretches) > 1:
        return unread or list(tokens)
    if not (is_changed or slots.measures or slots.order or slots.ranks is not None):
        return list(tokens)
    found = _changed(slots, previous, entity, today)
    return list(tokens) if found is None else found


def _bare(tokens: Sequence[Token]) -> list[Token]:
    """The words without those that only say that something goes on."""
    start, end = 0, len(tokens)
    while start < end and tokens[start].form in _OPENERS and not _is_count(tokens, start):
        start += 1
    while end > start and tokens[end - 1].form in _ENDS:
        end -= 1
    return list(tokens[start:end])


def _is_count(tokens: Sequence[Token], place: int) -> bool:
    following = tokens[place + 1].form if place + 1 < len(tokens) else ""
    is_how = tokens[place].form == "how" and following != "about"
    return is_how or (tokens[place].form == "for" and following in ("each", "every"))


def _changed(slots: Slots, previous: AnalyticsQuery, entity: Entity, today: date) -> Plan | None:
    where, measures, by = list(previous.where), list(previous.measures), list(previous.by)
    dates = [name for name in by if entity.dimensions[name].is_date] if measures else []
    date_name = slots.date or _date_of(previous, entity, dates)
    for one in slots.conditions:
        where = [old for old in where if old.field != one.field or entity.links.get(one.field)] + [one]
    if slots.stretches:
        if date_name is None:
            return None
        stretch = slots.stretches[0]
        where = [old for old in where if old.field != date_name]
        for op, day in ((Operator.GTE, stretch.start), (Operator.LT, stretch.end)):
            if day is not None:
                where.append(AnalyticsCondition(field=date_name, op=op, value=day.isoformat()))
        slots.assume(f"{stretch.words} is {days(stretch)}, by {DATE_WORDS.get(date_name, date_name)}")
    grouped = list(slots.by)
    if slots.grain is not None:
        if date_name is None:
            return None
        grouped.insert(0, date_name)
        if not any(one.field == date_name for one in where):
            where.append(AnalyticsCondition(field=date_name, op=Operator.IS_NOT_NULL))
    if slots.measures:
        slots.conditions = where
        if not measured(slots, entity, previous.time_zone, today):
            return None
        measures, where = list(slots.measures), slots.conditions
    if grouped:
        by, measures = grouped, measures or ["count"]
    gone = set(previous.by) - set(by)
    where = [one for one in where if one.op is not Operator.IS_NOT_NULL or one.field not in gone]
    if measures and "stage" in by and not any(one.field == "stage" for one in where):
        where.append(AnalyticsCondition(field="stage", op=Operator.IS_NOT_NULL))
    if len(by) > 2:
        return None
    order = _order(slots, previous, entity, measures, by)
    query = AnalyticsQuery(
        **{name: getattr(previous, name) for name in ("entity", "time_zone")},
        measures=measures,
        by=by,
        where=where,
        order_by=order,
        grain=slots.grain or previous.grain,
        first=slots.first or previous.first,
    )
    return Plan(query, tuple(slots.assumptions), follows=True, chart=slots.chart)


def _date_of(previous: AnalyticsQuery, entity: Entity, dates: Sequence[str]) -> str | None:
    """The date that the last plan was about: that of its conditions or periods, or the entity's own."""
    conditions = [one.field for one in previous.where if one.field in entity.dimensions]
    found = [name for name in conditions if entity.dimensions[name].is_date] + list(dates)
    if found:
        return found[0] if len(set(found)) == 1 else None
    states = [one.value for one in previous.where if one.field in ("status", "health_trend")]
    if states and previous.entity == "deals":
        return "close_date" if states[0] in ("won", "lost", ["won", "lost"]) else None
    if may_be_of_another_time(previous.entity, previous.where, previous.measures):
        return None
    if states:  # when other records came into their state is not known (decision 1040)
        return "converted_at" if states == ["converted"] else None
    return DATE_OF.get(previous.entity)


def _order(
    slots: Slots, previous: AnalyticsQuery, entity: Entity, measures: Sequence[str], by: Sequence[str]
) -> list[AnalyticsOrder]:
    """The order that was asked for; else the last one, as far as what it names is still there."""
    names = {*measures, *by} if measures else set(entity.dimensions)
    wanted = slots.order
    if wanted is not None and wanted[0] in names:
        return [_by(*wanted)]
    is_first = slots.ranks is not None or slots.first is not None
    is_by_periods = bool(measures and by) and entity.dimensions[by[0]].is_date
    if is_by_periods and slots.ranks is not None:
        return [_by(figure_of(measures), slots.ranks)]
    if is_by_periods and list(by) != previous.by:
        return []
    kept = [one for one in previous.order_by if one.field in names]
    if measures and (is_first or previous.order_by) and by and not entity.dimensions[by[0]].is_date:
        figure = figure_of(measures)
        if is_first or FACTS[entity.name].measures[figure].unit != "money":
            return [_by(figure, slots.ranks is not False)]
    if measures and list(by) == ["stage"]:
        return []
    if measures and not kept and len(by) == 1 and not entity.dimensions[by[0]].is_date:
        figure = figure_of(measures)
        return [] if FACTS[entity.name].measures[figure].unit == "money" else [_by(figure, True)]
    return kept if measures or kept else [_by(name_of(entity.name), False)]


def _by(name: str, descends: bool) -> AnalyticsOrder:
    return AnalyticsOrder(field=name, direction=SortDirection.DESC if descends else SortDirection.ASC)
