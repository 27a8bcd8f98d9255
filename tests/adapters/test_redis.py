"""What is relied on of redis-py below its documented surface (identity/adapters/redis.py)."""

from __future__ import annotations

import inspect

from redis._parsers import _AsyncRESP2Parser
from redis.asyncio.connection import AbstractConnection

from identity.adapters.redis import BoundedReplies


def test_every_reply_goes_through_what_counts_it() -> None:
    assert BoundedReplies.__mro__[1] is _AsyncRESP2Parser
    for name, parameters in (("_readline", ["self"]), ("_read", ["self", "length"])):
        method = getattr(_AsyncRESP2Parser, name)
        assert inspect.iscoroutinefunction(method)
        assert list(inspect.signature(method).parameters) == parameters
    inner = inspect.getsource(_AsyncRESP2Parser._read_response)
    assert "self._readline()" in inner
    assert "self._read(" in inner
    assert "self._read_response(" in inner
    assert "disable_decoding" in inspect.signature(_AsyncRESP2Parser.read_response).parameters


def test_a_connection_takes_the_parser_that_it_is_given() -> None:
    assert "parser_class" in inspect.signature(AbstractConnection.__init__).parameters
