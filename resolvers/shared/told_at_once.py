"""Finds all that is wrong with an input, so that its sender hears of everything at once (decision 1110).

What a value must be is seen by the input's model, or by its resolver; what an identifier leads to is looked up. Where
something is wrong already, the rest is looked up here. What is well costs nothing more.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence, Set
from typing import Final, TypeVar

from contract.errors import Path, Problem
from resolvers.shared.changes import existing, followed
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, nulls
from resolvers.shared.record_inputs import never_cleared, references_of
from resolvers.shared.sentences import ABSENT, INACTIVE
from storage.base import Record
from storage.queries import members
from storage.tenancy.sessions import TenantSession

M = TypeVar("M", bound=Input)

Lookup = Callable[[Context, TenantSession, Sequence[str]], Awaitable[Mapping[str, str]]]
"""Finds those of some identifiers that lead nowhere, each with the words for it."""

EACH: Final = "*"
"""Stands in the path of a reference for every place of a list."""

_LOOKUPS: dict[type[Input], Mapping[Path, Lookup]] = {}


def leading(references: Mapping[Path, Lookup]) -> Callable[[type[M]], type[M]]:
    """Declare which fields of an input that is not made of a table are references, and what finds the lost ones."""

    def declare(model: type[M]) -> type[M]:
        _LOOKUPS[model] = references
        return model

    return declare


def to_record(model: type[Record]) -> Lookup:
    """The look for records of a table; one that went into another is there (decision 435)."""

    async def find(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
        _, missing = await existing(session, {identifier: (model, identifier) for identifier in identifiers})
        return dict.fromkeys(missing, ABSENT)

    return find


async def to_member(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
    """The look for active members (decision 223)."""
    active = await members.active_of(session, identifiers, lock=False)
    return {identifier: INACTIVE for identifier in identifiers if identifier not in active}


async def all_wrong(
    ctx: Context, model: type[Input], fields: object, found: Sequence[Problem], at: Path
) -> list[Problem]:
    """Returns what was found wrong with the fields, and behind it what is wrong with them besides."""
    told = [problem.path[len(at) :] for problem in found if problem.path[: len(at)] == at]
    return [*found, *await also_wrong(ctx, model, fields, told, at)]


async def also_wrong(
    ctx: Context, model: type[Input], fields: object, told: Collection[Path], at: Path
) -> list[Problem]:
    """The nulls and the references that are wrong where nothing was told yet; paths of what was are below the input."""
    if not isinstance(fields, dict):
        return []
    lookups = next((_LOOKUPS[base] for base in model.__mro__ if base in _LOOKUPS), {})
    table = model.of_table
    places = {path for path in told if path}
    wrong = {path[0] for path in places}
    sound = {name: value for name, value in fields.items() if name not in wrong}
    never = never_cleared(table) if table is not None and model.is_change else ()
    problems = nulls(sound, dict.fromkeys((*never, *model.filled)), at)
    if table is None and not lookups:
        return problems
    async with ctx.reading() as session:
        if table is not None:
            texts = {n: value for n, value in sound.items() if isinstance(value, str) and n in model.model_fields}
            _, lost = await followed(session, texts, references_of(table), at)
            problems += lost
        for path, lookup in lookups.items():  # one or two
            given = [each for each in _texts(fields, path) if not _is_told(each[0], places)]
            missing = await lookup(ctx, session, list(dict.fromkeys(text for _, text in given))) if given else {}
            problems += [Problem((*at, *place), missing[text], "reference") for place, text in given if text in missing]
    return problems


def _texts(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """The texts at the path, each with its place; what has another form is told of already."""
    if not path:
        if isinstance(value, str):
            yield (), value
        return
    first, *rest = path
    inner: list[tuple[str | int, object]] = []
    if first == EACH and isinstance(value, list):
        inner = list(enumerate(value))
    elif isinstance(value, dict) and first in value:
        inner = [(first, value[first])]
    for key, each in inner:
        for place, text in _texts(each, tuple(rest)):
            yield (key, *place), text


def _is_told(place: Path, told: Set[Path]) -> bool:
    """Says whether something was told of this place, or of what it stands in."""
    return any(place[:length] in told for length in range(1, len(place) + 1))
