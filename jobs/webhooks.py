"""Telling webhooks of events: signed, in order, at least once, until it works or three days are over (decision 69)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson

from contract.event_types import WebhookEnd, areas_seen
from contract.scopes import ScopeGroup
from identity.secrets import peppers
from identity.webhook_secrets import webhook_secret
from jobs.queue import enqueue_missing
from jobs.work import Retry, Run, work
from providers.outbound import Limits, Outbound, OutboundError, retry_after
from providers.signing import signed_headers
from storage.base import now
from storage.clusters import found_on_servers
from storage.database import Database
from storage.queries import events as log
from storage.queries import jobs, members, webhooks
from storage.rows import EventRow
from storage.tables import Event, Webhook, WebhookDelivery

KIND = "webhook_delivery"
TESTED = "webhook_tested"
"""The type of the events that go to the tested webhook alone, and at once."""
GIVE_UP = timedelta(days=3)
PAUSES = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 21_600))
"""Between the attempts at an event; the last one again and again."""
LIMITS = Limits(seconds=15.0, read_seconds=15.0, body_bytes=16_384, cut=True)
_SECONDS_OF_A_RUN = 60.0
_SUSPENDED = timedelta(minutes=1)
"""The wait for a maker who may come back (decision 224)."""
_ENOUGH = 10_000  # attempts of a job: it is the three days that end it


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call: the receiver's status where it answered, and what was wrong, in words."""

    status_code: int | None
    error: str | None
    wait: timedelta = timedelta()
    """The time for which the receiver asked to be left alone."""

    def of(self, webhook_id: str, event: Event | EventRow, attempt: int) -> WebhookDelivery:
        """The entry of the webhook's delivery log."""
        return WebhookDelivery(
            webhook_id=webhook_id,
            event_id=event.id,
            sequence=event.sequence,
            attempt=attempt,
            status_code=self.status_code,
            error=self.error,
            delivered=self.error is None,
        )


async def call(outbound: Outbound, pepper: bytes, org_id: str, webhook: Webhook, event: Event | EventRow) -> Result:
    """Hand an event to the receiver, signed as Standard Webhooks says; never inside a transaction."""
    body = _body(event)
    secrets = (webhook_secret(one, org_id, webhook.id) for one in peppers(pepper))
    headers = signed_headers(secrets, event.id, now(), body)
    try:
        answer = await outbound.request("POST", webhook.url, headers=headers, content=body.encode(), limits=LIMITS)
    except OutboundError as error:
        return Result(None, str(error))
    if 200 <= answer.status < 300:
        return Result(answer.status, None)
    words = "redirects are not followed" if 300 <= answer.status < 400 else "anything but 2xx counts as a failure"
    # At least as long as the receiver asks for (decision 99).
    wait = timedelta(seconds=retry_after(answer.headers.get("retry-after")) or 0)
    return Result(answer.status, f"the receiver answered {answer.status}; {words}", wait)


def _body(event: Event | EventRow) -> str:
    content = {
        "type": event.type,
        "timestamp": event.occurred_at,
        "id": event.id,
        "sequence": event.sequence,
        "actor": event.actor,
        "request_id": event.request_id,
        "data": event.data,
    }
    return orjson.dumps(content).decode()


async def wake(database: Database) -> None:
    """Have those notified that are behind, of any organization; reads alone where none is."""
    for org_id in await found_on_servers(database, webhooks.organizations):
        async with database.reading(org_id) as session:
            behind = set(await webhooks.behind(session))
            if behind:
                behind -= await jobs.unfinished_keys(session, KIND)
        if behind:
            async with database.writing(org_id) as session:
                await enqueue_missing(session, KIND, {one: {"webhook_id": one} for one in sorted(behind)})


