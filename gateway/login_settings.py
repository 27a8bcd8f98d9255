"""The settings of signing in at the embedded identity provider."""

import re
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode

from contract.web_address import is_web_address
from gateway.addresses import is_loopback_name

OWN_CLIENTS = {"graphiql": "graphql", "docs": "docs"}
"""The service's own pages as applications, each with the path that its codes go to."""
_CLIENT = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class LoginSettings(BaseSettings):
    """The applications that members sign in to."""

    login_clients: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Applications that members sign in to at the embedded provider: NAME=REDIRECT_ADDRESS, by commas; "
        "a name may be there several times. An address has to come to the letter.",
        examples=["board=https://board.example/signed-in,board=http://localhost:5173/signed-in"],
    )

    @field_validator("login_clients", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("login_clients")
    @classmethod
    def _registered(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pair in value:
            name, _, address = pair.partition("=")
            if not _CLIENT.fullmatch(name):
                raise ValueError("must be NAME=REDIRECT_ADDRESS, by commas; a name has letters, digits, . _ and -")
            if name in OWN_CLIENTS:
                raise ValueError(f"{name} is the name of a page of the service itself")
            parts = urlsplit(address) if is_web_address(address) else urlsplit("")
            if not parts.netloc or "@" in parts.netloc or "#" in address or not address.isprintable():
                raise ValueError(f"{name} needs an address with https://, without a user and a fragment")
            if parts.scheme != "https" and not is_loopback_name(parts.hostname or ""):
                raise ValueError(f"{name} must be reached by https, or on this machine")
        return value


def registered(settings: LoginSettings) -> Mapping[str, frozenset[str]]:
    """The redirect addresses of each application that the setting names."""
    found: dict[str, set[str]] = {}
    for pair in settings.login_clients:
        name, _, address = pair.partition("=")
        found.setdefault(name, set()).add(address)
    return {name: frozenset(addresses) for name, addresses in found.items()}
