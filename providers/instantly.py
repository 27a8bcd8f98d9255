"""Instantly, by its API v2 (https://developer.instantly.ai): a bearer key, campaigns that are made as drafts, leads.

There is no idempotency key, so what makes or buys something is not repeated but looked for first.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, Literal
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.calls import Calls
from providers.instantly_zones import ZONES
from providers.provider_http import DEADLINE, PAUSE, Api, field_of, list_of, text_of
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

URL: Final = "https://api.instantly.ai/"
_NAME: Final = "Instantly"
_GOOGLE: Final = 1

_STATES: Final = {0: State.STOPPED, 1: State.RUNNING, 2: State.STOPPED, 3: State.COMPLETED, 4: State.RUNNING}
_BLOCKS: Final = {
    -99: "Instantly has suspended the account",
    -1: "Instantly finds the mailboxes unhealthy",
    -2: "Instantly has stopped the campaign because too many messages bounced",
}
_LEADS: Final = {
    1: EnrollmentStatus.ACTIVE,
    2: EnrollmentStatus.PAUSED,
    3: EnrollmentStatus.COMPLETED,
    -1: EnrollmentStatus.BOUNCED,
    -2: EnrollmentStatus.UNSUBSCRIBED,
    -3: EnrollmentStatus.FAILED,
}
_ACCOUNTS: Final = {1: MailboxStatus.ACTIVE, 2: MailboxStatus.PAUSED, 3: MailboxStatus.PAUSED}


class InstantlySequencing:
    """The provider; `key` is an API key of version 2."""

    name = "instantly"

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
        headers = {"Authorization": f"Bearer {key}"}
        self._api = Api(_NAME, url or URL, headers=headers, deadline=deadline, pause=pause, calls=calls)
        self._clock = clock

    async def find(self, key: str) -> str | None:
        """Finds the campaign by its identifier at the end of the name."""
        async for campaign in self._pages("GET", "api/v2/campaigns", {"search": key}):
            if str(campaign.get("name", "")).endswith(mark(key)):
                return text_of(campaign, "id", _NAME)
        return None

    async def create(self, sequence: Outline) -> str:
        """A draft: creating never sends."""
        body = self._campaign(sequence)
        return text_of(await self._api.call("POST", "api/v2/campaigns", body=body), "id", _NAME)

    async def update(self, sequence_id: str, sequence: Outline) -> None:
        """The same body as for a new one; `email_list` replaces the senders."""
        await self._api.call("PATCH", _campaign_path(sequence_id), body=self._campaign(sequence), repeat=True)

    async def activate(self, sequence_id: str) -> None:
        await self._api.call("POST", f"{_campaign_path(sequence_id)}/activate", repeat=True)

    async def pause(self, sequence_id: str) -> None:
        await self._api.call("POST", f"{_campaign_path(sequence_id)}/pause", repeat=True)

    async def delete(self, sequence_id: str) -> None:
        """Delete; what is deleted sends no more, so nothing is paused before."""
        await self._api.call("DELETE", _campaign_path(sequence_id), repeat=True)

    async def add_leads(self, sequence_id: str, leads: Sequence[Lead]) -> None:
        """Adds them in one call, which skips those that are in the campaign, so that it may be repeated."""
        body = {
            "campaign_id": sequence_id,
            "skip_if_in_campaign": True,
            "leads": [lead_body(lead, _FIELDS, "custom_variables") for lead in leads],
        }
        await self._api.call("POST", "api/v2/leads/add", body=body, repeat=True)

    async def remove_lead(self, sequence_id: str, email: str) -> None:
        """Removes it by the lead's identifier, which the address leads to."""
        body = {"campaign": sequence_id, "search": email}
        async for lead in self._pages("POST", "api/v2/leads/list", body):
            if is_of(lead, email):
                path = f"api/v2/leads/{quote(text_of(lead, 'id', _NAME), safe='')}"
                with suppress(Gone):
                    await self._api.call("DELETE", path, repeat=True)

    async def progress(self, running: Running) -> Progress:
        state, reason = await self._state(running.sequence_id)
        moves = []
        async for lead in self._pages("POST", "api/v2/leads/list", {"campaign": running.sequence_id}):
            if isinstance(email := lead.get("email"), str) and (status := _status(lead)) is not None:
                moves.append(Move(email, status))
        return Progress(state, moves, self._clock() + ASKS_AGAIN, reason)

    async def blocked(self, sequence_id: str | None) -> str | None:
        """Asks the campaign why it is blocked; without one, asks whether the key may list the accounts."""
        if sequence_id is not None:
            return (await self._state(sequence_id))[1]
        try:
            await self._api.call("GET", "api/v2/accounts", params={"limit": 1})
        except Refused as error:
            return error.words
        return None

    async def purchase_domain(self, name: str) -> DomainState:
        """Instantly sells a domain together with its first mailbox: until then it is pending (decision 54)."""
        async for order in self._pages("GET", "api/v2/dfy-email-account-orders", {}):
            if order.get("domain") == name and order.get("timestamp_cancelled") is None:
                return DomainState(DomainStatus.ACTIVE)
        answer = await self._api.call(
            "POST", "api/v2/dfy-email-account-orders/domains/check", body={"domains": [name]}, repeat=True
        )
        found = [d for d in list_of(field_of(answer, "results"), _NAME) if d.get("domain") == name]
        if not found or not isinstance(found[0].get("available"), bool):
            raise Garbage(f"{_NAME} gave an answer without the domain")
        if not found[0]["available"]:
            raise Refused(f"{_NAME} does not sell this domain")
        return DomainState(DomainStatus.PENDING)

    async def provision_mailbox(self, address: str, display_name: str | None) -> MailboxStatus:
        """The account where there is one; else an order, for the domain too unless that was ordered before."""
        with suppress(Gone):
            return _account_status(await self._api.call("GET", f"api/v2/accounts/{quote(address, safe='')}"))
        if await self._is_ordered(address):
            return MailboxStatus.PENDING
        prefix, _, domain = address.partition("@")
        bought = (await self.purchase_domain(domain)).status is DomainStatus.ACTIVE
        first, _, last = (display_name or prefix).partition(" ")
        person = {"email_address_prefix": prefix, "first_name": first, "last_name": last or first}
        body = {
            "items": [{"domain": domain, "email_provider": _GOOGLE, "accounts": [person]}],
            "order_type": "extra_accounts" if bought else "dfy",
        }
        answer = await self._api.call("POST", "api/v2/dfy-email-account-orders", body=body)
        is_placed = field_of(answer, "order_placed")
        if not isinstance(is_placed, bool):
            raise Garbage(f"{_NAME} gave an answer without the order")
        if not is_placed:
            raise Refused(f"{_NAME} did not take the order")
        return MailboxStatus.PENDING

    async def close(self) -> None:
        await self._api.close()

    async def _is_ordered(self, address: str) -> bool:
        async for account in self._pages("GET", "api/v2/dfy-email-account-orders/accounts", {}):
            if str(account.get("email", "")).lower() == address and account.get("timestamp_cancelled") is None:
                return True
        return False

    async def _state(self, sequence_id: str) -> tuple[State, str | None]:
        status = field_of(await self._api.call("GET", _campaign_path(sequence_id)), "status")
        if isinstance(status, int) and status in _BLOCKS:
            return State.BLOCKED, _BLOCKS[status]
        if not isinstance(status, int) or status not in _STATES:
            raise Garbage(f"{_NAME} gave an answer without a known status")
        return _STATES[status], None

    async def _pages(
        self, method: Literal["GET", "POST"], path: str, question: Mapping[str, str]
    ) -> AsyncIterator[dict[str, object]]:
        """The items of all pages; the last page may still name a next one, which is then empty."""
        asked: dict[str, str | int] = {**question, "limit": PAGE}
        for _ in range(PAGES_MAX):
            body, params = (asked, None) if method == "POST" else (None, asked)
            answer = await self._api.call(method, path, body=body, params=params, repeat=True)
            items = list_of(field_of(answer, "items"), _NAME)
            for item in items:
                yield item
            if not items or not field_of(answer, "next_starting_after"):
                return
            asked["starting_after"] = text_of(answer, "next_starting_after", _NAME)
        raise Garbage(f"{_NAME} gave a list without an end")

    def _campaign(self, sequence: Outline) -> dict[str, object]:
        """The body of a campaign. Instantly's delay of a step is the one before the next step.

        The delay before the first message becomes the day on which the schedule starts.
        """
        delays = [step.delay_days for step in sequence.steps]
        schedule = {
            "name": "Every day",
            "timing": {"from": "09:00", "to": "17:00"},
            "days": {str(day): True for day in range(7)},
            "timezone": zone_for(sequence.timezone),
        }
        today = self._clock().astimezone(ZoneInfo(sequence.timezone)).date()
        start = today + timedelta(days=delays[0] if delays else 0)
        messages = [
            {"type": "email", "delay": following, "variants": [{"subject": step.subject, "body": html_of(step.body)}]}
            for step, following in zip(sequence.steps, [*delays[1:], 0], strict=False)
        ]
        return {
            "name": title_of(sequence),
            "campaign_schedule": {"start_date": start.isoformat(), "schedules": [schedule]},
            "sequences": [{"steps": messages}],
            "email_list": list(sequence.mailboxes),
            "daily_limit": sequence.daily_limit,
            "stop_on_reply": sequence.stop_on_reply,
        }


