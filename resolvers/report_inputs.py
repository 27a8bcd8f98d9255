"""Declares and checks the inputs of reports: names, kinds, and what they are narrowed to (decisions 470 to 472)."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, ConfigDict, Field, StrictInt

from contract.errors import Path, Problem, Problems
from contract.limits import REPORT_DAYS_MAX, REPORT_DESCRIPTION_MAX, REPORT_LIST_MAX, REPORT_NAME_MAX
from contract.vocabulary import ReportKind
from reports.narrowing import LISTS, NOT_OF
from resolvers.outreach_inputs import TimeZone
from resolvers.report_schedules import ReportSchedule
from resolvers.shared.context import Context
from resolvers.shared.inputs import (
    CalendarDate,
    Currency,
    ExactInput,
    Input,
    Line,
    Reference,
    bounded,
    shown,
    storable,
    trimmed,
)
from resolvers.shared.sentences import ABSENT
from resolvers.shared.told_at_once import EACH, Lookup, leading, to_member
from storage.base import JsonDict
from storage.queries import reports as statements
from storage.tenancy.sessions import TenantSession

_YEARS = range(1900, 9000)
"""The years that days are in: each begins and ends at a moment that there is."""


def _in_years(day: date) -> date:
    if day.year not in _YEARS:
        raise ValueError(f"must be in the years {_YEARS.start} to {_YEARS.stop - 1}")
    return day


_Day = Annotated[CalendarDate, AfterValidator(_in_years)]
_Name = Annotated[str, trimmed(REPORT_NAME_MAX), AfterValidator(storable), AfterValidator(shown)]
_Description = Annotated[str, bounded(REPORT_DESCRIPTION_MAX), AfterValidator(storable)]
_SOME: Final = Field(min_length=1, max_length=REPORT_LIST_MAX)


class ReportParameters(ExactInput):
    """The parameters that the question is narrowed by."""

    model_config = ConfigDict(populate_by_name=True)

    first: Annotated[_Day | None, Field(alias="from", description="The first day; excludes last_days.")] = None
    last: Annotated[_Day | None, Field(alias="to", description="The last day, included.")] = None
    last_days: Annotated[
        Annotated[StrictInt, Field(ge=1, le=REPORT_DAYS_MAX)] | None,
        Field(description="Days back from the day of the run, which is the last one; excludes from and to."),
    ] = None
    owner_ids: Annotated[Annotated[list[Line], _SOME] | None, Field(description="Only records of these members.")] = (
        None
    )
    account_ids: Annotated[
        Annotated[list[Reference], _SOME] | None, Field(description="Only records on these accounts.")
    ] = None
    stage_ids: Annotated[Annotated[list[Reference], _SOME] | None, Field(description="Only deals in these stages.")] = (
        None
    )
    tags: Annotated[Annotated[list[Line], _SOME] | None, Field(description="Names of tags, any of which will do.")] = (
        None
    )
    currency: Annotated[Currency | None, Field(description="Only amounts in this currency.")] = None
    time_zone: Annotated[TimeZone, Field(description="An IANA time zone.")] = "UTC"


def _to_narrowed(name: str) -> Lookup:
    """The look for what this list of parameters names."""

    async def find(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
        named = {**dict.fromkeys(LISTS), name: list(identifiers)}
        [led] = await statements.followed(session, [named])
        return {identifiers[place]: ABSENT for _, place in await statements.lost(session, {name: led[name]})}

    return find


_NARROWED: Final[Mapping[Path, Lookup]] = {("parameters", name, EACH): _to_narrowed(name) for name in LISTS}


@leading(_NARROWED)
class ReportCreate(ExactInput):
    """A new report."""

    name: _Name
    description: _Description | None = None
    kind: ReportKind
    parameters: ReportParameters | None = None
    schedule: ReportSchedule | None = None


@leading({**_NARROWED, ("owner_id",): to_member})
class ReportUpdate(Input):
    """Changes to a report; parameters are given as a whole."""

    filled: ClassVar[tuple[str, ...]] = ("name", "owner_id")

    name: _Name = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    description: _Description | None = None
    parameters: ReportParameters | None = None
    schedule: ReportSchedule | None = None
    owner_id: Line | None = None
    expected_version: StrictInt | None = None


def kept(parameters: ReportParameters | None) -> JsonDict:
    """The parameters as a definition keeps them: every name, null where nothing was given."""
    given = parameters or ReportParameters()
    return given.model_dump(mode="json", by_alias=True)


def _wrong(kind: ReportKind, parameters: ReportParameters | None) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Find the parameters that are wrong, each with the words for it and the names that these end with."""
    if parameters is None:
        return
    if parameters.last_days is not None and (parameters.first is not None or parameters.last is not None):
        yield "last_days", "does not go with", ("from", "to")
    if parameters.first is not None and parameters.last is not None and parameters.first > parameters.last:
        yield "to", "must not be before", ("from",)
    for name in sorted(NOT_OF[kind]):
        if getattr(parameters, name) is not None:
            yield name, f"does not go with {kind.value}, whose records have none", ()


async def checked(
    session: TenantSession,
    kind: ReportKind,
    parameters: ReportParameters | None,
    at: Path,
    refused: Sequence[Problem] = (),
) -> JsonDict:
    """The parameters as they are kept, with what their identifiers lead to; `at` is where they stand.

    Raises Problems for what does not go together, or not with the kind, for each owner, account, stage and tag that the
    organization does not have, and for what is refused already: all at once.
    """
    [led] = await statements.followed(session, [kept(parameters)])
    named = {name: led[name] for name in LISTS if led[name] and name not in NOT_OF[kind]}
    lost = await statements.lost(session, named)
    wrong = [Problem((*at, name), words, "value_error", names) for name, words, names in _wrong(kind, parameters)]
    absent = [Problem((*at, name, place), ABSENT, "reference") for name, place in lost]
    if problems := [*wrong, *absent, *refused]:
        raise Problems(problems)
    return led
