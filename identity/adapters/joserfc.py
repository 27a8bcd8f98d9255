"""joserfc below its documented surface: how it reads the base64 of a key's members, so that both read it alike."""

from joserfc.util import urlsafe_b64decode

__all__ = ["urlsafe_b64decode"]
