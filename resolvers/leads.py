"""Leads: confirmed captures, and what a rep makes of them (specification 4.2)."""

from typing import Annotated, Any, ClassVar

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from contract.criteria import ListQuery, Selection
from contract.errors import InvalidState, NotFound
from contract.lead_states import LeadMove, refusal
from contract.limits import (
    CAPTURE_MAX_BYTES,
    CARD_ID_MAX,
    LEAD_NAME_MAX,
    LINE_MAX,
    PHONE_MAX,
    TAG_MAX,
    TAGS_MAX,
)
from contract.normal_form import folded, is_invisible
from contract.scopes import ScopeGroup
from contract.vocabulary import CaptureSource, LeadStatus, TaggedKind
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import (
    Domain,
    Email,
    Given,
    Input,
    Line,
    Text,
    bounded,
    json_object,
    not_null,
    storable,
    trimmed,
)
from resolvers.shared.keys import check_key, of_one_record
from resolvers.shared.lists import PageResult, by_id, page_of
from resolvers.shared.record_inputs import fields_of
from resolvers.shared.tagging import Name as TagName
from resolvers.shared.tagging import put_names
from storage.base import JsonDict
from storage.columns import UPDATE
from storage.new_rows import new_row
from storage.queries import history, listables, records
from storage.queries import leads as statements
from storage.queries import tags as tagging
from storage.rows import LeadRow
from storage.tables import Lead
from storage.tenancy.sessions import TenantSession


def _once(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tag for tag in tags if not is_invisible(tag)))


def _is_blank(name: str, value: object) -> bool:
    if name == "tags" and isinstance(value, list) and value:
        return all(_is_blank("tag", tag) for tag in value)
    return isinstance(value, str) and (is_invisible(value) if name == "tag" else not value.strip())


def _without_blanks(fields: object) -> object:
    """The fields of a form that sends all that it has: what is blank of the optional ones was not filled in.

    `card_id` stays, for its least length is the specification's. Tags that are nothing but blanks are blank.
    """
    if not isinstance(fields, dict):
        return fields
    return {name: value for name, value in fields.items() if name in _NEVER_BLANK or not _is_blank(name, value)}


def _capture(value: object) -> orjson.Fragment | None:
    """The payload as the JSON text that is kept, to the last digit of its numbers."""
    if value is None:
        return None
    return orjson.Fragment(json_object(value, CAPTURE_MAX_BYTES)[1])


Name = Annotated[str, trimmed(LEAD_NAME_MAX), AfterValidator(storable)]
CardId = Annotated[str, bounded(CARD_ID_MAX, shortest=1), AfterValidator(storable)]
Phone = Annotated[str, bounded(PHONE_MAX), AfterValidator(storable)]
Tags = Annotated[list[TagName], Field(max_length=TAGS_MAX), AfterValidator(_once)]
CapturedTag = Annotated[str, trimmed(TAG_MAX, shortest=0), AfterValidator(storable)]
CapturedTags = Annotated[list[CapturedTag], Field(max_length=TAGS_MAX), AfterValidator(_once)]
Capture = Annotated[
    Any, BeforeValidator(_capture, json_schema_input_type=JsonDict | None)  # Any: pydantic knows no fragments
]
Reason = Annotated[str, trimmed(LINE_MAX), AfterValidator(storable)]

_NEVER_BLANK = ("card_id", "name")


class CardCapture(Input):
    """The fields of a scanned card or badge as a rep confirmed them (specification 4.2; decisions 38 and 206)."""

    _filled_in = model_validator(mode="before")(_without_blanks)

    card_id: CardId | None = None
    name: Name
    title: Line | None = None
    company: Line | None = None
    company_domain: Domain | None = None
    email: Email | None = None
    phone: Phone | None = None
    linkedin: Line | None = None
    notes: Text | None = None
    tags: CapturedTags | None = None
    capture_payload: Capture = None
    source: CaptureSource = CaptureSource.SCAN_CARD


class LeadEntry(CardCapture):
    """The same in GraphQL, where a new lead was written by hand unless it says otherwise."""

    source: CaptureSource = CaptureSource.MANUAL


class LeadFields(Input):
    """The fields of a lead that are bounded otherwise than their columns."""

    name: Name | None = None
    phone: Phone | None = None
    tags: Tags | None = None
    status: LeadStatus | None = None


@fields_of(Lead, UPDATE)
class LeadUpdate(LeadFields):
    """Changes to a lead; null clears a field that may be empty."""

    filled: ClassVar[tuple[str, ...]] = ("name", "status")


class Disqualification(Input):
    """Why a lead comes to nothing."""

    reason: Reason


