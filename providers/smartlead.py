"""Smartlead, by its API v1 (https://api.smartlead.ai): a key in the query, campaigns put together call by call.

A campaign's content cannot change while it is active, and an active campaign cannot be deleted, so both pause first.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from contract.vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.provider_http import DEADLINE, PAUSE, Api, list_of, text_of
from providers.sequencing import (
    DomainState,
    Garbage,
    Gone,
    Lead,
    Move,
    Outline,
    Progress,
    Refused,
    Running,
    State,
)

URL: Final = "https://server.smartlead.ai/"
SENDERS_URL: Final = "https://smart-senders.smartlead.ai/"
ASKS_AGAIN: Final = timedelta(minutes=5)
_NAME: Final = "Smartlead"
_PAGE: Final = 100
_PAGES_MAX: Final = 1_000

_STATES: Final = {
    "ACTIVE": State.RUNNING,
    "COMPLETED": State.COMPLETED,
    "DRAFTED": State.STOPPED,
    "PAUSED": State.STOPPED,
    "STOPPED": State.STOPPED,
    "ARCHIVED": State.STOPPED,
}
_LEADS: Final = {
    "STARTED": EnrollmentStatus.PENDING,
    "INPROGRESS": EnrollmentStatus.ACTIVE,
    "COMPLETED": EnrollmentStatus.COMPLETED,
    "PAUSED": EnrollmentStatus.PAUSED,
    "STOPPED": EnrollmentStatus.FAILED,
    "BLOCKED": EnrollmentStatus.BOUNCED,
}
_MARKS: Final = (
    ("is_bounced", EnrollmentStatus.BOUNCED),
    ("is_unsubscribed", EnrollmentStatus.UNSUBSCRIBED),
    ("is_replied", EnrollmentStatus.REPLIED),
)
"""The lists that say what became of a lead; a later one has the last word."""


def _now() -> datetime:
    return datetime.now(UTC)


class SmartleadSequencing:
    """The provider; `key` is the account's API key. An address of one's own is that of both of its services."""

    name = "smartlead"

    def __init__(
        self,
        key: str,
        url: str | None = None,
        *,
        deadline: float = DEADLINE,
        pause: float = PAUSE,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        params = {"api_key": key}
        self._api = Api(_NAME, url or URL, params=params, deadline=deadline, pause=pause)
        self._senders = Api(_NAME, url or SENDERS_URL, params=params, deadline=deadline, pause=pause)
        self._clock = clock

    async def find(self, key: str) -> str | None:
        """Finds the campaign by its identifier at the end of the name; the list has no pages."""
        for campaign in list_of(await self._call("GET", "campaigns/"), _NAME):
            if str(campaign.get("name", "")).endswith(_mark(key)):
                return text_of(campaign, "id", _NAME)
        return None

    async def create(self, sequence: Outline) -> str:
        """A draft with nothing but a name; `update` makes it the sequence."""
        made = await self._call("POST", "campaigns/create", body={"name": f"{sequence.name}{_mark(sequence.key)}"})
        return text_of(made, "id", _NAME)

    async def update(self, sequence_id: str, sequence: Outline) -> None:
        """Messages, schedule, settings and senders, each by a call of its own that may be repeated."""
        path = _campaign_path(sequence_id)
        if await self._state(sequence_id) is State.RUNNING:
            await self.pause(sequence_id)
        settings: dict[str, Any] = {
            "name": f"{sequence.name}{_mark(sequence.key)}",
            "sending_limit": sequence.daily_limit,
            "stop_lead_settings": "REPLY_TO_AN_EMAIL" if sequence.stop_on_reply else "NEVER",
        }
        schedule = {
            "timezone": sequence.timezone,
            "days": list(range(7)),
            "start_hour": "09:00",
            "end_hour": "17:00",
        }
        await self._call("POST", f"{path}/settings", body=settings, repeat=True)
        await self._call("POST", f"{path}/schedule", body={"schedule": schedule}, repeat=True)
        await self._messages(path, sequence)
        await self._mailboxes(path, sequence.mailboxes)

    async def activate(self, sequence_id: str) -> None:
        """Start, or resume."""
        await self._status(sequence_id, "START")

    async def pause(self, sequence_id: str) -> None:
        """Pause."""
        await self._status(sequence_id, "PAUSED")

    async def delete(self, sequence_id: str) -> None:
        """Stop, since an active campaign is not deleted, then delete."""
        if await self._state(sequence_id) is State.RUNNING:
            await self._status(sequence_id, "STOPPED")
        await self._call("DELETE", _campaign_path(sequence_id), repeat=True)

    async def add_leads(self, sequence_id: str, leads: Sequence[Lead]) -> None:
        """Adds them in one call; Smartlead passes over those that are in the campaign, so that it may be repeated."""
        body = {
            "lead_list": [_lead(lead) for lead in leads],
            "settings": {"ignore_duplicate_leads_in_other_campaign": True},
        }
        await self._call("POST", f"{_campaign_path(sequence_id)}/leads", body=body, repeat=True)

    async def remove_lead(self, sequence_id: str, email: str) -> None:
        """Removes it by the lead's identifier, which only the campaign's list has."""
        async for lead in self._leads(sequence_id):
            if str(lead["lead"].get("email", "")).casefold() == email.casefold():
                path = f"{_campaign_path(sequence_id)}/leads/{quote(text_of(lead['lead'], 'id', _NAME), safe='')}"
                with suppress(Gone):
                    await self._call("DELETE", path, repeat=True)
                return

    async def progress(self, running: Running) -> Progress:
        """The campaign's status, and the leads' by the lists that tell it."""
        state = await self._state(running.sequence_id)
        found: dict[str, EnrollmentStatus] = {}
        async for lead in self._leads(running.sequence_id):
            status = _LEADS.get(str(lead.get("status")))
            if isinstance(email := lead["lead"].get("email"), str) and status is not None:
                found[email] = status
        for mark, status in _MARKS:
            async for lead in self._leads(running.sequence_id, emailStatus=mark):
                if isinstance(email := lead["lead"].get("email"), str):
                    found[email] = status
        moves = [Move(email, status) for email, status in found.items()]
        return Progress(state, moves, self._clock() + ASKS_AGAIN)

    async def blocked(self, sequence_id: str | None) -> str | None:
        """Smartlead blocks by refusing: whether it still does."""
        try:
            if sequence_id is None:
                await self._call("GET", "email-accounts/", params={"limit": 1})
            else:
                await self._state(sequence_id)
        except Refused as error:
            return error.words
        return None

    async def purchase_domain(self, name: str) -> DomainState:
        """A domain that was bought in Smartlead's marketplace; buying there needs a person (decision 54)."""
        answer = await self._senders.call("GET", "api/v1/smart-senders/get-domain-list")
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list):
            raise Garbage(f"{_NAME} gave an answer without its list")
        if name in {_domain_name(item) for item in data}:
            return DomainState(DomainStatus.ACTIVE)
        raise Refused(f"{_NAME} sells domains in its marketplace: buy it there, then ask again")

    async def provision_mailbox(self, address: str, display_name: str | None) -> MailboxStatus:
        """A mailbox that is connected to Smartlead; connecting one needs its password (decision 54)."""
        try:
            account = await self._account(address)
        except Gone:
            raise Refused(f"{_NAME} has no such mailbox: connect it there, then ask again") from None
        marks = [account.get(name) for name in ("is_smtp_success", "is_imap_success")]
        if not all(isinstance(mark, bool) for mark in marks):
            raise Garbage(f"{_NAME} gave an answer without the mailbox's state")
        return MailboxStatus.ACTIVE if all(marks) else MailboxStatus.ERROR

    async def close(self) -> None:
        """Let go of the connections."""
        await self._api.close()
        await self._senders.close()

    async def _call(self, method: Any, path: str, **options: Any) -> Any:
        answer = await self._api.call(method, f"api/v1/{path}", **options)
        if isinstance(answer, dict) and (answer.get("success") is False or answer.get("ok") is False):
            raise Refused(f"{_NAME} does not accept the request")  # said in an answer with the status of a success
        return answer

    async def _status(self, sequence_id: str, status: str) -> None:
        await self._call("POST", f"{_campaign_path(sequence_id)}/status", body={"status": status}, repeat=True)

    async def _state(self, sequence_id: str) -> State:
        campaign = await self._call("GET", _campaign_path(sequence_id))
        status = campaign.get("status") if isinstance(campaign, dict) else None
        if not isinstance(status, str) or status not in _STATES:
            raise Garbage(f"{_NAME} gave an answer without a known status")
        return _STATES[status]

    async def _messages(self, path: str, sequence: Outline) -> None:
        """Messages keep their identifiers by their numbers, or a repeated call would make them twice."""
        known = {
            item.get("seq_number"): item.get("id")
            for item in _listed(await self._call("GET", f"{path}/sequences"), _NAME)
        }
        if len(known) > len(sequence.steps):
            raise Refused(f"{_NAME} cannot take messages away from a campaign")
        messages = [
            {
                "id": known.get(number),
                "seq_number": number,
                "subject": step.subject,
                "email_body": step.body.replace("\n", "<br/>"),
                "seq_delay_details": {"delay_in_days": step.delay_days},
            }
            for number, step in enumerate(sequence.steps, 1)
        ]
        await self._call("POST", f"{path}/sequences", body={"sequences": messages})

    async def _mailboxes(self, path: str, addresses: Sequence[str]) -> None:
        """Let the campaign's senders be these."""
        wanted = set()
        for address in addresses:
            try:
                wanted.add(text_of(await self._account(address), "id", _NAME))
            except Gone:
                raise Refused(f"{_NAME} has no mailbox {address}") from None
        now = {text_of(item, "id", _NAME) for item in _listed(await self._call("GET", f"{path}/email-accounts"), _NAME)}
        for method, ids in (("POST", wanted - now), ("DELETE", now - wanted)):
            if ids:
                body = {"email_account_ids": sorted(map(_number, ids))}
                await self._call(method, f"{path}/email-accounts", body=body, repeat=True)

    async def _account(self, address: str) -> dict[str, Any]:
        account = await self._call("GET", "email-accounts/fetch-email-account-details", params={"email": address})
        if not isinstance(account, dict):
            raise Garbage(f"{_NAME} gave an answer without the mailbox")
        return account

    async def _leads(self, sequence_id: str, **filters: str) -> AsyncIterator[dict[str, Any]]:
        """The campaign's leads, page by page, each an object with `status` and `lead`."""
        path = f"{_campaign_path(sequence_id)}/leads"
        for page in range(_PAGES_MAX):
            params = {"offset": page * _PAGE, "limit": _PAGE, **filters}
            answer = await self._call("GET", path, params=params)
            items = list_of(answer.get("data") if isinstance(answer, dict) else None, _NAME)
            for item in items:
                if not isinstance(item.get("lead"), dict):
                    raise Garbage(f"{_NAME} gave an answer without its leads")
                yield item
            if len(items) < _PAGE:
                return
        raise Garbage(f"{_NAME} gave a list without an end")


