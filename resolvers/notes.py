"""Notes: texts on records."""

from collections.abc import Collection
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, StrictStr

from contract.errors import Problem, Problems
from contract.limits import TEXT_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import ActivityType
from resolvers import activities
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, shown, storable
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Names
from storage.columns import CREATE, UPDATE
from storage.rows import ActivityRow
from storage.tables import Activity
from storage.tables.activities import LINKS, writable


def _with_something(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


NoteText = Annotated[
    StrictStr,
    *(Field(min_length=1, max_length=TEXT_MAX), AfterValidator(storable), AfterValidator(_with_something)),
    AfterValidator(shown),
]


@fields_of(Activity, CREATE, only=writable(ActivityType.NOTE, CREATE))
class NoteCreate(Input):
    """A new note, on one record at least."""

    body: NoteText
    tags: Names | None = None


@fields_of(Activity, UPDATE, only=writable(ActivityType.NOTE, UPDATE))
class NoteUpdate(Input):
    """Changes to a note; null clears a field that may be empty."""

    filled: ClassVar[tuple[str, ...]] = ("body",)

    body: NoteText | None = None


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_note(ctx: Context, input: NoteCreate) -> ActivityRow | None:
    """Write a note. Raises Problems for one that is on no record."""
    given = input.given()
    if problems := _unlinked(*map(given.get, LINKS)):
        raise Problems(problems)
    return await activities.create(ctx, ActivityType.NOTE, "created", given)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_note(
    ctx: Context, note_id: str, input: NoteUpdate, *, seen: Collection[int] | None = None
) -> ActivityRow | None:
    """Change a note, which stays on one record at least; `activities.change` says what `seen` is and raises."""

    def check(note: Activity, values: Given) -> list[Problem]:
        if not any(link in values for link in LINKS):  # one whose records were all deleted may be changed all the same
            return []
        return _unlinked(*(values.get(link, getattr(note, link)) for link in LINKS))

    given, filled = input.given(), input.filled
    return await activities.change(ctx, ActivityType.NOTE, note_id, given, filled=filled, seen=seen, check=check)


def _unlinked(*links: str | None) -> list[Problem]:
    """Returns the problem of a note that is on no record."""
    words = "must be linked to an account, a deal, a contact or a lead"
    return [] if any(links) else [Problem(("input",), words, "unlinked")]
