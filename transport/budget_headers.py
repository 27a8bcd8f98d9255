"""The headers that tell a caller what a request cost, and what is left (decisions 86 and 101)."""

from typing import Final

from identity.budget import Throttle

BUDGET_HEADERS: Final = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-Request-Cost")


def budget_headers(throttle: Throttle, cost: int) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that cost so many points."""
    return [
        (b"ratelimit-limit", b"%d" % throttle.maximum),
        (b"ratelimit-remaining", b"%d" % throttle.available),
        (b"ratelimit-reset", b"%d" % throttle.reset),
        (b"x-request-cost", b"%d" % cost),
    ]
