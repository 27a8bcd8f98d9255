"""The tests of chats ask both surfaces from outside; a model answers that does what a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.chat.chatting import Chatter
from tests.schema.conftest import graphql, one, surface_url, two
from tests.support.chat_model import ScriptedModel
from tests.support.gateway import Gateway, open_gateway
from tests.support.tenants import Tenant

__all__ = ["graphql", "one", "surface_url", "two"]
_MODEL = ScriptedModel()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def gateway(surface_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """The running application."""
    async with open_gateway(surface_url, tmp_path_factory.mktemp("data"), chat_model=_MODEL) as gateway:
        yield gateway


@pytest.fixture
def model() -> ScriptedModel:
    """Who answers; it says «Done.» unless a test has it play something."""
    return _MODEL.plays()


@pytest.fixture
def chat(one: Tenant, model: ScriptedModel) -> Chatter:
    """The organization's member, in the first of its processes."""
    assert not model.asked
    return Chatter(one.gateway.http, one.gateway.app, one.headers())
