"""The specification as code: constants, names and rules. Imports nothing of this project."""

from contract.adapters import dataclasses as _shared  # noqa: F401  # before anybody declares one