@requires(ScopeGroup.CRM_READ, finds=(listables.LEADS,))
async def get_lead(ctx: Context, lead_id: str, selection: Selection | None = None) -> LeadRow | None:
    """The lead, or None."""
    return await by_id(ctx, listables.LEADS, lead_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_leads(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[LeadRow]:
    """A page of the leads; their capture payloads are read only where they are selected."""
    return await page_of(ctx, listables.LEADS, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def confirm_capture(ctx: Context, input: CardCapture) -> Lead:
    """Write the lead of a capture. The same card again is the same lead, whatever its state, with these fields.

    However many requests race for a card, one makes the lead and the others change it.
    """
    fields = _values(input)
    values = {"source": input.source.value, **fields, "owner_id": ctx.caller.subject, "org_id": ctx.org_id}
    made = new_row(Lead, **values)
    async with ctx.writing() as session:
        lead = made
        if await records.insert_missing(session, made):
            if made.tags:
                names = await put_names(session, TaggedKind.LEAD, made.id, made.tags)
                await tagging.copy_names(session, Lead.id == made.id)
                lead = changes.as_changed(made, {"tags": names})
            await changes.append_event(ctx, session, "lead_created", _created(made))
        else:
            lead = await _of_card(session, input)
            await _retag(session, lead, fields)
            lead = await _change(ctx, session, lead, fields)
    ctx.forget()
    return lead


async def _of_card(session: TenantSession, input: CardCapture) -> Lead:
    lead = await statements.of_card(session, input.card_id or "")
    if lead is None:
        raise NotFound(field=("input", "card_id"))
    return lead


async def _change(ctx: Context, session: TenantSession, lead: Lead, fields: Given) -> Lead:
    """Apply the fields and note what differs; nothing where nothing does (decision 20). The lead then."""
    payload = fields.get("capture_payload")
    if payload is not None and orjson.loads(orjson.dumps(payload)) == lead.capture_payload:
        fields = {name: value for name, value in fields.items() if name != "capture_payload"}
    after, changed = await changes.apply(session, lead, fields)
    if changed:
        data, told = {"lead_id": lead.id, "changed": changed}, history.edited(lead, after)
        await changes.append_event(ctx, session, "lead_updated", data, told=told)
    return after


async def _retag(session: TenantSession, lead: Lead, fields: Given) -> None:
    """Have the lead the given tags, in the spelling that the tags have; where it has them, nothing is written."""
    if "tags" in fields:
        named = fields["tags"]
        if list(dict.fromkeys(map(folded, named))) != list(map(folded, lead.tags)):
            fields["tags"] = await put_names(session, TaggedKind.LEAD, lead.id, named)
        else:
            fields["tags"] = lead.tags


def _values(input: CardCapture | LeadUpdate) -> Given:
    fields = input.given()
    if "tags" in fields:
        fields["tags"] = fields["tags"] or []
    for name in ("source", "status"):
        if fields.get(name) is not None:
            fields[name] = fields[name].value
    return fields


def _created(lead: Lead) -> JsonDict:
    """Makes the data of the change log's event on a new lead."""
    return {
        "lead_id": lead.id,
        "name": lead.name,
        "company": lead.company,
        "email": lead.email,
        "source": lead.source,
        "card_id": lead.card_id,
        "owner_id": lead.owner_id,
    }


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_lead(ctx: Context, lead_id: str, input: LeadUpdate) -> Lead:
    """Change a lead. Raises NotFound, Problems, PreconditionFailed for a stale version, or InvalidState."""
    fields = _values(input)
    version = fields.pop("expected_version", None)
    not_null(fields, *input.filled)
    with of_one_record(fields):
        async with ctx.writing() as session:
            lead = await to_change(session, lead_id)
            changes.expect(lead, version)
            if fields.get("status", lead.status) != lead.status:
                check_move(lead, LeadMove.UPDATE, LeadStatus(fields["status"]), field=("input", "status"))
            await changes.check_references(session, fields, {})
            await check_key(session, Lead, fields, lead.id)
            await _retag(session, lead, fields)
            lead = await _change(ctx, session, lead, fields)
    ctx.forget()
    return lead


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def disqualify_lead(ctx: Context, lead_id: str, input: Disqualification) -> Lead:
    """Give a lead up. Again for the same reason changes nothing; otherwise raises InvalidState (decision 37)."""
    async with ctx.writing() as session:
        lead = await to_change(session, lead_id)
        if (lead.status, lead.disqualified_reason) != (LeadStatus.DISQUALIFIED.value, input.reason):
            check_move(lead, LeadMove.DISQUALIFY, LeadStatus.DISQUALIFIED)
            fields = {"status": LeadStatus.DISQUALIFIED.value, "disqualified_reason": input.reason}
            before, (lead, _) = lead, await changes.apply(session, lead, fields)
            data, told = {"lead_id": lead.id, "reason": input.reason}, history.edited(before, lead)
            await changes.append_event(ctx, session, "lead_disqualified", data, told=told)
    ctx.forget()
    return lead


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def reopen_lead(ctx: Context, lead_id: str) -> Lead:
    """Take a disqualified lead up again, as one that is worked on. Raises InvalidState for any other."""
    async with ctx.writing() as session:
        lead = await to_change(session, lead_id)
        check_move(lead, LeadMove.REOPEN, LeadStatus.WORKING)
        fields = {"status": LeadStatus.WORKING.value, "disqualified_reason": None}
        before, (lead, _) = lead, await changes.apply(session, lead, fields)
        told = history.edited(before, lead)
        await changes.append_event(ctx, session, "lead_reopened", {"lead_id": lead.id}, told=told)
    ctx.forget()
    return lead


async def to_change(session: TenantSession, lead_id: str, *, field: tuple[str, ...] = ("id",)) -> Lead:
    """The lead, locked against other writers. Raises NotFound."""
    lead = await records.lock_for_update(session, Lead, lead_id)
    if lead is None:
        raise NotFound(field=field)
    return lead


def check_move(lead: Lead, move: LeadMove, after: LeadStatus, *, field: tuple[str, ...] = ("id",)) -> None:
    """Raise InvalidState where the operation cannot take the lead from its state to the other (decision 37)."""
    reason = refusal(move, LeadStatus(lead.status), after)
    if reason is not None:
        raise InvalidState(reason, field=field)
