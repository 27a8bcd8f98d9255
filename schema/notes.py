"""Notes on the GraphQL surface."""

from typing import Annotated

import strawberry

from contract.vocabulary import ActivityType
from resolvers import notes
from schema.activities import Activity
from schema.connections import Node
from schema.declare import Info, argument, field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.records import record, record_input
from schema.tags import first_tags
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.tables.activities import COLUMNS

_COLUMNS = COLUMNS[ActivityType.NOTE]


@record(t.Activity, "A text on a record. Occurs when it was made.", only=COLUMNS[ActivityType.NOTE])
class Note(Activity, Node):
    """A note; all its fields are columns."""


@record_input(t.Activity, CREATE, "A new note, on one record at least.", only=_COLUMNS)
class NoteCreateInput:
    """Writes a note."""

    body: str = field("The text, 1 to 500,000 characters, not blank.")
    is_pinned: bool = field("Whether front ends show it above the others.", default=False)
    tags: list[str] | None = first_tags()


@record_input(
    t.Activity, UPDATE, "Changes to a note; an explicit null clears a field, an omitted one stays.", only=_COLUMNS
)
class NoteUpdateInput:
    """Changes a note."""


@strawberry.type(description="What became of a change to a note.")
class NotePayload:
    note: Note | None = field("The note; null where nothing was done.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


NoteId = Annotated[strawberry.ID, argument("The note's identifier.")]


@strawberry.type
class NoteMutations:
    @operation_field(notes.create_note, "Writes a note.")
    async def note_create(self, info: Info, input: Annotated[NoteCreateInput, argument("The note.")]) -> NotePayload:
        made, problems = await change(info, notes.create_note, model=notes.NoteCreate, input=input)
        return NotePayload(note=made, user_errors=problems)

    @operation_field(notes.update_note, "Changes what is named; null clears what may be empty.")
    async def note_update(
        self, info: Info, id: NoteId, input: Annotated[NoteUpdateInput, argument("The changes.")]
    ) -> NotePayload:
        changed, problems = await change(info, notes.update_note, id, model=notes.NoteUpdate, input=input)
        return NotePayload(note=changed, user_errors=problems)


MUTATIONS = NoteMutations
