"""Says what is set about a language model; settings are read without what speaks to one."""

from enum import StrEnum
from typing import Final

SILENCE_SECONDS: Final = 30.0
"""The longest silence; a comment or an empty chunk does not end it."""


class ModelKind(StrEnum):
    """The protocol that a model speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
