"""Reads the rows of an upsert by the inputs of single writes, and says what is wrong with each (decision 412)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import ConfigDict, StrictStr, ValidationError

from contract.bulk_vocabulary import BulkOutcome
from contract.errors import GatewayError, InvalidState, Path, Problem, Problems
from contract.lead_states import LeadMove, refusal
from contract.normal_form import folded
from contract.vocabulary import CaptureSource, LeadStatus
from resolvers.accounts import AccountCreate
from resolvers.contacts import NAMES, ContactCreate, expect_named
from resolvers.deals import DealCreate
from resolvers.leads import LeadEntry, LeadFields
from resolvers.shared.inputs import Given, Input, having_all, problems_of
from resolvers.shared.inputs import Line as Text
from resolvers.shared.pacing import in_turns
from resolvers.shared.record_inputs import fields_of, never_cleared
from resolvers.shared.tagging import Names
from storage.base import Record
from storage.columns import UPDATE
from storage.expressions import AnyColumn
from storage.tables import Account, Contact, Deal, Lead

AnyRecord = Any
"""A record of one of the four kinds. Any: its columns are found by the names that a row has."""


@fields_of(Account, UPDATE, of_one=False)
class AccountUpsert(Input):
    """An account as another system has it; what is left out stays."""

    id: StrictStr | None = None
    tags: Names | None = None


@fields_of(Contact, UPDATE, of_one=False)
class ContactUpsert(Input):
    """A contact as another system has it; what is left out stays. `account_key` is an account's external key."""

    model_config = ConfigDict(json_schema_extra={"not": having_all("account_key", "account_id")})

    id: StrictStr | None = None
    account_key: Text | None = None
    tags: Names | None = None


@fields_of(Deal, UPDATE, of_one=False)
class DealUpsert(Input):
    """A deal as another system has it; what is left out stays. A new one is the caller's unless it has an owner."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {"anyOf": [having_all("account_key", "account_id"), having_all("champion_key", "champion_id")]}
        }
    )

    id: StrictStr | None = None
    account_key: Text | None = None
    champion_key: Text | None = None
    tags: Names | None = None


@fields_of(Lead, UPDATE, of_one=False)
class LeadUpsert(LeadFields):
    """A lead as another system has it; what is left out stays."""

    id: StrictStr | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of records that rows become.

    `row` reads a row, `new` says what a new record needs. `text` is the column by which a row finds its record beside
    key and identifier, under the name of the match, and `spelt` brings a row's value to it. `leads` are the fields that
    name another record by its key, with the column that has its identifier. `check` raises what is wrong with the
    record as it would be; it gets the record as it is, if there is one, and what the row changes. `usual` is what a new
    record has unless the row says otherwise. Where `reads_alike`, `row` and `new` read each field by the same type, so
    that nothing but what is missing is left for `new` to find.
    """

    model: type[Record]
    row: type[Input]
    new: type[Input]
    match: str = ""
    text: AnyColumn | None = None
    conditions: tuple[AnyColumn, ...] = ()
    spelt: Callable[[str], str] = str
    leads: Mapping[str, tuple[str, type[Record]]] = field(default_factory=dict)
    check: Callable[[AnyRecord, Given], None] = lambda _record, _fields: None
    usual: Mapping[str, object] = field(default_factory=dict)
    reads_alike: bool = True


AT_A_TIME = 25
"""Rows that are worked on before others have a turn: half a millisecond."""


