"""Results as text and back, and which arguments are the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import orjson
import pytest

from contract.vocabulary import GeoScope
from resolvers.credentials import Created, CredentialView
from resolvers.deals import DealCreate, DealUpdate
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.result_codec import canonical, dumps, loads
from storage.new_rows import new_row
from storage.statements import row_of
from storage.tables import Account, Deal

MOMENT = datetime(2026, 5, 1, 12, 30, 15, 123456, UTC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**80),
        1.5,
        "",
        'a "b" \u2028 \U0001f600',
        Decimal("1500.0000"),
        MOMENT,
        MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30))),
        date(2026, 5, 1),
        GeoScope.LOCAL,
        [],
        [1, [None, "list"], {"list": ["tuple"]}],
        (),
        ("row", ("record",)),
        {"b": 1, "a": {"": None}},
        CredentialView("i", "n", "k", "h", MOMENT, None, MOMENT),
        Created(CredentialView("i", "n", "k", "h", MOMENT, None, None), "ak_k.secret"),
    ],
    ids=repr,
)
def test_what_comes_back_is_what_was_kept(value: Any) -> None:
    again = loads(dumps(value))
    assert (type(again), again) == (type(value), value)


def test_a_record_of_some_kind_comes_back_with_its_kind() -> None:
    deal = new_row(Deal, name="d", org_id="o")
    again = loads(dumps([NodeResult("Deal", deal)]))
    assert again == [NodeResult("Deal", deal)]


def test_a_record_comes_back_as_its_draft() -> None:
    deal = new_row(Deal, name="d", org_id="o", value=Decimal("12.5"), close_date=date(2026, 5, 1))
    assert loads(dumps(deal)) == deal
    account = Account(name="a", org_id="o")
    again = loads(dumps(account))
    assert {name: getattr(account, name) for name in again._fields} == again._asdict()


def test_a_row_comes_back_with_the_rows_that_came_along() -> None:
    kind = row_of(["id", "account__id", "account__name", "raw"])
    row = kind("1", "2", "Acme", orjson.Fragment(b'{"a": 1.50}'))
    again = loads(dumps(row))
    assert (again.id, again.account.id, again.account.name) == ("1", "2", "Acme")
    assert orjson.dumps(again.raw) == b'{"a": 1.50}'
    assert loads(dumps(kind("1", None, None, None))).account is None


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(TypeError, match="function"):
        dumps([lambda: None])
    with pytest.raises(TypeError, match="bytearray"):
        dumps({"a": bytearray()})


@pytest.mark.parametrize(
    "text", [b'["new kind", 1]', b'["record", "no_table", {}]', b'["class", "contract.errors:NoLongerThere", {}]']
)
def test_what_another_version_kept_is_said_to_be_so(text: bytes) -> None:
    with pytest.raises(LookupError):
        loads(text)


@dataclass(frozen=True)
class _Of:
    value: Any


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ({1, 2, 3}, {3, 2, 1}, True),
        (None, "", False),
        ("1", 1, False),
        (["list", 1], [1], False),
        (_Of(1), _Of(2), False),
        ({"a": "\ud800", "b": 1}, {"b": 1, "a": "\ud800"}, True),
        ("\ud800", "\ud801", False),
        ("\ud800", "\\ud800", False),
        (DealCreate(name="a"), DealCreate(name="a", currency="USD"), True),
        (DealCreate(name="a"), DealCreate(name="a", currency="EUR"), False),
        (DealCreate(name="a"), DealCreate(name="a", value=None), False),
        (DealUpdate(), DealUpdate(notes=None), False),
    ],
)
def test_which_arguments_are_the_same(one: Any, other: Any, same: bool) -> None:
    assert (canonical(one) == canonical(other)) is same
