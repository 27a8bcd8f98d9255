"""As many statements for ten times as much: every list that the schema gives or takes (decision 163).

The cases are found in the schema: a list without one fails.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio
from sqlmodel import col

from contract.bulk_vocabulary import ExportKind
from contract.catalog import CATALOG
from contract.integrations import IntegrationProvider, SyncedField
from contract.limits import MERGED_MAX
from contract.vocabulary import ReportFormat
from providers.accounts.google import GoogleAccounts
from resolvers.export_rows import EXPORTED
from rest_compat.routes import OPERATIONS
from storage import database as database_module
from storage.base import new_id
from storage.event_types import EVENT_TYPES
from storage.queries.match_keys import FEW
from storage.queries.records import TOLD_AT_ONCE
from storage.statements import CompiledStatement
from storage.tables import (
    Account,
    Activity,
    Contact,
    Deal,
    Enrollment,
    File,
    Lead,
    Mailbox,
    OutreachDomain,
    Person,
    PipelineStage,
    StageChange,
    SyncedMeeting,
    SyncOccurrence,
    SyncStream,
    Tag,
    TagLink,
)
from tests.support.forests import forest
from tests.support.gateway import Gateway
from tests.support.list_fields import Queries, list_fields, list_inputs
from tests.support.record_types import record_types
from tests.support.schemas import printed
from tests.support.statements import statements
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SIZES = (2, 20)
SCHEMA = printed()
QUERIES = Queries(
    SCHEMA,
    {
        "Query.search": '(query: "common", first: 100)',
        "Query.nodes": "(ids: $ids)",
        "Query.activities": "(first: 200)",  # of which there are more below an account than a page has unless told
        "Query.members": '(filter: {query: "@row.example"})',
        "Viewer.permissions": '(operations: ["deals", "dealCreate"])',
        "Query.dealAggregate": "(groupBy: [ACCOUNT, STAGE], first: 500)",
        "Query.meetingAggregate": "(groupBy: [ACCOUNT, DEAL], first: 500)",
        "Query.campaignAggregate": "(groupBy: [CAMPAIGN], first: 500)",
        "Query.analyticsQuery": '(input: {entity: "deals"})',
        "Query.sqlQuery": '(sql: "SELECT name FROM deals")',
        "Query.costEstimate": '(document: "{ deals { totalCount } }")',
        "Query.leadConversionPreview": "(id: $lead)",
        "Query.duplicates": "(kind: CONTACT, first: 100)",
        "Query.integrationItems": "(integrationId: $integration, first: 100)",
        "Query.mergePreview": "(input: {kind: ACCOUNT, into: $into, from: $from})",
        "Query.changes": '(since: "2000-01-01T00:00:00Z")',
        "Query.dataImportPreview": "(input: {fileId: $file, kind: LEAD})",
        "Account.healthHistory": "(first: 5)",
        "Report.runs": "(first: 5)",
        "ResearchRun.results": "(first: 5)",
    },
)
LISTS = sorted(set(list_fields(SCHEMA)))
# What a mutation or a step of an answer gives, what is no record, and what is reached as any activity's.
ELSEWHERE = {
    *("AnalyticsColumnsShown.columns", "DetectedCompetitor.evidence", "UserError.field"),
    *("BulkPayload.results", "BulkResult.errors"),
    *(f"{kind}.files" for kind in ("Task", "Note", "Call", "Email")),
}
GROWS_NOT = {
    *("CostReport.heaviest", "LeadConversionPreview.accounts", "LeadConversionPreview.contacts"),
    *("Viewer.permissions", "AnalyticsCatalog.entities", "AnalyticsEntity.dimensions", "AnalyticsEntity.measures"),
    "AnalyticsCatalog.examples",
    "AnalyticsResult.columns",
    *("AnalyticsResult.columns", "AnalyticsCatalog.tables", "AnalyticsTable.columns", "AnalyticsCatalog.functions"),
    *("LeadAggregate.groups", "DealBoard.totals", "DealBoard.unstagedTotals"),
    *("AccountAggregate.groups", "DealForecast.months", "ForecastMonth.won", "ForecastSlot.totals"),
    *("ForecastSlot.weighted", "Query.chatTools", "ChatTool.operations"),
    *("MergePreview.fields", "MergePreview.userErrors", "Query.integrationProviders", "ReportTable.columns"),
    "ImportPreview.userErrors",
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def forests(gateway: Gateway) -> list[Tenant]:
    """Organizations with that many of everything, and a file to import."""
    tenants = [await forest(await new_tenant(gateway), size) for size in SIZES]
    for tenant, size in zip(tenants, SIZES, strict=True):
        await _table(tenant, size, "refused")
    return tenants


_TABLE = "table.csv"


async def _table(tenant: Tenant, size: int, email: str) -> str:
    """A file of so many columns and rows, with this in the column of addresses."""
    lines = [["email", *(f"column {number}" for number in range(1, size))], *[[email] * size for _ in range(size)]]
    data = "".join(f"{','.join(line)}\n" for line in lines).encode()
    told = {"name": _TABLE, "content_type": "text/csv", "sha256": "s", "uploaded_by": "admin", "bytes": len(data)}
    file = File(**told, storage_name=new_id())
    await tenant.gateway.world.services.artifacts.put(file.storage_name, data)
    await tenant.add(file)
    return file.id


async def _variables(tenant: Tenant, query: str) -> dict[str, Any]:
    if "$ids" in query:
        found = await tenant.ask("{ accounts { nodes { id } } deals { nodes { id } } }")
        return {"ids": [node["id"] for page in found.values() for node in page["nodes"]]}
    if "$lead" in query:
        return {"lead": (await tenant.ask("{ leads(first: 1) { nodes { id } } }"))["nodes"][0]["id"]}
    if "$into" in query:
        into, *others = (await tenant.ask("{ accounts(first: 2) { nodes { id } } }"))["nodes"]
        return {"into": into["id"], "from": [other["id"] for other in others]}
    if "$file" in query:
        return {"file": dict(await tenant.rows(File.name, File.id))[_TABLE]}
    if "$integration" in query:
        [[integration_id], *_] = await tenant.rows(col(SyncOccurrence.integration_id))
        return {"integration": integration_id}
    return {}


def _declared(query: str) -> str:
    kinds = {"$ids": "[ID!]!", "$lead": "ID!", "$into": "ID!", "$from": "[ID!]!", "$integration": "ID!", "$file": "ID!"}
    names = ", ".join(f"{name}: {kind}" for name, kind in kinds.items() if name in query)
    return f"query({names}) {query}" if names else query


def _items(answer: Any) -> int:
    """How many objects there are in the answer."""
    if isinstance(answer, list):
        return sum(map(_items, answer))
    return 1 + sum(map(_items, answer.values())) if isinstance(answer, dict) else 0


def _own(sent: list[str]) -> list[str]:
    """The statements without the one that authenticates."""
    return [statement for statement in sent if "FROM memberships" not in statement]


async def test_every_list_has_a_query() -> None:
    assert {name for name in LISTS if not QUERIES.reaches(name)} <= ELSEWHERE


@pytest.mark.parametrize("name", [name for name in LISTS if QUERIES.reaches(name)])
async def test_what_is_given(forests: list[Tenant], name: str) -> None:
    query = _declared(QUERIES.of(name))
    counts, items = [], []
    for tenant in forests:
        variables = await _variables(tenant, query)
        headers = tenant.headers("admin")
        with statements(tenant.gateway.world.database) as sent:
            answer = await tenant.ask(query, headers, **variables)
        counts.append(len(sent))
        items.append(_items(answer))
    assert counts[0] == counts[1], query
    assert name in GROWS_NOT or items[1] >= 5 * items[0], query


BEHIND = """query($after: String) { accounts { nodes { contacts(first: 2, after: $after) { nodes { id } } } } }"""


@pytest.mark.parametrize("path", [one.path for one in OPERATIONS if one.method == "GET" and one.many])
async def test_what_the_documented_paths_list(forests: list[Tenant], path: str) -> None:
    counts, items = [], []
    for tenant in forests:
        headers, listed = tenant.headers("admin"), path
        if "{" in path:
            noun = path.split("/{")[0].rpartition("/")[2]
            noun = {"threads": "chatThreads", "imports": "dataImports"}.get(noun, noun)
            nodes = (await tenant.ask(f"{{ {noun}(first: 1) {{ nodes {{ id }} }} }}", headers))["nodes"]
            listed = re.sub(r"\{\w+\}", nodes[0]["id"], path)
        listed += {"/changes": "?since=2000-01-01T00:00:00Z", "/duplicates": "?kind=contact"}.get(path, "")
        with statements(tenant.gateway.world.database) as sent:
            answer = await tenant.gateway.rest("GET", listed, headers)
        assert answer.status_code == 200, answer.text
        counts.append(len(sent))
        items.append(_items(answer.json()))
    assert counts[0] == counts[1]
    assert items[1] >= items[0]


async def test_what_is_behind_a_cursor_below_a_list(forests: list[Tenant]) -> None:
    first = "{ accounts { nodes { contacts(first: 50) { edges { cursor node { id createdAt } } } } } }"
    for tenant in forests:
        pages = [node["contacts"]["edges"] for node in (await tenant.ask(first))["nodes"]]
        # Of the last contacts of all accounts the first: nothing is behind it in its own account, alone.
        lasts = sorted((page[-1] for page in pages), key=lambda edge: str(edge["node"]["id"]))
        after = max(lasts, key=lambda edge: str(edge["node"]["createdAt"]))["cursor"]
        with statements(tenant.gateway.world.database) as sent:
            found = await tenant.ask(BEHIND, after=after)
        assert len(_own(sent)) == 2
        ids = [[node["id"] for node in node["contacts"]["nodes"]] for node in found["nodes"]]
        assert {len(shown) for shown in ids} > {0}
        whole = (
            "query($id: ID!, $after: String) { account(id: $id) { contacts(first: 2, after: $after)"
            " { nodes { id } } } }"
        )
        accounts = (await tenant.ask("{ accounts { nodes { id } } }"))["nodes"]
        for account, shown in zip(accounts, ids, strict=True):
            alone = await tenant.ask(whole, id=account["id"], after=after)
            assert [node["id"] for node in alone["contacts"]["nodes"]] == shown


# What takes a list: makes what is needed, and gives the operation with its variables for so many items.
Batch = Callable[[Tenant, int], Awaitable[tuple[str, dict[str, Any]]]]
_ERRORS = "userErrors { code message }"


def _put(field: str, kind: str, given: Callable[[int], dict[str, Any]], most: int = 20) -> Batch:
    """A mutation that takes an input with texts in its list."""

    async def batch(_tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        document = f"mutation($input: {kind}!) {{ {field}(input: $input) {{ {_ERRORS} }} }}"
        return document, {"input": given(min(size, most))}

    return batch


def _change(field: str, kind: str, made: Any, given: Callable[[int], dict[str, Any]], most: int = 20) -> Batch:
    """A mutation of a record that is made before."""

    async def batch(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        answer = await tenant.ask(*made[:1], tenant.headers("admin"), **made[1])
        [record] = [value for value in answer.values() if isinstance(value, dict)]
        document = f"mutation($id: ID!, $input: {kind}!) {{ {field}(id: $id, input: $input) {{ {_ERRORS} }} }}"
        return document, {"id": record["id"], "input": given(min(size, most))}

    return batch


async def _mailboxes(tenant: Tenant, size: int) -> list[str]:
    domain = OutreachDomain(name=f"{new_id()}.example", status="active")
    boxes = [
        Mailbox(domain_id=domain.id, email=f"{new_id()}@x", display_name="d", status="active") for _ in range(size)
    ]
    await tenant.add(domain, *boxes)
    return [box.id for box in boxes]


async def _campaign_with_mailboxes(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    document = f"mutation($input: CampaignCreateInput!) {{ campaignCreate(input: $input) {{ {_ERRORS} }} }}"
    return document, {"input": {"name": "c", "mailboxIds": await _mailboxes(tenant, size)}}


async def _campaign(tenant: Tenant) -> str:
    made = await tenant.ask(
        'mutation { campaignCreate(input: {name: "c"}) { campaign { id } } }', tenant.headers("admin")
    )
    return str(made["campaign"]["id"])


async def _other_mailboxes(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    document = (
        f"mutation($id: ID!, $input: CampaignUpdateInput!) {{ campaignUpdate(id: $id, input: $input) {{ {_ERRORS} }} }}"
    )
    return document, {"id": await _campaign(tenant), "input": {"mailboxIds": await _mailboxes(tenant, size)}}


async def _enrollments(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    contacts = [Contact(last_name=f"{number}") for number in range(size)]
    await tenant.add(*contacts)
    document = (
        "mutation($id: ID!, $contacts: [EnrollmentInput!]!) { enrollmentsCreate(campaignId: $id, contacts: $contacts)"
        f" {{ created {{ id email contact {{ lastName }} }} skipped {{ reason }} {_ERRORS} }} }}"
    )
    given = [{"email": f"{c.last_name}@example.com", "contactId": c.id, "variables": {"a": "b"}} for c in contacts]
    return document, {"id": await _campaign(tenant), "contacts": given}


async def _stages(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    stages = [PipelineStage(name=f"stage {number}", position=number) for number in range(size)]
    await tenant.add(*stages)
    document = f"mutation($ids: [ID!]!) {{ pipelineStageReorder(ids: $ids) {{ stages {{ name }} {_ERRORS} }} }}"
    return document, {"ids": [stage.id for stage in reversed(stages)]}


async def _attached(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    deals = [Deal(name="d") for _ in range(size)]
    await tenant.add(*deals)
    document = f"mutation($input: FileUploadInput!) {{ fileUploadCreate(input: $input) {{ {_ERRORS} }} }}"
    return document, {"input": {"name": "a", "bytes": 0, "attachTo": [deal.id for deal in deals]}}


async def _nodes(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    deals, contacts = [Deal(name="d") for _ in range(size)], [Contact(last_name="c") for _ in range(size)]
    await tenant.add(*deals, *contacts)
    ids = [record.id for record in (*deals, *contacts)] + [new_id() for _ in range(size)]
    return "query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }", {"ids": ids}


def _events(field: str) -> Batch:
    async def batch(_tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        document = f"query($types: [String!]) {{ {field} {{ nodes {{ id }} }} }}"
        return document, {"types": [f"type_{number}" for number in range(size)]}

    return batch


async def _search(_tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    kinds = list(SCHEMA.type_map["SearchType"].values)  # type: ignore[attr-defined]
    return 'query($types: [SearchType!]) { search(query: "nothing", types: $types) { kind: __typename } }', {
        "types": kinds[:size]
    }


async def _kinds(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    document = f"mutation($i: OwnershipTransferInput!) {{ ownershipTransfer(input: $i) {{ {_ERRORS} }} }}"
    kinds = list(SCHEMA.type_map["OwnedKind"].values)  # type: ignore[attr-defined]
    who = {"from": tenant.subject("member"), "to": tenant.subject("viewer")}
    return document, {"i": {**who, "kinds": (kinds * size)[:size]}}


_APPLY = f"""mutation($ids: [ID!]!, $add: [String!], $remove: [String!]) {{
  tagsApply(ids: $ids, add: $add, remove: $remove) {{ records {{ id tags }} {_ERRORS} }} }}"""


async def _tagged(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    deals, leads = [Deal(name="d") for _ in range(size)], [Lead(name="l") for _ in range(size)]
    await tenant.add(*deals, *leads)
    return _APPLY, {"ids": [record.id for record in (*deals, *leads)], "add": ["a", "b"]}


async def _tags_added(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    lead = Lead(name="l")
    await tenant.add(lead)
    return _APPLY, {"ids": [lead.id], "add": [f"t{number}" for number in range(size)]}


async def _tags_removed(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    document, variables = await _tags_added(tenant, size)
    await tenant.ask(document, **variables)
    return document, {"ids": variables["ids"], "remove": variables["add"]}


async def _tags_merged(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    """Each is on a lead of its own."""
    into, *others = [Tag(name=f"t{number}") for number in range(size + 1)]
    leads = [Lead(name="l") for _ in others]
    links = [TagLink(kind="lead", record_id=lead.id, tag_id=tag.id) for lead, tag in zip(leads, others, strict=True)]
    await tenant.add(into, *others, *leads, *links)
    document = f"mutation($from: [ID!]!, $into: ID!) {{ tagMerge(from: $from, into: $into) {{ moved {_ERRORS} }} }}"
    return document, {"from": [tag.id for tag in others], "into": into.id}


def _upserted(noun: str) -> dict[str, Batch]:
    """Rows of which half are there, more than one statement tells of; and one with so many tags."""
    kind = f"{noun[:-1].capitalize()}UpsertInput"
    document = f"mutation($r: [{kind}!]!) {{ {noun}Upsert(rows: $r) {{ results {{ id }} failed {_ERRORS} }} }}"
    named = "lastName" if noun == "contacts" else "name"

    async def rows(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        size += max(TOLD_AT_ONCE, FEW)
        there = [{"externalKey": f"k{n}", named: "before"} for n in range(size)]
        await tenant.ask(document, tenant.headers("admin"), r=there)
        return document, {"r": [{"externalKey": f"k{n}", named: "after"} for n in range(2 * size)]}

    async def tags(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        return document, {"r": [{"externalKey": "k", named: "n", "tags": [f"t{n}" for n in range(size)]}]}

    return {f"{noun}Upsert rows": rows, f"{noun}Upsert rows.tags": tags}


async def _targets(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    """Half of them are there with another amount; there are as many of the organization as of a member."""
    owners = (None, tenant.subject("admin"))
    targets = [
        {"metric": "WON_DEALS", "period": "MONTH", "startsOn": f"{2000 + n}-01-01", "amount": "5", "ownerId": owner}
        for n in range(size)
        for owner in owners
    ]
    document = f"mutation($i: [SalesTargetInput!]!) {{ salesTargetsPut(inputs: $i) {{ targets {{ id }} {_ERRORS} }} }}"
    known = [{**target, "amount": "4"} for target in targets[:size]]
    await tenant.ask(document, tenant.headers("admin"), i=known)
    return document, {"i": targets}


async def _dismissed(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    accounts = [Account(name="one") for _ in range(size)]
    await tenant.add(*accounts)
    document = f"mutation($ids: [ID!]!) {{ duplicatesDismiss(ids: $ids) {{ dismissed {_ERRORS} }} }}"
    return document, {"ids": [account.id for account in accounts]}


def _merged(field: str) -> dict[str, Batch]:
    """Records that go into one, and fields that are taken from one of two."""
    root = "mutation" if field == "recordsMerge" else "query"
    document = f"{root}($input: MergeInput!) {{ {field}(input: $input) {{ {_ERRORS} }} }}"

    async def records(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        into, *others = [Account(name=f"{number}", industry=f"{number}") for number in range(min(size, MERGED_MAX) + 1)]
        await tenant.add(into, *others)
        await tenant.add(*(Deal(name="d", account_id=other.id) for other in others))
        return document, {"input": {"kind": "ACCOUNT", "into": into.id, "from": [other.id for other in others]}}

    async def choices(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        _, variables = await records(tenant, 2)
        chosen = ("name", "domain", "industry", "ownerId")[:size]
        given = variables["input"]
        choose = [{"field": name, "recordId": given["from"][0]} for name in chosen]
        return document, {"input": {**given, "choose": choose}}

    return {f"{field} input.from": records, f"{field} input.choose": choices}


_NARROWED: dict[str, Callable[[int], Sequence[Any]]] = {
    "ownerIds": lambda size: [Person(id=f"p{number}") for number in range(size)],
    "accountIds": lambda size: [Account(name="a") for _ in range(size)],
    "stageIds": lambda size: [PipelineStage(name=f"s{number}", position=number) for number in range(size)],
    "tags": lambda size: [Tag(name=f"t{number}") for number in range(size)],
}


def _narrowed(name: str) -> dict[str, Batch]:
    """Reports that are narrowed to so many records."""

    async def parameters(tenant: Tenant, size: int) -> dict[str, Any]:
        records = _NARROWED[name](size)
        await tenant.add(*records)
        return {name: [record.name if name == "tags" else record.id for record in records]}

    async def previewed(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        asked = "reportPreview(kind: PIPELINE_BY_STAGE, parameters: $p) { rows { cells } }"
        return f"query($p: ReportParametersInput) {{ {asked} }}", {"p": await parameters(tenant, size)}

    async def created(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        given = {"name": "r", "kind": "PIPELINE_BY_STAGE", "parameters": await parameters(tenant, size)}
        return await _put("reportCreate", "ReportCreateInput", lambda _: given)(tenant, size)

    async def changed(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        given = {"parameters": await parameters(tenant, size)}
        return await _change("reportUpdate", "ReportUpdateInput", _REPORT, lambda _: given)(tenant, size)

    return {
        f"reportPreview parameters.{name}": previewed,
        f"reportCreate input.parameters.{name}": created,
        f"reportUpdate input.parameters.{name}": changed,
    }


async def _connection(tenant: Tenant, size: int) -> list[SyncStream]:
    """A connection of the administrator's with so many streams."""
    [row] = [record for record in record_types() if record.typename == "Integration"]
    connection: Any = row.row({}, "c")
    connection.owner_id = tenant.subject("admin")
    streams = [SyncStream(integration_id=connection.id, external_id=f"{n}", name=f"{n}") for n in range(size)]
    await tenant.add(connection)
    await tenant.add(*streams)
    return streams


