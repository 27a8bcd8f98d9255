"""Shows what a proposed write would do: the record as it is, and as it would be, read and never written (decision 502).

Names are those of GraphQL; a reference is shown by the name of what it leads to, under the field's name without `Id`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from contract.canonical_json import Json
from contract.errors import NotFound, PreconditionFailed
from contract.tool_answers import ToolProposal
from contract.vocabulary import LeadStatus
from resolvers.deals import LinkInput
from resolvers.lead_conversion import LeadConversion
from resolvers.notes import NoteCreate
from resolvers.shared import changes
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input
from resolvers.shared.record_inputs import references_of
from resolvers.shared.writing import standing
from storage.base import JsonDict, Record, as_uuid
from storage.columns import Column, Kind, columns_of
from storage.new_rows import model_named, model_of
from storage.queries import deals as deal_statements
from storage.queries import merged_ids
from storage.tables import Account, Activity, Contact, Deal, Lead, Person, PipelineStage
from storage.tenancy.sessions import TenantSession

MODELS: Final[Mapping[str, type[Record]]] = {
    "account": Account,
    "contact": Contact,
    "deal": Deal,
    "lead": Lead,
    "meeting": Activity,
}
"""The tables of the kinds that tools write to."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The preview of a write: the record, where there is one, and its fields before and after."""

    kind: str
    record: Record | None
    label: str
    before: JsonDict | None
    after: JsonDict

    @property
    def record_id(self) -> str | None:
        """The record's identifier."""
        return None if self.record is None else self.record.id

    @property
    def version(self) -> int | None:
        """The record's version."""
        return None if self.record is None else int(getattr(self.record, "version"))  # noqa: B009  # which each kind has

    @property
    def told(self) -> JsonDict:
        """The preview as the event and the surfaces have it."""
        return {
            "kind": self.kind,
            "id": self.record_id,
            "label": self.label,
            "before": self.before,
            "after": self.after,
        }


async def preview_of(ctx: Context, proposal: ToolProposal) -> Preview:
    """The preview. Raises NotFound, PreconditionFailed for another version, and Problems for a wrong reference."""
    async with ctx.writing() as session:  # nothing is written: references are held until they have been looked at
        return await _PREVIEWS[proposal.resolver](session, *proposal.given)


async def check_unchanged(
    session: TenantSession, kind: str, record_id: str, version: int | None, *, lock: bool = False
) -> None:
    """Raise PreconditionFailed where the record is gone, or has another version; `lock` keeps it so until the end."""
    record = await session.find(MODELS[kind], id=record_id, lock=lock)
    if record is None or getattr(record, "version") != version:  # noqa: B009  # which each kind has
        raise PreconditionFailed()


def _creates(kind: str) -> "_Maker":
    async def preview(session: TenantSession, input: Input) -> Preview:
        model, fields = MODELS[kind], input.given()
        fields |= await changes.check_references(session, fields, references_of(model))
        after = await _shown(session, model, fields)
        names = [fields.get("name")] if "name" in fields else [fields.get("first_name"), fields.get("last_name")]
        return Preview(kind, None, " ".join(filter(None, names)), None, after)

    return preview


def _updates(kind: str) -> "_Maker":
    async def preview(session: TenantSession, identifier: str, input: Input) -> Preview:
        model, fields = MODELS[kind], input.given()
        record = await _found(session, kind, identifier)
        changes.expect(record, fields.pop("expected_version", None))
        fields |= await changes.check_references(session, fields, references_of(model))
        if model is Deal and fields.get("stage_id") is not None:
            stage = await session.find(PipelineStage, id=fields["stage_id"])
            status = {} if stage is None else standing(stage.type, record.updated_at, record)  # type: ignore[attr-defined]  # of a deal
            fields |= {"status": status["status"]} if status else {}
        before = {name: getattr(record, name, None) for name in fields}
        return Preview(
            kind, record, _label(record), await _shown(session, model, before), await _shown(session, model, fields)
        )

    return preview


async def _note(session: TenantSession, input: NoteCreate) -> Preview:
    given = input.given()
    kind = next(name for name in ("account", "contact", "deal") if given.get(f"{name}_id") is not None)
    record = await _found(session, kind, given[f"{kind}_id"])
    return Preview(kind, record, _label(record), {"note": None}, {"note": input.body})


