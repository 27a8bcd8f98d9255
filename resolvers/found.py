"""A record of any kind, for the fields whose type is Node."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Found:
    """A record, and what kind it is by the name of its GraphQL type; it is read as the record is."""

    typename: str
    record: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.record, name)
