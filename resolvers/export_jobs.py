"""Exports as jobs: a list becomes a file that is complete, or it becomes none (decisions 850 to 853)."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field, StrictStr

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Selection
from contract.errors import InvalidState, Path, Problem, Problems
from contract.limits import EXPORT_COLUMNS_MAX, EXPORTS_WAITING_MAX
from contract.scopes import ScopeGroup
from jobs.queue import enqueue_for
from resolvers.export_rows import EXPORTED
from resolvers.export_work import KIND, group_of
from resolvers.shared.access import Rule, requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import ExactInput
from resolvers.shared.lists import by_id
from storage.base import JsonDict, as_uuid
from storage.new_rows import new_row
from storage.queries import exports as statements
from storage.queries import listables
from storage.rows import DataExportRow
from storage.tables import DataExport

_COLUMNS: Path = ("input", "columns")


NOUNS: Mapping[ExportKind, str] = {kind: exported.listable.name for kind, exported in EXPORTED.items()}
"""The name of the filter of each kind."""


def check_filters(kind: ExportKind, named: Iterable[str]) -> None:
    """Raise Problems for each filter that is given and is another kind's."""
    words = f"is no filter of {NOUNS[kind]}; an export has the filter of its kind and no other"
    problems = [Problem(("input", noun), words, "value_error") for noun in named if noun != NOUNS[kind]]
    if problems:
        raise Problems(problems)


class DataExportInput(ExactInput):
    """The list that is wanted as a file; which records of it stands beside."""

    kind: ExportKind
    format: ExportFormat = ExportFormat.CSV
    columns: Annotated[list[StrictStr], Field(max_length=EXPORT_COLUMNS_MAX)] | None = None


@requires(ScopeGroup.CRM_READ, finds=(listables.EXPORTS,))
async def get_export(ctx: Context, export_id: str, selection: Selection | None = None) -> DataExportRow | None:
    """The export, or None. Raises Forbidden for one of a list that the caller may not read."""
    found = await by_id(ctx, listables.EXPORTS, export_id, selection)
    canonical = as_uuid(export_id)
    if found is None and canonical is not None:
        async with ctx.reading() as session:
            withheld = await session.find(DataExport, id=canonical)
        if withheld is not None:
            Rule(group_of(ExportKind(withheld.kind))).enforce(ctx.principal)
    return found


@requires(ScopeGroup.CRM_READ, writes=True)
async def create_export(ctx: Context, input: DataExportInput, where: JsonDict) -> DataExport:
    """Start an export as a job, of the records that meet the condition, which is written as JSON.

    Raises Forbidden for a list that the caller may not read, Problems, and InvalidState where too many wait.
    """
    group = group_of(input.kind)
    Rule(group).enforce(ctx.principal)
    exported = EXPORTED[input.kind]
    columns = exported.chosen(input.columns, _COLUMNS)
    async with ctx.writing() as session:
        if await statements.number_unfinished(session) >= EXPORTS_WAITING_MAX:
            raise InvalidState(f"{EXPORTS_WAITING_MAX} exports wait already")
        last_id = await statements.last_id(session, exported.listable)
        made, _ = await enqueue_for(
            session,
            KIND,
            "export_id",
            lambda export_id, job_id: new_row(
                DataExport,
                id=export_id,
                org_id=ctx.org_id,
                kind=input.kind.value,
                format=input.format.value,
                job_id=job_id,
                requested_by=ctx.caller.subject,
                needs=group.needed,
                definition={"columns": list(columns), "condition": where},
                last_id=last_id,
            ),
        )
    ctx.forget()
    return made
