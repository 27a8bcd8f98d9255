"""Registers the work of jobs that do what resolvers do; whoever runs a worker imports it, as `jobs/kinds.py`."""

from resolvers.import_work import KIND

__all__ = ["KIND"]
