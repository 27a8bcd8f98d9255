"""Tells whether a text is the address of something on the web, wherever one is taken, and finds its origin."""

from urllib.parse import urlsplit


def is_web_address(text: str) -> bool:
    """Says whether the text is an http:// or https:// address of a host; nothing is called or looked up."""
    try:
        parts = urlsplit(text)
        is_of_host = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not match, or a port that is no number
        return False
    return is_of_host and not any(c <= " " for c in text)  # which urlsplit takes out or lets be


def origin_of_address(text: str) -> str | None:
    """The address's origin as browsers write it; None for what is no address, or holds a user."""
    if not is_web_address(text):
        return None
    parts = urlsplit(text)
    usual = {"http": 80, "https": 443}[parts.scheme]
    if "@" in parts.netloc or parts.hostname is None:
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if parts.port in (None, usual) else f":{parts.port}")
