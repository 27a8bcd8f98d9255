"""The works: the documents that go to the gateway and to Mercurius, and what the baselines are asked instead.

The first are about the largest organization, in varied requests: from another offset, or about another record.
The others are sent by all organizations in turn. Where a document has a variable for a whole input, a work of its own
has variables inside the input's literal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import starmap
from typing import Any
from urllib.parse import urlencode

from benchmarks.asking import (
    FASTAPI,
    FLOOR,
    GATEWAY,
    IDIOMATIC,
    LARGEST,
    MERCURIUS,
    NOBODY,
    Request,
    Requests,
    Work,
    graphql,
)
from benchmarks.data import Known
from storage.seeding.plan import EPOCH

_MEETING = "id type subject body dueAt completedAt durationMinutes metadata accountId dealId contactId ownerId source"
_ALL_FIELDS = (
    f"{_MEETING} direction createdAt"
    " account { id name domain } deal { id name stageId } contact { id firstName lastName email }"
)
_FIVE_FIELDS = "id subject dueAt durationMinutes accountId"
_DETAIL = "id name value currency status closeDate notes createdAt"
_HEALTH = "id score trend snapshotAt factors { key label score weight value explanation sampleSize }"
_PERSON = "id firstName lastName email title"
_BOARD_DEAL = "id name value currency account { id name }"
_LISTED_DEAL = "id name value currency status closeDate createdAt account { id name } stage { id name }"
_CREATED = "id name value currency accountId status"
_LINKED = "id name value currency status account { id name } stage { id name }"

_READS, _WRITES = 4, 16
"""How many requests of a work each organization has, so many that a record's next change is not begun beside one."""


def _ours(pairs: Iterable[tuple[Request, Request]]) -> Requests:
    """Split the pairs into the requests for the gateway and Mercurius, and those for the floor."""
    ours, floor = map(list, zip(*pairs, strict=True))
    return {GATEWAY: ours, FLOOR: floor, MERCURIUS: ours}


def _meetings(count: int, fields: str, path: str, _known: Sequence[Known], variants: int) -> Requests:
    head = "query Meetings($offset: Int!)"
    ours = f"{head} {{ meetings(first: {count}, offset: $offset) {{ nodes {{ {fields} }} }} }}"
    theirs = f"{head} {{ meetings(limit: {count}, offset: $offset) {{ {fields} }} }}"
    return _by_offset(ours, theirs, path, variants)


def _deals(_known: Sequence[Known], variants: int, *, owned: bool) -> Requests:
    fields = f"{_LISTED_DEAL} owner {{ id name email }}" if owned else _LISTED_DEAL
    text = f"query Deals($offset: Int!) {{ deals(first: 200, offset: $offset) {{ nodes {{ {fields} }} }} }}"
    path = "deals_200_owned" if owned else "deals_200"
    return _ours((graphql(text, {"offset": o}), _get(path, offset=o)) for o in range(variants))


def _dashboard(_known: Sequence[Known], variants: int) -> Requests:
    lists = (
        ("meetings", 10, "id subject dueAt account { id name }"),
        ("deals", 20, f"{_BOARD_DEAL} stage {{ id name }}"),
        ("accounts", 10, "id name domain industry"),
    )
    ours = " ".join(f"{name}(first: {n}, offset: $offset) {{ nodes {{ {fields} }} }}" for name, n, fields in lists)
    theirs = " ".join(f"{name}(limit: {n}, offset: $offset) {{ {fields} }}" for name, n, fields in lists)
    head = "query Dashboard($offset: Int!)"
    return _by_offset(f"{head} {{ {ours} }}", f"{head} {{ {theirs} }}", "dashboard", variants)


def _by_offset(ours: str, theirs: str, path: str, variants: int) -> Requests:
    made = _ours((graphql(ours, {"offset": o}), _get(path, offset=o)) for o in range(variants))
    return made | {IDIOMATIC: [graphql(theirs, {"offset": o}) for o in range(variants)]}


def _detail(known: Sequence[Known], _variants: int) -> Requests:
    def text(contacts: str) -> str:
        account = f"account {{ id name domain industry health {{ {_HEALTH} }} }}"
        return f"query Detail($id: ID!) {{ deal(id: $id) {{ {_DETAIL} {account} {contacts} }} }}"

    ours, theirs = text(f"contacts {{ nodes {{ {_PERSON} }} }}"), text(f"contacts {{ {_PERSON} }}")
    made = _ours((graphql(ours, {"id": deal}), _get("deal_detail", id=deal)) for deal in known[0].deals)
    return made | {IDIOMATIC: [graphql(theirs, {"id": deal}) for deal in known[0].deals]}


