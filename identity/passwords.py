"""Passwords as they are stored: by argon2id, with OWASP's parameters, off the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from contract.login import PASSWORD_MAX, PASSWORD_MIN

_HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$JORS5P9PMfbjQG4Nn/9/Bg$9KiI2hgmJCJ2YZ/G4YJZ6OPHyzy2mMgyegH3BKvsoRI"
"""What is compared with where nobody has the name: the same work, and never right."""
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="password")
"""Few: each takes 19 MiB and a core for as long as it takes."""


def fault_of(password: str) -> str | None:
    """Say why this cannot be a password; None where it can (decision 892)."""
    length = len(normalize("NFKC", password))
    if length < PASSWORD_MIN:
        return f"must have at least {PASSWORD_MIN} characters"
    if length > PASSWORD_MAX:
        return f"must have at most {PASSWORD_MAX} characters"
    return None


async def hashed(password: str) -> str:
    """Make the text that is stored of a password."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, _HASHER.hash, _bytes(password))


async def is_right(password: str, stored: str | None) -> bool:
    """Says whether the password is the stored one; without a stored one the same work is done, and the answer is no."""
    given = _bytes(password)
    equal = await asyncio.get_running_loop().run_in_executor(_THREADS, _matches, given, stored or NOBODYS)
    return equal and stored is not None and fault_of(password) is None


def is_current(stored: str) -> bool:
    """Says whether the text was made with the parameters of now."""
    return not _HASHER.check_needs_rehash(stored)


def _matches(given: bytes, stored: str) -> bool:
    try:
        return _HASHER.verify(stored, given)
    except (VerificationError, InvalidHashError):
        return False


def _bytes(password: str) -> bytes:
    """The same bytes for what looks the same, however a keyboard composes it; what is too long for one is cut."""
    return normalize("NFKC", password)[: PASSWORD_MAX + 1].encode(errors="surrogatepass")