@dataclass(slots=True)
class Line:
    """A row on its way: what it says, the record that it found, and what it makes of it.

    `tags` are all that the record is to have, `added_tags` such as it gets beside those.
    """

    index: int
    fields: Given = field(default_factory=dict)
    raw: Given = field(default_factory=dict)
    tags: list[str] | None = None
    added_tags: Sequence[str] = ()
    problems: list[Problem] = field(default_factory=list)
    record: AnyRecord = None
    after: AnyRecord = None
    outcome: BulkOutcome = BulkOutcome.FAILED
    noun: str = "row"

    @property
    def called(self) -> str:
        """The words for its place."""
        return f"{self.noun} {self.index}"

    def refuse(self, path: Path, words: str, type: str, names: tuple[str, ...] = ()) -> None:
        """Add a problem at a field of the row."""
        self.problems.append(Problem(path, words, type, names))

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Take what a single write would raise for a problem of the row."""
        try:
            yield
        except Problems as error:
            self.problems += [replace(p, path=_within(p.path)) for p in error.problems]
        except GatewayError as error:
            self.refuse(_within(error.field or ()), error.message, error.code.lower())


def _within(path: Path) -> Path:
    """The path within the row of what is a path within the input of a single write."""
    return path[1:] if path[:1] == ("input",) else path


async def read(kind: Kind, rows: Sequence[object]) -> list[Line]:
    """The rows by the input of their kind, each with what is wrong with it."""
    return [_line(kind, index, row) async for index, row in in_turns(enumerate(rows), AT_A_TIME)]


def _line(kind: Kind, index: int, row: object) -> Line:
    line = Line(index)
    if not isinstance(row, dict):
        line.refuse((), "must be an object", "dict_type")
        return line
    try:
        given = kind.row.model_validate(row).given()
    except ValidationError as error:
        line.problems += problems_of(error)
        return line
    line.raw = {name: value for name, value in row.items() if name in kind.row.model_fields}
    line.fields = {n: value.value if isinstance(value, StrEnum) else value for n, value in given.items()}
    if "tags" in line.fields:
        line.tags = once(line.fields.pop("tags") or [])
    for name, (column, _) in kind.leads.items():
        if line.fields.get(name) is not None and line.fields.get(column) is not None:
            line.refuse((name,), "give only one of", "exactly_one", (name, column))
    return line


def once(names: Sequence[str]) -> list[str]:
    """The names, of two that are one tag the first."""
    kept: dict[str, str] = {}
    for name in names:
        kept.setdefault(folded(name), name)
    return list(kept.values())


def check_new(kind: Kind, line: Line) -> None:
    """Add what a new record of the row lacks, by the input of a single new one."""
    if not (kind.reads_alike and _is_whole(kind.new, line)):
        try:
            kind.new.model_validate(line.raw)
        except ValidationError as error:
            line.problems += problems_of(error)
    _check_nulls(kind, line)
    with line.collecting():
        kind.check(None, line.fields)


def _is_whole(new: type[Input], line: Line) -> bool:
    """Says whether the row has all that a new record needs, and no null, which may be no value there."""
    return None not in line.raw.values() and _needed(new) <= line.raw.keys()


@cache
def _needed(new: type[Input]) -> frozenset[str]:
    """The fields that a new record needs. There are as many cached values as kinds."""
    return frozenset(name for name, info in new.model_fields.items() if info.is_required())


def check_change(kind: Kind, line: Line, changed: Given) -> None:
    """Add what is wrong with the change of the row's record."""
    _check_nulls(kind, line)
    with line.collecting():
        kind.check(line.record, changed)


def _check_nulls(kind: Kind, line: Line) -> None:
    known = {p.path for p in line.problems}
    for name in never_cleared(kind.model):
        if name in line.fields and line.fields[name] is None and (name,) not in known:
            line.refuse((name,), "must not be null", "null")


def _is_named(contact: AnyRecord, changed: Given) -> None:
    if contact is None:
        expect_named(changed)
    elif not changed.keys().isdisjoint(NAMES):
        expect_named({name: changed.get(name, getattr(contact, name)) for name in NAMES})


def _may_move(lead: AnyRecord, changed: Given) -> None:
    before = LeadStatus.NEW if lead is None else LeadStatus(lead.status)
    after = LeadStatus(changed.get("status") or before)
    if after is not before and (reason := refusal(LeadMove.UPDATE, before, after)) is not None:
        raise InvalidState(reason, field=("status",))


_ACCOUNT_KEY: Mapping[str, tuple[str, type[Record]]] = {"account_key": ("account_id", Account)}

ACCOUNTS = Kind(Account, AccountUpsert, AccountCreate, "domain", Account.domain)
CONTACTS = Kind(
    Contact,
    ContactUpsert,
    ContactCreate,
    "email",
    Contact.folded_email,
    spelt=folded,
    leads=_ACCOUNT_KEY,
    check=_is_named,
)
DEALS = Kind(Deal, DealUpsert, DealCreate, leads={**_ACCOUNT_KEY, "champion_key": ("champion_id", Contact)})
LEADS = Kind(
    Lead,
    LeadUpsert,
    LeadEntry,
    "email",
    Lead.folded_email,
    (Lead.status != LeadStatus.CONVERTED.value,),
    spelt=folded,
    check=_may_move,
    usual={"source": CaptureSource.MANUAL.value},
    reads_alike=False,
)
