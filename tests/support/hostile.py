"""Documents that nobody sends who means well, and the refusal that each one is owed (decisions 85, 86 and 126)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LIMIT, COST, VALIDATION = "LIMIT_EXCEEDED", "COST_EXCEEDED", "GRAPHQL_VALIDATION_FAILED"
PARSE, INPUT, BODY = "GRAPHQL_PARSE_FAILED", "BAD_USER_INPUT", "BAD_REQUEST"
FIELD = "VALIDATION"
MANY_IDS = ["00000000-0000-7000-8000-000000000000"] * 20_000
FILTERED = "query($f: MeetingFilter) { meetings(filter: $f, first: 1) { nodes { id } } }"
ESTIMATED = "query($d: String!, $v: JSON) { costEstimate(document: $d, variables: $v) { requested } }"
REPORT = (
    "mutation($v: JSON) { cxReportEdit(runId: 1, resultId: 1, input: {analysisPatch: $v}) { userErrors { code } } }"
)
CAPTURE = 'mutation($v: JSON) { cardCaptureConfirm(input: {name: "n", capturePayload: $v}) { userErrors { message } } }'
PAGE = "query($n: Int%s) { accounts(first: $n) { nodes { deals(first: $n) { nodes { id } } } } }"


@dataclass(frozen=True)
class Hostile:
    """What is sent, and the code of the first error; `names` is in its words or its details."""

    query: str
    code: str
    names: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    operation: str | None = None


def deep(levels: int) -> str:
    """Exactly so many fields deep, below `{ meetings { nodes {`."""
    names = ["account", "deals(first: 1)", "nodes"]
    chosen = ["meetings(first: 1)", "nodes", *(names[i % 3] for i in range(levels - 3)), "id"]
    return "{ " + " { ".join(chosen) + " }" * levels


def _doubling(count: int, leaf: str = "{ __typename }") -> str:
    """Fragments of which each spreads the next one twice: 2 to the power of `count` fields."""
    parts = [f"fragment F{i} on Viewer {{ ...F{i + 1} x{i}: organization {{ id }} ...F{i + 1} }}" for i in range(count)]
    return f"{{ viewer {{ ...F0 }} }} {' '.join(parts)} fragment F{count} on Viewer {leaf}"


def _literal(depth: int, opening: str, closing: str) -> str:
    return (
        f'{{ costEstimate(document: "{{ __typename }}", variables: {opening * depth}1{closing * depth}) {{ limit }} }}'
    )


def _introspection(depth: int) -> str:
    return "{ __schema { types { name " + "fields { type { " * depth + "name" + " } }" * depth + " } } }"


HOSTILE = {
    # The text.
    "33 kB of blanks": Hostile("{ __typename }" + " " * 33_000, LIMIT, "document"),
    "33 kB of comments": Hostile("{ __typename }" + "#\n" * 17_000, LIMIT, "document"),
    "33 kB in a string": Hostile(f'{{ search(query: "{"x" * 33_000}") {{ snippet }} }}', LIMIT, "document"),
    "33 kB in two-byte letters": Hostile(f'{{ search(query: "{"é" * 17_000}") {{ snippet }} }}', LIMIT, "document"),
    "900 kB": Hostile("{ __typename }" * 65_000, LIMIT, "document"),
    "2,001 tokens": Hostile("{ " + "id " * 2_000 + "}", LIMIT, "tokens"),
    "2,001 tokens in a list": Hostile(f"{{ nodes(ids: [{'1 ' * 2_000}]) {{ id }} }}", LIMIT, "tokens"),
    "tokens of punctuation": Hostile("{" * 3_000, PARSE),
    "braces only": Hostile("{" * 1_900, PARSE),
    "brackets only": Hostile("{ nodes(ids: " + "[" * 1_900, PARSE),
    "an unclosed string": Hostile('{ search(query: "' + "\\u0041" * 5_000, PARSE),
    "an unclosed block string": Hostile('{ search(query: """' + '\\"""' * 6_000, PARSE),
    "a null byte": Hostile("{ \x00 }", PARSE),
    "no operation": Hostile("fragment F on Viewer { name }", VALIDATION),
    "only a comment": Hostile("# nothing", PARSE),
    "a schema": Hostile("type Query { a: Int }", VALIDATION),
    "a long name": Hostile("{ " + "a" * 20_000 + " }", LIMIT, "name length"),
    "a long alias": Hostile("{ " + "a" * 20_000 + ": __typename }", LIMIT, "name length"),
    "a long operation name": Hostile("query " + "a" * 20_000 + " { __typename }", LIMIT, "name length"),
    # Depth.
    "13 levels": Hostile(deep(13), LIMIT, "depth"),
    "100 levels": Hostile(deep(100), LIMIT, "depth"),
    "600 levels": Hostile(deep(600), PARSE),
    "levels by aliases": Hostile(
        "{ a: meetings { b: nodes "
        + "".join("{ c: account { d: deals { e: nodes " for _ in range(4))
        + "{ id"
        + " }" * 15,
        LIMIT,
        "depth",
    ),
    "levels by inline fragments": Hostile(
        "{ meetings { nodes { "
        + "... on Meeting { account { deals { nodes { ... on Deal { meetings { nodes { " * 3
        + "id"
        + " } } } } } } }" * 3
        + " } } }",
        LIMIT,
        "depth",
    ),
    "levels by fragments": Hostile(
        "{ meetings { nodes { ...A } } } fragment A on Meeting { account { deals { nodes { ...B } } } } fragment B on Deal { meetings { nodes { account { ...C } } } } fragment C on Account { deals { nodes { meetings { nodes { deal { name } } } } } }",
        LIMIT,
        "depth",
    ),
    "levels in an unused fragment": Hostile(
        "{ __typename } fragment F on Meeting " + "{ account { deals { nodes " * 5 + "{ id }" + " } } }" * 5,
        LIMIT,
        "depth",
    ),
    "a list in a list": Hostile(_literal(900, "[", "]"), PARSE),
    "an object in an object": Hostile(_literal(450, "{a: ", "}"), PARSE),
    "conditions in conditions": Hostile(
        "{ deals(filter: " + "{not: " * 400 + "{}" + "}" * 400 + ") { totalCount } }", PARSE
    ),
    "types in types": Hostile("query($v: " + "[" * 900 + "Int" + "]" * 900 + ") { __typename }", PARSE),
    # Fragments.
    "2^10 fields": Hostile(_doubling(10), LIMIT),
    "2^90 fields": Hostile(_doubling(90), LIMIT),
    "2^90 times one field": Hostile(
        _doubling(90).replace("{ id }", "{ ...G }") + " fragment G on Organization { id }", LIMIT
    ),
    "2^40 fields without an alias": Hostile(
        "{ viewer { ...F0 } } "
        + " ".join(f"fragment F{i} on Viewer {{ ...F{i + 1} ... {{ ...F{i + 1} }} }}" for i in range(40))
        + " fragment F40 on Viewer { name }",
        LIMIT,
        "fields",
    ),
    "a fragment in itself": Hostile("{ viewer { ...F } } fragment F on Viewer { ...F }", VALIDATION),
    "fragments in a circle": Hostile(
        "{ viewer { ...A } } fragment A on Viewer { ...B } fragment B on Viewer { ...C } fragment C on Viewer { ...A }",
        VALIDATION,
    ),
    "a circle of ninety": Hostile(
        "{ viewer { ...F0 } } " + " ".join(f"fragment F{i} on Viewer {{ ...F{(i + 1) % 90} }}" for i in range(90)),
        VALIDATION,
    ),
    "101 fragments": Hostile(
        "{ __typename } " + " ".join(f"fragment F{i} on Viewer {{ name }}" for i in range(101)), LIMIT, "definitions"
    ),
    "101 operations": Hostile(
        " ".join(f"query Q{i} {{ __typename }}" for i in range(101)), LIMIT, "definitions", operation="Q1"
    ),
    "one fragment 600 times": Hostile(
        "{ viewer { " + "...F " * 600 + "} } fragment F on Viewer { name }", LIMIT, "fields"
    ),
    # Aliases, root fields, directives.
    "51 aliases": Hostile("{ viewer { " + " ".join(f"a{i}: name" for i in range(51)) + " } }", LIMIT, "aliases"),
    "51 aliases by a fragment": Hostile(
        "{ viewer { ...F } v: viewer { ...F } } fragment F on Viewer { "
        + " ".join(f"a{i}: name" for i in range(26))
        + " }",
        LIMIT,
        "aliases",
    ),
    "21 root fields": Hostile("{ " + " ".join(f"a{i}: __typename" for i in range(21)) + " }", LIMIT, "root fields"),
    "21 root fields by fragments": Hostile(
        "{ ...A ...B } fragment A on Query { "
        + " ".join(f"a{i}: __typename" for i in range(11))
        + " } fragment B on Query { "
        + " ".join(f"b{i}: __typename" for i in range(10))
        + " }",
        LIMIT,
        "root fields",
    ),
    "21 changes": Hostile(
        "mutation { "
        + " ".join(f'a{i}: feedbackSubmit(input: {{kind: BUG, message: "x"}}) {{ id }}' for i in range(21))
        + " }",
        LIMIT,
        "root fields",
    ),
    "five directives": Hostile("{ viewer { name" + " @include(if: true)" * 5 + " } }", LIMIT, "directives"),
    "250 directives": Hostile("{ __typename" + " @skip(if: false)" * 250 + " }", LIMIT, "directives"),
    "directives of an operation": Hostile("query" + " @a" * 5 + " { __typename }", LIMIT, "directives"),
    "directives of a fragment": Hostile(
        "{ viewer { ...F" + " @a" * 5 + " } } fragment F on Viewer { name }", LIMIT, "directives"
    ),
    "directives of a variable": Hostile("query($a: Int" + " @a" * 5 + ") { __typename }", LIMIT, "directives"),
    # Rows.
    "500 by 500": Hostile(
        "{ accounts(first: 500) { nodes { deals(first: 500) { nodes { id } } } } }", COST, "accounts.nodes.deals"
    ),
    "by a default": Hostile(PAGE % " = 500", COST),
    "by a variable": Hostile(PAGE % "", COST, variables={"n": 500}),
    "by null": Hostile(
        "query($n: Int) { accounts(first: $n) { nodes { deals(first: $n) { nodes { meetings(first: $n) { nodes { id } } } } } } }",
        COST,
        variables={"n": None},
    ),
    "by nothing": Hostile("{ accounts { nodes { deals { nodes { meetings { nodes { id } } } } } } }", COST),
    "by the last": Hostile("{ accounts(last: 500) { nodes { deals(first: 500) { nodes { id } } } } }", COST),
    "a size over the most": Hostile(
        "{ accounts(first: 2147483647) { nodes { deals(first: 2147483647) { nodes { id } } } } }", COST
    ),
    "a negative size": Hostile(
        "{ accounts(first: -1) { nodes { deals(first: -2147483648) { nodes { id } } } } }", FIELD, "first"
    ),
    "a negative outside a large one": Hostile(
        "{ accounts(first: -500) { nodes { deals(first: 500) { nodes { id } } } } }", FIELD, "first"
    ),
    "by edges": Hostile(
        "{ accounts(first: 500) { edges { node { deals(first: 500) { edges { node { id } } } } } } }", COST
    ),
    "by aliases": Hostile(
        "{ "
        + " ".join(
            f"a{i}: accounts(first: 100) {{ nodes {{ deals(first: 20) {{ nodes {{ id }} }} }} }}" for i in range(10)
        )
        + " }",
        COST,
    ),
    "by a fragment twice": Hostile(
        "{ a: accounts(first: 100) { ...F } b: accounts(first: 100) { ...F } c: accounts(first: 100) { ...F } } fragment F on AccountConnection { nodes { deals(first: 50) { nodes { id } } } }",
        COST,
    ),
    "behind @include": Hostile(
        "query($y: Boolean = true) { accounts(first: 500) @include(if: $y) { nodes { deals(first: 500) @skip(if: false) { nodes { id } } } } }",
        COST,
    ),
    "by an interface": Hostile(
        "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Account { deals(first: 500) { nodes { id } } } } }",
        COST,
        variables={"ids": MANY_IDS[:100]},
    ),
    "pages with a total each": Hostile(
        "{ accounts(first: 500) { nodes { a: deals(first: 1) { totalCount } b: deals(first: 2) { totalCount } c: meetings(first: 1) { totalCount } d: contacts(first: 1) { totalCount } e: contacts(first: 2) { totalCount } f: meetings(first: 2) { totalCount } } } }",
        COST,
    ),
    "costly changes": Hostile(
        "mutation { "
        + " ".join(
            f'a{i}: enrollmentsCreate(campaignId: "x", contacts: $c) {{ userErrors {{ code }} }}' for i in range(20)
        )
        + " }",
        VALIDATION,
    ),
    "twenty thousand ids": Hostile(
        "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", LIMIT, "list length", {"ids": MANY_IDS}
    ),
    # Introspection.
    "introspection of introspection": Hostile(_introspection(8), LIMIT, "introspection"),
    "introspection by __type": Hostile(
        '{ __type(name: "Query") { ' + "fields { type { " * 8 + "name" + " } }" * 8 + " } }", LIMIT, "introspection"
    ),
    "lists of introspection by aliases": Hostile(
        "{ __schema { types { a: fields { name } b: fields { name } } } }", LIMIT, "introspection"
    ),
    "the schema twice": Hostile("{ a: __schema { types { name } } b: __schema { types { name } } }", LIMIT, "__schema"),
    "types six times": Hostile(
        "{ " + " ".join(f'a{i}: __type(name: "Query") {{ name }}' for i in range(6)) + " }", LIMIT, "__type"
    ),
    "21 times ofType": Hostile(
        '{ __type(name: "Query") { ' + "ofType { " * 21 + "name" + " }" * 21 + " } }", LIMIT, "introspection"
    ),
    # Validation's own work.
    "400 unknown fields": Hostile("{ viewer { " + " ".join(f"unknown{i}" for i in range(400)) + " } }", VALIDATION),
    "nearly the right names": Hostile("{ " + " ".join(f"meetngs{i}" for i in range(19)) + " }", VALIDATION),
    "a field again and again": Hostile("{ viewer { " + "name " * 400 + "} }", LIMIT, "overlaps"),
    "arguments that differ": Hostile(
        "{ " + " ".join(f"deals(first: {i}) {{ nodes {{ id }} }}" for i in range(60)) + " }", LIMIT, "overlaps"
    ),
    "overlaps in overlaps": Hostile(
        "{ viewer { " + " ".join("organizations { id name }" for _ in range(60)) + " } }",
        LIMIT,
        "overlaps",
    ),
    "unknown variables": Hostile("{ nodes(ids: [" + " ".join(f"$v{i}" for i in range(400)) + "]) { id } }", VALIDATION),
    "400 variables": Hostile(
        "query(" + " ".join(f"$v{i}: Int" for i in range(400)) + ") { __typename }", LIMIT, "variables"
    ),
    "an argument 400 times": Hostile(
        "{ deals(" + " ".join(f"first: {i}" for i in range(400)) + ") { totalCount } }", VALIDATION
    ),
    "a field of an input 300 times": Hostile(
        'mutation { dealCreate(input: {name: "x", ' + " ".join("value: 1" for _ in range(300)) + "}) { deal { id } } }",
        VALIDATION,
    ),
    "values that are no enum's": Hostile("{ events(types: [" + "A " * 600 + "]) { nodes { id } } }", VALIDATION),
    # Variables.
    "a number without end": Hostile(
        "query($n: Int) { deals(first: $n) { totalCount } }", INPUT, variables={"n": 10**300}
    ),
    "a number without end in the text": Hostile("{ deals(first: " + "9" * 10_000 + ") { totalCount } }", VALIDATION),
    "text for a number": Hostile(
        "query($n: Int) { deals(first: $n) { totalCount } }", INPUT, variables={"n": "9" * 100_000}
    ),
    "ids of no kind": Hostile(
        "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", LIMIT, variables={"ids": [{}] * 5_000}
    ),
    "a thousand ids of no kind": Hostile(
        "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", INPUT, variables={"ids": [{}] * 1_000}
    ),
    "a deep variable": Hostile(
        "query($f: DealFilter) { deals(filter: $f) { totalCount } }", LIMIT, "input depth", {"f": None}
    ),
    # The estimate, and streams.
    "the estimate twice": Hostile(
        '{ a: costEstimate(document: "{ __typename }") { limit } b: costEstimate(document: "{ __typename }") { limit } }',
        LIMIT,
        "costEstimate",
    ),
    "a hostile document in the estimate": Hostile(
        "query($d: String!) { costEstimate(document: $d) { limit } }", LIMIT, "aliases", {"d": _doubling(60)}
    ),
    "a stream of too much": Hostile('subscription { jobUpdated(id: "x") { id } events { data } }', VALIDATION),
    "a subscription that is too deep": Hostile(
        'subscription { jobUpdated(id: "x") ' + "{ a " * 14 + " }" * 14 + " }", LIMIT, "depth"
    ),
}
"""By what is wrong with them."""


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"not": value}
    return value


HOSTILE["a deep variable"].variables["f"] = _nested(400)


def _text(number: int) -> dict[str, Any]:
    return {"subject": {"contains": f"x{number}"}}


def lists(depth: int) -> Any:
    """So many lists, each in the next one."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