def _mark(key: str) -> str:
    return f" · {key}"


def _campaign_path(sequence_id: str) -> str:
    return f"campaigns/{quote(sequence_id, safe='')}"


def _listed(answer: Any, provider: str) -> list[dict[str, Any]]:
    """A list, bare or as the `data` of an object: Smartlead documents both for the same addresses."""
    return list_of(answer.get("data") or [] if isinstance(answer, dict) else answer, provider)


def _number(identifier: str) -> int:
    if not identifier.isdecimal():
        raise Garbage(f"{_NAME} gave an answer without the mailbox's number")
    return int(identifier)


def _domain_name(item: Any) -> str:
    name = (item.get("domain_name") or item.get("domain")) if isinstance(item, dict) else item
    return str(name).lower()


_FIELDS: Final = {
    "first_name",
    "last_name",
    "company_name",
    "phone_number",
    "website",
    "location",
    "linkedin_profile",
    "company_url",
}


def _lead(lead: Lead) -> dict[str, Any]:
    """Variables that Smartlead has a field for go there, the others are custom ones."""
    own = {name: str(value) for name, value in lead.variables.items() if name in _FIELDS and value is not None}
    custom = {name: value for name, value in lead.variables.items() if name not in _FIELDS}
    return {"email": lead.email, **own, **({"custom_fields": custom} if custom else {})}
