"""Smartlead, by its API v1 (https://api.smartlead.ai): a key in the query, campaigns put together call by call.

A campaign's content cannot change while it is active, and an active campaign cannot be deleted, so both pause first.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final
from urllib.parse import quote

from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.calls import Calls
from providers.provider_http import DEADLINE, PAUSE, Api, Method, Params, field_of, list_of, text_of
from providers.remote_sequencing import ASKS_AGAIN, PAGE, PAGES_MAX, html_of, is_of, lead_body, mark, title_of
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
    utc_now,
)

URL: Final = "https://server.smartlead.ai/"
SENDERS_URL: Final = "https://smart-senders.smartlead.ai/"
_NAME: Final = "Smartlead"

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
        clock: Callable[[], datetime] = utc_now,
        calls: Calls | None = None,
    ) -> None:
        self._api, self._senders = (
            Api(_NAME, url or usual, params={"api_key": key}, deadline=deadline, pause=pause, calls=calls)
            for usual in (URL, SENDERS_URL)
        )
        self._clock = clock

    async def find(self, key: str) -> str | None:
        """Finds the campaign by its identifier at the end of the name; the list has no pages."""
        for campaign in list_of(await self._call("GET", "campaigns/"), _NAME):
            if str(campaign.get("name", "")).endswith(mark(key)):
                return text_of(campaign, "id", _NAME)
        return None

    async def create(self, sequence: Outline) -> str:
        """A draft with nothing but a name; `update` makes it the sequence."""
        made = await self._call("POST", "campaigns/create", body={"name": title_of(sequence)})
        return text_of(made, "id", _NAME)

    async def update(self, sequence_id: str, sequence: Outline) -> None:
        """Messages, schedule, settings and senders, each by a call of its own that may be repeated."""
        path = _campaign_path(sequence_id)
        if await self._state(sequence_id) is State.RUNNING:
            await self.pause(sequence_id)
        settings = {
            "name": title_of(sequence),
            "sending_limit": sequence.daily_limit,
            "stop_lead_settings": "REPLY_TO_AN_EMAIL" if sequence.stop_on_reply else "NEVER",
        }
        hours = {"start_hour": "09:00", "end_hour": "17:00"}
        schedule = {"timezone": sequence.timezone, "days": list(range(7)), **hours}
        await self._call("POST", f"{path}/settings", body=settings, repeat=True)
        await self._call("POST", f"{path}/schedule", body={"schedule": schedule}, repeat=True)
        await self._messages(path, sequence)
        await self._mailboxes(path, sequence.mailboxes)

    async def activate(self, sequence_id: str) -> None:
        await self._status(sequence_id, "START")

    async def pause(self, sequence_id: str) -> None:
        await self._status(sequence_id, "PAUSED")

    async def delete(self, sequence_id: str) -> None:
        if await self._state(sequence_id) is State.RUNNING:
            await self._status(sequence_id, "STOPPED")
        await self._call("DELETE", _campaign_path(sequence_id), repeat=True)

    async def add_leads(self, sequence_id: str, leads: Sequence[Lead]) -> None:
        """Adds them in one call; Smartlead passes over those that are in the campaign, so that it may be repeated."""
        body = {
            "lead_list": [lead_body(lead, _FIELDS, "custom_fields") for lead in leads],
            "settings": {"ignore_duplicate_leads_in_other_campaign": True},
        }
        await self._call("POST", f"{_campaign_path(sequence_id)}/leads", body=body, repeat=True)

    async def remove_lead(self, sequence_id: str, email: str) -> None:
        """Removes it by the lead's identifier, which only the campaign's list has."""
        async for _, lead in self._leads(sequence_id):
            if is_of(lead, email):
                path = f"{_campaign_path(sequence_id)}/leads/{quote(text_of(lead, 'id', _NAME), safe='')}"
                with suppress(Gone):
                    await self._call("DELETE", path, repeat=True)
                return

    async def progress(self, running: Running) -> Progress:
        """The campaign's status, and the leads' by the lists that tell it."""
        state = await self._state(running.sequence_id)
        found: dict[str, EnrollmentStatus] = {}
        async for shown, lead in self._leads(running.sequence_id):
            if isinstance(email := lead.get("email"), str) and shown in _LEADS:
                found[email] = _LEADS[shown]
        for listed, status in _MARKS:
            async for _, lead in self._leads(running.sequence_id, emailStatus=listed):
                if isinstance(email := lead.get("email"), str):
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
        data = field_of(answer, "data")
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
        marks = [field_of(account, name) for name in ("is_smtp_success", "is_imap_success")]
        if not all(isinstance(mark, bool) for mark in marks):
            raise Garbage(f"{_NAME} gave an answer without the mailbox's state")
        return MailboxStatus.ACTIVE if all(marks) else MailboxStatus.ERROR

    async def close(self) -> None:
        await self._api.close()
        await self._senders.close()

    async def _call(
        self,
        method: Method,
        path: str,
        *,
        body: object = None,
        params: Params | None = None,
        repeat: bool | None = None,
    ) -> object:
        answer = await self._api.call(method, f"api/v1/{path}", body=body, params=params, repeat=repeat)
        if field_of(answer, "success") is False or field_of(answer, "ok") is False:
            raise Refused(f"{_NAME} does not accept the request")  # in an answer with the status of a success
        return answer

    async def _status(self, sequence_id: str, status: str) -> None:
        await self._call("POST", f"{_campaign_path(sequence_id)}/status", body={"status": status}, repeat=True)

    async def _state(self, sequence_id: str) -> State:
        status = field_of(await self._call("GET", _campaign_path(sequence_id)), "status")
        if not isinstance(status, str) or status not in _STATES:
            raise Garbage(f"{_NAME} gave an answer without a known status")
        return _STATES[status]

    async def _messages(self, path: str, sequence: Outline) -> None:
        """Messages keep their identifiers by their numbers, or a repeated call would make them twice."""
        known = {
            item.get("seq_number"): item.get("id") for item in _listed(await self._call("GET", f"{path}/sequences"))
        }
        if len(known) > len(sequence.steps):
            raise Refused(f"{_NAME} cannot take messages away from a campaign")
        messages = [
            {
                "id": known.get(number),
                "seq_number": number,
                "subject": step.subject,
                "email_body": html_of(step.body),
                "seq_delay_details": {"delay_in_days": step.delay_days},
            }
            for number, step in enumerate(sequence.steps, 1)
        ]
        await self._call("POST", f"{path}/sequences", body={"sequences": messages})

    async def _mailboxes(self, path: str, addresses: Sequence[str]) -> None:
        wanted = set()
        for address in addresses:
            try:
                wanted.add(text_of(await self._account(address), "id", _NAME))
            except Gone:
                raise Refused(f"{_NAME} has no mailbox {address}") from None
        now = {text_of(item, "id", _NAME) for item in _listed(await self._call("GET", f"{path}/email-accounts"))}
        changes: tuple[tuple[Method, set[str]], ...] = (("POST", wanted - now), ("DELETE", now - wanted))
        for method, ids in changes:
            if ids:
                body = {"email_account_ids": sorted(map(_number, ids))}
                await self._call(method, f"{path}/email-accounts", body=body, repeat=True)

    async def _account(self, address: str) -> object:
        account = await self._call("GET", "email-accounts/fetch-email-account-details", params={"email": address})
        if not isinstance(account, dict):
            raise Garbage(f"{_NAME} gave an answer without the mailbox")
        return account

    async def _leads(self, sequence_id: str, **filters: str) -> AsyncIterator[tuple[str, dict[str, object]]]:
        """The campaign's leads, page by page, each behind its status."""
        path = f"{_campaign_path(sequence_id)}/leads"
        for page in range(PAGES_MAX):
            answer = await self._call("GET", path, params={"offset": page * PAGE, "limit": PAGE, **filters})
            items = list_of(field_of(answer, "data"), _NAME)
            for item in items:
                lead = item.get("lead")
                if not isinstance(lead, dict):
                    raise Garbage(f"{_NAME} gave an answer without its leads")
                yield str(item.get("status")), lead
            if len(items) < PAGE:
                return
        raise Garbage(f"{_NAME} gave a list without an end")


def _campaign_path(sequence_id: str) -> str:
    return f"campaigns/{quote(sequence_id, safe='')}"


def _listed(answer: object) -> list[dict[str, object]]:
    """A list, bare or as the `data` of an object: Smartlead documents both for the same addresses."""
    return list_of(field_of(answer, "data") or [] if isinstance(answer, dict) else answer, _NAME)


def _number(identifier: str) -> int:
    if not identifier.isdecimal():
        raise Garbage(f"{_NAME} gave an answer without the mailbox's number")
    return int(identifier)


def _domain_name(item: object) -> str:
    name = (item.get("domain_name") or item.get("domain")) if isinstance(item, dict) else item
    return str(name).lower()


_FIELDS: Final = {
    "company_name",
    "company_url",
    "first_name",
    "last_name",
    "linkedin_profile",
    "location",
    "phone_number",
    "website",
}
