"""The one spelling of an Internet domain, in which records keep it and by which they are found (decision 215)."""

import re

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://")
_HOST = re.compile(r"[\w.-]+")


def host_of(text: str) -> str:
    """The host that a site or an e-mail address names, in lower case, without `www.`; empty where there is none."""
    address = _SCHEME.sub("", text.strip().lower())
    host = re.split(r"[/?#]", address, maxsplit=1)[0].rpartition("@")[2].partition(":")[0].strip(".")
    while host.startswith("www.") and "." in host[4:]:
        host = host[4:].strip(".")
    return host


def domain_of(text: str | None) -> str | None:
    """The bare domain of a site or an e-mail address; None where there is none."""
    host = host_of(text or "")
    return host if "." in host and _HOST.fullmatch(host) else None


def kept_domain(text: str) -> str:
    """The domain as records keep it: without scheme, path, `www.` and letter case. Doing it again changes nothing.

    What is no domain, such as «n/a», keeps all but its letter case and the blanks around it.
    """
    plain = text.strip().lower()
    host = host_of(plain)
    is_named = _HOST.fullmatch(host) and ("." in host or _SCHEME.match(plain))
    return host if is_named else plain
