"""The identity of a meeting in all calendars, and the form in which addresses are compared."""

from hashlib import sha256

from contract.domains import domain_of
from contract.normal_form import folded

_GLOBAL = "040000008200e00074c5b7101a82e008"
"""The beginning of Outlook's identifiers, in hexadecimal (MS-OXOCAL, PidLidGlobalObjectId)."""
_DATE = slice(32, 40)
_DATA = 40
_WRAPPED = b"vCal-Uid\x01\x00\x00\x00"


def normal_uid(uid: str) -> str:
    """The identifier that every calendar has of the meeting.

    Outlook's names the day of an occurrence, or wraps the identifier of another calendar: both are taken off.
    """
    plain = uid.strip()
    lower = plain.lower()
    if not lower.startswith(_GLOBAL) or len(lower) < 2 * _DATA:
        return plain
    try:
        data = bytes.fromhex(lower)[_DATA:]
    except ValueError:
        return plain
    if data.startswith(_WRAPPED):
        return data[len(_WRAPPED) :].rstrip(b"\0").decode("utf-8", "replace").strip() or lower
    return f"{lower[: _DATE.start]}00000000{lower[_DATE.stop :]}"


def uid_hash(uid: str) -> str:
    """Digest the identifier for keys: it may be longer than an index takes."""
    return sha256(uid.encode()).hexdigest()


def address_key(address: str) -> str:
    """The form of an address in which contacts are matched."""
    return folded(address.strip())


def domain_key(address: str) -> str:
    """The domain of an address."""
    return domain_of(address.rpartition("@")[2]) or ""


def is_within(domain: str, domains: frozenset[str]) -> bool:
    """Says whether the domain is one of these, or lies below one."""
    parts = domain.split(".")
    return any(".".join(parts[place:]) in domains for place in range(len(parts)))
