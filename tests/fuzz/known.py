"""A service with some record of every kind, and the identifiers that a fuzzer may ask for."""

from __future__ import annotations

import time
from typing import Any

import httpx

_MADE = (
    'competitorCreate(input: {name: "Initrode"}) { competitor { __typename id } }',
    'campaignCreate(input: {name: "C", steps: [{subject: "S", body: "B"}]}) { campaign { __typename id } }',
    'organizationKeyCreate(input: {name: "k"}) { organizationKey { __typename id } }',
    'userTokenCreate(input: {name: "t"}) { userToken { __typename id } }',
    'webhookCreate(input: {url: "https://hooks.example/crm"}) { webhook { __typename id } }',
    'domainPurchase(name: "outreach-fuzz.com", idempotencyKey: "fuzz") { domain { __typename id } }',
    'meetingLog(input: {subject: "M"}) { meeting { __typename id } }',
    'folderCreate(name: "F") { folder { __typename id } }',
    'fileUploadCreate(input: {name: "F", bytes: 3}) { upload { __typename id } }',
    'chatThreadCreate(input: {title: "T"}) { thread { __typename id } }',
    'integrationFeedConnect(input: {name: "F", content: "BEGIN:VCALENDAR\\nEND:VCALENDAR"})'
    " { integration { __typename id } }",
    'tagCreate(input: {name: "T"}) { tag { __typename id } }',
    'taskCreate(input: {subject: "T"}) { task { __typename id } }',
    'noteCreate(input: {body: "N"}) { note { __typename id } }',
    'salesTargetsPut(inputs: [{metric: WON_DEALS, period: YEAR, startsOn: "2026-01-01", amount: "3"}])'
    " { targets { __typename id } }",
    'savedQueryCreate(input: {name: "S", question: "How many deals?"}) { savedQuery { __typename id } }',
    'reportCreate(input: {name: "R", kind: PIPELINE_BY_STAGE}) { report { __typename id } }',
    'researchRunCreate(input: {name: "R", targets: [{companyName: "Example", domain: "company.invalid"}]})'
    " { run { __typename id } }",
)
_CONNECTIONS = (
    *("accounts", "contacts", "deals", "leads", "meetings", "campaigns", "researchRuns"),
    *("activities", "tags", "salesTargets", "savedQueries", "merges", "reports", "files", "folders", "chatThreads"),
)
_LISTS = (
    *_CONNECTIONS,
    *("competitors", "pipelineStages", "outreachDomains", "mailboxes", "organizationKeys", "userTokens", "webhooks"),
)
_KEPT = 40


def records(address: str, headers: dict[str, str]) -> dict[str, list[str]]:
    """Identifiers by the name of their kind; some of the records are made for it."""
    found: dict[str, list[str]] = {}

    def learn(answer: Any) -> None:
        for value in answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else ():
            learn(value)
        if isinstance(answer, dict) and "id" in answer:
            ids = found.setdefault(answer["__typename"], [])
            if answer["id"] not in ids and len(ids) < _KEPT:
                ids.append(answer["id"])

    with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
        for text in (*(f"mutation {{ {made} }}" for made in _MADE), *map(_list, _LISTS), _DETAILS):
            body = client.post("/graphql", json={"query": text}).json()
            assert "errors" not in body, (text, body)
            learn(body["data"])
        for number in range(2):
            made = client.post("/files", files={"file": (f"{number}.txt", b"file")}).raise_for_status().json()
            found.setdefault("File", []).append(made["id"])
        found |= _rendered(client)
    return found


def _rendered(client: httpx.Client) -> dict[str, list[str]]:
    """The job that renders an edited report, and the keys of the files that it makes."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        data = client.post("/graphql", json={"query": _REPORTS}).json()["data"]
        results = [r for run in data["researchRuns"]["nodes"] for r in run["results"]["nodes"] if r["cxReport"]]
        for result in results:
            urls = [artifact["url"] for artifact in result["cxReport"]["artifacts"]]
            if urls:
                ids = {"runId": result["runId"], "resultId": result["id"]}
                body = client.post("/graphql", json={"query": _EDIT, "variables": ids}).json()
                jobs = [body["data"]["cxReportEdit"]["job"]["id"]]
                return {"Job": jobs, "Medium": [url.rpartition("/")[2] for url in urls]}
        time.sleep(0.2)
    raise AssertionError("no report was rendered")


def _list(name: str) -> str:
    plain = "{ __typename id }"
    connection = name in _CONNECTIONS
    return f"{{ {name} {f'{{ nodes {plain} }}' if connection else plain} }}"


_DETAILS = """{ accounts { nodes { health { __typename id factors { __typename id } } } }
  campaigns { nodes { enrollments { nodes { __typename id } } } }
  researchRuns { nodes { results { nodes { __typename id } } } } }"""
_REPORTS = """{ researchRuns(first: 5) { nodes { results(first: 10) { nodes {
  id runId cxReport { artifacts { url } } } } } } }"""
_EDIT = """mutation($runId: ID!, $resultId: ID!) {
  cxReportEdit(runId: $runId, resultId: $resultId, input: {bpoPrefix: "B"}) { job { id } } }"""
_SECONDS = 60