_MANY = "must not have more than 100 conditions in all"
_BY_VARIABLE: dict[str, tuple[Any, str, str]] = {
    "40,000 empty filters": ({"or": [{"or": [{}] * 2_000}] * 20}, FIELD, _MANY),
    "a thousand filters": ({"or": [_text(i) for i in range(1_000)]}, FIELD, _MANY),
    "a hundred times a hundred filters": ({"or": [{"or": [_text(i) for i in range(100)]}] * 100}, FIELD, _MANY),
    "51 filters": ({"or": [_text(i) for i in range(51)]}, FIELD, _MANY),
    "101 empty filters": ({"or": [{}] * 101}, FIELD, _MANY),
    "filters of links": ({"or": [{"deal": {"account": {"or": [{}] * 40}}}] * 40}, FIELD, _MANY),
    "names of no field": ({"or": [{"or": [{"subject": {"containz": ""}}] * 20}] * 200}, FIELD, _MANY),
    "50 names of no field": ({"or": [{"subject": {"containz": "x"}}] * 50}, INPUT, "containz"),
    "20,000 fields": ({f"f{i}": {} for i in range(20_000)}, LIMIT, "variables weight"),
}
_ESTIMATED: dict[str, tuple[Any, str, str]] = {
    name: (value, LIMIT, "variables weight") if len(str(value)) > 150_000 else (value, code, names)
    for name, (value, code, names) in _BY_VARIABLE.items()
}
"""To the estimate the variables are one JSON value, which is weighed first."""
for _name, (_value, _code, _names) in _BY_VARIABLE.items():
    HOSTILE[_name] = Hostile(FILTERED, _code, _names, {"f": _value})