@work(KIND, attempts=_ENOUGH)
async def deliver(run: Run, webhook_id: str) -> None:
    """Hand the events after the webhook's cursor to its receiver, each after the one before it.

    Raises Retry where the receiver does not take one: the others wait for it, those of other webhooks do not.
    """
    end = time.monotonic() + _SECONDS_OF_A_RUN
    while time.monotonic() < end:
        async with run.reading() as session:
            webhook = await webhooks.find(session, webhook_id)
            if webhook is None or not webhook.active:
                return
            events = await log.after(session, webhook.cursor)
        if not events:
            return
        areas = await _areas(run, webhook)
        if areas is None or not await _deliver(run, webhook, areas, events, end):
            return


async def _areas(run: Run, webhook: Webhook) -> frozenset[str] | None:
    """Says which areas of the log the webhook gets: those that its maker saw then and sees now.

    None, and it is off, where the maker could not make it any more (decision 155): what ends a membership switches its
    webhooks off, and this is for what came in between. One that no member made gets the areas that it names.
    """
    if webhook.created_by is None:
        return frozenset(webhook.areas)
    async with run.reading() as session:
        found = await members.membership(session, webhook.created_by)
    if members.is_suspended(found):
        raise Retry("The maker of the webhook is suspended", after=_SUSPENDED)
    scopes = None if found is None or found.ended_at is not None else frozenset(found.scopes)
    if scopes is not None and ScopeGroup.ORG_ADMIN.passes(scopes):
        return frozenset(webhook.areas) & frozenset(areas_seen(scopes))
    async with run.writing() as session:
        current = await webhooks.find(session, webhook.id, lock=True)
        if current is not None and current.active:
            reason = WebhookEnd.MAKER_REMOVED if scopes is None else WebhookEnd.MAKER_LOST_SCOPE
            await webhooks.switch_off(session, current, reason)
    return None


async def _deliver(run: Run, webhook: Webhook, areas: frozenset[str], events: Sequence[EventRow], end: float) -> bool:
    """One batch; False once the webhook is gone or the run has lasted long enough."""
    unwanted = None
    for event in events:
        if not _wants(webhook, areas, event):
            unwanted = event.sequence
            continue
        if time.monotonic() >= end:
            break
        unwanted = None
        result = await call(run.ports.outbound, run.ports.pepper, run.org_id, webhook, event)
        if not await _note(run, webhook.id, event, result):
            return False
    if unwanted is not None:
        async with run.writing() as session:
            current = await webhooks.find(session, webhook.id, lock=True)
            if current is None:
                return False
            await session.update(current, cursor=unwanted)
    return True


def _wants(webhook: Webhook, areas: frozenset[str], event: EventRow) -> bool:
    if event.type == TESTED or event.area not in areas:
        return False
    return not webhook.types or event.type in webhook.types


async def _note(run: Run, webhook_id: str, event: EventRow, result: Result) -> bool:
    """Keep what came of an attempt. False where the webhook is gone or off now; raises Retry for another attempt."""
    async with run.writing() as session:
        webhook = await webhooks.find(session, webhook_id, lock=True)
        if webhook is None or not webhook.active:
            return False
        await webhooks.log(session, result.of(webhook.id, event, webhook.failures + 1))
        if result.error is None:
            await session.update(webhook, cursor=event.sequence, failures=0, failing_since=None)
            return True
        moment = now()
        failures, since = webhook.failures + 1, webhook.failing_since or moment
        webhook = await session.update(webhook, failures=failures, failing_since=since)
        if moment - since >= GIVE_UP:
            await webhooks.switch_off(session, webhook, WebhookEnd.FAILING, failing_since=since.isoformat())
            return False
        after = pause(failures, since, moment, result.wait)
    raise Retry(result.error, after=after)


def pause(failures: int, failing_since: datetime, moment: datetime, asked: timedelta = timedelta()) -> timedelta:
    """Says how long to wait after so many failures, and longer if asked; the last attempt comes when the time is up."""
    usual = max(PAUSES[min(failures, len(PAUSES)) - 1], min(asked, PAUSES[-1]))
    return max(min(usual, failing_since + GIVE_UP - moment), timedelta(seconds=1))
