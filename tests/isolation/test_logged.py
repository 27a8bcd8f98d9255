"""Which tables a replica may answer for: those whose every change brings an event of the change log (decision 997).

A trigger on each table looks, when a transaction ends, whether the transaction has moved the organization's counter,
while every mutation of the schema is made, with the work that follows it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy.engine import make_url

from jobs.kinds import KINDS
from storage.logged import LOGGED
from storage.placement import Placement, placements
from tests.isolation.records import send
from tests.isolation.test_change_log import BEFORE, REFUSED, _filled, _mutations, _requests
from tests.support.due import work_off
from tests.support.gateway import Gateway
from tests.support.postgresql import Server

TABLES = sorted(name for name, place in placements().items() if place is Placement.DISTRIBUTED)
FOLDED = {"deal_cells", "meeting_cells"}
"""Folding brings no event and changes no answer: what is read is the cells and what they do not have yet together."""
LEFT_OUT = {
    "leads": "a job copies the names of tags to them after the tag's event (decision 192)",
    "people": "a session token of an identity provider may tell of somebody new; what links to one may be read",
}
"""Tables that no mutation is seen to change without an event, and yet something does."""
_NOT_THERE = "it writes no table of the list"
_TOLD = "its events are appended in the transactions of what it writes"
WORK = {
    **dict.fromkeys(("ownership_transfer", "tagged_records", "data_import", "report_run", "data_export"), _TOLD),
    **dict.fromkeys(("integration_sync", "integration_removal", "meetings_held", "meetings_kept"), _TOLD),
    **dict.fromkeys(("lead_tags", "mail", "campaign_ask", "campaign_tell", "sequence_remove"), _NOT_THERE),
    **dict.fromkeys(("lead_remove", "webhook_delivery", "domain_purchase", "mailbox_provision"), _NOT_THERE),
    **dict.fromkeys(("research_company", "cx_report_render", "integration_watches_end"), _NOT_THERE),
    "integration_wait": _NOT_THERE,
}
"""Every kind of work, and why what it writes is told: a new one has to be looked at."""
_WATCHED = """
CREATE TABLE written (name text, is_told boolean, statement text);
GRANT ALL ON written TO PUBLIC;
CREATE FUNCTION counter_moved() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM set_config('test.told', 'yes', true); RETURN NULL; END $$;
CREATE TRIGGER counter_moved AFTER INSERT OR UPDATE ON event_counters FOR EACH ROW EXECUTE FUNCTION counter_moved();
CREATE FUNCTION is_told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO written VALUES (TG_TABLE_NAME, coalesce(current_setting('test.told', true), '') = 'yes', current_query());
  RETURN NULL; END $$;
"""


@pytest.fixture
async def watched(gateway: Gateway, postgresql: Server, database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A superuser's connection to the application's database, in which every change is looked at."""
    connection = await postgresql.connect(str(make_url(database_url).database), role="postgres")
    await connection.execute(_WATCHED)
    for table in TABLES:
        await connection.execute(
            f"CREATE CONSTRAINT TRIGGER is_told AFTER INSERT OR UPDATE OR DELETE ON {table}"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION is_told()"
        )
    yield connection
    await connection.close()


@pytest.mark.long
@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
async def test_every_change_of_a_logged_table_brings_an_event(gateway: Gateway, watched: asyncpg.Connection) -> None:
    """Long, for it makes every mutation; a table of the list that none of them writes has no place there either."""
    requests, told = _requests(), set[str]()
    untold: dict[str, set[str]] = {}
    for name in _mutations():
        if name in REFUSED:
            continue
        tenant, values = await _filled(gateway)
        await watched.execute("DELETE FROM written")
        for each in ([BEFORE[name]] if name in BEFORE else []) + [name]:
            await send(gateway, requests[each].filled(values), tenant.headers("admin"))
        await work_off(gateway)
        for row in await watched.fetch("SELECT DISTINCT name, is_told FROM written"):
            if row["is_told"]:
                told.add(row["name"])
            else:
                untold.setdefault(row["name"], set()).add(name)
    assert {table: untold[table] for table in LOGGED & untold.keys()} == {}
    assert LOGGED - told == FOLDED
    assert set(TABLES) - LOGGED - untold.keys() >= LEFT_OUT.keys(), "one that is seen to be untold needs no reason"


def test_every_kind_of_work_is_known() -> None:
    assert WORK.keys() == KINDS.keys()
