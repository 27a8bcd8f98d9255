"""Forgets what is kept of chats long enough: events a day after their run, threads after their newest message."""

from datetime import timedelta

from contract.chat import CHAT_EVENTS_HOURS
from storage.base import now
from storage.database import Database
from storage.queries import chat_runs, chat_threads

_EVENTS_KEPT = timedelta(hours=CHAT_EVENTS_HOURS)


async def prune(database: Database, org_id: str, days: int) -> bool:
    """Forget a batch of old events and of old threads; whether there were any. With no days threads are kept."""
    moment = now()
    before = moment - timedelta(days=days)
    async with database.reading(org_id) as session:
        runs = await chat_runs.with_old_events(session, moment - _EVENTS_KEPT)
        threads = await chat_threads.old(session, before) if days else []
    if not runs and not threads:
        return False
    async with database.writing(org_id) as session:
        if runs:
            await chat_runs.forget_events(session, runs)
        if threads:
            await chat_threads.forget_old(session, threads, before)
    return True
