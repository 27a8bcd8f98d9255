"""`schema`, `tools` and `openapi`: the printed surfaces, and whether those that are committed are current."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway import printed, printing
from gateway.commands.outcome import FAILED, WOULD_CHANGE, fail, say

if TYPE_CHECKING:
    from graphql.utilities import BreakingChange

graphql = typer.Typer(help="The GraphQL schema.", no_args_is_help=True)
tools = typer.Typer(help="The tools of chats and of the MCP door.", no_args_is_help=True)
openapi = typer.Typer(help="The description of the REST paths.", no_args_is_help=True)


@graphql.command("print")
def print_schema() -> None:
    """Print the schema."""
    print(printing.schema_text(), end="")


@graphql.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="The schema to compare with.", dir_okay=False)] = printed.SCHEMA,
) -> None:
    """Compare with schema/schema.graphql: exit with 1 on a breaking change, with 3 where it differs otherwise."""
    current = printing.schema_text()
    committed = file.read_text(encoding="utf-8") if file.exists() else ""
    if committed == current:
        say(f"{file.name} is current")
        return
    from graphql import GraphQLError

    try:
        breaking = breaking_changes(committed, current) if committed else []
    except GraphQLError as error:
        fail(f"{file.name} is no schema: {error.message}")
    if breaking:
        fail("\n".join(f"breaking: {change.description}" for change in breaking), FAILED)
    fail(f"{file.name} differs: ./run schema print > schema/schema.graphql", WOULD_CHANGE)


def breaking_changes(before: str, after: str) -> list[BreakingChange]:
    """Lists what clients written against the one schema may find broken in the other."""
    from graphql import build_schema
    from graphql.utilities import find_breaking_changes

    return find_breaking_changes(build_schema(before, assume_valid=True), build_schema(after, assume_valid=True))


@tools.command("print")
def print_tools() -> None:
    """Print the definitions of all tools, as a model reads them."""
    print(printing.tools_text(), end="")


@tools.command("check")
def check_tools(
    file: Annotated[Path, typer.Argument(help="The print to compare with.", dir_okay=False)] = printed.TOOLS,
) -> None:
    """Compare with schema/tools.json: exit with 3 where it differs."""
    _compare(file, printing.tools_text(), "./run tools print > schema/tools.json")


@openapi.command("print")
def print_openapi() -> None:
    """Print the OpenAPI document."""
    print(printing.openapi_text(), end="")


@openapi.command("check")
def check_openapi(
    file: Annotated[Path, typer.Argument(help="The print to compare with.", dir_okay=False)] = printed.OPENAPI,
) -> None:
    """Compare with rest_compat/openapi.json: exit with 3 where it differs."""
    _compare(file, printing.openapi_text(), "./run openapi print > rest_compat/openapi.json")


def _compare(file: Path, current: str, remedy: str) -> None:
    """Say whether the file is what would be printed now; the exit code says so, too."""
    if not file.exists() or file.read_bytes() != current.encode():
        fail(f"{file.name} differs: {remedy}", WOULD_CHANGE)
    say(f"{file.name} is current")
