"""Calls that a client waits for: they end in time for its answer, whatever the provider does (decision 117)."""

from __future__ import annotations

import asyncio

import pytest

from providers import sequencing
from providers.instantly import InstantlySequencing
from providers.sequencing import Gone, Unreachable, patience
from tests.support.loopback import Reply, serving


async def test_all_repetitions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequencing, "PROVIDER_SECONDS", 3)
    async with serving(lambda _: Reply({}, silent=120)) as server:
        provider = InstantlySequencing("key", server.url, deadline=2, pause=0.01)
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unreachable, match="The provider did not answer in time"):
            async with patience():
                await provider.delete("c1")
        assert asyncio.get_running_loop().time() - began < 60
        await provider.close()
    assert len(server.asked) == 2


async def test_what_the_provider_says_stays() -> None:
    with pytest.raises(Gone, match="not there"):
        async with patience():
            raise Gone("not there")