def _campaign_path(sequence_id: str) -> str:
    return f"api/v2/campaigns/{quote(sequence_id, safe='')}"


_FIELDS: Final = {"first_name", "last_name", "company_name", "website", "phone", "personalization"}


def _status(lead: Mapping[str, object]) -> EnrollmentStatus | None:
    replies = lead.get("email_reply_count")
    if isinstance(replies, int) and replies > 0:
        return EnrollmentStatus.REPLIED
    status = lead.get("status")
    return _LEADS.get(status) if isinstance(status, int) else None


def _account_status(account: object) -> MailboxStatus:
    status = field_of(account, "status")
    if not isinstance(status, int) or isinstance(status, bool):
        raise Garbage(f"{_NAME} gave an answer without a known status")
    return _ACCOUNTS.get(status, MailboxStatus.ERROR)


@cache
def zone_for(name: str) -> str:
    """A time zone of those that Instantly takes, whose clocks show the same all through 2026 and 2027 as this one's.

    Raises Refused where there is none.
    """
    if name in ZONES:
        return name
    wanted = _offsets(name)
    for zone in ZONES:
        if _offsets(zone) == wanted:
            return zone
    raise Refused(f"{_NAME} does not know the time zone {name}")


@cache
def _offsets(name: str) -> tuple[timedelta | None, ...] | None:
    try:
        zone = ZoneInfo(name)
    except ZoneInfoNotFoundError:
        return None
    first = datetime(2026, 1, 1, tzinfo=UTC)
    return tuple((first + timedelta(days=day)).astimezone(zone).utcoffset() for day in range(730))