def _rest_meetings(_known: Sequence[Known], variants: int) -> Requests:
    listing = [_get("activities/meetings", limit=200, offset=offset) for offset in range(variants)]
    floor = [_get("rest_meetings_200", offset=offset) for offset in range(variants)]
    return {GATEWAY: listing, FASTAPI: listing, FLOOR: floor}


def _create(known: Sequence[Known], _variants: int, *, literal: bool) -> Requests:
    fields = {"name": "String!", "value": "Decimal", "currency": "String", "accountId": "ID"}
    inputs = [_new_deal(number) | {"accountId": account} for number, account in enumerate(known[0].accounts)]
    made = _ours(
        (
            _change("dealCreate", fields, each, _CREATED, literal=literal),
            Request("POST", "/deal_create", _rest(each)),
        )
        for each in inputs
    )
    if literal:
        return made
    theirs = f"mutation Create($input: DealCreateInput!) {{ dealCreate(input: $input) {{ {_CREATED} }} }}"
    return made | {IDIOMATIC: [graphql(theirs, {"input": each}) for each in inputs]}


def _rest_create(known: Sequence[Known], _variants: int, *, staged: bool = False) -> Requests:
    bodies = []
    for number, account in enumerate(known[0].accounts):
        stage = {"stageId": known[0].stages[0]} if staged else {}
        bodies.append(_rest(_new_deal(number) | {"accountId": account} | stage))
    posts = [Request("POST", "/deals", body) for body in bodies]
    floor = [Request("POST", "/rest_deal_create", body) for body in bodies]
    made: Requests = {GATEWAY: posts, FLOOR: floor}
    return made if staged else made | {FASTAPI: posts}


def _filtered(known: Sequence[Known], _variants: int, *, literal: bool) -> Requests:
    head, argument = "$filter: MeetingFilter!", "$filter"
    if literal:
        head, argument = "$before: DateTime!", "{ dueAt: { lt: $before } }"
    text = f"query Meetings({head}) {{ meetings(first: 20, filter: {argument}) {{ nodes {{ {_FIVE_FIELDS} }} }} }}"

    def pair(organization: str, before: str) -> tuple[Request, Request]:
        variables = {"before": before} if literal else {"filter": {"dueAt": {"lt": before}}}
        return graphql(text, variables, organization), _get("meetings_before", organization, before=before)

    turns = _in_turn(known, _READS)
    return _ours(pair(each.organization, (EPOCH - timedelta(days=number)).isoformat()) for each, number in turns)


def _board(known: Sequence[Known], _variants: int) -> Requests:
    deals = f"deals(first: 20) {{ nodes {{ {_BOARD_DEAL} }} }}"
    text = f"{{ dealBoard {{ columns {{ stage {{ id name }} totals {{ currency amount count }} {deals} }} }} }}"
    return _ours((graphql(text, {}, each.organization), _get("board", each.organization)) for each in known)


_SOUGHT = ("renewal", "pilot", "support pl", "chief")
"""Words of deals' names, and one that stands beside names alone."""


def _search(known: Sequence[Known], _variants: int) -> Requests:
    node = "id ... on Account { name } ... on Contact { firstName lastName } ... on Deal { name }"
    text = (
        "query Search($query: String!) { search(query: $query, types: [ACCOUNT, CONTACT, DEAL], first: 20)"
        f" {{ type node {{ {node} }} }} }}"
    )
    turns = [(each.organization, _SOUGHT[number]) for each, number in _in_turn(known, _READS)]
    return _ours(
        (graphql(text, {"query": words}, organization), _get("search", organization, query=words))
        for organization, words in turns
    )


def _typename(_known: Sequence[Known], _variants: int) -> Requests:
    return _ours([(graphql("{ __typename }", {}, NOBODY), _get("typename", NOBODY))])


def _create_staged(known: Sequence[Known], _variants: int, *, literal: bool) -> Requests:
    fields = {"name": "String!", "value": "Decimal", "currency": "String", "accountId": "ID", "stageId": "ID"}

    def pair(each: Known, number: int) -> tuple[Request, Request]:
        account = each.accounts[number % len(each.accounts)]
        values = _new_deal(number) | {"accountId": account, "stageId": each.stages[0]}
        return (
            _change("dealCreate", fields, values, _LINKED, each.organization, literal=literal),
            Request("POST", "/deal_create_staged", _rest(values), each.organization),
        )

    return _ours(starmap(pair, _in_turn(known, _WRITES)))


def _move(known: Sequence[Known], _variants: int, *, literal: bool) -> Requests:
    return _updates(known, "deal_move", {"stageId": "ID"}, lambda each, lap, _: {"stageId": each.stages[lap]}, literal)


