"""Checks outreach inputs (decision 49): names, messages, time zones, addresses, domains, local parts."""

import re
from typing import Annotated, ClassVar, Final

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from contract.limits import (
    CAMPAIGN_DAILY_LIMIT_MAX,
    CAMPAIGN_MAILBOXES_MAX,
    CAMPAIGN_NAME_MAX,
    CAMPAIGN_STEPS_MAX,
    DISPLAY_NAME_MAX,
    EMAIL_MAX,
    ENROLLMENT_VARIABLES_MAX,
    ENROLLMENTS_MAX,
    LINE_MAX,
    LOCAL_PART_MAX,
    STEP_BODY_MAX,
    STEP_DELAY_DAYS_MAX,
    STEP_SUBJECT_MAX,
)
from contract.time_zones import time_zones
from resolvers.shared.inputs import Input, Reference, storable
from resolvers.shared.told_at_once import EACH, leading, to_record
from storage.base import JsonDict
from storage.tables import Contact, Mailbox, OutreachDomain

_LOCAL_PART: Final = re.compile(r"[a-z0-9]+(?:[._+-][a-z0-9]+)*", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _one_line(text: str) -> str:
    if any(c in text for c in "\r\n"):
        raise ValueError("must be a single line")
    return text


def _zone(name: str) -> str:
    if name not in time_zones():
        raise ValueError("must be a time zone of the IANA database, such as Europe/Paris")
    return name


def _address(text: str) -> str:
    try:
        validate_email(text, check_deliverability=False)
    except EmailNotValidError:
        raise ValueError("must look like an e-mail address") from None
    return text


def address_key(address: str) -> str:
    """Makes the form that one address has in common with its other spellings: case folded, the domain in one form."""
    return validate_email(address, check_deliverability=False).normalized.casefold()


def _domain(text: str) -> str:
    """The name in ASCII and lower case, however it was written (IDNA)."""
    try:
        found = validate_email(f"x@{text.strip().rstrip('.')}", check_deliverability=False, test_environment=True)
    except EmailNotValidError:
        raise ValueError("must be a domain name, such as example.com") from None
    return str(found.ascii_domain).lower()


def _local_part(text: str) -> str:
    lower = text.lower()
    if _LOCAL_PART.fullmatch(lower) is None:
        raise ValueError("must be letters and digits, with single . _ + or - between them")
    return lower


def _variables(value: object) -> JsonDict:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    if len(value) > ENROLLMENT_VARIABLES_MAX:
        raise ValueError(f"must not have more than {ENROLLMENT_VARIABLES_MAX} names")
    for name, inner in value.items():
        if not isinstance(name, str) or _VARIABLE.fullmatch(name) is None:
            raise ValueError("names must be letters, digits and _, and begin with no digit")
        if isinstance(inner, str):
            if len(storable(inner)) > LINE_MAX:
                raise ValueError(f"{name} must have at most {LINE_MAX} characters")
        elif inner is not None and not isinstance(inner, bool | int | float):
            raise ValueError(f"{name} must be a text, a number, a boolean or null")
    return value


Name = Annotated[
    StrictStr,
    Field(min_length=1, max_length=CAMPAIGN_NAME_MAX),
    AfterValidator(storable),
    AfterValidator(_one_line),
    AfterValidator(_filled),
]
_Subject = Annotated[
    StrictStr,
    Field(min_length=1, max_length=STEP_SUBJECT_MAX),
    AfterValidator(storable),
    AfterValidator(_one_line),
    AfterValidator(_filled),
]
_Body = Annotated[
    StrictStr, Field(min_length=1, max_length=STEP_BODY_MAX), AfterValidator(storable), AfterValidator(_filled)
]
_Address = Annotated[StrictStr, Field(max_length=EMAIL_MAX), AfterValidator(storable), AfterValidator(_address)]
TimeZone = Annotated[StrictStr, AfterValidator(_zone)]
DailyLimit = Annotated[StrictInt, Field(ge=1, le=CAMPAIGN_DAILY_LIMIT_MAX)]
Variables = Annotated[JsonDict, BeforeValidator(_variables)]


class StepInput(Input):
    """A message, so many days after the one before it, or after the start."""

    delay_days: Annotated[StrictInt, Field(ge=0, le=STEP_DELAY_DAYS_MAX)] = 0
    subject: _Subject
    body: _Body


Steps = Annotated[list[StepInput], Field(max_length=CAMPAIGN_STEPS_MAX)]
Mailboxes = Annotated[list[Reference], Field(max_length=CAMPAIGN_MAILBOXES_MAX)]


@leading({("mailbox_ids", EACH): to_record(Mailbox)})
class CampaignCreate(Input):
    """A new campaign, a draft."""

    filled: ClassVar[tuple[str, ...]] = ("daily_limit", "timezone", "stop_on_reply")

    name: Name
    steps: Steps | None = None
    daily_limit: DailyLimit = 50
    timezone: TimeZone = "UTC"
    stop_on_reply: StrictBool = True
    mailbox_ids: Mailboxes | None = None


@leading({("mailbox_ids", EACH): to_record(Mailbox)})
class CampaignUpdate(Input):
    """Changes to a campaign; null empties steps and mailboxes."""

    filled: ClassVar[tuple[str, ...]] = ("name", "daily_limit", "timezone", "stop_on_reply")

    name: Name | None = None
    steps: Steps | None = None
    daily_limit: DailyLimit | None = None
    timezone: TimeZone | None = None
    stop_on_reply: StrictBool | None = None
    mailbox_ids: Mailboxes | None = None
    expected_version: int | None = None


class EnrollmentInput(Input):
    """A recipient; the variables fill the placeholders of the messages."""

    email: _Address
    contact_id: Reference | None = None
    variables: Variables = Field(default_factory=dict)


@leading({("contacts", EACH, "contact_id"): to_record(Contact)})
class Enrollments(Input):
    """Recipients."""

    contacts: Annotated[list[EnrollmentInput], Field(max_length=ENROLLMENTS_MAX)]


class DomainName(Input):
    """A domain."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=EMAIL_MAX), AfterValidator(_domain)]


@leading({("domain_id",): to_record(OutreachDomain)})
class MailboxCreate(Input):
    """A mailbox on a domain."""

    domain_id: Reference
    local_part: Annotated[StrictStr, Field(min_length=1, max_length=LOCAL_PART_MAX), AfterValidator(_local_part)]
    display_name: (
        Annotated[StrictStr, Field(max_length=DISPLAY_NAME_MAX), AfterValidator(storable), AfterValidator(_one_line)]
        | None
    ) = None