for _name, (_value, _code, _names) in _ESTIMATED.items():
    if _code != INPUT:
        HOSTILE[f"{_name} in the estimate"] = Hostile(ESTIMATED, _code, _names, {"d": FILTERED, "v": {"f": _value}})
HOSTILE |= {
    "filters in many variables": Hostile(
        "query("
        + " ".join(f"$f{i}: MeetingFilter" for i in range(20))
        + ") { "
        + " ".join(f"a{i}: meetings(filter: $f{i}, first: 1) {{ nodes {{ id }} }}" for i in range(20))
        + " }",
        LIMIT,
        "variables weight",
        {f"f{i}": {"or": [_text(i * 100 + j) for j in range(40)]} for i in range(20)},
    ),
    "a filter twenty times": Hostile(
        FILTERED.replace(
            "{ meet", "{ " + " ".join(f"a{i}: meetings(filter: $f) {{ totalCount }}" for i in range(19)) + " meet", 1
        ),
        LIMIT,
        "variables weight",
        {"f": {"or": [_text(i) for i in range(50)]}},
    ),
    "a filter 300 times": Hostile(
        "query($f: MeetingFilter!) { meetings(filter: {or: [" + "$f " * 300 + "]}) { totalCount } }",
        LIMIT,
        "variables weight",
        {"f": {"or": [_text(i) for i in range(50)]}},
    ),
    "900 filters in the text": Hostile(
        "{ meetings(filter: {or: [" + "{} " * 900 + "]}) { totalCount } }", LIMIT, "objects"
    ),
    "101 filters in the text": Hostile(
        "{ meetings(filter: {or: [" + "{} " * 101 + "]}) { totalCount } }", FIELD, _MANY
    ),
    "60 comparisons in the text": Hostile(
        "{ meetings(filter: {or: [" + '{subject: {eq: "x"}} ' * 60 + "]}) { totalCount } }", FIELD, _MANY
    ),
    "500 lists in a payload": Hostile(CAPTURE, LIMIT, "input depth", {"v": lists(500)}),
    "500 lists in a patch": Hostile(REPORT, LIMIT, "input depth", {"v": lists(500)}),
    "11,000 lists in a payload": Hostile(CAPTURE, LIMIT, "variables weight", {"v": {"a": [[]] * 11_000}}),
    "200,000 numbers in a payload": Hostile(CAPTURE, LIMIT, "variables weight", {"v": {"a": [1] * 200_000}}),
    "500 lists in the estimate": Hostile(
        ESTIMATED, LIMIT, "input depth", {"d": "{ __typename }", "v": {"f": lists(500)}}
    ),
}
