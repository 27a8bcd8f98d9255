"""Limits what a caller may use, by the settings: counted in this process, or in Redis for several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from gateway.settings import Settings
from identity import anonymous_budget, budget, login_limits
from identity import auth_failures as failures
from identity.anonymous_budget import AnonymousBudget
from identity.auth_failures import Failures
from identity.budget import Budget, Metered, Unmetered
from identity.login_limits import LoginLimits
from identity.pairs import MemoryPairs, Pairs, Sizes
from identity.token_buckets import Buckets, MemoryBuckets, Size
from transport.readiness import Check

if TYPE_CHECKING:
    from identity.redis_link import RedisLink


@dataclass(frozen=True, slots=True)
class LimiterBackends:
    """The budgets of callers and addresses, the limits on failed authentications, and Redis where it is used."""

    budget: Budget
    failures: Failures | None
    anonymous: AnonymousBudget | None
    logins: LoginLimits | None
    link: RedisLink | None

    async def check(self) -> Check:
        """The line of Redis in /ready, where one is used; without it the service still serves."""
        if self.link is not None and await self.link.answers():
            return Check("redis", True, "reached")
        return Check("redis", True, "cannot be reached; each process counts for itself what callers use")

    async def close(self) -> None:
        if self.link is not None:
            await self.link.close()


def limiter_backends(settings: Settings, pepper: bytes) -> LimiterBackends:
    """Makes the backends that the settings ask for."""
    if not settings.rate_limit:
        return LimiterBackends(Unmetered(), None, None, None, None)
    buckets, pairs, link = _counted(settings.redis_url.get_secret_value())
    refused = Failures(buckets("key", failures.KEY_SIZE), buckets("address", failures.ADDRESS_SIZE), pepper)
    unknown = AnonymousBudget(buckets("anonymous", anonymous_budget.SIZE))
    attempts = LoginLimits(
        buckets("login", login_limits.ACCOUNT_SIZE), buckets("login-address", login_limits.ADDRESS_SIZE)
    )
    member = Metered(pairs(budget.sizes_of(settings.organization_budget)))
    return LimiterBackends(member, refused, unknown, attempts, link)


def _counted(address: str) -> tuple[Callable[[str, Size], Buckets], Callable[[Sizes], Pairs], RedisLink | None]:
    """Says how buckets of a size and pairs of them are made, and gives the connections that they share."""
    if not address:
        return lambda _name, size: MemoryBuckets(size), MemoryPairs, None
    # Only here: their package belongs to an extra, and takes its time to load.
    link: RedisLink = import_module("identity.redis_link").RedisLink(address)
    redis = import_module("identity.redis_buckets")
    return (
        lambda name, size: redis.RedisBuckets(link, f"crm:{name}:", size),
        lambda sizes: redis.RedisPairs(link, "crm:budget:", sizes),
        link,
    )
