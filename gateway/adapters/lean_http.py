"""httpx, loaded in the same way by those processes that call others: a supervisor does not."""

from gateway.adapters.lean import without_terminals

with without_terminals():
    import httpx  # noqa: F401
