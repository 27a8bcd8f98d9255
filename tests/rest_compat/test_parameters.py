"""Query parameters that may be given several times."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import ValidationError

from contract.criteria import All, Compare, Op
from contract.vocabulary import DealStatus
from rest_compat.bodies import query_with_lists
from rest_compat.parameters import ListParameters, Repeatable, Where, repeatable


class _Query(ListParameters):
    status: Annotated[list[DealStatus] | None, Repeatable(), Where(Op.IN)] = None


def test_a_repeatable_parameter_has_all_its_values() -> None:
    """Given several times, by commas, or both; the names of no list keep their last value."""
    raw = b"status=won,lost&limit=1&status=open&limit=2&status="
    assert repeatable(_Query) == {"status"}
    assert query_with_lists(raw, {"status"}) == {"status": ["won", "lost", "open", ""], "limit": "2"}
    assert query_with_lists(b"", {"status"}) == {}


def test_what_a_repeatable_parameter_asks_for() -> None:
    asked = _Query.model_validate({"status": ["won", "lost"]}).listing()
    assert asked.condition == All((Compare("status", Op.IN, ("won", "lost")),))
    assert _Query.model_validate({}).listing().condition == All()
    with pytest.raises(ValidationError):
        _Query.model_validate({"status": ["won", ""]})
