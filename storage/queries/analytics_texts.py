"""Semantic queries as statements of ad-hoc SQL, which give the same rows: to be read, edited and run (decision 274).

A caller's SQL has exact amounts and no offsets of zones, so that figures need not be put together from parts.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass

from sqlalchemy import Integer, bindparam, func, literal_column, select

from contract.catalog import CATALOG
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries.analytics_fact import Fact, Facts
from storage.queries.analytics_facts import FACTS, STAY_JOINS, STAY_PARTS
from storage.queries.analytics_measures import Group
from storage.queries.analytics_queries import CURRENCY, ORDER, QueryStatement, Shape
from storage.queries.numbers import NONE
from storage.queries.periods import ad_hoc_beginning
from storage.shown_statements import Shown, shown


def written(shape: Shape, values: Values, dialect: str) -> Shown:
    """The statement that a caller can run for the same rows."""
    text = _Text(shape)
    return shown(text.key, text.build, dialect, {**values, "rows": values["rows"] - 1})


@dataclass(frozen=True, slots=True)
class _Text(QueryStatement):
    """The statement without its values."""

    @property
    def _facts(self) -> Facts:
        return FACTS[self.shape.entity]

    @property
    def key(self) -> Hashable:
        return "analytics text", self.shape

    def _of(self, name: str, fact: Fact, *, at_grain: bool) -> dict[str, AnyColumn]:
        found = super(_Text, self)._of(name, fact, at_grain=False)
        kind = CATALOG[self.shape.entity].dimensions[name].kind
        if at_grain and CATALOG[self.shape.entity].dimensions[name].is_date:
            found[name] = ad_hoc_beginning(fact.column, kind, self.shape.zone, self.shape.grain)
        return found

    def _as_read(self, statement: AnySelect, facts: Facts, keys: Collection[str]) -> AnySelect:
        return statement

    def _groups(self) -> AnySelect:
        parts, of_stays = self._parts(), self.shape.measures == ("stage_days",)
        if not of_stays and parts.keys() & STAY_PARTS.keys():
            rows = self._rows(parts)
            keys = {column.name: column for column in rows.c if column.name not in {"counted", *parts}}
            group = Group({name: rows.c[name] for name in parts}, parts, func.coalesce(func.sum(rows.c.counted), NONE))
            return self._of_group(group, keys, lambda columns: select(*columns).select_from(rows))
        facts = self._of_stays if of_stays else self._facts
        keys, joins = self._keys(facts)
        joins += [of_part for part in parts.values() for of_part in part.joins]
        repeats = facts.repeats.intersection(joins)
        count = func.count(facts.id.distinct()) if repeats else func.count()
        group = Group({name: part.column for name, part in parts.items()}, parts, count)
        inner = STAY_JOINS if of_stays else ()
        return self._of_group(group, keys, lambda columns: self._from(facts, columns, joins, inner))

    def _of_group(
        self, group: Group, keys: Mapping[str, AnyColumn], select_from: Callable[[list[AnyColumn]], AnySelect]
    ) -> AnySelect:
        """Groups by their keys in the order that is asked for; those that are shown are grouped by their places."""
        shape, measures = self.shape, self._facts.measures
        alike = {f"{name}{ORDER}" for name in shape.by if _is_its_own_order(name, keys)}
        keys = {name: keys[name] for name in keys if name not in alike}
        shown_keys = [name for name in keys if name not in self.orders]
        columns = [keys[name].label(name) for name in shown_keys]
        columns += [measures[name].ad_hoc(group).label(name) for name in shape.measures]
        grouped: list[AnyColumn] = [literal_column(str(place)) for place, _ in enumerate(shown_keys, 1)]
        grouped += [keys[name] for name in keys if name in self.orders]
        ordering = [(term, descends) for name, descends in shape.order for term in self._terms(name, keys)]
        ordered = {name for name, _ in shape.order}
        ties = [name for name in (*shape.by, CURRENCY) if name in keys and name not in ordered]
        ordering += [(term, False) for name in ties for term in self._terms(name, keys)]
        return (
            select_from(columns)
            .group_by(*grouped)
            .order_by(*((term.desc() if descends else term.asc()).nulls_last() for term, descends in ordering))
            .limit(bindparam("rows", type_=Integer))
        )

    @staticmethod
    def _terms(name: str, keys: Mapping[str, AnyColumn]) -> list[AnyColumn]:
        """List the order of a name: its column of the answer, what that is ordered by before it, what sets it apart."""
        before = [keys[name + ORDER]] if name + ORDER in keys else []
        return [*before, *(literal_column(one) for one in (name, f"{name}_id") if one == name or one in keys)]


def _is_its_own_order(name: str, keys: Mapping[str, AnyColumn]) -> bool:
    """Says whether what it is ordered by is what is shown anyway."""
    order = keys.get(f"{name}{ORDER}")
    return order is not None and bool(order.compare(keys[name]))
