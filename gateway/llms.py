"""`/llms.txt`: what a language model needs to know to use the service, in the form of llmstxt.org.

Everything in it is read off the schema, the table of paths, the scope groups, the limits and the errors, once, when
the application is made.
"""

from collections.abc import Iterable, Iterator

from graphql import GraphQLField, GraphQLObjectType, GraphQLSchema

from contract import limits
from contract.errors import GatewayError
from contract.scopes import ScopeGroup
from rest_compat.routes import OPERATIONS

_ABOUT = (
    "One service with two surfaces, GraphQL and REST, to the same operations on meetings, deals, accounts and their "
    "health, leads, outreach and customer-intelligence reports, each organization's apart from every other's."
)
_LINKS = {
    "Documents": {
        "graphql/schema.graphql": "the GraphQL schema as text, with the rule of every field in `@requiresScope`",
        "openapi.json": "the REST paths as OpenAPI 3.1, each with its scope group and its GraphQL field",
    },
    "Surfaces": {
        "graphql": "GraphQL over HTTP: POST `{query, variables, operationName}` as JSON; browsers get GraphiQL",
        "docs": "the REST paths in a browser, ready to be tried",
    },
    "Optional": {
        "health": "whether the process lives",
        "ready": "whether the service can serve",
        "metrics": "figures for Prometheus",
    },
}
_LIMITS = (
    f"Pages hold {limits.PAGE_DEFAULT} nodes unless `first` asks for up to {limits.PAGE_MAX}.",
    f"REST listings hold {limits.LISTING_DEFAULT} rows unless `limit` asks for up to {limits.LISTING_CAP}; "
    "`offset` skips rows.",
    f"Under one `Idempotency-Key` (a header) a write is made once within {limits.IDEMPOTENCY_HOURS} hours; "
    "`domainPurchase` and `mailboxProvision` need a key.",
    f"A request body holds {limits.BODY_MAX_BYTES} bytes at most.",
    f"Amounts are exact to {limits.MONEY_DECIMALS} decimals and under {limits.MONEY_BELOW:f}.",
    f"A search takes {limits.SEARCH_QUERY_MAX} characters at most, of which {limits.SEARCH_WORDS_MAX} words count.",
)


def llms_text(schema: GraphQLSchema) -> str:
    """The text, as Markdown; its links are relative to the address that serves it."""
    return "\n".join(_lines(schema)) + "\n"


def _lines(schema: GraphQLSchema) -> Iterator[str]:
    yield "# CRM gateway"
    yield from ("", f"> {_ABOUT}")
    yield from ("", "Every request carries `Authorization: Bearer <credential>`:")
    yield from ("", "- an organization key (`ak_…`) acts in its own organization, and takes no `X-Service-Org`;")
    yield "- a user token (`pat_…`) acts in the organization that `X-Service-Org` names;"
    yield "- a session token acts in its own organization, or in the one that `X-Service-Org` names."
    yield from (
        "",
        "Both surfaces ask for the same scopes. An id of another organization is an id that does not exist.",
    )
    for title in ("Documents", "Surfaces"):
        yield from _links(title)
    yield from _section("Scope groups", _groups())
    for kind, root in (
        ("queries", schema.query_type),
        ("mutations", schema.mutation_type),
        ("subscriptions", schema.subscription_type),
    ):
        if root is not None:
            yield from _section(f"GraphQL {kind}", _fields(root))
    yield from _section("REST paths", _paths())
    yield from _section("Limits", _LIMITS)
    yield from _section("Error codes", _codes())
    yield from _links("Optional")


def _section(title: str, items: Iterable[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from (f"- {item}" for item in items)


def _links(title: str) -> Iterator[str]:
    return _section(title, (f"[/{path}]({path}): {text}" for path, text in _LINKS[title].items()))


def _groups() -> Iterator[str]:
    for group in ScopeGroup:
        yield f"{group.name}: any of {', '.join(sorted(group.value))}"


def _fields(root: GraphQLObjectType) -> Iterator[str]:
    for name, field in root.fields.items():
        yield f"`{name}{_arguments(field)}: {field.type}`: {_first_sentence(field.description or '')}"


def _arguments(field: GraphQLField) -> str:
    return f"({', '.join(f'{name}: {a.type}' for name, a in field.args.items())})" if field.args else ""


def _first_sentence(text: str) -> str:
    return text.partition("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".") + "."


def _paths() -> Iterator[str]:
    for operation in OPERATIONS:
        rule = operation.rule
        group = "no credential" if rule is None else "any credential" if rule.group is None else rule.group.name
        graphql_field = f"; in GraphQL `{operation.graphql_field}`" if operation.graphql_field else ""
        yield f"`{operation.method} {operation.path}`: {operation.summary} ({group}{graphql_field})"


def _codes() -> Iterator[str]:
    kinds: list[type[GatewayError]] = [GatewayError, *_below(GatewayError)]
    for status, code in sorted({(kind.status, kind.code) for kind in kinds}):
        yield f"{code} (REST: {status} `{code.lower()}`)"


def _below(kind: type[GatewayError]) -> Iterator[type[GatewayError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)
