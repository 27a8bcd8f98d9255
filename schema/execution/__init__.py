"""Documents, prepared once and run many times."""

from schema.execution.documents import Documents, Prepared
from schema.execution.requests import Answer, Request
from schema.execution.run import Executor

__all__ = ["Answer", "Documents", "Executor", "Prepared", "Request"]
