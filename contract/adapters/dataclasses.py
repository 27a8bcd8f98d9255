"""Lets the methods of dataclasses be shared code: imported before anybody declares one (decision 1160).

Python 3.11 and 3.12 write a text for each method of each dataclass and compile it: six of a frozen one. There are nine
hundred when the service starts, of ours and of libraries, and compiling what nobody may ever call took a thirteenth of
the start. Comparing, hashing, showing and refusing are the same for each class but for the names of its fields: here
they are closures over these, which behave as what is written would. `__init__` differs with each class and stays.
Newer versions write one text for a class; there nothing is changed.
"""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import Field, FrozenInstanceError
from operator import attrgetter

_Fields = Sequence[Field[object]]
_Method = Callable[..., object]
_Values = Callable[[object], tuple[object, ...]]

_hidden = vars(dataclasses)

IS_NEEDED = sys.version_info < (3, 13) and all(
    hasattr(dataclasses, name) for name in ("_repr_fn", "_cmp_fn", "_hash_fn", "_frozen_get_del_attr")
)


def _values_of(names: Sequence[str]) -> _Values:
    """What reads the fields as a tuple."""
    if not names:
        return lambda _instance: ()
    values = attrgetter(*names)
    return values if len(names) > 1 else lambda instance: (values(instance),)


def shown(fields: _Fields, _globals: object) -> _Method:
    """The `__repr__` of a class with these fields."""
    names = [field.name for field in fields]

    def __repr__(self: object) -> str:
        of_each = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({of_each})"

    guarded: _Method = _hidden["_recursive_repr"](__repr__)  # against a row of instances that leads back
    return guarded


def compared(name: str, operator: str, self_tuple: str, other_tuple: str, globals: dict[str, object]) -> _Method:
    """The `__eq__` of a class, whose fields are known by the text `(self.a,self.b,)`; others are written as ever."""
    if name != "__eq__":
        written: _Method = _written(name, operator, self_tuple, other_tuple, globals)
        return written
    values = _values_of([part.removeprefix("self.") for part in self_tuple[1:-1].split(",") if part])

    def __eq__(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def hashed(fields: _Fields, _globals: object) -> _Method:
    """The `__hash__` of a class with these fields."""
    values = _values_of([field.name for field in fields])

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


def frozen(cls: type, fields: _Fields, _globals: object) -> tuple[_Method, _Method]:
    """The `__setattr__` and `__delattr__` of a frozen class, which refuse its fields."""
    names = frozenset(field.name for field in fields)

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]  # known when it runs

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]  # known when it runs

    return __setattr__, __delattr__


if IS_NEEDED:
    _written = _hidden["_cmp_fn"]
    _hidden |= {"_repr_fn": shown, "_cmp_fn": compared, "_hash_fn": hashed, "_frozen_get_del_attr": frozen}
