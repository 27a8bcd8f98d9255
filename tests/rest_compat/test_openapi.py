"""The description: valid, complete, and true to the table and to the documentation."""

from __future__ import annotations

from typing import Any

import orjson
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from contract.scopes import ScopeGroup
from rest_compat import examples
from rest_compat.openapi import openapi_document
from rest_compat.routes import OPERATIONS
from tests.isolation.analytics import PATHS as ANALYTICS
from tests.isolation.bulk import PATHS as BULK
from tests.isolation.chat import PATHS as CHAT
from tests.support import documented
from tests.support.record_types import record_types

DOCUMENT = openapi_document()
DESCRIBED = [
    (path, method.upper(), operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
# From the contract's table of paths: scope group, whether an organization is needed, success.
PATHS = {
    ("GET", "/activities/meetings"): ("MEETINGS_READ", True, 200, "Query.meetings"),
    ("POST", "/deals"): ("CRM_MANAGE", True, 201, "Mutation.dealCreate"),
    ("GET", "/deals"): ("CRM_READ", True, 200, "Query.deals"),
    ("GET", "/deals/{deal_id}"): ("CRM_READ", True, 200, "Query.deal"),
    ("PATCH", "/deals/{deal_id}"): ("CRM_MANAGE", True, 200, "Mutation.dealUpdate"),
    ("DELETE", "/deals/{deal_id}/contacts/{contact_id}"): ("CRM_MANAGE", True, 204, "Mutation.dealContactUnlink"),
    ("GET", "/deals/{deal_id}/contacts"): ("CRM_READ", True, 200, "Deal.contacts"),
    ("PUT", "/deals/{deal_id}/contacts/{contact_id}"): ("CRM_MANAGE", True, 200, "Mutation.dealContactLink"),
    ("GET", "/accounts"): ("CRM_READ", True, 200, "Query.accounts"),
    ("GET", "/accounts/{account_id}"): ("CRM_READ", True, 200, "Query.account"),
    ("GET", "/contacts"): ("CRM_READ", True, 200, "Query.contacts"),
    ("GET", "/contacts/{contact_id}"): ("CRM_READ", True, 200, "Query.contact"),
    ("GET", "/pipeline-stages"): ("CRM_READ", True, 200, "Query.pipelineStages"),
    ("GET", "/outreach/campaigns"): ("OUTREACH_READ", True, 200, "Query.campaigns"),
    ("GET", "/outreach/campaigns/{campaign_id}"): ("OUTREACH_READ", True, 200, "Query.campaign"),
    ("POST", "/outreach/campaigns/{campaign_id}/resume"): ("OUTREACH_MANAGE", True, 200, "Mutation.campaignResume"),
    ("GET", "/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report"): (
        "CRM_READ",
        True,
        200,
        "ResearchResult.cxReport",
    ),
    ("GET", "/accounts/{account_id}/health/latest"): ("MEETINGS_READ", True, 200, "Account.health"),
    ("POST", "/accounts/{account_id}/health/refresh"): ("CRM_MANAGE", True, 200, "Mutation.accountHealthRefresh"),
    ("GET", "/jobs/{job_id}"): ("CRM_READ", True, 200, "Query.job"),
    ("POST", "/cards/captures/confirm"): ("CRM_MANAGE", True, 200, "Mutation.cardCaptureConfirm"),
    ("GET", "/leads"): ("CRM_READ", True, 200, "Query.leads"),
    ("GET", "/leads/{lead_id}"): ("CRM_READ", True, 200, "Query.lead"),
    ("POST", "/leads/{lead_id}/convert"): ("CRM_MANAGE", True, 200, "Mutation.leadConvert"),
    ("GET", "/chat/tools"): ("CRM_READ", True, 200, "Query.chatTools"),
    ("GET", "/changes"): ("CRM_READ", True, 200, "Query.changes"),
    ("POST", "/feedback"): (None, False, 201, "Mutation.feedbackSubmit"),
    ("PATCH", "/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report"): (
        "CRM_MANAGE",
        True,
        202,
        "Mutation.cxReportEdit",
    ),
    ("DELETE", "/outreach/campaigns/{campaign_id}"): ("OUTREACH_MANAGE", True, 204, "Mutation.campaignDelete"),
    ("POST", "/outreach/campaigns/{campaign_id}/pause"): ("OUTREACH_MANAGE", True, 200, "Mutation.campaignPause"),
    ("GET", "/outreach/domains"): ("OUTREACH_READ", True, 200, "Query.outreachDomains"),
    ("POST", "/organization-pats"): ("PATS_CREATE", True, 201, "Mutation.organizationKeyCreate"),
    ("GET", "/organization-pats"): ("PATS_READ", True, 200, "Query.organizationKeys"),
    ("PATCH", "/organization-pats/{id}"): ("PATS_CREATE", True, 200, "Mutation.organizationKeyRename"),
    ("DELETE", "/organization-pats/{id}"): ("PATS_DELETE", True, 204, "Mutation.organizationKeyRevoke"),
    ("POST", "/user-pats"): ("PATS_CREATE", False, 201, "Mutation.userTokenCreate"),
    ("GET", "/user-pats"): ("PATS_READ", False, 200, "Query.userTokens"),
    ("PATCH", "/user-pats/{id}"): ("PATS_CREATE", False, 200, "Mutation.userTokenRename"),
    ("DELETE", "/user-pats/{id}"): ("PATS_DELETE", False, 204, "Mutation.userTokenRevoke"),
    ("POST", "/pat/exchange"): (None, False, 200, None),
    ("GET", "/media/{key}"): (None, False, 200, None),
    ("GET", "/files/signed/{token}"): (None, False, 200, None),
    ("GET", "/health"): (None, False, 200, None),
    ("GET", "/ready"): (None, False, 200, None),
    **ANALYTICS,
    **BULK,
    **CHAT,
    **{path: said for record in record_types() for path, said in record.paths.items()},
}


def _validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def test_it_is_valid() -> None:
    validate(DOCUMENT)
    assert orjson.loads(orjson.dumps(DOCUMENT)) == DOCUMENT
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", "0.0.1")


def test_the_table_is_the_contract_s() -> None:
    found = {
        (o.method, o.path): (
            o.rule.group.name if o.rule and o.rule.group else None,
            o.rule is not None and o.rule.organization,
            o.status,
            o.graphql_field,
        )
        for o in OPERATIONS
    }
    assert found == PATHS


def test_every_path_is_described_with_its_group_and_its_twin() -> None:
    assert {(method, path) for path, method, _ in DESCRIBED} == set(PATHS)
    listed = openapi_document()["info"]["description"]  # decision 903
    for path, method, operation in DESCRIBED:
        group, organization, status, graphql_field = PATHS[method, path]
        assert (operation["x-scope-group"], operation["x-graphql-operation"]) == (group, graphql_field)
        assert str(status) in operation["responses"]
        assert (f"In GraphQL: `{graphql_field}`." in operation["description"]) == (graphql_field is not None)
        guarded = [{"bearer": []}] if group or path in ("/feedback", "/viewer") else []
        assert operation["security"] == ([{"bearer": []}, {}] if path == "/pat/exchange" else guarded)
        if group is not None:
            assert f"Needs {group}{', in an organization' if organization else ''}." in operation["description"]
            assert all(scope in listed for scope in ScopeGroup[group].value)
            assert {"400", "401", "403", "431", "500", "503"} <= set(operation["responses"])
    identifiers = [operation["operationId"] for _, _, operation in DESCRIBED]
    assert len(set(identifiers)) == len(identifiers)


def test_budgets_are_told_wherever_there_is_a_caller() -> None:
    """Decision 101."""
    names = {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-Request-Cost"}
    for path, method, operation in DESCRIBED:
        success = operation["responses"][str(PATHS[method, path][2])]
        called = operation["security"] != []
        assert names & set(success["headers"]) == (names if called else set())
        assert ("429" in operation["responses"]) == called
        if called:
            refused = operation["responses"]["429"]
            assert "Retry-After" in refused["headers"]
            examples_of = refused["content"]["application/json"]["examples"]
            runs = path.endswith(("/ask", "/sql", "_query_id}/run")) or (
                path.endswith("/messages") and method == "POST"
            )
            runs = runs or path.startswith("/export/")
            own = ["too_many_runs"] if runs else ["mails_spent"] if path.endswith("/email") else []
            codes = [example["value"]["code"] for example in examples_of.values()]
            assert codes == ["rate_limited", "authentication_limited", *own], path


def test_every_example_fits_its_schema() -> None:
    counted = 0
    for _, _, operation in DESCRIBED:
        bodies = [*operation["responses"].values(), *filter(None, [operation.get("requestBody")])]
        for content in (media for body in bodies for media in body.get("content", {}).values()):
            values = (
                [content["example"]] if "example" in content else [e["value"] for e in content["examples"].values()]
            )
            assert values
            for value in values:
                _validator(content["schema"]).validate(value)
                counted += 1
    assert counted > 100


def test_every_operation_has_an_example_of_all_that_it_requires() -> None:
    """Decision 1071."""
    for path, method, operation in DESCRIBED:
        for parameter in operation["parameters"]:
            if parameter.get("required"):
                assert parameter.get("example") is not None, (method, path, parameter["name"])
                _validator(parameter["schema"]).validate(parameter["example"])


def test_a_path_s_example_is_the_record_that_its_answer_shows() -> None:
    """Decision 1071."""
    for path, place in (("/exports/{export_id}", "export_id"), ("/chat/runs/{run_id}", "run_id")):
        read = DOCUMENT["paths"][path]["get"]
        [parameter] = [p for p in read["parameters"] if p.get("name") == place]
        assert parameter["example"] == read["responses"]["200"]["content"]["application/json"]["example"]["id"]
    [token] = [p for p in DOCUMENT["paths"]["/files/signed/{token}"]["get"]["parameters"] if p.get("name") == "token"]
    made = DOCUMENT["paths"]["/files/{file_id}/links"]["post"]["responses"]["201"]["content"]["application/json"]
    assert made["example"]["url"] == f"/files/signed/{token['example']}"


def test_the_examples_are_of_something() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert set(examples.ANSWERS) <= set(schemas)
    bodies = {m.__name__: o for o in OPERATIONS for m in (o.body, o.form) if m is not None}
    assert set(examples.BODIES) == {name for name, operation in bodies.items() if operation.example is None}


def test_the_records_have_the_documented_keys() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert list(schemas["Meeting"]["properties"]) == documented.MEETING
    assert list(schemas["Deal"]["properties"]) == documented.DEAL
    assert list(schemas["Account"]["properties"]) == documented.ACCOUNT
    assert list(schemas["Contact"]["properties"]) == documented.CONTACT
    assert list(schemas["CXReport"]["properties"]) == documented.CX_REPORT
    assert list(schemas["HealthSnapshot"]["properties"]) == documented.SNAPSHOT
    assert list(schemas["HealthFactor"]["properties"]) == documented.FACTOR
    assert list(schemas["Campaign"]["properties"]) == documented.CAMPAIGN
    assert list(schemas["OutreachDomain"]["properties"]) == documented.OUTREACH_DOMAIN
    assert list(schemas["Credential"]["properties"]) == documented.CREDENTIAL
    assert list(schemas["NewUserToken"]["properties"]) == [*documented.CREDENTIAL, "pat_key"]
    assert list(schemas["AccessToken"]["properties"]) == documented.ACCESS_TOKEN


def test_the_bodies() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert list(schemas["DealBody"]["properties"]) == [
        "name",
        "account_id",
        "value",
        "stage_id",
        "close_date",
        "currency",
        "geo_scope",
        "source",
        "champion_id",
        "notes",
        "parent_deal_id",
        "competitors",
    ]
    assert list(schemas["DealPatch"]["properties"]) == [
        "name",
        "account_id",
        "value",
        "stage_id",
        "close_date",
        "currency",
        "geo_scope",
        "source",
        "champion_id",
        "notes",
        "owner_id",
        "external_key",
    ]
    assert schemas["DealBody"]["required"] == ["name"]
    assert schemas["DealBody"]["properties"]["currency"]["default"] == "USD"
    assert "required" not in schemas["DealPatch"]
    assert schemas["DealPatch"]["properties"]["currency"] == {
        "type": "string",
        "pattern": "^[A-Za-z]{3}$",
        "description": "ISO 4217 code, in any letter case.",
    }
    assert list(schemas["CredentialCreate"]["properties"]) == ["name", "expires_at"]


def test_the_parameters_of_the_meetings() -> None:
    parameters = DOCUMENT["paths"]["/activities/meetings"]["get"]["parameters"]
    described = {p["name"]: p["schema"] for p in parameters if p.get("in") == "query"}
    assert described == {
        "from": {"type": "string", "format": "date-time"},
        "to": {"type": "string", "format": "date-time"},
        "owner_id": {"type": "string"},
        "account_id": {"type": "string"},
        "deal_id": {"type": "string"},
        "unlinked_account": {"type": "boolean", "default": False},
        "unlinked_deal": {"type": "boolean", "default": False},
        "order": {"type": "string", "default": "desc"},
        "limit": {"type": "integer", "minimum": 0, "default": 200},
        "offset": {"type": "integer", "minimum": 0, "default": 0},
    }
    everywhere = [{"$ref": f"#/components/parameters/{name}"} for name in ("Organization", "ReadAfter")]
    assert [p for p in parameters if "$ref" in p] == everywhere
