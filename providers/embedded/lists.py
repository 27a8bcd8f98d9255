"""Lists of records: the names are found first, then the page is asked for and told line by line."""

from collections.abc import Generator, Sequence

from providers.embedded.finding import Found, find
from providers.embedded.list_reading import ListReader
from providers.embedded.list_words import PEOPLE_AT, PIPELINE_OF_MINE
from providers.embedded.listing import Listing
from providers.embedded.naming import named_from
from providers.embedded.periods import AHEAD
from providers.embedded.saying import line
from providers.embedded.steps import Asked, Lines, Outcome, Plan, Request, Step, has_more, nodes_of, one, refused
from providers.embedded.words import longest

_LINKS = {"account": "accountId", "contact": "contactId", "deal": "dealId"}


def read(asked: Asked) -> tuple[Plan | None, str]:
    """The plan of a question about a list; None where it is none, or not read in full, and why."""
    if longest(asked.words, 0, PIPELINE_OF_MINE) == len(asked.words):
        return _listed(asked, Listing("deal", is_mine=True, states=["OPEN"], state_words=["open"])), ""
    if size := longest(asked.words, 0, PEOPLE_AT):
        name = named_from(asked, size, ("account",))[1]
        at = Listing("contact", name=name, named_kinds=("account",))
        return (_listed(asked, at), "") if name else (None, "it does not say at which account")
    reader = ListReader(asked.text, asked.words, asked.today)
    listing = reader.read()
    if listing is None:
        unread = reader.unread
        return None, f"I do not know what «{unread[0].text}» means there" if unread else ""
    problem = listing.problem() or ("" if listing.look_back(asked.today) else AHEAD)
    return (None, problem) if problem else (_listed(asked, listing), "")


def _listed(asked: Asked, listing: Listing) -> Plan:
    where = listing.where(asked.subject, asked.zone, asked.today)
    name = stage = ""
    if listing.name is not None and listing.kind != "lead":
        found = yield from find(asked, listing.name, listing.named_kinds)
        if not isinstance(found, Found):
            return found
        where[_LINKS[found.kind]], name = {"eq": found.id}, found.mark
    if listing.stage is not None:
        staged = yield from stage_of(listing.stage)
        if isinstance(staged, Outcome):
            return refused(staged)
        if not isinstance(staged, dict):
            return staged
        where["stageId"], stage = {"eq": staged["id"]}, str(staged["name"])
    request = page(listing.kind, where, listing.ordered(), listing.first)
    outcome = yield from one(request)
    if not outcome.is_ok:
        return refused(outcome)
    rows, title = nodes_of(outcome.data), listing.title(name, stage)
    if not rows:
        return [f"There are none: {title}."]
    return [_heading(title, rows, outcome.data), *(line(listing.kind, row, asked.zone) for row in rows)]


def page(
    kind: str, where: dict[str, object], order: dict[str, str] | None = None, first: int | None = None
) -> Request:  # Any: JSON
    """The call that lists records."""
    more = {"where": where, "order": order, "first": first}
    return Request("list_records", {"kind": kind, **{key: value for key, value in more.items() if value}})


def _heading(title: str, rows: Sequence[dict[str, object]], data: object) -> str:
    title = title[0].upper() + title[1:]
    if has_more(data):
        return f"{title}, the first {len(rows)}; there are more:"
    return f"{title}, {len(rows)} in all:"


def stage_of(name: str) -> Generator[Step, Sequence[Outcome], dict[str, object] | Outcome | Lines]:
    """The stage of that name; an outcome that gave none, or what is said where no stage has the name."""
    outcome = yield from one(Request("describe", {}))
    if not outcome.is_ok:
        return outcome
    return stage_among(outcome.data, name)


def stage_among(data: object, name: str) -> dict[str, object] | Lines:
    """The stage of that name among all; what is said where none has it, or several."""
    stages = (
        [one for one in data.get("pipelineStages") or () if isinstance(one, dict)] if isinstance(data, dict) else []
    )
    wanted = " ".join(name.casefold().split())
    named = [stage for stage in stages if " ".join(str(stage.get("name")).casefold().split()) == wanted]
    if len(named) == 1:
        return named[0]
    if named:
        return [f"Several stages are named «{name}»; give them names of their own first."]
    known = ", ".join(str(stage.get("name")) for stage in stages)
    return [f"There is no stage «{name}». The stages are {known}." if known else "There are no stages yet."]
