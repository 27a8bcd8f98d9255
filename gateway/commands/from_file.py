"""Reads organizations and members from a file of JSON, all of which is looked at before any of it is written."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import orjson
import typer
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from contract.limits import SUBJECT_MAX
from contract.scopes import Role, Scope
from identity.administration import Newcomer
from identity.claims import names_organization
from resolvers.shared.inputs import storable, words_of
from storage.base import new_id

Read = TypeVar("Read", bound=BaseModel)


Text = Annotated[str, Field(min_length=1), AfterValidator(storable)]


class MemberEntry(BaseModel):
    """Somebody who is to be a member: as `member list --json` shows one."""

    model_config = ConfigDict(extra="ignore")

    user: Annotated[Text, Field(max_length=SUBJECT_MAX)]
    email: Text
    name: Text
    role: Role | None = None
    scopes: list[Scope] = Field(default_factory=list)
    state: Literal["member"] = "member"
    """As listed: who is suspended or was removed is not made a member by the way."""

    @model_validator(mode="after")
    def _may_do_something(self) -> "MemberEntry":
        if self.role is None and not self.scopes:
            raise ValueError("needs a role or scopes")
        return self

    @property
    def granted(self) -> list[Scope]:
        """The scopes: those of the role, where there is one."""
        return sorted(self.role.scopes) if self.role else self.scopes

    @property
    def newcomer(self) -> Newcomer:
        """The entry without what only a file has."""
        return Newcomer(self.user, self.name, self.email, self.role, self.granted)


class MemberOfEntry(MemberEntry):
    """The same with the organization, as X-Service-Org calls it."""

    org: str


class OrganizationEntry(BaseModel):
    """An organization that is to be there, with members; an identifier is made for one that has none."""

    model_config = ConfigDict(extra="ignore")

    name: Text
    id: str = Field(default_factory=new_id)
    members: list[MemberEntry] = Field(default_factory=list)

    @model_validator(mode="after")
    def _can_be_named(self) -> "OrganizationEntry":
        if not names_organization(self.id):
            raise ValueError("id: must have 1 to 255 characters, no control characters, and no blanks around them")
        return self


def read(file: Path, kind: type[Read]) -> list[Read]:
    """The entries of the file. Raises BadParameter with the number of each that is none, and why."""
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--file") from None
    entries, wrong = [], []
    for number, item in enumerate(_items(content), 1):
        try:
            entries.append(kind.model_validate(item))
        except ValidationError as error:
            wrong += [f"{number}: {_told(e['loc'], words_of(e))}" for e in error.errors()]
    if wrong:
        raise typer.BadParameter("\n".join(wrong), param_hint="--file")
    return entries


def _told(place: tuple[int | str, ...], message: str) -> str:
    return ": ".join([*filter(None, [".".join(map(str, place))]), message])


def _items(content: bytes) -> Iterator[object]:
    """The objects of a list, or those that stand on lines."""
    try:
        if content.lstrip().startswith(b"["):
            yield from orjson.loads(content)
            return
        for line in content.splitlines():
            if line.strip():
                yield orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise typer.BadParameter(f"is no JSON: {error}", param_hint="--file") from None
