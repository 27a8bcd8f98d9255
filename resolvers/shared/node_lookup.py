"""A record of any kind, for the fields whose type is Node."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeResult:
    """A record, and what kind it is by the name of its GraphQL type; it is read as the record is."""

    typename: str
    record: object

    def __getattr__(self, name: str) -> object:
        return getattr(self.record, name)
