"""The official Python client against a started service, in either era of the protocol."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

from tests.support.live import going


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_the_python_client_lists_calls_and_reads(database_url: str, tmp_path: Path) -> None:
    async with going(tmp_path, database_url) as live:
        await live.create("Rollout")
        for mode in ("auto", "legacy"):
            async with (
                httpx2.AsyncClient(headers=live.token()) as http,
                Client(streamable_http_client(f"{live.service.address}/mcp", http_client=http), mode=mode) as client,  # type: ignore[arg-type]  # a literal
            ):
                tools = await client.list_tools()
                assert [tool.name for tool in tools.tools][:3] == ["describe", "search", "list_records"]
                found = await client.call_tool("list_records", {"kind": "deal"})
                assert found.structured_content["data"]["nodes"][0]["name"] == "Rollout"
                refused = await client.call_tool("get_record", {"kind": "deal"})
                assert refused.is_error
                kinds = await client.read_resource("crm://kinds")
                assert isinstance(kinds.contents[0], types.TextResourceContents)
                assert len((await client.list_prompts()).prompts) == 3
                made = await client.call_tool("create_record", {"kind": "account", "fields": {"name": f"By {mode}"}})
                assert made.structured_content["data"]["account"]["name"] == f"By {mode}"
