"""Serves the upserts: up to 1,000 rows of another system in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from contract.bulk_vocabulary import BulkOutcome
from contract.errors import Problem
from contract.limits import UPSERT_ROWS_MAX
from resolvers.shared.inputs import Input
from resolvers.upsert_rows import AccountUpsert, ContactUpsert, DealUpsert, LeadUpsert
from resolvers.upserts import (
    AccountsUpsert,
    ContactsUpsert,
    DealsUpsert,
    LeadsUpsert,
    Upserted,
    upsert_accounts,
    upsert_contacts,
    upsert_deals,
    upsert_leads,
)
from rest_compat.bodies import ignored_header
from rest_compat.operations import Handler, Resolver, RestOperation, RestRequest, RestResponse
from rest_compat.schemas import ROW_PROBLEM_SCHEMA, JsonObject, enumerated, or_null, record_schema

_COUNT: Final = {"type": "integer", "minimum": 0}
UPSERTED_SCHEMA: Final = record_schema(
    {
        "results": {
            "type": "array",
            "description": "One for each row, in their order.",
            "items": record_schema(
                {
                    "index": {**_COUNT, "description": "The row's place in the body, from 0."},
                    "outcome": enumerated(BulkOutcome),
                    "id": or_null(
                        {"type": "string", "format": "uuid"},
                        "The record; null where the row failed, and where a dry run would create it.",
                    ),
                    "external_key": or_null({"type": "string"}, "The key in another system."),
                    "errors": {"type": "array", "items": ROW_PROBLEM_SCHEMA},
                },
                "What came of one row.",
            ),
        },
        **{outcome.value: _COUNT for outcome in BulkOutcome},
        "dry_run": {"type": "boolean", "description": "Whether nothing was written on purpose."},
    },
    "What came of the rows.",
)


def problem_of(problem: Problem) -> JsonObject:
    """Returns a problem of a row as paths tell it (decision 414)."""
    return {"field": list(problem.path), "msg": problem.words(), "type": problem.type}


def _shown(done: Upserted) -> JsonObject:
    results = [
        {
            "index": result.index,
            "outcome": result.outcome.value,
            "id": result.id,
            "external_key": result.external_key,
            "errors": [problem_of(problem) for problem in result.errors],
        }
        for result in done.results
    ]
    counts = {outcome.value: done.number(outcome) for outcome in BulkOutcome}
    return {"results": results, **counts, "dry_run": done.dry_run}


def _ignored(rows: Sequence[object], row: type[Input]) -> Mapping[str, str]:
    """Returns the header that names what rows have and records do not (decision 991)."""
    named = dict.fromkeys(chain.from_iterable(fields for fields in rows if isinstance(fields, Mapping)))
    unknown = ignored_header([name for name in named if name not in row.model_fields])
    return {"X-Ignored-Fields": unknown} if unknown else {}


def _operation(noun: str, resolver: Resolver, body: type[Input], row: type[Input], match: str) -> RestOperation:
    async def upsert(call: RestRequest) -> RestResponse:
        """Writes the rows; answers with what came of each."""
        done = await resolver(call.ctx, call.body)
        return RestResponse(_shown(done), _ignored(call.body.rows, row))

    handler: Handler = upsert
    return RestOperation(
        "POST",
        f"/{noun}/upsert",
        handler,
        f"Upsert {noun}",
        resolver=resolver,
        body=body,
        answer="Upserted",
        graphql_field=f"Mutation.{noun}Upsert",
        description=f"1 to {UPSERT_ROWS_MAX:,} rows in one transaction, by external key{match} or id. What is wrong "
        "with a row is in its result, whatever the status; with policy=all_or_nothing one bad row is a 422 and nothing "
        "is written. A body has at most 4 MiB.",
        response_headers=("X-Ignored-Fields",),
        errors=(409,),
        operation_id=f"upserts_{noun}",
    )


OPERATIONS: Final = (
    _operation("accounts", upsert_accounts, AccountsUpsert, AccountUpsert, ", domain"),
    _operation("contacts", upsert_contacts, ContactsUpsert, ContactUpsert, ", e-mail address"),
    _operation("deals", upsert_deals, DealsUpsert, DealUpsert, ""),
    _operation("leads", upsert_leads, LeadsUpsert, LeadUpsert, ", e-mail address"),
)
