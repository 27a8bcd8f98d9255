"""Holds the parts of a question about a list: kind, whose, states, with whom, when, how much, order (decision 352)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from contract.canonical_json import JsonObject
from providers.embedded.periods import Period

NOUNS: Final = {
    **dict.fromkeys(("deal", "opportunity"), "deal"),
    **dict.fromkeys(("meeting", "appointment", "calendar", "agenda", "schedule"), "meeting"),
    **dict.fromkeys(("account", "company", "customer", "client"), "account"),
    **dict.fromkeys(("contact", "people"), "contact"),
    "lead": "lead",
    "campaign": "campaign",
}
"""The plain names for the records of a kind."""
WHOLES: Final = frozenset({"calendar", "agenda", "schedule", "people"})
"""Nouns in the singular that mean all of them."""
STATES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "deal": {"open": ("OPEN",), "won": ("WON",), "lost": ("LOST",), "closed": ("WON", "LOST")},
    "meeting": {
        "overdue": ("OVERDUE",),
        **dict.fromkeys(("upcoming", "scheduled"), ("SCHEDULED",)),
        **dict.fromkeys(("completed", "held", "done"), ("COMPLETED",)),
        "unscheduled": ("UNSCHEDULED",),
    },
    "lead": {
        "working": ("WORKING",),
        "qualified": ("QUALIFIED",),
        "converted": ("CONVERTED",),
        "disqualified": ("DISQUALIFIED",),
    },
    "campaign": {
        "draft": ("DRAFT",),
        **dict.fromkeys(("active", "running", "live"), ("ACTIVE",)),
        "paused": ("PAUSED",),
        "blocked": ("BLOCKED",),
        "completed": ("COMPLETED",),
        "archived": ("ARCHIVED",),
    },
    "account": {},
    "contact": {},
}
NAMED_BY: Final = {"deal": ("account",), "meeting": ("account", "contact", "deal"), "contact": ("account",)}
"""The kinds of records that a list may be narrowed to."""
_TOOK_PLACE: Final = ["SCHEDULED", "OVERDUE", "COMPLETED"]
"""Meetings without any of these have no time of their own."""
_DATED: Final = {"created": "createdAt", "updated": "updatedAt", "closing": "closeDate", "closed": "closedAt"}


@dataclass(slots=True)
class Listing:
    """The parts of a list's question, as they were read."""

    kind: str = ""
    is_mine: bool = False
    is_new: bool = False
    is_overdue: bool = False
    is_one: bool = False
    """Whether a single record is asked for, which only a list that is narrowed can give."""
    states: list[str] = field(default_factory=list)
    state_words: list[str] = field(default_factory=list)
    name: str | None = None
    named_kinds: tuple[str, ...] = ()
    stage: str | None = None
    industry: str | None = None
    period: Period | None = None
    dated: str = ""
    """The event that the period is about: created, updated, closing or closed."""
    amounts: list[tuple[str, Decimal]] = field(default_factory=list)
    currency: str | None = None
    order: tuple[str, str] | None = None
    first: int | None = None
    is_ranked: bool = False

    def problem(self) -> str | None:
        """Why this is no question that can be answered, though each word was read."""
        if not self.kind:
            return "it does not say what is to be listed"
        if self.name is not None and self.kind not in (*NAMED_BY, "lead"):
            return f"«{self.name}» says nothing about {self.kind}s"
        if self.kind != "deal" and (self.amounts or self.stage or self.dated in ("closing", "closed")):
            return f"{self.kind}s have no amount, stage or closing day"
        if self.kind == "deal" and self.period is not None and not self._date():
            return "it does not say whether deals are meant that were created, won, or are closing then"
        if self.is_one and not (self.is_mine or self.is_new or self.is_overdue or self.is_narrowed):
            return f"it does not say which {self.kind}"
        if self.period is not None and self.states and self.kind in ("lead", "campaign") and not self.dated:
            return f"it does not say whether {self.kind}s were created then, or {self.state_words[0]}"
        if self.period is not None and (self.is_overdue or "OVERDUE" in self.states):
            return "what is overdue is so today"
        if len({op for op, _ in self.amounts}) < len(self.amounts):
            return "it names two amounts"
        if self.is_new and self.kind == "lead" and self.states and self.period is None:
            return f"it does not say whether leads are meant that are new, or {self.state_words[0]}"
        if self.is_new and self.kind in ("deal", "meeting") and self.period is None:
            return f"it does not say since when {self.kind}s are new"
        if self.is_new and self.period is None and self.kind != "lead":
            return f"it does not say since when {self.kind}s are new"
        return None

    @property
    def is_narrowed(self) -> bool:
        """Says whether anything is said of the records."""
        said = (self.states, self.name, self.stage, self.industry, self.period, self.amounts, self.currency, self.order)
        return any(bool(one) for one in said)

    def _date(self) -> str:
        if self.dated:
            return self.dated
        if self.is_new:
            return "created"
        if self.kind == "deal":
            return "closed" if self.states and "OPEN" not in self.states else ""
        return "taking place" if self.kind == "meeting" else "created"

    def look_back(self, today: date) -> bool:
        """Have the period be one that has begun, where it has to be; whether there is such a one."""
        has_been = self._date() in ("created", "updated", "closed") or self.states == ["COMPLETED"]
        if self.period is not None and has_been:
            self.period = self.period.begun(today)
            return self.period is not None
        return True

    def where(self, asked_by: str, zone: ZoneInfo, today: date) -> JsonObject:
        """The conditions, but for those on records that have to be found first."""
        found: JsonObject = {}
        if self.is_mine:
            found["ownerId"] = {"eq": asked_by}
        states = [*self.states]
        if self.kind == "deal" and (self.is_overdue or self._is_closing()) and not states:
            states = ["OPEN"]
        if self.kind == "lead" and self.is_new and self.period is None:
            states = ["NEW"]
        if self.period is not None:
            at = _DATED.get(self._date(), "occurredAt")
            found[at] = self.period.days() if at == "closeDate" else self.period.moments(zone)
            if at == "occurredAt" and not states:
                states = _TOOK_PLACE
        if self.is_overdue:
            found["closeDate"] = {"lt": today.isoformat()}
        if states:
            found["state" if self.kind == "meeting" else "status"] = (
                {"eq": states[0]} if len(states) == 1 else {"in": states}
            )
        if self.amounts:
            found["value"] = {op: f"{value:f}" for op, value in self.amounts}
        if self.currency is not None:
            found["currency"] = {"eq": self.currency}
        if self.industry is not None:
            found["industry"] = {"eq": self.industry, "mode": "IGNORE_CASE"}
        if self.kind == "lead" and self.name is not None:
            found["company"] = {"contains": self.name, "mode": "IGNORE_CASE"}
        return found

    def _is_closing(self) -> bool:
        return self.period is not None and self.dated == "closing"

    def ordered(self) -> dict[str, str] | None:
        """The order; None for that of the list itself."""
        if self.order is not None:
            return {"field": self.order[0], "direction": self.order[1]}
        if self.kind == "meeting":
            has_happened = self.states == ["COMPLETED"]
            return {"field": "OCCURRED_AT", "direction": "DESC" if has_happened else "ASC"}
        if self.kind == "deal" and (self.is_overdue or self._is_closing()):
            return {"field": "CLOSE_DATE", "direction": "ASC"}
        return None

    def title(self, name: str = "", stage: str = "") -> str:
        """Name in words what is listed; the names are those that were found."""
        parts = ["your"] if self.is_mine else []
        states = self.state_words or (["open"] if self.kind == "deal" and self._is_closing() else [])
        parts += ["overdue"] if self.is_overdue else []
        parts += ["new"] if self.is_new and self.period is None else []
        parts += [" or ".join(states)] if states else []
        parts.append(f"{self.kind}s")
        parts += (
            [f"{'at' if self.kind == 'contact' else 'with'} {name}"]
            if name
            else [f"from {self.name}"]
            if self.kind == "lead" and self.name
            else []
        )
        parts += [f"in stage {stage}"] if stage else []
        parts += [f"in the industry {self.industry}"] if self.industry else []
        parts += [f"{_OPS[op]} {value:,f}" for op, value in self.amounts]
        parts += [f"in {self.currency}"] if self.currency else []
        if self.period is not None:
            about = {"taking place": "", "closed": "closed "}.get(self._date(), f"{self._date()} ")
            parts.append(f"{about}{self.period.words}")
        return " ".join(parts) + (f", {_FIRST[self.order]}" if self.order in _FIRST else "")


_OPS: Final = {"gt": "over", "gte": "of at least", "lt": "under", "lte": "of at most"}
_FIRST: Final = {
    ("VALUE", "DESC"): "largest first",
    ("VALUE", "ASC"): "smallest first",
    ("CREATED_AT", "DESC"): "newest first",
    ("CREATED_AT", "ASC"): "oldest first",
}
