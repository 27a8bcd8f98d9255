"""Defines how a command ends, and what it needs to begin. What not every command needs is loaded where it is needed."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from gateway.settings import Settings
    from storage.database import Database

FAILED, USAGE, WOULD_CHANGE, MISSING, BAD_CONFIGURATION = 1, 2, 3, 69, 78
T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print the data as JSON.")]


def fail(message: str, code: int = FAILED) -> NoReturn:
    """Say what is wrong on stderr, and end."""
    print(message, file=sys.stderr)
    raise SystemExit(code)


def loaded() -> None:
    """Look for garbage from now on, but not in what has been loaded, which stays for good."""
    gc.freeze()
    gc.enable()


def say(message: str) -> None:
    """Tell the person at the terminal; stdout stays the data's."""
    print(message, file=sys.stderr)


def show(data: object, text: str, as_json: bool) -> None:
    """The command's data on stdout; an empty text is no line."""
    if as_json or text:
        print(json.dumps(data, indent=2) if as_json else text)


def settings(**overrides: Any) -> Settings:  # their validation says what is wrong with them
    """The settings, or the end of the process with the name of the one that is wrong."""
    from pydantic import ValidationError

    from gateway.settings import Settings
    from gateway.shown_settings import variable_of

    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        from resolvers.shared.inputs import words_of

        lines = [
            f"{variable_of(str(e['loc'][0]) if e['loc'] else 'database_url')}: {words_of(e)}" for e in error.errors()
        ]
        fail("\n".join(lines), BAD_CONFIGURATION)


def settings_to_serve(**overrides: object) -> Settings:
    """The same for a process of the service, which takes more."""
    from gateway.settings import unfit_to_serve

    configuration = settings(**overrides)
    if unfit := unfit_to_serve(configuration):
        fail(unfit, BAD_CONFIGURATION)
    return configuration


def with_folder(configuration: Settings, *, mending: bool = True) -> Settings:
    """The settings, or the end of the process before anything in the data folder is touched (decision 162).

    Where it goes on, files that were merely left open to others are closed, but for a command that only looks.
    """
    from gateway import data_folder

    if faults := data_folder.faults(configuration):
        fail("\n".join(faults), BAD_CONFIGURATION)
    if mending:
        data_folder.mend(configuration)
    return configuration


def with_database(work: Callable[[Database], Awaitable[T]], configuration: Settings | None = None) -> T:
    """Run the work on the migrated database of the settings; nobody waits for it, and its statements may take long."""
    import asyncio

    from gateway.made import bring_up_to_date, database_of

    configuration = with_folder(configuration or settings())
    loaded()

    async def run() -> T:
        await bring_up_to_date(configuration)
        database = database_of(configuration, statement_seconds=None)
        try:
            if database.clusters is not None:
                await database.clusters.refresh()
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(run())


def warn_of_strangers() -> None:
    """Log what begins as settings do and is none: a misspelt setting would otherwise hold its default in silence."""
    import logging

    from gateway.setting_sources import strangers

    for stranger in strangers():
        logging.getLogger(__name__).warning("%s: %s", stranger.message, stranger.advice)
