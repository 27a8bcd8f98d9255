"""Finds where each setting's value came from, and which names look like settings and are none."""

from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple

from pydantic_settings import DotEnvSettingsSource, EnvSettingsSource

from gateway.settings import Settings
from gateway.shown_settings import variable_of, variables_of

_PREFIX = "CRM_"
_OF_EXAMPLES = frozenset({"CRM_TOKEN", "CRM_URL"})
"""Names that the programs in examples/ read: whoever tries one has them beside the service's own."""


class Origin(StrEnum):
    """The places that a value may come from, as an operator calls them."""

    ENVIRONMENT = "environment"
    FILE = ".env"
    DEFAULT = "default"


class Stranger(NamedTuple):
    """A name that looks like a setting's and is none, where it stands, and the setting that it is most like."""

    name: str
    origin: Origin
    nearest: str | None

    @property
    def message(self) -> str:
        """Say what is wrong; never with the value, which may be a secret's."""
        where = "in .env" if self.origin is Origin.FILE else "in the environment"
        return f"{self.name} ({where}) is no setting, and is not read"

    @property
    def advice(self) -> str:
        """Say what to do about it."""
        if self.nearest is None:
            return "take it away; `crm-gateway config show` lists the settings"
        return f"is {self.nearest} meant? `crm-gateway config show` lists the settings"


def origins() -> dict[str, Origin]:
    """Find where the value of each setting came from, by the setting's name.

    A variable that is there and empty is none, as when the settings are read.
    """
    said = _said()
    found = {}
    for name in Settings.model_fields:
        variables = {variable.lower() for variable in variables_of(name)}
        found[name] = next((origin for origin, names in said.items() if variables & names.keys()), Origin.DEFAULT)
    return found


def strangers() -> list[Stranger]:
    """Name what begins as settings do, in the environment or in `.env`, and is no setting (decision 620)."""
    known = {variable for name in Settings.model_fields for variable in variables_of(name)} | _OF_EXAMPLES
    guesses = {variable: variable_of(name) for name in Settings.model_fields for variable in variables_of(name)}
    found = {}
    for origin, names in _said().items():
        for name in sorted(variable.upper() for variable in names):
            if name.startswith(_PREFIX) and name not in known and name not in found:
                like = get_close_matches(name, guesses, n=1, cutoff=0.75)
                found[name] = Stranger(name, origin, guesses[like[0]] if like else None)
    return list(found.values())


def _said() -> dict[Origin, Mapping[str, str | None]]:
    """Return what is set, by names in small letters: of two that are set, the first place's is taken."""
    return {
        Origin.ENVIRONMENT: EnvSettingsSource(Settings).env_vars,
        Origin.FILE: DotEnvSettingsSource(Settings).env_vars,
    }
