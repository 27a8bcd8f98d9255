"""Registers the work of jobs that do what resolvers do; whoever runs a worker imports it, as `jobs/kinds.py`."""

from resolvers import export_work, import_work

__all__ = ["export_work", "import_work"]
