"""The tools that chats and MCP clients have: each a text over documents of GraphQL, run as the caller (decision 310).

What a tool takes, who may call it and what it answers follow from its documents (schema/tools.py): a variable is an
argument of the same name. No document reads credentials, webhooks or members, and none deletes or sends anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

TOOL_ROWS: Final = 20
TOOL_ROWS_MAX: Final = 50
TOOL_RESULT_BYTES: Final = 16 * 1024
TOOL_TEXT: Final = 1_000
"""The characters of a text that is left whole where a result is too long."""
KINDS: Final = ("account", "contact", "deal", "lead", "meeting", "campaign")


class Effect(StrEnum):
    """The effect of calling a tool."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it is for in the words that a model reads, and the documents that it runs, one for each kind.

    A tool with one document has it under the empty name.
    """

    name: str
    text: str
    documents: Mapping[str, str]
    effect: Effect = Effect.READ
    texts: Mapping[str, str] = field(default_factory=dict)
    """The meanings of arguments whose type does not say them."""
    nested: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Arguments that stand within a variable: its name, and the name there. The variable offers it no more."""

    hidden: frozenset[str] = frozenset()
    """Fields of its inputs that it does not offer."""
    most: int = TOOL_ROWS_MAX
    """The most rows that `first` may ask for."""
    stages: tuple[str, ...] = ()
    """Arguments that take a stage by its name, too."""
    asks: bool = False
    """Whether it takes a question, whose answer its document reads."""

    @property
    def has_kinds(self) -> bool:
        """Says whether the argument `kind` says which document is meant."""
        return "" not in self.documents


_SHOWN: Final[Mapping[str, str]] = {
    "account": "id name domain industry owner { name } tags createdAt updatedAt version",
    "contact": "id firstName lastName email phone title account { id name } owner { name } tags updatedAt version",
    "deal": (
        "id name value currency status closeDate stage { id name } account { id name } owner { name } tags updatedAt "
        "version"
    ),
    "lead": "id name company title email phone status source owner { name } tags updatedAt version",
    "meeting": (
        "id subject state dueAt completedAt durationMinutes account { id name } deal { id name } "
        "contact { id firstName lastName } owner { name } updatedAt version"
    ),
    "campaign": "id name status statusReason tags updatedAt version",
}
_LISTED: Final[Mapping[str, str]] = {
    "account": "id name domain industry owner { name } updatedAt",
    "contact": "id firstName lastName email title account { id name }",
    "deal": "id name value currency status closeDate stage { name } account { id name } owner { name }",
    "lead": "id name company title email status owner { name } updatedAt",
    "meeting": "id subject state dueAt completedAt account { id name } deal { id name } owner { name }",
    "campaign": "id name status statusReason updatedAt",
}
"""Fields of a row: fifty rows fit into a result, mostly."""
_FEW: Final = "first: 10"
_WHOLE: Final[Mapping[str, str]] = {
    "account": (
        f"contacts({_FEW}) {{ nodes {{ id firstName lastName email title }} }} "
        f"deals({_FEW}) {{ nodes {{ id name value currency status stage {{ name }} }} }}"
    ),
    "contact": f"deals({_FEW}) {{ nodes {{ id name value currency status }} }} linkedin",
    "deal": f"notes contacts({_FEW}) {{ edges {{ role node {{ id firstName lastName email }} }} }} competitors source",
    "lead": "notes companyDomain linkedin disqualifiedReason account { id name } contact { id } deal { id name }",
    "meeting": "body lead { id name } tags",
    "campaign": "dailyLimit timezone steps { subject body delayDays } createdAt",
}


def _plural(kind: str) -> str:
    return f"{kind}s"


def _list(kind: str) -> str:
    name = kind.capitalize()
    return (
        f"query($where: {name}Filter, $order: {name}Order, $first: Int = {TOOL_ROWS}, $after: String) "
        f"{{ {_plural(kind)}(filter: $where, orderBy: $order, first: $first, after: $after) "
        f"{{ nodes {{ {_LISTED[kind]} }} pageInfo {{ hasNextPage endCursor }} }} }}"
    )


def _get(kind: str) -> str:
    return f"query($id: ID!) {{ {kind}(id: $id) {{ {_SHOWN[kind]} {_WHOLE[kind]} }} }}"


_ERRORS: Final = "userErrors { code message field }"


def _create(kind: str) -> str:
    name = kind.capitalize()
    return (
        f"mutation($fields: {name}CreateInput!) {{ {kind}Create(input: $fields) "
        f"{{ {kind} {{ {_SHOWN[kind]} }} {_ERRORS} }} }}"
    )


def _update(kind: str) -> str:
    name = kind.capitalize()
    return (
        f"mutation($id: ID!, $fields: {name}UpdateInput!) {{ {kind}Update(id: $id, input: $fields) "
        f"{{ {kind} {{ {_SHOWN[kind]} }} {_ERRORS} }} }}"
    )


def _note(kind: str) -> str:
    return (
        f"mutation($id: ID!, $text: String!) {{ noteCreate(input: {{{kind}Id: $id, body: $text}}) "
        f"{{ note {{ id body createdAt {kind} {{ id }} }} {_ERRORS} }} }}"
    )


