"""The GraphQL surface: it translates, and nothing else."""

from schema.adapters import strawberry as _strawberry  # noqa: F401  # before anybody declares a type
