"""A chat from a terminal: sends a text, shows the answer as it comes, asks before a write, resumes. Needs httpx.

TOKEN=... python chat.py "my open deals"; CRM_URL names another address than http://127.0.0.1:8000.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx

URL = os.environ.get("CRM_URL", "http://127.0.0.1:8000")


def events(response: httpx.Response) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The events of a stream: what each tells, its id, its data."""
    rest = ""
    for text in response.iter_text():  # lines end in LF alone: iter_lines() would cut texts that have U+2028
        *blocks, rest = (rest + text).split("\n\n")
        for block in blocks:
            fields = {name: value for name, _, value in (line.partition(": ") for line in block.split("\n"))}
            if "event" in fields:
                yield fields["event"], fields["id"], json.loads(fields["data"])


def answer(client: httpx.Client, thread: str, text: str) -> str:
    """Send a text and print the answer; how the run ended."""
    method, path, body = "POST", f"/chat/threads/{thread}/messages", {"text": text}
    headers = {"Idempotency-Key": str(uuid4())}  # sent again, it begins no second run
    while True:
        try:
            with client.stream(method, path, headers=headers, json=body or None) as response:
                if response.status_code != 200:
                    sys.exit(response.read().decode())
                for kind, last, data in events(response):
                    method, path, body = "GET", f"/chat/runs/{last.partition('.')[0]}/events", {}
                    headers = {"Last-Event-ID": last}
                    if kind == "text_delta":
                        print(data["text"], end="", flush=True)
                    elif kind == "approval_required":
                        said = "approve" if input(f"\n{data['preview']}\nApprove? [y/N] ") == "y" else "reject"
                        decision = {"decision": said, "arguments_sha256": data["arguments_sha256"]}
                        client.post(f"/chat/approvals/{data['approval_id']}", json=decision)
                    elif kind == "run_finished":
                        print(f"\n[{data['status']}]")
                        return str(data["status"])
        except httpx.TransportError:
            time.sleep(1)


if __name__ == "__main__":
    with httpx.Client(base_url=URL, headers={"Authorization": f"Bearer {os.environ['TOKEN']}"}, timeout=30) as client:
        thread = client.post("/chat/threads").raise_for_status().json()["id"]
        sys.exit(answer(client, thread, " ".join(sys.argv[1:]) or "what can you do") != "succeeded")
