"""Puts calls of tools together from the pieces in which models send them (decision 356)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from contract.json_depth import depth_of
from contract.limits import JSON_DEPTH_MAX
from providers.chat_models import Call
from providers.models import ModelNonsense

CALLS_MAX: Final = 64
NAME_MAX: Final = 100
"""Characters of a tool's name: a longer one is none, and is told cut."""
ARGUMENTS_MAX: Final = 256 * 1024
"""Characters of one call's arguments."""


@dataclass(slots=True)
class _Piece:
    """A call as far as it has come."""

    index: int | None
    id: str
    name: str
    arguments: str = ""


class Assembly:
    """The calls of one answer. A piece belongs to the call of its index, else of its id, else of its place."""

    def __init__(self) -> None:
        self._found: list[_Piece] = []

    def take(self, pieces: Sequence[object]) -> None:
        """Some more of the calls. Raises ModelNonsense."""
        for place, piece in enumerate(pieces):
            if not isinstance(piece, dict):
                raise ModelNonsense("The model's answer cannot be read")
            function = piece.get("function") or {}
            if not isinstance(function, dict):
                raise ModelNonsense("The model's answer cannot be read")
            index, id, name = piece.get("index"), _text(piece.get("id")), _text(function.get("name"))
            found = self._of(index if isinstance(index, int) else None, id, name, place, len(pieces))
            found.id = found.id or id
            if name != found.name:
                found.name = (found.name + name)[:NAME_MAX]
            self._add(found, function.get("arguments"))

    def _of(self, index: int | None, id: str, name: str, place: int, number: int) -> _Piece:
        if index is not None:
            found = next((one for one in reversed(self._found) if one.index == index), None)
            if found is not None and id and found.id and id != found.id and name:
                found = None  # some give every call the same index
        elif id:
            found = next((one for one in self._found if one.id == id), None)
        else:
            at = place if number > 1 else len(self._found) - 1
            found = self._found[at] if 0 <= at < len(self._found) and not name else None
        if found is None:
            if len(self._found) >= CALLS_MAX:
                raise ModelNonsense("The model's answer is too large")
            found = _Piece(index, id, name[:NAME_MAX])
            self._found.append(found)
        return found

    def _add(self, found: _Piece, arguments: object) -> None:
        """Some more of the arguments: a text, or an object at once."""
        if isinstance(arguments, dict):
            if depth_of(arguments) > JSON_DEPTH_MAX:  # which cannot be written
                raise ModelNonsense("The model's answer cannot be read")
            found.arguments += orjson.dumps(arguments).decode()
        elif arguments is not None:
            found.arguments += _text(arguments)
        if len(found.arguments) > ARGUMENTS_MAX:
            raise ModelNonsense("The model's answer is too large")

    def calls(self) -> list[Call]:
        """The calls in their order; one without an identifier gets one."""
        return [
            Call(one.id or f"call_{place}", one.name, _object(one.arguments))
            for place, one in enumerate(self._found, 1)
        ]


def _object(text: str) -> dict[str, object] | None:
    """Arguments; none are an empty object, and None stands for what is no object."""
    if not text.strip():
        return {}
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    # It is stored, told to the model again and read as a tool's arguments, which all take less depth than reading it.
    return found if isinstance(found, dict) and depth_of(found) <= JSON_DEPTH_MAX else None


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ModelNonsense("The model's answer cannot be read")
    return value
