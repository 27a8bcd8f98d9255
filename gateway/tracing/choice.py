"""Says whether this process traces, and loads what that takes only where it does."""

import os
from importlib import import_module
from typing import TYPE_CHECKING

from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.tracing.library import Tracer


def tracer_of(settings: Settings) -> "Tracer | None":
    """The tracer of a process with these settings; None where it traces nothing."""
    if not settings.otel or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    library = import_module("gateway.tracing.library")
    tracer: Tracer = library.Tracer(library.exporter())
    return tracer
