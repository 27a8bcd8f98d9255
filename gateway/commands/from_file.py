"""Reads organizations and members from a file of JSON, all of which is looked at before any of it is written."""

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeVar

import orjson
import typer
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from contract.limits import LINE_MAX, SUBJECT_MAX
from contract.scopes import Role, Scope
from gateway.commands.outcome import say
from identity.administration import Newcomer
from identity.claims import names_organization
from resolvers.shared.inputs import shown, storable, words_of
from storage.base import new_id

Read = TypeVar("Read", bound="Entry")


def one_line(text: str) -> str:
    """A text that lists show on one line, and that somebody can type. Raises ValueError (decision 1004)."""
    if any(unicodedata.category(character) in _BREAKS for character in text):
        raise ValueError("must be one line, without control characters")
    return shown(storable(text))


_BREAKS = frozenset({"Cc", "Zl", "Zp"})
Subject = Annotated[str, Field(min_length=1, max_length=SUBJECT_MAX), AfterValidator(one_line)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LINE_MAX)]
Line = Annotated[Text, AfterValidator(one_line)]
SUBJECT: Final[TypeAdapter[str]] = TypeAdapter(Subject)
LINE: Final[TypeAdapter[str]] = TypeAdapter(Line)


class Entry(BaseModel):
    """Is one thing of a file; a name that is not known is read past, and told."""

    model_config = ConfigDict(extra="allow")
    listed: ClassVar[frozenset[str]] = frozenset()
    """Names that lists show of such a thing, which a file may have and nobody reads."""

    def strangers(self) -> set[str]:
        """The names that were read past."""
        return set(self.model_extra or ()) - self.listed


class MemberEntry(Entry):
    """Somebody who is to be a member: as `member list --json` shows one."""

    listed = frozenset({"org"})

    user: Subject
    email: Line
    name: Line
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


class OrganizationEntry(Entry):
    """An organization that is to be there, with members; an identifier is made for one that has none."""

    listed = frozenset({"state", "cluster", "created_at", "created"})

    name: Line
    id: str = Field(default_factory=new_id)
    members: list[MemberEntry] = Field(default_factory=list)

    def strangers(self) -> set[str]:
        """The names that were read past, those of the members too."""
        return super().strangers() | {f"members.{name}" for member in self.members for name in member.strangers()}

    @model_validator(mode="after")
    def _can_be_named(self) -> "OrganizationEntry":
        if not names_organization(self.id):
            raise ValueError("id: must have 1 to 255 characters, no control characters, and no blanks around them")
        return self


def typed(kind: TypeAdapter[str], text: str, hint: str) -> str:
    """The text of an option or argument, as one of a file would be read. Raises BadParameter."""
    try:
        return kind.validate_python(text)
    except ValidationError as error:
        raise typer.BadParameter("; ".join(map(words_of, error.errors())), param_hint=hint) from None


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
    if strangers := sorted({name for entry in entries for name in entry.strangers()}):
        say(f"{file} has what is not known here, and is not read: {', '.join(strangers)}.")
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
