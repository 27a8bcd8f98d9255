"""Says what a site's robots.txt lets this service read (RFC 9309), as protego reads it (decision 134).

It is hostile input like any page: only groups that concern this service reach protego, whose cost would else grow with
agents times rules, and `permission` is for a child process.
"""

import re
from dataclasses import dataclass

AGENT = "crm-gateway"
MOST_BYTES = 500 * 1024
"""The bytes that RFC 9309 has a crawler read at least, and all that are read here."""
EVERYTHING = b""
NOTHING = b"User-agent: *\nDisallow: /\n"

_NAMING = re.compile(r"[ \t]*user[ -]?agent[ \t]*:[ \t]*([a-z_-]+|\*)?", re.IGNORECASE)
_ORIGIN = "http://site.invalid"


@dataclass(frozen=True, slots=True)
class Permission:
    """Says whether an address may be read, and the seconds to wait between two requests."""

    allowed: bool
    delay: float


class Robots:
    """The rules for this service, else those for everybody; several groups for one name count together."""

    def __init__(self, text: str) -> None:
        from protego import Protego  # which only child processes load

        lines = [_renamed(line) for line in text.removeprefix("\ufeff").splitlines()]
        # A token of which another name is a part would count as its group too, so everybody else has one name.
        self._agent = AGENT if any(line == _named(AGENT) for line in lines) else "*"
        self._rules = Protego.parse("\n".join(lines))

    @property
    def delay(self) -> float:
        """The seconds that it wants between two requests."""
        return self._rules.crawl_delay(self._agent) or 0.0

    def allows(self, path: str) -> bool:
        """Says whether the path, with its query, may be read: the longest rule that fits decides, a tie allows."""
        return self._rules.can_fetch(_ORIGIN + path, self._agent)


def permission(body: bytes, path: str) -> Permission:
    """Says what a robots.txt of these bytes permits for the path, with its query."""
    # A rule that is cut off is another one.
    whole = body if len(body) < MOST_BYTES else body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    robots = Robots(whole.decode("utf-8", "replace"))
    return Permission(robots.allows(path), robots.delay)


def _named(agent: str) -> str:
    return f"User-agent: {agent}"


def _renamed(line: str) -> str:
    """A line that names an agent with its product token alone; any other agent is `other`."""
    naming = _NAMING.match(line)
    if naming is None:
        return line
    token = (naming[1] or "").lower()
    return _named(token if token in (AGENT, "*") else "other")
