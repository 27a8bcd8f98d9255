"""Says in words what each setting means: for `config show`, and for docs/settings.md, which is printed from here."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, NamedTuple, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from gateway.settings import Settings
from gateway.shown_settings import variables_of


class SettingText(NamedTuple):
    """One setting in words. An empty default is none: the meaning says what holds then."""

    name: str
    variables: tuple[str, ...]
    meaning: str
    values: str
    default: str
    example: str


def texts() -> Iterator[SettingText]:
    """Every setting, in the order of the class."""
    for name, field in Settings.model_fields.items():
        variables = variables_of(name)
        default = _plain(field.default)
        example = f"{variables[0]}={_example(field)}"
        yield SettingText(name, variables, field.description or "", _values(name, field), default, example)


def document() -> str:
    """docs/settings.md."""
    lines = [_INTRODUCTION, "| Setting | Meaning | Values | Default | Example |", "|---|---|---|---|---|"]
    for text in texts():
        names = " or ".join(f"`{variable}`" for variable in text.variables)
        default = f"`{text.default}`" if text.default else "none"
        lines.append(f"| {names} | {text.meaning} | {text.values} | {default} | `{text.example}` |")
    return "\n".join(lines) + "\n"


def _kind(field: FieldInfo) -> object:
    """The type of the value, where it has one."""
    kind: object = field.annotation
    if isinstance(kind, UnionType):
        [kind] = [one for one in get_args(kind) if one is not NoneType]
    return kind


def _values(name: str, field: FieldInfo) -> str:
    """Says which values a setting takes: words, or numbers with their unit and their bounds."""
    kind = _kind(field)
    if kind is bool:
        return "`on`, `off`"
    if words := _vocabulary(kind):
        return ", ".join(f"`{value}`" for value in words)
    if kind in (int, float):
        return ", ".join([_unit(field), *_bounds(field)])
    if get_origin(kind) is tuple:
        return "a list, by commas"
    if name.endswith("_url"):
        return "an address"
    return "a secret" if kind is SecretStr else "a path" if kind is Path else "text"


def _unit(field: FieldInfo) -> str:
    """In what a number is counted; empty where it is none."""
    extra = field.json_schema_extra
    return str(extra["unit"]) if isinstance(extra, dict) and "unit" in extra else ""


def _bounds(field: FieldInfo) -> Iterator[str]:
    bounds = {name: getattr(one, name) for one in field.metadata for name in ("ge", "le") if hasattr(one, name)}
    if "ge" in bounds:
        yield f"{bounds['ge']} to {bounds['le']}" if "le" in bounds else f"from {bounds['ge']}"


def _example(field: FieldInfo) -> str:
    """The field's own; else another value than the default where there are few, else the default."""
    kind = _kind(field)
    if field.examples:
        return str(field.examples[0])
    if kind is bool:
        return _plain(not field.default)
    others = [word for word in _vocabulary(kind) if word != field.default]
    return others[-1] if others else _plain(field.default)


def _vocabulary(kind: object) -> Sequence[str]:
    """The words of a closed vocabulary; none where the values are open."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return list(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()


def _plain(value: object) -> str:
    """The value as a variable has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value)


_INTRODUCTION = """# Settings

The service is set up by environment variables, and by a file `.env` in the folder that it is started in; where both
have a variable, the environment's counts, and one that is empty is as good as none. Letter case of names does not
matter. Some commands have an option that counts above both, such as `serve --port`.

`crm-gateway config show` lists them with the values that hold here and where each came from; secrets are masked. A
name that begins with `CRM_` and is none of these is a warning when the service starts, and a problem to
`crm-gateway doctor`.

Printed by `crm-gateway config print`, which `./run check` compares with this page.
"""