async def _link(session: TenantSession, deal_id: str, contact_id: str, input: LinkInput) -> Preview:
    deal = await _found(session, "deal", deal_id, at="deal_id")
    contact = await _found(session, "contact", contact_id, at="contact_id")
    link = await deal_statements.link(session, deal.id, contact.id)
    given, name = input.given(), _label(contact)
    if link is None:
        before: JsonDict = {"contact": None, "role": None, "isPrimary": None}
        after: JsonDict = {"contact": name, "role": input.role, "isPrimary": input.is_primary}
    else:
        before = {"contact": name, "role": link.role, "isPrimary": link.is_primary}
        after = before | {_camel(field): value for field, value in given.items()}
    return Preview("deal", deal, _label(deal), before, after)


async def _conversion(session: TenantSession, lead_id: str, input: LeadConversion) -> Preview:
    lead = await _found(session, "lead", lead_id)
    into: JsonDict = {}
    for kind in ("account", "contact", "deal"):  # three at most
        identifier = getattr(input, f"{kind}_id")
        into[kind] = None if identifier is None else _label(await _found(session, kind, identifier, at=f"{kind}_id"))
    new = {"account": getattr(lead, "company", None) or _label(lead), "contact": _label(lead), "deal": input.deal_name}
    after = {kind: into[kind] or (None if new[kind] is None else f"{new[kind]} (new)") for kind in into}
    before = {"status": lead.status.upper(), **dict.fromkeys(into)}  # type: ignore[attr-defined]  # of a lead
    return Preview("lead", lead, _label(lead), before, {"status": LeadStatus.CONVERTED.name, **after})


_Maker = Callable[..., Awaitable[Preview]]
_PREVIEWS: Final[Mapping[str, _Maker]] = {
    "accounts.create_account": _creates("account"),
    "contacts.create_contact": _creates("contact"),
    "deals.create_deal": _creates("deal"),
    "accounts.update_account": _updates("account"),
    "contacts.update_contact": _updates("contact"),
    "deals.update_deal": _updates("deal"),
    "leads.update_lead": _updates("lead"),
    "meetings.update_meeting": _updates("meeting"),
    "notes.create_note": _note,
    "deals.link_contact": _link,
    "lead_conversion.convert_lead": _conversion,
}
"""The resolvers of the tools that write, each with what shows its call; a test compares them."""
PREVIEWED: Final = frozenset(_PREVIEWS)


async def _found(session: TenantSession, kind: str, identifier: str, *, at: str = "id") -> Record:
    """The record, or the one that it went into (decision 435). Raises NotFound."""
    model, canonical = MODELS[kind], as_uuid(identifier)
    record = None if canonical is None else await session.find(model, id=canonical)
    if record is None and (stays := await merged_ids.stays(session, model, identifier)) is not None:
        record = await session.find(model, id=stays)
    if record is None or (kind == "meeting" and getattr(record, "type") != "meeting"):  # noqa: B009  # of an activity
        raise NotFound(field=(at,))
    return record


async def _shown(session: TenantSession, model: type[Record], fields: Given) -> JsonDict:
    """The fields as clients read them."""
    columns = {column.name: column for column in columns_of(model)}
    shown: JsonDict = {}
    for name, value in fields.items():  # the look-up of a reference is by its key, and a write has a few at most
        column = columns.get(name)
        if column is not None and column.kind is Kind.REFERENCE:
            shown[_camel(name.removesuffix("_id"))] = await _name_of(session, column, value)
        elif name == "owner_id":
            person = None if value is None else await session.find(Person, id=value)
            shown["owner"] = value if person is None else person.name or value
        else:
            shown[_camel(name)] = _plain(value, column)
    return shown


async def _name_of(session: TenantSession, column: Column, identifier: str | None) -> str | None:
    canonical = as_uuid(identifier)
    if canonical is None or column.to is None:
        return identifier
    record: Record | None = await session.find(model_named(column.to), id=canonical)
    return identifier if record is None else _label(record)


def _label(record: Record) -> str:
    """The name of a record."""
    model = model_of(record)
    if model is Contact:
        names = getattr(record, "first_name"), getattr(record, "last_name")  # noqa: B009  # of a contact
        return " ".join(filter(None, names))
    return str(getattr(record, "subject" if model is Activity else "name") or "")


def _plain(value: object, column: Column | None) -> Json:
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return value.name
    if isinstance(value, Input):
        return {_camel(name): _plain(inner, None) for name, inner in value.given().items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner, None) for inner in value]
    if isinstance(value, str) and column is not None and not isinstance(column.kind, Kind):
        return column.kind(value).name  # a word of a vocabulary
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
