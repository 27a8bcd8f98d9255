"""Dataclasses with shared methods do what those of the standard library do (contract/adapters/dataclasses.py)."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import FrozenInstanceError
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import pytest

from contract.adapters import dataclasses as adapter

WAYS: list[dict[str, bool]] = [
    {},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"order": True},
    {"unsafe_hash": True},
    {"eq": False, "repr": False},
]


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    """The standard library's module as it is without the adapter."""
    spec = spec_from_file_location("plain_dataclasses", dataclasses.__file__)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules["plain_dataclasses"] = made
    spec.loader.exec_module(made)
    return made


def _class(library: Any, names: tuple[str, ...], way: dict[str, bool]) -> Any:  # Any: a class made at run time
    body = {"__annotations__": dict.fromkeys(names, object), "__module__": __name__}
    return library.dataclass(**way)(type("Made", (), body))


def _outcome(act: Any, *arguments: object) -> object:
    """What a call gives, or how it fails."""
    try:
        return act(*arguments)
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__], str(error)


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "self")])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_is_shared_behaves_as_what_is_written(
    plain: ModuleType, names: tuple[str, ...], way: dict[str, bool]
) -> None:
    """Decision 1160."""
    ours, theirs = _class(dataclasses, names, way), _class(plain, names, way)
    nan = float("nan")
    values: list[tuple[object, ...]] = [
        (1, 2, 3)[: len(names)],
        (1, 2, 4)[: len(names)],
        (nan, "x", None)[: len(names)],
    ]
    for mine in values:
        one, another = ours(*mine), theirs(*mine)
        for act in (
            (str, hash) if way.get("frozen") or way.get("unsafe_hash") else (lambda x: type(x).__hash__ is None,)
        ):
            if way.get("repr", True):
                assert _outcome(act, one) == _outcome(act, another)
        for other in values:
            assert (one == ours(*other)) is (another == theirs(*other))
        assert one != another
        for name in (*names, "else"):
            assert _outcome(setattr, one, name, 5) == _outcome(setattr, another, name, 5)
            assert _outcome(delattr, one, name) == _outcome(delattr, another, name)
    for method in ("__repr__", "__eq__", "__setattr__", "__delattr__", "__hash__"):
        mine, theirs_ = (getattr(vars(kind).get(method), "__qualname__", None) for kind in (ours, theirs))
        assert mine == theirs_


def test_who_derives_from_a_frozen_class_may_set_what_is_its_own() -> None:
    @dataclasses.dataclass(frozen=True)
    class Base:
        a: int

    class Derived(Base):
        """With an attribute of its own."""

    derived: Any = Derived(1)  # Any: what it has besides was not declared
    derived.own = 2
    assert derived.own == 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        derived.a = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del derived.a


def test_an_instance_within_itself_is_shown() -> None:
    @dataclasses.dataclass
    class Ring:
        inside: list[object]

    ring = Ring([])
    ring.inside.append(ring)
    assert repr(ring).endswith("Ring(inside=[...])")


@pytest.mark.skipif(not adapter.IS_NEEDED, reason="this Python writes one text for a class")
def test_one_method_alone_is_written_for_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = dataclasses
    written: list[str] = []
    write = library._create_fn
    monkeypatch.setattr(
        library, "_create_fn", lambda name, *args, **rest: written.append(name) or write(name, *args, **rest)
    )

    @dataclasses.dataclass(frozen=True, slots=True)
    class Made:
        a: int
        b: int = 2

    assert written == ["__init__"]
    assert Made(1) == Made(1, 2)