async def _followed(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    streams = await _connection(tenant, size)
    asked = f"integrationUpdate(id: $id, input: $i) {{ {_ERRORS} }}"
    settings = {"takeInternal": True}  # with which everything is judged anew
    given = {"settings": settings, "streams": [{"id": stream.id, "enabled": False} for stream in streams]}
    document = f"mutation($id: ID!, $i: IntegrationUpdateInput!) {{ {asked} }}"
    return document, {"id": streams[0].integration_id, "i": given}


async def _released(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    meeting = Activity(subject="m")
    names = [field.value for field in SyncedField]
    await tenant.add(meeting)
    await tenant.add(SyncedMeeting(uid="u", uid_hash="u", meeting_id=meeting.id, overridden=names))
    asked = f"meetingSyncRelease(id: $id, fields: $f) {{ meeting {{ id }} {_ERRORS} }}"
    document = f"mutation($id: ID!, $f: [SyncedField!]) {{ {asked} }}"
    return document, {"id": meeting.id, "f": [field.name for field in SyncedField][:size]}


async def _consented(_tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    document = f"mutation($i: IntegrationConnectInput!) {{ integrationConnect(input: $i) {{ {_ERRORS} }} }}"
    return document, {"i": {"provider": "GOOGLE", "kinds": ["CALENDAR"] * min(size, 4)}}


async def _rendered(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    made = await tenant.ask(_REPORT[0], tenant.headers("admin"))
    document = f"mutation($id: ID!, $f: [ReportFormat!]!) {{ reportRun(id: $id, formats: $f) {{ {_ERRORS} }} }}"
    return document, {"id": made["report"]["id"], "f": [each.name for each in ReportFormat][:size]}


def _long(name: str, size: int) -> list[str]:
    """So many recipients, or formats."""
    if name == "formats":
        return [each.name for each in ReportFormat][:size]
    return [f"a{number}@example.com" for number in range(min(size, 20))]


def _scheduled(name: str) -> dict[str, Batch]:
    """Reports whose schedule has so many recipients or formats."""

    def schedule(size: int) -> dict[str, Any]:
        return {"schedule": {"frequency": "DAILY", "to": ["viewer@example.com"], name: _long(name, size)}}

    return {
        f"reportCreate input.schedule.{name}": _put(
            "reportCreate",
            "ReportCreateInput",
            lambda size: {"name": "r", "kind": "PIPELINE_BY_STAGE", **schedule(size)},
        ),
        f"reportUpdate input.schedule.{name}": _change("reportUpdate", "ReportUpdateInput", _REPORT, schedule),
    }


def _mailed(name: str) -> Batch:
    async def batch(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        made = await tenant.ask(_REPORT[0], tenant.headers("admin"))
        document = f"mutation($id: ID!, $i: ReportEmailInput!) {{ reportEmail(id: $id, input: $i) {{ {_ERRORS} }} }}"
        return document, {"id": made["report"]["id"], "i": {"to": ["viewer@example.com"], name: _long(name, size)}}

    return batch


def _imported(field: str) -> dict[str, Batch]:
    """Files with so many columns that become what is told of them, and with so many tags for each row."""
    root = "mutation" if field == "dataImportCreate" else "query"
    document = f"{root}($i: DataImportInput!) {{ {field}(input: $i) {{ {_ERRORS} }} }}"

    async def mapping(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        left_out = [{"column": f"column {number}", "field": None} for number in range(1, size)]
        told = [{"column": "email", "field": "name"}, *left_out]
        return document, {"i": {"fileId": await _table(tenant, size, "n"), "kind": "LEAD", "mapping": told}}

    async def tags(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        told = [{"column": "column 1", "field": "name"}]
        given = {"fileId": await _table(tenant, 2, "a@b.example"), "kind": "LEAD", "mapping": told}
        return document, {"i": {**given, "tags": [f"t{number}" for number in range(size)]}}

    return {f"{field} input.mapping": mapping, f"{field} input.tags": tags}


_REPORT = ('mutation { reportCreate(input: {name: "r", kind: PIPELINE_BY_STAGE}) { report { id } } }', {})
_LEAD = ('mutation { cardCaptureConfirm(input: {name: "n"}) { lead { id } } }', {})
_MEETING = ('mutation { meetingLog(input: {subject: "s"}) { meeting { id } } }', {})
_EMAIL = ('mutation { emailLog(input: {subject: "s"}) { email { id } } }', {})
_CAMPAIGN = ('mutation { campaignCreate(input: {name: "c"}) { campaign { id } } }', {})


def _attendees(size: int) -> dict[str, Any]:
    return {"subject": "s", "metadata": {"attendees": [{"name": f"n{number}"} for number in range(size)]}}


def _addresses(field: str) -> Callable[[int], dict[str, Any]]:
    return lambda size: {"subject": "s", field: [f"a{number}@example.com" for number in range(size)]}


def _with_tags(field: str, kind: str, **needed: str) -> Batch:
    """A new record that comes with tags."""
    return _put(field, kind, lambda size: {**needed, "tags": [f"t{number}" for number in range(size)]})


async def _note(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    account = Account(name="a")
    await tenant.add(account)
    return await _with_tags("noteCreate", "NoteCreateInput", body="b", accountId=account.id)(tenant, size)


def _steps(size: int) -> dict[str, Any]:
    return {"name": "c", "steps": [{"delayDays": 1, "subject": "s", "body": "b"} for _ in range(size)]}


_ANALYZED = """query($input: AnalyticsQueryInput!) { analyticsQuery(input: $input) { rowCount } }"""
_ANALYZED_BY = {
    "measures": lambda size: [*CATALOG["deals"].measures][:size],
    "orderBy": lambda size: [{"field": "name"}] * size,
    "where": lambda size: [{"field": "name", "op": "IS_NOT_NULL"}] * size,
    "where.where": lambda size: [
        {"field": "account", "op": "EXISTS", "where": [{"field": "name", "op": "IS_NOT_NULL"}] * size}
    ],
}


def _analyzed(part: str) -> Batch:
    async def asked(_tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
        return _ANALYZED, {"input": {"entity": "deals", part.partition(".")[0]: _ANALYZED_BY[part](size)}}

    return asked


BATCHES: dict[str, Batch] = {
    **{name: batch for noun in ("accounts", "contacts", "deals", "leads") for name, batch in _upserted(noun).items()},
    **{f"analyticsQuery input.{part}": _analyzed(part) for part in _ANALYZED_BY},
    **{name: batch for field in ("mergePreview", "recordsMerge") for name, batch in _merged(field).items()},
    **{name: batch for field in ("dataImportPreview", "dataImportCreate") for name, batch in _imported(field).items()},
    **{name: batch for name_of_list in _NARROWED for name, batch in _narrowed(name_of_list).items()},
    "nodes ids": _nodes,
    "duplicatesDismiss ids": _dismissed,
    "integrationConnect input.kinds": _consented,
    "integrationUpdate input.streams": _followed,
    "integrationPolicyUpdate input.internalDomains": _put(
        "integrationPolicyUpdate",
        "IntegrationPolicyInput",
        lambda size: {"internalDomains": [f"d{number}.example" for number in range(size)]},
    ),
    "integrationPolicyUpdate input.allowedProviders": _put(
        "integrationPolicyUpdate",
        "IntegrationPolicyInput",
        lambda size: {"allowedProviders": [each.name for each in IntegrationProvider][1:][:size]},  # not all of them
    ),
    "meetingSyncRelease fields": _released,
    "events types": _events("events(types: $types)"),
    "changes types": _events('changes(since: "2000-01-01T00:00:00Z", types: $types)'),
    "search types": _search,
    "meetingLog input.metadata.attendees": _put("meetingLog", "MeetingLogInput", _attendees),
    "meetingUpdate input.metadata.attendees": _change("meetingUpdate", "MeetingUpdateInput", _MEETING, _attendees),
    "emailLog input.toAddresses": _put("emailLog", "EmailLogInput", _addresses("toAddresses")),
    "emailLog input.ccAddresses": _put("emailLog", "EmailLogInput", _addresses("ccAddresses")),
    "emailUpdate input.toAddresses": _change("emailUpdate", "EmailUpdateInput", _EMAIL, _addresses("toAddresses")),
    "emailUpdate input.ccAddresses": _change("emailUpdate", "EmailUpdateInput", _EMAIL, _addresses("ccAddresses")),
    "competitorCreate input.aliases": _put(
        "competitorCreate",
        "CompetitorInput",
        lambda size: {"name": new_id(), "aliases": [new_id() for _ in range(size)]},
    ),
    "competitorCreate input.domains": _put(
        "competitorCreate",
        "CompetitorInput",
        lambda size: {"name": new_id(), "domains": [f"d{number}.example" for number in range(size)]},
    ),
    "pipelineStageReorder ids": _stages,
    "reportRun formats": _rendered,
    "dataExportCreate input.columns": _put(
        "dataExportCreate",
        "DataExportInput",
        lambda size: {"kind": "DEAL", "columns": list(EXPORTED[ExportKind.DEAL].columns[:size])},
    ),
    **_scheduled("to"),
    **_scheduled("formats"),
    "reportEmail input.to": _mailed("to"),
    "reportEmail input.formats": _mailed("formats"),
    "fileUploadCreate input.attachTo": _attached,
    "tagsApply ids": _tagged,
    "tagsApply add": _tags_added,
    "tagsApply remove": _tags_removed,
    "tagMerge from": _tags_merged,
    "salesTargetsPut inputs": _targets,
    "cardCaptureConfirm input.tags": _put(
        "cardCaptureConfirm", "CardCaptureInput", lambda size: {"name": "n", "tags": [f"t{n}" for n in range(size)]}
    ),
    "accountCreate input.tags": _with_tags("accountCreate", "AccountCreateInput", name="n"),
    "contactCreate input.tags": _with_tags("contactCreate", "ContactCreateInput", lastName="n"),
    "dealCreate input.tags": _with_tags("dealCreate", "DealCreateInput", name="n"),
    "taskCreate input.tags": _with_tags("taskCreate", "TaskCreateInput", subject="s"),
    "noteCreate input.tags": _note,
    "callLog input.tags": _with_tags("callLog", "CallLogInput", subject="s"),
    "emailLog input.tags": _with_tags("emailLog", "EmailLogInput", subject="s"),
    "meetingLog input.tags": _with_tags("meetingLog", "MeetingLogInput", subject="s"),
    "leadUpdate input.tags": _change(
        "leadUpdate", "LeadUpdateInput", _LEAD, lambda size: {"tags": [f"t{number}" for number in range(size)]}
    ),
    "campaignCreate input.steps": _put("campaignCreate", "CampaignCreateInput", _steps, most=10),
    "campaignUpdate input.steps": _change("campaignUpdate", "CampaignUpdateInput", _CAMPAIGN, _steps, most=10),
    "campaignCreate input.mailboxIds": _campaign_with_mailboxes,
    "campaignUpdate input.mailboxIds": _other_mailboxes,
    "enrollmentsCreate contacts": _enrollments,
    "ownershipTransfer input.kinds": _kinds,
    "researchRunCreate input.targets": _put(
        "researchRunCreate",
        "ResearchRunInput",
        lambda size: {"name": "r", "targets": [{"companyName": f"c{number}"} for number in range(size)]},
    ),
    "webhookCreate input.types": _put(
        "webhookCreate",
        "WebhookInput",
        lambda size: {"url": "https://1.1.1.1/hook", "types": sorted(EVENT_TYPES)[:size]},
    ),
}


async def test_every_list_that_is_taken_has_a_case() -> None:
    taken = set(list_inputs(SCHEMA))
    bounded = {name for name in taken if name.endswith(("Aggregate groupBy", "analyticsQuery input.by"))}  # two at most
    assert taken - bounded == BATCHES.keys()


@pytest.fixture
def google(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts of Google can be connected; nothing is asked of it before the consent."""
    runtime = gateway.runtime
    accounts = GoogleAccounts("client", "secret", runtime.settings.google_base_url, calls=runtime.calls)
    monkeypatch.setitem(runtime.services.accounts.providers, IntegrationProvider.GOOGLE, accounts)


@pytest.mark.usefixtures("google")
@pytest.mark.parametrize("name", BATCHES)
async def test_what_is_taken(gateway: Gateway, name: str) -> None:
    await _same_for_more(gateway, BATCHES[name])


async def _same_for_more(gateway: Gateway, batch: Batch) -> None:
    counts = []
    for size in SIZES:
        tenant = await new_tenant(gateway)
        document, variables = await batch(tenant, size)
        with statements(tenant.gateway.world.database) as sent:
            answer = await tenant.ask(document, tenant.headers("admin"), **variables)
        assert not (isinstance(answer, dict) and answer.get("userErrors")), answer
        counts.append(len(sent))
    assert counts[0] == counts[1]


# What changes more rows than it names: the record, with so many others that hang on it.
async def _account(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    made = await tenant.ask('mutation { accountCreate(input: {name: "a"}) { account { id } } }')
    account_id = made["account"]["id"]
    await tenant.add(*(Contact(last_name="c", account_id=account_id) for _ in range(size)))
    await tenant.add(*(Deal(name="d", account_id=account_id) for _ in range(size)))
    return f"mutation($id: ID!) {{ accountDelete(id: $id) {{ {_ERRORS} }} }}", {"id": account_id}


async def _stage(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    stages = [PipelineStage(name=f"stage {number}", position=number) for number in range(size + 1)]
    deal = Deal(name="d")
    await tenant.add(*stages, deal)
    await tenant.add(*(StageChange(deal_id=deal.id, to_stage_id=stages[0].id) for _ in range(size)))
    return f"mutation($id: ID!) {{ pipelineStageDelete(id: $id) {{ {_ERRORS} }} }}", {"id": stages[0].id}


async def _run(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    document = "mutation($input: ResearchRunInput!) { researchRunCreate(input: $input) { run { id } } }"
    given = {"name": "r", "targets": [{"companyName": f"c{number}"} for number in range(size)]}
    made = await tenant.ask(document, tenant.headers("admin"), input=given)
    return f"mutation($id: ID!) {{ researchRunCancel(id: $id) {{ {_ERRORS} }} }}", {"id": made["run"]["id"]}


async def _enrolled(tenant: Tenant, size: int) -> tuple[str, dict[str, Any]]:
    campaign_id = await _campaign(tenant)
    await tenant.add(*(Enrollment(campaign_id=campaign_id, email=f"{n}@x", email_key=f"{n}@x") for n in range(size)))
    return f"mutation($id: ID!) {{ campaignDelete(id: $id) {{ {_ERRORS} }} }}", {"id": campaign_id}


WIDE: dict[str, Batch] = {
    "accountDelete": _account,
    "pipelineStageDelete": _stage,
    "researchRunCancel": _run,
    "campaignDelete": _enrolled,
}


@pytest.mark.parametrize("name", WIDE)
async def test_what_hangs_on_a_record(gateway: Gateway, name: str) -> None:
    await _same_for_more(gateway, WIDE[name])


async def test_a_node_takes_two_statements(forests: list[Tenant]) -> None:
    for tenant in forests:
        headers = tenant.headers("admin")
        for listing in ("accounts", "leads", "campaigns", "researchRuns"):
            found = await tenant.ask(f"{{ {listing}(first: 1) {{ nodes {{ id }} }} }}", headers)
            with statements(tenant.gateway.world.database) as sent:
                answer = await tenant.ask(
                    "query($id: ID!) { node(id: $id) { id } }", headers, id=found["nodes"][0]["id"]
                )
            assert answer["id"] == found["nodes"][0]["id"]
            assert len(_own(sent)) == 2
        with statements(tenant.gateway.world.database) as sent:
            assert await tenant.ask("query($id: ID!) { node(id: $id) { id } }", headers, id=new_id()) is None
        # What was merged, credentials, own questions, saved queries, four of chats, and two of connections.
        assert len(_own(sent)) == 12


ANEW = [
    "{ deals(first: 3) { nodes { name account { name } } } }",
    "query($n: String) { deals(first: 3, filter: {name: {eq: $n}}) { nodes { name } } }",
    "{ meetings(first: 3, orderBy: {field: DUE_AT}) { nodes { subject contact { lastName } } } }",
    "{ accounts(first: 3) { nodes { name deals(first: 2) { nodes { value } } } } }",
]


async def test_a_document_that_is_planned_anew_finds_its_statements(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Selections, conditions and orders are keys by value: those of another plan find what the first one's left."""
    await one.add(Account(name="a"), Account(name="b"))
    compiled: list[Any] = []

    class Counted(CompiledStatement):
        def __init__(self, statement: Any, *args: Any, **kwargs: Any) -> None:
            compiled.append(statement)
            super().__init__(statement, *args, **kwargs)

    monkeypatch.setattr(database_module, "CompiledStatement", Counted)
    numbers = []
    for number in range(4):
        for query in ANEW:
            variables = {"n": "x"} if "$n" in query else {}
            await one.ask(f"{query} # {number}", **variables)
        numbers.append(len(compiled))
    assert numbers == [numbers[0]] * 4
