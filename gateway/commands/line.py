"""The command line's words, and how each way of going wrong ends."""

import typer

from contract.errors import GatewayError, Unavailable
from gateway.commands import analytics, credentials, data, directory, inspect, schema, serve, webhooks, worker
from gateway.commands.outcome import BAD_CONFIGURATION, MISSING, fail
from identity.keyfiles import KeyFileError
from storage.migrate import UnknownRevision, UnusableFile

app = typer.Typer(
    name="crm-gateway",
    help="A sales CRM through GraphQL and REST. Settings come from the environment: see `config show`.",
    epilog="Exit codes: 0 fine, 1 failed, 2 usage, 3 would change, 69 something needed is missing, "
    "78 bad configuration.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.command("serve")(serve.serve)
app.command("worker")(worker.worker)
app.command("migrate")(data.migrate)
app.command("seed")(data.seed)
app.add_typer(directory.organizations, name="org")
app.add_typer(directory.members, name="member")
app.command("token")(directory.token)
app.add_typer(credentials.credentials, name="credentials")
app.add_typer(analytics.analytics, name="analytics")
app.add_typer(webhooks.webhooks, name="webhooks")
app.add_typer(analytics.analytics, name="analytics")
app.add_typer(schema.graphql, name="schema")
app.add_typer(schema.openapi, name="openapi")
app.add_typer(inspect.config, name="config")
app.command("doctor")(inspect.doctor)
app.command("version")(inspect.version)


def run() -> None:
    """Run a command; what goes wrong in a way that can be explained is one line on stderr."""
    try:
        app()
    except KeyFileError as error:
        fail(f"CRM_DATA_DIR: {error}", BAD_CONFIGURATION)
    except UnusableFile as error:
        fail(f"CRM_DATABASE_URL (or CRM_DATA_DIR): {error}", BAD_CONFIGURATION)
    except Unavailable:
        fail("The database cannot be reached; see CRM_DATABASE_URL.", MISSING)
    except (GatewayError, UnknownRevision) as error:
        fail(str(error))
