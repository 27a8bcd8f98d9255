"""Documents, prepared once and run many times."""

from schema.execution.documents import Document, Documents
from schema.execution.requests import Answer, Request
from schema.execution.run import Executor

__all__ = ["Answer", "Document", "Documents", "Executor", "Request"]
