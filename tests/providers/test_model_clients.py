"""OpenAI's own client reads the scripted server, so what our adapter is tried against is the protocol."""

from __future__ import annotations

import openai
import pytest

from tests.support.loopback import serving
from tests.support.model import DONE, called, delta, streamed, used


@pytest.mark.long
async def test_the_client_of_the_protocol_reads_what_the_fake_server_says() -> None:
    chunks = [
        *(delta(role="assistant", content=""), delta(content="Hel"), delta(content="lo")),
        *(delta(tool_calls=[called("search", '{"query"')]), delta(tool_calls=[called("", ': "Acme"}', id="")])),
        *(delta("tool_calls"), used(12, 3), DONE),
    ]
    async with serving(lambda _: streamed(*chunks)) as server:
        client = openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)
        text, arguments, usage = "", "", None
        async with client:
            stream = await client.chat.completions.create(
                model="scripted-1", messages=[{"role": "user", "content": "Hi"}], stream=True
            )
            async for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for call in choice.delta.tool_calls or ():
                        arguments += (call.function and call.function.arguments) or ""
    assert (text, arguments) == ("Hello", '{"query": "Acme"}')
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (12, 3)