def _update(known: Sequence[Known], _variants: int, *, literal: bool) -> Requests:
    def values(_each: Known, lap: int, number: int) -> dict[str, Any]:
        day = f"2027-0{lap + 1}-15"
        return {"value": f"{lap + 1}00{number:02}.5", "closeDate": day, "notes": f"Call on {day}."}

    fields = {"value": "Decimal", "closeDate": "Date", "notes": "String"}
    return _updates(known, "deal_update", fields, values, literal)


def _updates(
    known: Sequence[Known],
    path: str,
    fields: Mapping[str, str],
    values: Callable[[Known, int, int], Mapping[str, Any]],
    literal: bool,
) -> Requests:
    """Changes of the same deals in two laps with other values, so that every request is a change."""

    def pair(lap: int, each: Known, number: int) -> tuple[Request, Request]:
        deal, change = each.deals[number % len(each.deals)], values(each, lap, number)
        answer = f"{_LINKED} closeDate notes"
        return (
            _change("dealUpdate", fields, change, answer, each.organization, deal=deal, literal=literal),
            Request("POST", f"/{path}", {"id": deal, **_rest(change)}, each.organization),
        )

    return _ours(pair(lap, *turn) for lap in range(2) for turn in _in_turn(known, _WRITES))


def _in_turn(known: Sequence[Known], times: int) -> Iterator[tuple[Known, int]]:
    """Each organization, so many times, with the number of the time."""
    return ((each, number) for number in range(times) for each in known)


def _new_deal(number: int) -> dict[str, Any]:
    return {"name": f"Benchmark {number:04}", "value": "1234.5", "currency": "EUR"}


def _change(
    operation: str,
    fields: Mapping[str, str],
    values: Mapping[str, Any],
    answer: str,
    organization: str = LARGEST,
    *,
    deal: str | None = None,
    literal: bool,
) -> Request:
    """A mutation of a deal, whose input is a variable or a literal with a variable for each field."""
    declared = {f"${name}": kind for name, kind in fields.items()}
    argument = f"{{ {', '.join(f'{name}: ${name}' for name in fields)} }}"
    variables = dict(values)
    if not literal:
        declared, argument = {"$input": f"{operation[0].upper()}{operation[1:]}Input!"}, "$input"
        variables = {"input": variables}
    arguments = f"input: {argument}"
    if deal is not None:
        declared, arguments, variables = declared | {"$id": "ID!"}, f"id: $id, {arguments}", variables | {"id": deal}
    head = ", ".join(f"{name}: {kind}" for name, kind in declared.items())
    body = f"{operation}({arguments}) {{ deal {{ {answer} }} userErrors {{ message }} }}"
    return graphql(f"mutation Change({head}) {{ {body} }}", variables, organization)


def _rest(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by the names that REST and the floor have for them; amounts are numbers there."""
    names = {"accountId": "account_id", "stageId": "stage_id", "closeDate": "close_date"}
    return {names.get(name, name): float(value) if name == "value" else value for name, value in values.items()}


def _get(path: str, organization: str = LARGEST, **parameters: Any) -> Request:
    return Request("GET", f"/{path}?{urlencode(parameters)}", None, organization)


def _forms(name: str, requests: Callable[..., Requests], **more: Any) -> tuple[Work, Work]:
    """The work with a variable for the whole input, and the one with variables inside a literal."""
    return (
        Work(name, partial(requests, literal=False), **more),
        Work(f"{name}_literal", partial(requests, literal=True), **more),
    )


_MADE = frozenset({"id"})
WORKS: tuple[Work, ...] = (
    Work("meetings_200", partial(_meetings, 200, _ALL_FIELDS, "meetings_200")),
    Work("meetings_20", partial(_meetings, 20, _FIVE_FIELDS, "meetings_20")),
    *_forms("meetings_filtered", _filtered),
    Work("deals_200", partial(_deals, owned=False)),
    Work("deals_200_owned", partial(_deals, owned=True)),
    Work("deal_detail", _detail),
    Work("dashboard", _dashboard),
    Work("board", _board),
    Work("search", _search),
    Work("typename", _typename),
    Work("rest_meetings_200", _rest_meetings),
    # Last, because what they write is what the others read.
    *_forms("deal_move", _move),
    *_forms("deal_update", _update),
    *_forms("deal_create", _create, dropped=_MADE),
    *_forms("deal_create_staged", _create_staged, dropped=_MADE),
    Work("rest_deal_create", _rest_create, status=201, dropped=_MADE),
    Work("rest_deal_create_staged", partial(_rest_create, staged=True), status=201, dropped=_MADE),
)
