"""`job`: what runs in the background, for those who have to see to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from contract.vocabulary import JobStatus
from gateway.commands.before import Of, key_of, needed_key
from gateway.commands.outcome import AsJson, fail, say, show, with_database

if TYPE_CHECKING:
    from storage.database import Database

jobs = typer.Typer(help="Background jobs.", no_args_is_help=True)


@jobs.command("list")
def list_jobs(
    org: Of = None,
    status: Annotated[JobStatus | None, typer.Option(help="In this status alone.")] = None,
    most: Annotated[int, typer.Option("--most", min=1, max=10_000, help="Of each organization, the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first, by organization, without what they were given."""
    from storage.queries import administration as statements
    from storage.queries.organizations import everyone

    async def work(database: Database) -> list[dict[str, object]]:
        org_id = await key_of(database, org)
        async with database.directory() as session:
            names = {row.id: row.external_id for row in await everyone(session)}
        found = []
        for each in names if org_id is None else [org_id]:  # a session reaches the rows of one organization
            async with database.reading(each) as session:
                for row in await statements.newest_jobs(session, status, most):
                    moments = {name: getattr(row, name) for name in ("created_at", "finished_at", "due_at")}
                    told = {name: moment and moment.isoformat() for name, moment in moments.items()}
                    own = {name: getattr(row, name) for name in ("id", "kind", "status", "attempts", "error")}
                    found.append({"org": names[each], **own, **told})
        return found

    data = with_database(work)
    lines = [f"{d['org']}\t{d['id']}\t{d['kind']}\t{d['status']}\t{d['attempts']}\t{d['error'] or ''}" for d in data]
    show(data, "\n".join(lines), as_json)


@jobs.command("retry")
def retry(
    org: Annotated[str, typer.Option("--org", help="The organization, as X-Service-Org calls it.")],
    ids: Annotated[list[str], typer.Argument(help="Identifiers, as `job list` has them.", metavar="ID...")],
    as_json: AsJson = False,
) -> None:
    """Have jobs that failed begin anew, and those that wait begin now; all of these or, where one cannot, none."""
    from storage.queries import administration as statements
    from storage.queries.administration import Retried

    why = {
        Retried.MISSING: "is no job of this organization",
        Retried.RUNNING: "runs",
        Retried.ENDED: "has not failed",
        Retried.TWICE: "failed, and another one does the same by now",
    }

    async def work(database: Database) -> None:
        async with database.writing(await needed_key(database, org)) as session:
            for wanted in ids:  # as many as were typed
                became = await statements.retry(session, wanted)
                if became is not Retried.DUE:
                    fail(f"{wanted} {why[became]}.")  # which takes back the others

    with_database(work)
    say("Due now; a worker takes them.")
    show({"org": org, "due": ids}, "", as_json)
