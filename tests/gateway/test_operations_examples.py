"""Alert rules and dashboard of `examples/operations` beside the metrics that there are."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from contract.limits import VERSION
from gateway.observability.statement_times import StatementTimes
from storage.base import now
from storage.queries import jobs
from storage.tables import JobWorker
from tests.support.gateway import Gateway, open_gateway

EXAMPLES = Path(__file__).parents[2] / "examples" / "operations"
_NAMES = re.compile(r"\b(?:crm|process)_[a-z_]+")


def _rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((EXAMPLES / "alerts.yaml").read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def _expressions() -> list[str]:
    panels = json.loads((EXAMPLES / "dashboard.json").read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    return shown + [rule["expr"] for rule in _rules()]


async def _metrics(gateway: Gateway) -> str:
    gateway_endpoint = await gateway.http.get("/metrics")
    assert gateway_endpoint.status_code == 200
    return gateway_endpoint.text


def _families(text: str) -> dict[str, str]:
    return dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))


async def test_every_name_is_that_of_a_metric_and_its_labels_are_there(database_url: str, tmp_path: Path) -> None:
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        text = await _metrics(gateway)
    families = _families(text)
    assert Counter(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE)).most_common(1)[0][1] == 1
    parts = {"histogram": ("_bucket", "_sum", "_count")}
    samples = {f"{name}{part}" for name, kind in families.items() for part in parts.get(kind, ("",))}
    named = {name for expression in _expressions() for name in _NAMES.findall(expression)}
    assert len(named) > 15
    assert named <= samples
    for rule in _rules():
        assert re.fullmatch(r"Crm[A-Za-z]+", rule["alert"])
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("page", "ticket")


async def test_a_stopped_worker_is_seen_in_the_metrics(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.observability.metrics_endpoint._QUEUE_SECONDS", 0.0)
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        assert "\ncrm_workers 0.0\n" in await _metrics(gateway)
        worker = JobWorker(started_at=now())
        async with gateway.world.database.directory(writing=True) as session:
            await jobs.beat(session, worker)
        text = await _metrics(gateway)
        assert "\ncrm_workers 1.0\n" in text
        async with gateway.world.database.directory(writing=True) as session:
            await jobs.leave(session, worker)
        assert "\ncrm_workers 0.0\n" in await _metrics(gateway)
    assert re.search(rf'^crm_build_info{{python="3[.\d]+",version="{VERSION}"}} 1.0$', text, re.MULTILINE)
    assert re.search(r"^crm_loop_lag_seconds [\d.e-]+$", text, re.MULTILINE)
    [rule] = [rule for rule in _rules() if rule["alert"] == "CrmNoWorker"]
    assert rule["expr"] == "max(crm_workers) < 1"


async def test_a_webhook_that_is_not_told_is_seen_in_the_metrics(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.observability.in_turns._SECONDS", 0.0)
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        assert _undelivered(await _metrics(gateway)) == 0.0
        world = gateway.world
        headers = world.session("admin@one", world.one)
        make = 'mutation { webhookCreate(input: {url: "https://1.1.1.1/h"}) { userErrors { message } } }'
        assert (await gateway.graphql(make, headers)).json()["data"]["webhookCreate"]["userErrors"] == []
        await gateway.graphql('mutation { dealCreate(input: {name: "Told late"}) { deal { id } } }', headers)
        assert 0.0 < _undelivered(await _metrics(gateway)) < 60


async def test_what_the_age_of_webhooks_costs_has_a_bound(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 904: some organizations are asked each time, in turns, and all of them come to it."""
    monkeypatch.setattr("gateway.observability.in_turns._SECONDS", 0.0)
    monkeypatch.setattr("gateway.observability.in_turns._ORGANIZATIONS_AT_ONCE", 2)
    everybody = [str(number) for number in range(5)]
    asked: list[str] = []
    since = {"4": now() - timedelta(hours=2), "1": now() - timedelta(hours=1)}

    async def organizations(_session: object) -> list[str]:
        return everybody

    async def undelivered(session: SimpleNamespace) -> datetime | None:
        asked.append(session.org_id)
        return since.get(session.org_id)

    monkeypatch.setattr("storage.queries.webhooks.organizations", organizations)
    monkeypatch.setattr("storage.queries.webhooks.undelivered_since", undelivered)
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        monkeypatch.setattr(gateway.runtime.database, "reading", _nothing_of)
        seen = []
        for _ in range(3):
            seen.append(round(_undelivered(await _metrics(gateway)) / 3600))
        assert (asked, seen) == (everybody, [1, 1, 2])
        del since["4"]
        for _ in range(3):
            seen.append(round(_undelivered(await _metrics(gateway)) / 3600))
        assert seen[3:] == [2, 2, 1]


@asynccontextmanager
async def _nothing_of(organization: str) -> AsyncIterator[SimpleNamespace]:
    yield SimpleNamespace(org_id=organization)


def _undelivered(text: str) -> float:
    [found] = re.findall(r"^crm_webhooks_oldest_undelivered_seconds (\S+)$", text, re.MULTILINE)
    return float(found)


async def test_each_statement_is_timed_and_a_slow_one_has_a_line(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_gateway(database_url, tmp_path / "data", slow_statement_seconds=0.001) as gateway:
        world = gateway.world
        before = _times(await _metrics(gateway))
        gateway.runtime.database.timed = StatementTimes(0.0)
        headers = world.session("viewer@one", world.one)
        query = '{ deals(first: 1, filter: {name: {contains: "canary"}}) { nodes { name } } }'
        assert (await gateway.graphql(query, headers)).status_code == 200
        lines = [record.getMessage() for record in caplog.records if record.name.endswith("statement_times")]
        gateway.runtime.database.timed = StatementTimes(3600.0)
        caplog.clear()
        assert (await gateway.graphql(query, headers)).status_code == 200
        assert not [record for record in caplog.records if record.name.endswith("statement_times")]
        assert _times(await _metrics(gateway)) >= before + len(lines) > before
    [line] = [line for line in lines if "FROM deals" in line]
    assert re.match(r"slow statement ms=[\d.]+ failed=None digest=[0-9a-f]{16} statement=(WITH|SELECT) ", line)
    assert "canary" not in line


def _times(text: str) -> float:
    found = re.findall(r"^crm_statement_seconds_count\S* (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))
