"""Documents, prepared once and run many times."""

from schema.execution.documents import Documents, Prepared
from schema.execution.run import Answer, Executor, Request

__all__ = ["Answer", "Documents", "Executor", "Prepared", "Request"]
