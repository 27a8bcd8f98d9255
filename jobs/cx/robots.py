"""What a site's robots.txt lets this service read (RFC 9309)."""

import re
from dataclasses import dataclass

AGENT = "crm-gateway"
_MOST_RULES = 2_000


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules that concern this service: (pattern, whether it allows), and the wait between two requests."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0

    def allows(self, path: str) -> bool:
        """Whether the path, with its query, may be read: the longest rule that fits decides, a tie allows."""
        fitting = [(len(pattern), allowed) for pattern, allowed in self.rules if _fits(pattern, path)]
        return max(fitting, default=(0, True))[1]


EVERYTHING = Robots()
NOTHING = Robots((("/", False),))


def read_robots(text: str) -> Robots:
    """The group of this service, else the one for everybody; several groups for one name count together."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    delays: dict[str, float] = {}
    agents: list[str] = []
    naming = False
    for line in text.splitlines():
        name, colon, value = (part.strip() for part in line.partition("#")[0].partition(":"))
        name = name.lower()
        if not colon:
            continue
        if name == "user-agent":
            agents = [*agents, value.lower()] if naming else [value.lower()]
            naming = True
            groups.setdefault(value.lower(), [])
            continue
        naming = False
        for agent in agents:
            if name in ("allow", "disallow") and value and len(groups[agent]) < _MOST_RULES:
                groups[agent].append((value, name == "allow"))
            elif name == "crawl-delay" and re.fullmatch(r"\d{1,4}(\.\d{1,3})?", value):
                delays[agent] = float(value)
    agent = AGENT if AGENT in groups else "*"
    return Robots(tuple(groups.get(agent, ())), delays.get(agent, 0.0))


def _fits(pattern: str, path: str) -> bool:
    """Whether the path begins as the pattern says: `*` is anything, and `$` at its end is the path's end.

    Compared piece by piece, since a pattern of many stars would keep a regular expression busy for good.
    """
    anchored = pattern.endswith("$")
    first, *others = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, piece in enumerate(others):
        if anchored and number == len(others) - 1:
            return path.endswith(piece) and len(path) - len(piece) >= at
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return not anchored or at == len(path)
