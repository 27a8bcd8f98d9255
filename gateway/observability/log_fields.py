"""Makes fields of what a line of the log says in words, for logs that programs read (decision 874)."""

import logging
import re
from collections.abc import Iterator
from typing import Final

from structlog.typing import EventDict

from contract.error_origin import Where, frames_of
from contract.tracing import current as running_span
from contract.tracing import ids_of

_ASKED: Final = re.compile(r"(?:\s*\b(?P<name>[a-z_]+)=)?%(?P<form>[-+# 0-9.]*[a-zA-Z%])")
"""A placeholder of a template, with its name where it has one: `organization=%s`."""
_TAKEN: Final = frozenset({"event", "level", "logger", "timestamp"})


def named_arguments(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Take what the template names out of the text, each as a field with its own type."""
    arguments = event.pop("positional_args", None)
    if not isinstance(arguments, tuple) or not arguments:
        return event
    template = str(event["_record"].msg)
    asked = [one for one in _ASKED.finditer(template) if one["form"] != "%"]
    if len(asked) != len(arguments):
        return event
    text, at = [], 0
    for one, value in zip(asked, arguments, strict=True):
        text.append(template[at : one.start()].replace("%%", "%"))
        at = one.end()
        if one["name"] is None or one["name"] in _TAKEN:
            text.append(one[0] % (value,))
        else:
            event[one["name"]] = _plain(value)
        if isinstance(value, Where):
            event["frames"] = value.frames
    text.append(template[at:].replace("%%", "%"))
    event["event"] = "".join(text).strip()
    return event


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """Says what a line's template names, by these names."""
    asked = [one for one in _ASKED.finditer(str(record.msg)) if one["form"] != "%"]
    values = record.args if isinstance(record.args, tuple) else ()
    if len(asked) != len(values):
        return {}
    return {one["name"]: value for one, value in zip(asked, values, strict=True) if one["name"]}


def words_of(record: logging.LogRecord) -> str:
    """The fixed words of a line."""
    return _ASKED.sub("", str(record.msg)).strip()


def error_fields(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Say of an exception that was logged what it is and where it came from, and none of its words."""
    given = event.pop("exc_info", None)
    error = given[1] if isinstance(given, tuple) else given
    if isinstance(error, BaseException):
        event["type"] = type(error).__name__
        event["frames"] = [frame for one in chain(error) for frame in frames_of(one)]
    return event


def trace_fields(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Say within which span of which trace the line was written, where there is one."""
    span = running_span()
    if span is not None:
        event.update(ids_of(span))
    return event


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and before it what it was raised from."""
    if error.__cause__ is not None and error.__cause__ is not error:
        yield from chain(error.__cause__)
    yield error


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    return round(value, 1) if isinstance(value, float) else str(value)
