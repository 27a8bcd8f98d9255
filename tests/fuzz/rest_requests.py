"""Random requests on the documented paths: right in form mostly, with records that are there mostly."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from tests.fuzz.values import DATES, INTEGERS, JSONS, MOMENTS, NUMBERS, TEXTS, Values
from tests.support.record_types import record_types

KINDS = {
    "deal_id": "Deal",
    "contact_id": "Contact",
    "account_id": "Account",
    "lead_id": "Lead",
    "job_id": "Job",
    "campaign_id": "Campaign",
    "run_id": "ResearchRun",
    "result_id": "ResearchResult",
    "stage_id": "PipelineStage",
    "champion_id": "Contact",
    "parent_deal_id": "Deal",
    **{f"{record.name.replace(' ', '_')}_id": record.typename for record in record_types()},
    "report_id": "Report",
    "activity_id": "Meeting",  # of which there are the most
}


@dataclass(frozen=True)
class RestRequest:
    """A request but for its credential."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]


class RestRequests:
    """Makes requests on the paths of an OpenAPI document."""

    def __init__(self, document: dict[str, Any], values: Values, *, without: frozenset[str]) -> None:
        self.document = document
        self.values = values
        self.operations = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if path not in without
        ]

    def request(self) -> RestRequest:
        """One on any of the paths."""
        values = self.values
        method, path, operation = values.one(self.operations)
        query, headers = [], {}
        for parameter in operation.get("parameters", ()):
            name, place = parameter.get("name"), parameter.get("in")
            if place == "path":
                text = values.identifier(KINDS.get(name, _owner(path)))
                path = path.replace(f"{{{name}}}", quote(text.encode(errors="replace"), safe="") or "-")
            elif place == "query" and values.chance(30):
                query.append((name, self._parameter(name, parameter["schema"])))
            elif place == "header" and name != "Range" and values.chance(20):
                headers[name] = values.one(('"1"', '"2"', "*", 'W/"1"', "x", ""))
        body = None
        if content := operation.get("requestBody", {}).get("content", {}).get("application/json"):
            headers["Content-Type"] = "application/json"
            body = _encoded(self._value(content["schema"], ""))
        target = f"{path}?{urlencode(query, errors='replace')}" if query else path
        return RestRequest(method, target, body, headers)

    def _parameter(self, name: str, schema: dict[str, Any]) -> str:
        value = self._value(schema, name)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _value(self, schema: dict[str, Any], name: str) -> Any:
        values = self.values
        if "$ref" in schema:
            found: Any = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            return self._value(found, name)
        if values.chance(2):
            return values.one(JSONS)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self._value(values.one(choices), name)
        if "enum" in schema:
            return values.one(schema["enum"])
        if "const" in schema:
            return schema["const"]
        match schema.get("type"):
            case "object":
                return self._object(schema)
            case "array":
                return [self._value(schema.get("items", {}), name) for _ in range(values.one((0, 1, 2, 3)))]
            case "integer":
                return values.random.randint(0, 6) if values.chance(70) else values.one(INTEGERS)
            case "number":
                return values.one([number for number in NUMBERS if not isinstance(number, str)])
            case "boolean":
                return values.chance(50)
            case "null":
                return None
            case "string":
                return self._text(schema, name)
        return values.one(JSONS)

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        made = {
            name: self._value(inner, name)
            for name, inner in schema.get("properties", {}).items()
            if self.values.chance(97 if name in required else 40)
        }
        if self.values.chance(5):
            made[self.values.one(TEXTS)] = 1
        return made

    def _text(self, schema: dict[str, Any], name: str) -> str:
        if name in KINDS:
            return self.values.identifier(KINDS[name])
        match schema.get("format"):
            case "date":
                return str(self.values.one(DATES))
            case "date-time":
                return str(self.values.one(MOMENTS))
        return self.values.text(name)


def _owner(path: str) -> str:
    return "OrganizationKey" if path.startswith("/organization-pats") else "UserToken" if "user-pats" in path else ""


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()