TOOLS: Final = (
    Tool(
        "describe",
        "Who is asking, what they may do, and the stages of the pipeline. Call it first.",
        {
            "": "{ viewer { subject name email organization { name } scopes } "
            "pipelineStages { id name position type probability } }"
        },
    ),
    Tool(
        "search",
        "Finds records by words in their names, companies, addresses or notes.",
        {
            "": "query($query: String!, $types: [SearchType!], $first: Int = 10) { search(query: $query, "
            "types: $types, first: $first) { type matchedField snippet node { id ... on Account { name } "
            "... on Contact { firstName lastName } ... on Deal { name } ... on Lead { name } "
            "... on Meeting { subject } } } }"
        },
        most=20,
    ),
    Tool(
        "list_records",
        "Lists records of a kind by conditions, in an order, page by page. Amounts are texts with all their digits.",
        {kind: _list(kind) for kind in KINDS},
        texts={"where": "conditions on that kind's fields", "after": "endCursor of the page before"},
    ),
    Tool("get_record", "One record with what it is linked to.", {kind: _get(kind) for kind in KINDS}),
    Tool(
        "deal_board",
        "The pipeline: how much each stage comes to, and its first deals.",
        {
            "": "{ dealBoard { totals { currency amount } columns { stage { id name type } dealCount "
            "totals { currency amount } deals(first: 5) { nodes { id name value currency } } } } }"
        },
    ),
    Tool(
        "account_health",
        "How an account's relationship is: its score from 0 to 100, where it goes, and why.",
        {
            "": "query($id: ID!) { account(id: $id) { id name health { score trend snapshotAt factors { label score "
            "explanation } } } }"
        },
    ),
    Tool(
        "changes",
        "What happened in the organization between two moments, oldest first.",
        {
            "": f"query($since: DateTime!, $until: DateTime, $types: [String!], $first: Int = {TOOL_ROWS}, "
            "$after: String) { changes(since: $since, until: $until, types: $types, first: $first, after: $after) "
            "{ nodes { type actor occurredAt data } pageInfo { hasNextPage endCursor } } }"
        },
        texts={"types": "such as deal_created"},
    ),
    Tool(
        "ask_data",
        "Answers a question about numbers in words, such as «How many meetings did each person have last month?»",
        {
            "": "query($id: ID!) { analyticsRun(id: $id) { id question status explanation "
            "result { columns { name label kind unit currencyColumn } rows truncated } } }"
        },
        asks=True,
    ),
    Tool(
        "create_record",
        "Creates a record.",
        {kind: _create(kind) for kind in ("account", "contact", "deal")},
        Effect.WRITE,
        hidden=frozenset({"externalKey"}),  # which is another system's to give
    ),
    Tool(
        "update_record",
        "Changes fields of a record; null clears one.",
        {kind: _update(kind) for kind in ("account", "contact", "deal", "lead", "meeting")},
        Effect.WRITE,
        hidden=frozenset({"metadata", "externalKey"}),  # recordings and transcripts come from elsewhere, and so do keys
        nested={"expected_version": ("fields", "expectedVersion")},
    ),
    Tool(
        "move_deal",
        "Moves a deal to another stage.",
        {
            "": "mutation($id: ID!, $stage: ID!, $expected_version: Int) { dealUpdate(id: $id, input: "
            "{stageId: $stage, expectedVersion: $expected_version}) "
            f"{{ deal {{ {_SHOWN['deal']} }} {_ERRORS} }} }}"
        },
        Effect.WRITE,
        texts={"stage": "a stage's id, or its exact name"},
        stages=("stage",),
    ),
    Tool(
        "log_note",
        "Writes a note on a record.",
        {kind: _note(kind) for kind in ("account", "contact", "deal")},
        Effect.WRITE,
    ),
    Tool(
        "convert_lead",
        "Converts a lead into an account and a contact, and a deal where it is named.",
        {
            "": "mutation($id: ID!, $account_id: ID, $contact_id: ID, $deal_id: ID, $deal_name: String) "
            "{ leadConvert(input: {leadId: $id, accountId: $account_id, contactId: $contact_id, dealId: $deal_id, "
            "dealName: $deal_name}) { lead { id name status } account { id name } contact { id firstName lastName } "
            f"deal {{ id name }} {_ERRORS} }} }}"
        },
        Effect.WRITE,
        texts={"account_id": "merge into it; else one is made"},
    ),
    Tool(
        "link_contact",
        "Puts a contact on a deal, or changes its role there.",
        {
            "": "mutation($deal_id: ID!, $contact_id: ID!, $role: String, $is_primary: Boolean) "
            "{ dealContactLink(dealId: $deal_id, contactId: $contact_id, role: $role, isPrimary: $is_primary) "
            f"{{ deal {{ id name contacts({_FEW}) {{ edges {{ role isPrimary node {{ id firstName lastName }} }} }} }} "
            f"{_ERRORS} }} }}"
        },
        Effect.WRITE,
    ),
)
"""In the order in which they are listed."""
