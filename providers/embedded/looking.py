"""Questions about one record, the pipeline, what changed, and figures."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from contract.canonical_json import JsonObject
from contract.vocabulary import StageType
from providers.embedded.finding import KINDS, Found, find, mark
from providers.embedded.list_words import NOW
from providers.embedded.listing import NOUNS
from providers.embedded.lists import page
from providers.embedded.naming import named_from, only_name
from providers.embedded.periods import Period, moment_of, period_at, said
from providers.embedded.saying import amount, record, when, words
from providers.embedded.steps import Asked, Outcome, Plan, Request, Step, has_more, nodes_of, one, refused
from providers.embedded.words import longest, phrases

_SHOW: Final = phrases(
    "show me|show|find me|find|open|look up|search for|search|get me|get|pull up|display|details of"
    "|details on|details for"
    "|details about|tell me about|tell me more about|more about|info on|info about|information on|information about"
    "|give me details of|give me details on|show me details of|give me|what do we know about|who is|look for|bring up"
    "|what do you know about"
)
_WHO: Final = phrases("who is")
_HEALTH: Final = phrases(
    "health of|account health of|the health of|what is the health of|how is the health of"
    "|show me the health of|health for|health score for|account health for|what is the health score for"
    "|show the health of|show health of|how healthy is|health score of|what is the health score of|how healthy are"
    "|relationship health of|check the health of|give me the health of|tell me the health of|show me health of"
)
_HEALTH_BEHIND: Final = phrases("health|health score|account health")
_HEALTH_BEFORE: Final = phrases("what is|show me|show|how is|tell me|give me|check")
_PIPELINE: Final = phrases(
    "pipeline|show pipeline|show me the pipeline|show the pipeline|show our pipeline|our pipeline"
    "|the pipeline|deal board"
    "|show me our pipeline|show the deal board|the deal board|show me the deal board|how does the pipeline look"
    "|how does our pipeline look|how is the pipeline|how is our pipeline"
    "|how is our pipeline looking|how is the pipeline doing|sales pipeline"
    "|how is our pipeline doing|what is in the pipeline|what is in our pipeline|what does the pipeline look like"
    "|what does our pipeline look like|give me the pipeline|pipeline overview|give me an overview of the pipeline"
    "|pipeline please|show me the sales pipeline|the sales pipeline|show the board|show me the board"
    "|give me our pipeline"
    "|pipeline status|pipeline summary|summarize the pipeline|summarise the pipeline|overview of the pipeline"
)
_CHANGED: Final = phrases(
    "what changed|what has changed|what have changed|changes|show changes|show me changes|show the changes"
    "|what is new"
    "|show me the changes|what happened|what has happened|list changes|list the changes|show me what changed"
    "|all changes"
    "|show me all changes|what was changed|give me the changes|tell me what changed|anything new"
    "|what did change|the changes"
    "|what is happened"
    "|what is changed|what has been changed|has anything changed|did anything change|history|the history"
    "|show the history|show me the history"
    "|show what changed|recent changes|show recent changes|show me recent changes|show me what happened|any changes"
)
_ABOUT: Final = frozenset({"on", "to", "with", "about", "for", "at", "of"})
_BEFORE_PERIOD: Final = frozenset({"in", "on", "during", "within", "over"})
_COUNTED: Final = phrases(
    "how many|how much|number of|the number of|count|count of|average|total|win rate|conversion rate"
    "|show me the number of"
    "|what is the number of|what is the average|what is the total|what is our win rate|what is the win rate|sum of"
    "|what is the conversion rate|what is our conversion rate|show the number of|give me the number of"
)
_GROUPING: Final = frozenset({"by", "per"})
_PAGES: Final = 4
_DAYS_BACK: Final = 30


def show(asked: Asked) -> Plan | None:
    """One record, or what is said where several have the name."""
    size = longest(asked.words, 0, _SHOW)
    if not size:
        return None
    kinds, name = named_from(asked, size, KINDS)
    if not name:
        return None
    if longest(asked.words, 0, _WHO):
        kinds = tuple(kind for kind in kinds if kind in ("contact", "lead"))
    return _shown(asked, kinds, name) if kinds else None


def _shown(asked: Asked, kinds: Sequence[str], name: str) -> Plan:
    found = yield from find(asked, name, kinds)
    if not isinstance(found, Found):
        return found
    outcome = yield from one(Request("get_record", {"kind": found.kind, "id": found.id}))
    if not outcome.is_ok or not isinstance(outcome.data, dict):
        return refused(outcome)
    return record(found.kind, outcome.data, asked.zone)


def health(asked: Asked) -> Plan | None:
    """Says how the relationship with an account is."""
    size = longest(asked.words, 0, _HEALTH)
    is_it = len(asked.words) > 2 and (asked.words[0].form, asked.words[-1].form) == ("is", "healthy")
    if size or is_it:
        name = named_from(asked, size or 1, ("account",), -1 if is_it else None)[1]
        return _health(asked, name) if name else None
    before = longest(asked.words, 0, _HEALTH_BEFORE)
    at = next((at for at, word in enumerate(asked.words) if word.is_owning and at >= before), None)
    if at is None or at + 1 + longest(asked.words, at + 1, _HEALTH_BEHIND) != len(asked.words):
        return None
    name = only_name(asked, before, at + 1)
    return _health(asked, name) if name and at + 1 < len(asked.words) else None


def _health(asked: Asked, name: str) -> Plan:
    found = yield from find(asked, name, ("account",))
    if not isinstance(found, Found):
        return found
    outcome = yield from one(Request("account_health", {"id": found.id}))
    if not outcome.is_ok or not isinstance(outcome.data, dict):
        return refused(outcome)
    told = outcome.data.get("health")
    if not isinstance(told, dict):
        return [f"The health of {found.mark} has not been worked out yet."]
    at = when(told.get("snapshotAt"), asked.zone)
    lines = [f"{found.mark}: {told.get('score')} of 100, {words(told.get('trend'))}{f' (on {at})' if at else ''}."]
    for factor in told.get("factors") or ():
        if isinstance(factor, dict):
            lines.append(f"- {factor.get('label')}, {factor.get('score')}: {factor.get('explanation')}")
    return lines


def pipeline(asked: Asked) -> Plan | None:
    """Plan the answer to what each stage comes to."""
    size = longest(asked.words, 0, _PIPELINE)
    is_whole = size and len(asked.words) in (size, size + longest(asked.words, size, NOW))
    return _pipeline() if is_whole else None


def _pipeline() -> Plan:
    outcome = yield from one(Request("deal_board", {}))
    if not outcome.is_ok or not isinstance(outcome.data, dict):
        return refused(outcome)
    columns = outcome.data.get("columns") or ()
    shown = ", of those that are shown" if outcome.is_truncated else ""
    lines = [f"The pipeline comes to {_totals(_open(columns)) or 'nothing yet'} in open stages{shown}."]
    for column in columns:
        stage, number = column.get("stage") or {}, column.get("dealCount") or 0
        parts = [str(stage.get("name")), f"{number} deal{'' if number == 1 else 's'}", _totals(column.get("totals"))]
        lines.append("- " + " · ".join(part for part in parts if part))
    return lines


def _open(columns: Sequence[JsonObject]) -> list[JsonObject]:
    """Adds up the open stages by currency: what was won or lost is in the pipeline no more (decision 1120)."""
    sums: dict[str, Decimal] = {}
    for column in columns:
        for total in column.get("totals") or () if column["stage"].get("type") == StageType.OPEN.name else ():
            currency = str(total["currency"])
            sums[currency] = sums.get(currency, Decimal(0)) + Decimal(total["amount"])
    return [{"currency": currency, "amount": amount} for currency, amount in sorted(sums.items())]


def _totals(totals: object) -> str:
    rows = totals if isinstance(totals, list) else []
    return ", ".join(amount(row.get("amount"), row.get("currency")) for row in rows if isinstance(row, dict))


def changes(asked: Asked) -> Plan | None:
    """Plan the answer to what happened since a day, or in a period, or to a record."""
    size = longest(asked.words, 0, _CHANGED)
    if not size:
        return None
    known, at = _period(asked, size)
    if known is not None and at == len(asked.words):
        begun = known.begun(asked.today)
        return None if begun is None else _changes(asked, begun)
    if at >= len(asked.words) or asked.words[at].form not in _ABOUT:
        return None
    end = next((end for end in range(at + 2, len(asked.words)) if _period(asked, end)[1] == len(asked.words)), None)
    kinds, name = named_from(asked, at + 1, KINDS, end)
    if not name or (known is not None and end is not None):
        return None
    if end is not None:
        known = _period(asked, end)[0]
    if known is not None and (known := known.begun(asked.today)) is None:
        return None
    start = asked.today - timedelta(days=_DAYS_BACK)
    return _changes_of(asked, kinds, name, known or Period(f"since {said(start)}", start))


def _period(asked: Asked, place: int) -> tuple[Period | None, int]:
    """The period there with the word before it, and where it ends."""
    at = place + (place < len(asked.words) and asked.words[place].form in _BEFORE_PERIOD)
    found = period_at(asked.words, at, asked.today)
    return (None, place) if found is None or found[0].start is None else (found[0], at + found[1])


def _asking(asked: Asked, known: Period, after: object = None) -> Request:
    arguments: dict[str, object] = {"since": moment_of(known.start or asked.today, asked.zone), "first": 50}
    if known.end is not None and known.end <= asked.today:
        arguments["until"] = moment_of(known.end, asked.zone)
    return Request("changes", arguments if after is None else {**arguments, "after": after})


def _changes(asked: Asked, known: Period) -> Plan:
    outcome = yield from one(_asking(asked, known))
    if not outcome.is_ok:
        return refused(outcome)
    events = nodes_of(outcome.data)
    if not events:
        return [f"Nothing changed: {known.words}."]
    marks = yield from _named(asked, events)
    told = f"the first {len(events)}, oldest first" if has_more(outcome.data) else f"{len(events)} in all"
    return [f"What changed {known.words}, {told}:", *(_event(asked, event, marks) for event in events)]


def _named(asked: Asked, events: Sequence[dict[str, Any]]) -> Any:  # Any: a generator of steps; JSON
    """The marks of the records that the events are about, as far as they are there."""
    ids: dict[str, dict[str, None]] = {}
    for event in events:
        kind, id = _subject(event)
        if kind in (*KINDS, "campaign") and id:
            ids.setdefault(kind, {})[id] = None
    requests = [page(kind, {"id": {"in": [*of]}}, first=len(of)) for kind, of in ids.items()]
    requests = [request for request in requests if asked.may(request)]
    outcomes: Sequence[Outcome] = (yield Step(requests)) if requests else ()
    return {
        str(row["id"]): mark(request.arguments["kind"], str(row["id"]))
        for request, outcome in zip(requests, outcomes, strict=True)
        for row in nodes_of(outcome.data)
    }


def _subject(event: dict[str, object]) -> tuple[str, str]:
    kind = str(event.get("type")).partition("_")[0]
    data = event.get("data")
    return kind, str(data.get(f"{kind}_id") or "") if isinstance(data, dict) else ""


def _event(asked: Asked, event: dict[str, object], marks: dict[str, str]) -> str:
    id, data = _subject(event)[1], event.get("data")
    changed = data.get("changed") if isinstance(data, dict) else None
    what = words(event.get("type"))
    named = marks.get(id)
    told = f"{named} · {what}" if named else what
    if isinstance(changed, list) and changed:
        told += f": {', '.join(words(name) for name in changed)}"
    by = " · by you" if event.get("actor") == asked.subject else ""
    return f"- {when(event.get('occurredAt'), asked.zone)} · {told}{by}"


def _changes_of(asked: Asked, kinds: Sequence[str], name: str, known: Period) -> Plan:
    found = yield from find(asked, name, kinds)
    if not isinstance(found, Found):
        return found
    events: list[dict[str, object]] = []
    after, number, is_all = None, 0, False
    while number < _PAGES and not is_all:
        outcome = yield from one(_asking(asked, known, after))
        if not outcome.is_ok:
            return refused(outcome)
        events += nodes_of(outcome.data)
        number, is_all = number + 1, not has_more(outcome.data)
        after = outcome.data["pageInfo"].get("endCursor") if not is_all else None
    about = [event for event in events if isinstance(data := event.get("data"), dict) and found.id in data.values()]
    limit = "" if is_all else f" I looked at the first {len(events)} changes of that time only."
    if not about:
        return [f"Nothing changed on {found.mark} {known.words}.{limit}"]
    lines = [f"What changed on {found.mark} {known.words}:", *(_event(asked, event, {}) for event in about)]
    return [*lines, *([limit.strip()] if limit else [])]


def figures(asked: Asked) -> Plan | None:
    """A question about numbers, which the analytics answer, or decline."""
    groups = any(word.form in _GROUPING for word in asked.words[1:])
    is_about = any(word.form in NOUNS or word.form == "pipeline" for word in asked.words)
    if not longest(asked.words, 0, _COUNTED) and not (groups and is_about):
        return None
    return _figures(asked)


def _figures(asked: Asked) -> Plan:
    outcome = yield from one(Request("ask_data", {"question": asked.text.strip()}))
    data = outcome.data if isinstance(outcome.data, dict) else {}
    result = data.get("result")
    if not outcome.is_ok or not isinstance(result, dict):
        return refused(outcome) if outcome.code == "forbidden" else []
    rows, columns = result.get("rows") or [], result.get("columns") or []
    lines = [str(data.get("explanation") or "").strip()] if data.get("explanation") else []
    names = [str(column.get("label") or column.get("name")) for column in columns if isinstance(column, dict)]
    for row in rows if len(rows) > 1 or len(names) > 1 else ():
        cells = [f"{name} {'none' if cell is None else cell}" for name, cell in zip(names, row, strict=False)]
        lines.append(f"- {' · '.join(cells)}")
    if str(asked.zone) != "UTC":
        lines.append("Days of figures are those of UTC.")
    return lines or ["There is nothing to count."]
