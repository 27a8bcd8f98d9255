"""Cuts credentials out of text that goes to a log."""

import re

# Wherever they begin: in a log line a letter may stand right before, as the n of an escaped line's end. And never
# looking far ahead: paths are the client's, and such a search would take time by the square of their length.
_SECRETS = re.compile(
    r"(ak|pat)_[A-Za-z0-9]+\.[A-Za-z0-9_-]+"  # keys and tokens
    r"|eyJ[A-Za-z0-9_.-]+"  # session tokens
    r"|(?<=://)[^/\s:@]{0,100}:\S{1,200}(?=@)"  # passwords in addresses
)


def redact(text: str) -> str:
    """The text without credentials, which have one of three marks in them; most texts have none."""
    if "_" not in text and "eyJ" not in text and "://" not in text:
        return text
    return _SECRETS.sub("[redacted]", text)
