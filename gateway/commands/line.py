"""The command line's words, and how each way of going wrong ends. A command's module is loaded when it is named."""

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from contract.errors import GatewayError, Unavailable
from gateway.commands.outcome import BAD_CONFIGURATION, MISSING, USAGE, fail


@dataclass(frozen=True)
class Word:
    """A command or a group of commands: the module of `gateway.commands` that has it, its name there, its help."""

    module: str
    name: str
    help: str

    def load(self) -> Any:  # Any: a function, or a group as Typer has it
        """Load the module, and find what the word stands for."""
        return getattr(import_module(f"gateway.commands.{self.module}"), self.name)


WORDS = {
    "serve": Word("serve", "serve", "Start the HTTP service."),
    "worker": Word("worker", "worker", "Run background jobs, without the HTTP service."),
    "migrate": Word("data", "migrate", "Bring the database and other servers to the newest revision, or to another."),
    "seed": Word("data", "seed", "Write data to try things on, and print the organizations that share it."),
    "org": Word("organizations", "organizations", "Organizations."),
    "member": Word("directory", "members", "Members of the embedded identity provider."),
    "token": Word("directory", "token", "Print a session token of the embedded identity provider."),
    "key": Word("keys", "keys", "Organization keys and user tokens, one by one."),
    "job": Word("jobs", "jobs", "Background jobs."),
    "webhook": Word("webhooks", "webhooks", "Receivers of events."),
    "credentials": Word("credentials", "credentials", "Organization keys and user tokens."),
    "analytics": Word("analytics", "analytics", "Figures that are kept ready, and ad-hoc SQL."),
    "webhooks": Word("webhooks", "webhooks", "Receivers of events."),
    "schema": Word("schema", "graphql", "The GraphQL schema."),
    "openapi": Word("schema", "openapi", "The description of the REST paths."),
    "tools": Word("schema", "tools", "The tools of chats and of the MCP door."),
    "config": Word("inspect", "config", "The settings."),
    "doctor": Word(
        "inspect", "doctor", "Look for what would keep the service from working well, and say what to do about it."
    ),
    "version": Word("inspect", "version", "Print the version of the service and of the libraries that it stands on."),
}


ALIASES = {"organization": "org"}
"""Other names of commands, which no help lists."""


class Words(TyperGroup):
    """The commands of the table."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # the library's own context is not public
        """Name every command."""
        return list(WORDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # as above; so is the command
        """Load the command of this name; None where there is none."""
        word = WORDS.get(ALIASES.get(cmd_name, cmd_name))
        if word is None:
            return None
        parent, found = typer.Typer(rich_markup_mode=None, add_completion=False), word.load()
        if isinstance(found, typer.Typer):
            parent.add_typer(found, name=cmd_name)
        else:
            parent.command(cmd_name)(found)
        return typer.main.get_group(parent).commands[cmd_name]

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # as above; Any likewise
        """Write every command with its help, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, word.help) for name, word in WORDS.items()])


app = typer.Typer(
    name="crm-gateway",
    cls=Words,
    help="A sales CRM through GraphQL and REST. Settings come from the environment: see `config show`.",
    epilog="Exit codes: 0 fine, 1 failed, 2 usage, 3 would change, 69 something needed is missing, "
    "78 bad configuration.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.callback()(lambda: None)


def run() -> None:
    """Run a command; what goes wrong in a way that can be explained is one line on stderr."""
    if not all(argument.isascii() or _is_unicode(argument) for argument in sys.argv):
        fail("The arguments are no UTF-8: look at the terminal's encoding.", USAGE)
    try:
        app()
    except Unavailable:
        fail("The database cannot be reached; see CRM_DATABASE_URL.", MISSING)
    except GatewayError as error:
        fail(str(error))
    except Exception as error:
        _explain(error)
        raise


def _is_unicode(argument: str) -> bool:
    """Says whether the bytes of an argument were a text; Python has lone surrogates for those that are none."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _explain(error: Exception) -> None:
    """End where the error is one of those that only some commands' modules have."""
    from identity.keyfiles import KeyFileError
    from storage.migrate import UnknownRevision, UnusableFile

    match error:
        case KeyFileError():
            fail(f"CRM_DATA_DIR: {error}", BAD_CONFIGURATION)
        case UnusableFile():
            fail(f"CRM_DATABASE_URL (or CRM_DATA_DIR): {error}", BAD_CONFIGURATION)
        case UnknownRevision():
            fail(str(error))
