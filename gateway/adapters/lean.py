"""Libraries that are loaded without what they only want for a terminal: imported before anybody imports them.

httpx has a command line, and structlog a console, which load `rich` and `pygments` where these are installed: 4 MiB of
each process, for what the gateway never uses. Both go without where they find none. Whoever wants `rich` itself, as
commands with a progress bar do, still gets it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_terminals() -> Iterator[None]:
    """As if these were not installed, for what is imported inside; those that are loaded already stay."""
    hidden = [name for name in ("rich", "pygments") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None says that there is none
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with without_terminals():
    import structlog  # noqa: F401
