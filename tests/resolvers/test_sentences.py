"""One voice says what is wrong with a value, whatever constraint of whatever input it breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from pydantic import ValidationError

import rest_compat.routes  # noqa: F401  # every input there is
import schema.build  # noqa: F401
from resolvers.shared.inputs import Input, problems_of
from resolvers.shared.sentences import sentence
from storage.columns import Kind, columns_of

_LIBRARY: Final = re.compile(
    r"String|Input should|Field required|List should|Value error|Assertion|should (?:be|have|match)|unable to|\[type="
    r"|pattern|valid (?:string|integer|boolean|dictionary|list|number)|pydantic|instance of|is not acceptable"
)
"""Phrases of the library, and the words for a constraint that has no sentence."""
_VALUES: Final[tuple[Any, ...]] = (
    None, True, 5, -1, 1.5, 10**30, float("nan"), "", " ", "\x00", "x" * 20_001, [], [5], [""], ["x"] * 1_001, {}, [{}],
    object(),
)  # fmt: skip


def _inputs(kind: type[Input] = Input) -> Iterator[type[Input]]:
    for one in kind.__subclasses__():
        yield one
        yield from _inputs(one)


def test_no_phrase_of_the_library_is_heard() -> None:
    """Decision 986."""
    heard: dict[str, str] = {}
    for model in set(_inputs()):
        for name, info in model.model_fields.items():
            for value in _VALUES:
                try:
                    model.model_validate({info.alias or name: value})
                except ValidationError as error:
                    heard |= {p.message: f"{model.__name__}.{name} {p.type}" for p in problems_of(error)}
        try:
            model.model_validate({"no such field": 1})
        except ValidationError as error:
            heard |= {problem.message: model.__name__ for problem in problems_of(error)}
    assert len(heard) > 60
    assert {words: place for words, place in heard.items() if _LIBRARY.search(words)} == {}


def test_every_declared_bound_of_a_column_is_told() -> None:
    """Decision 986: with its number, whatever table has the column."""
    bounded = 0
    for model in {kind for kind in _inputs() if kind.of_table is not None}:
        for column in columns_of(model.of_table):
            if column.name not in model.model_fields or (column.most is None and column.least is None):
                continue
            bounded += 1
            most, least = column.most or 0, column.least or 0
            beyond = [most + 1, least - 1] if column.kind is Kind.WHOLE else ["x" * (most + 1), ""]
            told = [message for value in beyond for message in _told(model, column.name, value)]
            if column.most is not None:
                assert any(str(column.most) in message for message in told), (model.__name__, column.name, told)
    assert bounded > 10


def _told(model: type[Input], name: str, value: object) -> list[str]:
    try:
        model.model_validate({name: value})
    except ValidationError as error:
        return [problem.message for problem in problems_of(error) if problem.path[:1] == (name,)]
    return []


@pytest.mark.parametrize(
    ("kind", "told", "words"),
    [
        ("string_too_short", {"min_length": 1}, "must not be empty"),
        ("too_long", {"max_length": 1}, "must have at most 1 item"),
        ("string_too_long", {"max_length": 200}, "must have at most 200 characters"),
        ("greater_than_equal", {"ge": 0}, "must be at least 0"),
        ("greater_than_equal", {"ge": 0.0}, "must be at least 0"),
        ("less_than", {"lt": 2.0**53}, "must be less than 9007199254740992"),
        ("less_than_equal", {"le": 0.5}, "must be at most 0.5"),
    ],
)
def test_numbers_stand_in_the_sentence(kind: str, told: dict[str, Any], words: str) -> None:
    assert sentence(kind, told) == words
