"""Attempts to sign in, limited at each address and for each e-mail address at an address (decision 893).

Each attempt counts before it is judged, so that many at once are not more than many in turn. Nobody is locked out by
the attempts of others: those at other addresses do not count.
"""

from hashlib import sha256

from contract.errors import AuthenticationLimited
from contract.login import (
    LOGINS_AT_ADDRESS,
    LOGINS_AT_ADDRESS_SECONDS,
    LOGINS_OF_ACCOUNT,
    LOGINS_OF_ACCOUNT_SECONDS,
)
from identity.auth_failures import origin
from identity.token_buckets import MICROSECONDS, Buckets, Size

ADDRESS_SIZE = Size(LOGINS_AT_ADDRESS, LOGINS_AT_ADDRESS_SECONDS * MICROSECONDS)
ACCOUNT_SIZE = Size(LOGINS_OF_ACCOUNT, LOGINS_OF_ACCOUNT_SECONDS * MICROSECONDS)


class LoginLimits:
    """Counts in buckets, which processes may share."""

    def __init__(self, by_account: Buckets, by_address: Buckets) -> None:
        self._by_account = by_account
        self._by_address = by_address

    async def take(self, name: str, address: str | None) -> None:
        """Let somebody try this name from there. Raises AuthenticationLimited, whether or not there is such a name."""
        if address is None:
            return
        place = origin(address)
        account = sha256(name.lower().encode(errors="surrogatepass")).hexdigest()[:32]
        await _take(self._by_address, place)
        await _take(self._by_account, f"{account}@{place}")

    async def take_secret(self, address: str | None) -> None:
        """The same for a link, a code or a refresh token, which nobody guesses, that was none."""
        if address is not None:
            await _take(self._by_address, origin(address))


async def _take(buckets: Buckets, name: str) -> None:
    taken = await buckets.take(name, 1)
    if not taken.granted:
        raise AuthenticationLimited(-(-buckets.size.wait(taken.missing, 1) // MICROSECONDS))
