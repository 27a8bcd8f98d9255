"""Statements by chance: attacks and questions cut, spliced and nested; what the guard lets through shows no canary.

Judged on a database with two organizations, by its rows, its files and its locks: nothing of the other organization or
of hidden columns is shown, and nothing is changed. 300 by seed, and 1,000,000 in the long run, or as many as
CRM_SQL_FUZZ says.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from contract.catalog_tables import SQL_TABLES
from contract.errors import AnalyticsFailed, AnalyticsRefused, GatewayError
from storage.analytics.guard import Guarded, guard
from storage.analytics.values import Answer
from storage.tables import Account, Activity, Contact, Deal, Lead, PipelineStage
from tests.analytics.sql_statements import ANSWERED, FUNCTIONS, OWN, attacks
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
CANARY, HIDDEN = "Qcanary", "Qhidden"
_TABLES = [*SQL_TABLES, "credentials", "organizations", "members", "events", "sqlite_master", "pg_class", "webhooks"]
_COLUMNS = sorted({name for table in SQL_TABLES.values() for name in table.columns} | {"org_id", "notes", "rowid", "*"})
_BLANKS = (" ", "  ", "\n", "\t", "", "/**/", "\u00a0", "\u200b", "\0")
_SIGNS = ("=", "<>", "<", "||", "+", "-", "/", "%", "::", "(", ")", ",", ".", "'", '"', ";", "*", "$1", "?", "[", "`")
_CLAUSES = (
    *(" UNION ALL SELECT secret_hash FROM credentials", " OR 1 = 1", " AND org_id IS NOT NULL", " LIMIT 5 OFFSET 1"),
    *(" ORDER BY 1 DESC", " FOR UPDATE", " GROUP BY 1", " HAVING 1 = 1", " UNION SELECT notes FROM deals"),
)


def mutated(random: Random, texts: list[str]) -> str:
    """A text made of those."""
    made = random.choice(texts)
    for _ in range(random.randint(1, 4)):
        words = made.split(" ")
        at = random.randrange(len(words))
        match random.randrange(12):
            case 0:
                words[at] = random.choice([words[at].upper(), words[at].lower(), words[at].title()])
            case 1:
                words[at] = f'"{words[at]}"'
            case 2:
                words[at] = random.choice(_TABLES)
            case 3:
                words[at] = random.choice(_COLUMNS)
            case 4:
                words.insert(at, random.choice(_SIGNS))
            case 5:
                other = random.choice(texts).split(" ")
                words[at:] = other[random.randrange(len(other)) :]
            case 6:
                words[at] = f"({words[at]})"
            case 7:
                words.insert(at, random.choice([*FUNCTIONS.values(), "set_config('crm.org_id', 'x', true)", "NULL"]))
            case 8:
                words = [*["SELECT", "*", "FROM", "("], *words, ")", "q"]
            case 9:
                words.append(random.choice(_CLAUSES))
            case 10:
                del words[at]
            case 11:
                words[at] = words[at].replace("a", random.choice(("\u0430", "A", "\uff41", "a")))
        made = random.choice(_BLANKS[:4]).join(words) if random.random() < 0.1 else " ".join(words)
        if random.random() < 0.05:
            at = random.randrange(len(made) + 1)
            made = made[:at] + random.choice(_BLANKS) + made[at:]
    return made[:9000]


async def planted(one: Tenant, two: Tenant) -> None:
    """Records of both: those of the second have a canary everywhere, and so has what is hidden of the first."""
    for tenant, name, hidden in ((one, "Plain", HIDDEN), (two, CANARY, CANARY)):
        account = Account(name=name, domain=f"{name.lower()}.example", industry=name)
        stage = PipelineStage(name=name, probability=50)
        await tenant.add(
            account,
            stage,
            Contact(first_name=name, last_name=name, phone=hidden, account_id=account.id),
            Deal(name=name, notes=hidden, value=5, currency="EUR", account_id=account.id, stage_id=stage.id),
            Lead(name=name, company=name, notes=hidden, source="manual"),
            Activity(type="meeting", subject=name, body=hidden, account_id=account.id, source="manual"),
        )


async def _state(one: Tenant) -> list[object]:
    return [sorted(await one.rows(model.id)) for model in (Account, Deal, Contact, Lead, Activity, PipelineStage)]


async def judged(one: Tenant, two: Tenant, number: int, seed: int) -> Counter[str]:
    """Let the guard read so many, and run what it lets through."""
    random, outcomes = Random(seed), Counter[str]()
    runner = one.gateway.runtime.services.sql
    assert runner is not None
    texts = [sql for _, dialect, sql in attacks() if dialect == runner.dialect] + 8 * [*ANSWERED, *OWN[runner.dialect]]
    tables, met = frozenset(SQL_TABLES), set[str]()
    for _ in range(number):
        made = mutated(random, texts)
        try:
            guarded: Guarded = guard(made, runner.dialect, tables)
        except AnalyticsRefused as refusal:
            outcomes[refusal.layer.value] += 1
            continue
        if guarded.sql in met:
            outcomes["met"] += 1
            continue
        met.add(guarded.sql)
        answer = Answer(guarded.columns, 1000)
        try:
            await runner.run(guarded, one.id, answer)
        except AnalyticsFailed:
            outcomes["failed"] += 1
            continue
        except GatewayError as error:  # a layer before should have seen it
            raise AssertionError(f"{made!r}: {error!r}") from error
        outcomes["answered"] += 1
        shown = str([value for row in answer.rows for value in row])
        assert CANARY.lower() not in shown.lower().replace("'qcanary'", ""), made
        assert HIDDEN.lower() not in shown.lower(), made
        assert two.id not in shown, made
        assert one.id not in shown, made
    return outcomes


async def test_nothing_of_another_organization_is_shown(one: Tenant, two: Tenant) -> None:
    await planted(one, two)
    before, files = await _state(one), {*Path.cwd().iterdir()}
    outcomes = await judged(one, two, 300, seed=20261123)
    assert outcomes["answered"] > 5, outcomes
    assert await _state(one) == before
    assert {*Path.cwd().iterdir()} == files


@pytest.mark.long
async def test_nothing_of_another_organization_is_shown_by_a_million(one: Tenant, two: Tenant) -> None:
    await planted(one, two)
    before = await _state(one)
    number = int(os.environ.get("CRM_SQL_FUZZ", "1000000"))
    outcomes = await judged(one, two, number, seed=7)
    assert outcomes["answered"] > number / 1000, outcomes
    assert await _state(one) == before
