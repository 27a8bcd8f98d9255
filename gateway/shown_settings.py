"""Settings as an operator is shown them: by the names of their variables, with what is secret masked."""

from pydantic import AliasChoices, SecretStr

from gateway.setting_checks import clusters_of
from gateway.settings import Settings


def variable_of(name: str) -> str:
    """The variable of a setting, first of those that it may have; the name itself where there is no such setting."""
    return variables_of(name)[0] if name in Settings.model_fields else name


def variables_of(name: str) -> tuple[str, ...]:
    """Every variable that a setting may have; with the prefix its own name is always one."""
    alias = Settings.model_fields[name].validation_alias
    declared = alias.choices if isinstance(alias, AliasChoices) else [alias] if alias else []
    return tuple(dict.fromkeys([*map(str, declared), f"CRM_{name.upper()}"]))


def shown(settings: Settings) -> dict[str, str]:
    """Every setting under its variable's name, with what is secret in it masked (decision 119)."""
    result = {}
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            secret = value.get_secret_value()
            value = ",".join(_shown(settings, name, secret)) if "://" in secret else secret and "***"
        elif isinstance(value, tuple):
            value = ",".join(value)
        elif isinstance(value, str):
            value = _masked(value)
        result[variable_of(name)] = "" if value is None else str(value)
    return result


def _shown(settings: Settings, name: str, secret: str) -> list[str]:
    """The addresses that a setting has."""
    if name in ("clusters", "move_addresses"):
        return [f"{server}={_masked(address)}" for server, address in clusters_of(secret).items()]
    return [_masked(address) for address in (settings.replica_addresses if name == "database_replicas" else [secret])]


_WEB = {"http", "https"}
_TELLING = {"host", "port", "ssl", "starttls"}
"""Parameters of an address that say where a database is, or how it is spoken to; any other may be a secret."""


def _masked(text: str) -> str:
    """The text; an address without its password and without what its parameters say."""
    if "://" not in text:
        return text
    address, question, query = text.partition("?")
    scheme, separator, rest = address.partition("://")
    credentials, at, host = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    if at and scheme in _WEB:  # all of it is a credential: a key, of Sentry's for one
        user, colon = "***", ""
    parameters = [pair.partition("=") for pair in query.split("&")]
    hidden = "&".join(n + e + (v if n in _TELLING else "***" if v else "") for n, e, v in parameters)
    return f"{scheme}{separator}{user}{':***' if colon else ''}{at}{host}{question}{hidden}"
