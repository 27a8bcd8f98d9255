"""Serves the paths of folders."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import Field

from contract.criteria import All, Condition
from resolvers.folders import (
    create_folder,
    delete_folder,
    directly_in,
    list_folders,
    restore_folder,
    update_folder,
)
from rest_compat.documents import Document
from rest_compat.parameters import ListParameters
from rest_compat.resources import Resource
from storage import tables as t

FOLDER: Final = Document(
    "Folder",
    t.Folder,
    "A folder of files.",
    ("id", "name", "parent_id", "trashed_at", "created_at", "updated_at", "version"),
)
_FOLDERS: Final = Resource("/folders/{folder_id}", FOLDER)


class FolderQuery(ListParameters):
    """Has the query parameters of GET /folders."""

    parent_id: str | None = Field(default=None, description="The folders below this one; the top ones unless given.")

    def condition(self) -> Condition:
        """Returns which folders are meant."""
        return All(directly_in(self.parent_id))


OPERATIONS: Final = (
    _FOLDERS.listing(list_folders, FolderQuery, description="By name; not those in the trash."),
    replace(
        _FOLDERS.create(create_folder, description="409 for the name of a sibling, and more than 16 deep."),
        errors=(409,),
    ),
    replace(
        _FOLDERS.change(
            update_folder,
            description="Renames or moves; a null for the folder above is the top. 409 for the name of a sibling, "
            "below itself, and more than 16 deep.",
        ),
        errors=(404, 409, 412),
    ),
    replace(
        _FOLDERS.delete(delete_folder, description="Into the trash with all below it, up to 10,000 at once."),
        errors=(404, 409),
    ),
    _FOLDERS.action("restore", restore_folder, description="Out of the trash with what went there with it."),
)
