"""The sequencing provider down, slow, talking garbage, or redirecting to a private address: others do not notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract.limits import PROVIDER_SECONDS
from providers.breaker import FAILURES
from tests.support.live import Live, going
from tests.support.loopback import Reply, serving

pytestmark = pytest.mark.long

BUY = """mutation($name: String!) {
  domainPurchase(name: $name, idempotencyKey: $name) { domain { status } userErrors { code } } }"""
_SLACK = 10.0

TROUBLES: dict[str, Callable[[Any], Reply]] = {
    "down": lambda _: Reply(whole=b""),
    "slow": lambda _: Reply({}, silent=60),
    "garbage": lambda _: Reply(b"<html>Down for maintenance</html>"),
    "errors": lambda _: Reply({}, 500),
}


def _well(asked: Any) -> Reply:
    if asked.path.endswith("/check"):
        return Reply([{"domain": name, "available": True} for name in asked.body["domains"]])
    return Reply({"items": []})


async def _buy(live: Live, name: str) -> float:
    """Seconds until the order stood, pending: what the provider could not be told now a job tells it."""
    began = time.monotonic()
    bought = (await live.ask(BUY, name=name))["domainPurchase"]
    assert bought == {"domain": {"status": "PENDING"}, "userErrors": []}
    return time.monotonic() - began


async def _others(live: Live, until: asyncio.Event) -> list[float]:
    """How long requests take that have nothing to do with the provider."""
    took = []
    async with httpx.AsyncClient(headers=live.token(), timeout=20) as client:
        while not until.is_set():
            began = time.monotonic()
            assert (await client.get(f"{live.service.address}/deals")).status_code == 200
            assert (await client.get(f"{live.service.address}/ready")).status_code == 200
            took.append(time.monotonic() - began)
            await asyncio.sleep(0.05)
    return took


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_breaker_opens_and_nobody_else_is_hurt(database_url: str, tmp_path: Path) -> None:
    async with serving(_well) as provider, serving(_well) as private:
        redirects = Reply({}, 302, {"Location": f"{private.url}/latest/meta-data"})
        settings = {
            "CRM_SEQUENCING_PROVIDER": "instantly",
            "CRM_SEQUENCING_URL": provider.url,
            "CRM_SEQUENCING_API_KEY": "canary-key",
            "CRM_RATE_LIMIT": "off",
        }
        async with going(tmp_path, database_url, **settings) as live:
            await _buy(live, "before.example")
            for trouble, answer in (TROUBLES | {"redirects": lambda _: redirects}).items():
                provider.answer = answer
                over = asyncio.Event()
                others = asyncio.create_task(_others(live, over))
                took = await asyncio.gather(*(_buy(live, f"{trouble}{n}.example") for n in range(FAILURES)))
                assert max(took) < PROVIDER_SECONDS + _SLACK
                asked = len(provider.asked)
                took = [await _buy(live, f"{trouble}-open{n}.example") for n in range(3)]
                over.set()
                print(
                    f"{trouble}: open after {asked} requests; then {max(took):.3f} s; others {max(await others):.3f} s"
                )
                # Pauses may have ended meanwhile, and their trials been made.
                assert len(provider.asked) <= asked + 2
                assert max(await others) < 2 + _SLACK
                provider.answer = _well
                await _answered(live, provider, trouble)
        assert private.asked == []
        log = live.service.log.read_text()
        assert log.count("is left alone") == log.count("answers again") == len(TROUBLES) + 1
        assert "canary-key" not in log
        assert "Traceback" not in log


async def _answered(live: Live, provider: Any, trouble: str) -> None:
    """Wait until the provider is asked again, by the trial after a pause."""
    asked = len(provider.asked)
    async with asyncio.timeout(30):
        number = 0
        while len(provider.asked) < asked + 2:  # the list of orders, and whether the domain is to be had
            number += 1
            await _buy(live, f"{trouble}-again{number}.example")
            await asyncio.sleep(0.1)
