"""The rows of chats in the tables of all operations and paths, and what their paths answer beside their twins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from contract.criteria import PageWindow
from tests.isolation.requests import Case, Rest, by_id, put, q
from tests.isolation.surfaces import Surfaces

CASES: dict[str, Case] = {
    "chat_threads.create_thread": Case(
        "CRM_READ",
        (
            Rest("POST", "/chat/threads", {"title": "<name>"}),
            put("chatThreadCreate", "ChatThreadInput", "thread { id title }", title="<name>"),
        ),
    ),
    "chat_threads.get_thread": Case(
        "CRM_READ",
        (
            Rest("GET", "/chat/threads/<thread>"),
            q(
                "query($id: ID!) { chatThread(id: $id) { id title activeRun { id } runs { nodes { id } } } }",
                id="<thread>",
            ),
        ),
    ),
    "chat_threads.list_threads": Case(
        "CRM_READ", (Rest("GET", "/chat/threads"), q("{ chatThreads { nodes { id title } } }"))
    ),
    "chat_threads.list_messages": Case(
        "CRM_READ",
        (
            Rest("GET", "/chat/threads/<thread>/messages"),
            q(
                "query($id: ID!) { chatThread(id: $id) { messages { nodes { id text citations { label node { id } } } "
                "} } }",
                id="<thread>",
            ),
        ),
        below=("chat_threads.get_thread",),
        direct=("<thread>", PageWindow()),
    ),
    "chat_threads.rename_thread": Case(
        "CRM_READ",
        (
            Rest("PATCH", "/chat/threads/<thread>", {"title": "Changed"}),
            q(
                'mutation($id: ID!) { chatThreadRename(id: $id, title: "Changed") { thread { id } userErrors { code '
                "message field } } }",
                id="<thread>",
            ),
        ),
    ),
    "chat_runs.get_run": Case(
        "CRM_READ",
        (
            Rest("GET", "/chat/runs/<chat run>"),
            q("query($id: ID!) { chatRun(id: $id) { id status events { id data } } }", id="<chat run>"),
        ),
    ),
    "chat_runs.watch_run": Case(
        "CRM_READ",
        (
            Rest("GET", "/chat/runs/<chat run>/events"),
            q("subscription($id: ID!) { chatRun(id: $id) { id data } }", id="<chat run>"),
        ),
    ),
    "chat_runs.cancel_run": Case(
        "CRM_READ",
        (Rest("POST", "/chat/runs/<chat run>/cancel"), by_id("chatRunCancel", "chat run", "run { id }")),
    ),
    "chat_runs.send": Case(
        "CRM_READ",
        (
            Rest("POST", "/chat/threads/<thread>/messages", {"text": "what can you do"}),
            q(
                "mutation($i: ChatSendInput!) { chatSend(input: $i) { run { id } userErrors { code message field } } }",
                i={"threadId": "<thread>", "text": "what can you do"},
            ),
        ),
    ),
    "chat_approvals.list_approvals": Case(
        "CRM_READ",
        (Rest("GET", "/chat/approvals?status=rejected"), q("{ chatApprovals { nodes { id arguments preview } } }")),
    ),
    "chat_approvals.get_approval": Case(
        "CRM_READ",
        (
            Rest("GET", "/chat/approvals/<approval>"),
            q(
                "query($id: ID!) { chatRun(id: $id) { approvals { id arguments preview result { id } } } }",
                id="<chat run>",
            ),
        ),
        below=("chat_runs.get_run",),
        direct=("<approval>",),
    ),
    "chat_approvals.decide": Case(
        "CRM_READ",
        (
            Rest("POST", "/chat/approvals/<approval>", {"decision": "reject", "arguments_sha256": "a" * 64}),
            q(
                "mutation($i: ChatApprovalInput!) { chatApprovalDecide(input: $i) { approval { id } userErrors { code "
                "message field } } }",
                i={"id": "<approval>", "decision": "REJECT", "argumentsSha256": "a" * 64},
            ),
        ),
    ),
    "chat_usage.list_usage": Case(
        "ORG_ADMIN",
        (Rest("GET", "/chat/usage?from=2026-01-01"), q('{ chatUsage(from: "2026-01-01") { subject runs } }')),
    ),
    "chat_threads.delete_thread": Case(
        "CRM_READ",
        (Rest("DELETE", "/chat/threads/<thread>"), by_id("chatThreadDelete", "thread", "deletedId")),
    ),
}
PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    ("POST", "/chat/threads"): ("CRM_READ", True, 201, "Mutation.chatThreadCreate"),
    ("GET", "/chat/threads"): ("CRM_READ", True, 200, "Query.chatThreads"),
    ("GET", "/chat/threads/{thread_id}"): ("CRM_READ", True, 200, "Query.chatThread"),
    ("PATCH", "/chat/threads/{thread_id}"): ("CRM_READ", True, 200, "Mutation.chatThreadRename"),
    ("DELETE", "/chat/threads/{thread_id}"): ("CRM_READ", True, 204, "Mutation.chatThreadDelete"),
    ("GET", "/chat/threads/{thread_id}/messages"): ("CRM_READ", True, 200, "ChatThread.messages"),
    ("POST", "/chat/threads/{thread_id}/messages"): ("CRM_READ", True, 200, "Mutation.chatSend"),
    ("GET", "/chat/usage"): ("ORG_ADMIN", True, 200, "Query.chatUsage"),
    ("GET", "/chat/runs/{run_id}"): ("CRM_READ", True, 200, "Query.chatRun"),
    ("GET", "/chat/runs/{run_id}/events"): ("CRM_READ", True, 200, "Subscription.chatRun"),
    ("GET", "/chat/approvals"): ("CRM_READ", True, 200, "Query.chatApprovals"),
    ("GET", "/chat/approvals/{approval_id}"): ("CRM_READ", True, 200, "ChatRun.approvals"),
    ("POST", "/chat/approvals/{approval_id}"): ("CRM_READ", True, 200, "Mutation.chatApprovalDecide"),
    ("POST", "/chat/runs/{run_id}/cancel"): ("CRM_READ", True, 202, "Mutation.chatRunCancel"),
}
_THREAD = ["id", "org_id", "title", "active_run_id", "created_at", "updated_at", "expires_at"]
_RUN = [
    *("id", "thread_id", "status", "provider", "model", "error_code", "attempts", "input_tokens", "output_tokens"),
    *("points", "created_at", "finished_at", "events_url"),
]
_APPROVAL = [
    *("id", "run_id", "thread_id", "tool", "operation", "arguments", "arguments_sha256", "record_version", "preview"),
    *("status", "expires_at", "decided_at", "result"),
]
KEYS: dict[tuple[str, str], list[str]] = {
    ("/chat/threads", "POST"): _THREAD,
    ("/chat/threads", "GET"): _THREAD,
    ("/chat/threads/{thread_id}", "GET"): _THREAD,
    ("/chat/threads/{thread_id}", "PATCH"): _THREAD,
    ("/chat/threads/{thread_id}/messages", "GET"): [
        *("id", "thread_id", "run_id", "role", "text", "citations", "created_at"),
    ],
    ("/chat/runs/{run_id}", "GET"): _RUN,
    ("/chat/runs/{run_id}/cancel", "POST"): _RUN,
    ("/chat/approvals", "GET"): _APPROVAL,
    ("/chat/approvals/{approval_id}", "GET"): _APPROVAL,
    ("/chat/approvals/{approval_id}", "POST"): _APPROVAL,
}
_GRAPH_RUN = "id threadId status provider model errorCode attempts inputTokens outputTokens points createdAt finishedAt"
_GRAPH_MESSAGE = "id threadId runId role text citations { start end kind id label } createdAt"
_GRAPH_THREAD = "id title createdAt updatedAt expiresAt activeRun { id }"


def _said(document: dict[str, Any]) -> dict[str, Any]:
    """A document as GraphQL writes it."""
    words = {"status", "role"}
    said = {
        name.split("_")[0] + "".join(part.capitalize() for part in name.split("_")[1:]): value
        for name, value in document.items()
        if name not in ("org_id", "events_url", "active_run_id")
    }
    if "active_run_id" in document:
        run = document["active_run_id"]
        said["activeRun"] = None if run is None else {"id": run}
    return said | {name: said[name].upper() for name in words & said.keys()}


async def _threads(surfaces: Surfaces) -> None:
    made = (await surfaces.rest("POST", "/chat/threads", {"title": "  By path "})).json()
    graph = await surfaces.graphql(
        f'mutation {{ chatThreadCreate(input: {{title: " By path "}}) {{ thread {{ {_GRAPH_THREAD} }} '
        "userErrors { code } } }"
    )
    assert graph["userErrors"] == []
    own = dict.fromkeys(("id", "createdAt", "updatedAt", "expiresAt"))
    assert graph["thread"] | own == _said(made) | own
    one = await surfaces.graphql(f"query($id: ID!) {{ chatThread(id: $id) {{ {_GRAPH_THREAD} }} }}", id=made["id"])
    path = (await surfaces.rest("GET", f"/chat/threads/{made['id']}")).json()
    assert path == made
    assert _said(path) == one
    listed = (await surfaces.rest("GET", "/chat/threads?limit=2")).json()
    page = await surfaces.graphql(f"{{ chatThreads(first: 2) {{ nodes {{ {_GRAPH_THREAD} }} totalCount }} }}")
    assert [_said(each) for each in listed] == page["nodes"]
    renamed = (await surfaces.rest("PATCH", f"/chat/threads/{made['id']}", {"title": "Other"})).json()
    graph = await surfaces.graphql(
        f'mutation($id: ID!) {{ chatThreadRename(id: $id, title: "Other") {{ thread {{ {_GRAPH_THREAD} }} }} }}',
        id=made["id"],
    )
    assert graph["thread"] == _said(renamed)
    for surface_title, at in (("x" * 201, "title"), (" ", "title")):
        refused = await surfaces.rest("PATCH", f"/chat/threads/{made['id']}", {"title": surface_title})
        assert [each["loc"] for each in refused.json()["detail"]] == [["body", at]]
        told = await surfaces.graphql(
            "mutation($id: ID!, $t: String!) { chatThreadRename(id: $id, title: $t) { userErrors { code field } } }",
            id=made["id"],
            t=surface_title,
        )
        assert told["userErrors"] == [{"code": "VALIDATION", "field": [at]}]
    assert (await surfaces.rest("DELETE", f"/chat/threads/{made['id']}")).status_code == 204
    told = await surfaces.graphql(
        "mutation($id: ID!) { chatThreadDelete(id: $id) { deletedId userErrors { code field } } }", id=made["id"]
    )
    assert told == {"deletedId": None, "userErrors": [{"code": "NOT_FOUND", "field": ["id"]}]}


async def _runs(surfaces: Surfaces) -> None:
    thread = (await surfaces.rest("POST", "/chat/threads")).json()["id"]
    events = await surfaces.rest("POST", f"/chat/threads/{thread}/messages", {"text": "what can you do"})
    run_id = events.headers["x-chat-run"]
    graph = await surfaces.graphql(
        f"query($id: ID!) {{ chatRun(id: $id) {{ {_GRAPH_RUN} events {{ id runId sequence type at data }} }} }}",
        id=run_id,
    )
    told = graph.pop("events")
    path = (await surfaces.rest("GET", f"/chat/runs/{run_id}")).json()
    assert _said(path) == graph
    assert graph["status"] == "SUCCEEDED"
    again = (await surfaces.rest("GET", f"/chat/runs/{run_id}/events")).text
    assert again == events.text
    assert [f"id: {event['id']}" for event in told] == [line for line in again.split("\n") if line.startswith("id: ")]
    assert [event["type"].lower() for event in told] == [
        line.removeprefix("event: ") for line in again.split("\n") if line.startswith("event: ")
    ]
    messages = (await surfaces.rest("GET", f"/chat/threads/{thread}/messages")).json()
    below = await surfaces.graphql(
        f"query($id: ID!) {{ chatThread(id: $id) {{ messages {{ nodes {{ {_GRAPH_MESSAGE} }} }} runs {{ nodes "
        f"{{ {_GRAPH_RUN} }} }} }} }}",
        id=thread,
    )
    assert [_said(message) for message in messages] == below["messages"]["nodes"]
    assert below["runs"]["nodes"] == [graph]
    cancelled = await surfaces.rest("POST", f"/chat/runs/{run_id}/cancel")
    assert (cancelled.status_code, cancelled.json()) == (202, path)
    twin = await surfaces.graphql(
        f"mutation($id: ID!) {{ chatRunCancel(id: $id) {{ run {{ {_GRAPH_RUN} }} userErrors {{ code }} }} }}", id=run_id
    )
    assert twin == {"run": graph, "userErrors": []}
    sent = await surfaces.graphql(
        "mutation($i: ChatSendInput!) { chatSend(input: $i) { run { id threadId } userErrors { code } } }",
        i={"threadId": thread, "text": "what can you do"},
    )
    assert sent["run"]["threadId"] == thread
    await surfaces.rest("GET", f"/chat/runs/{sent['run']['id']}/events")
    assert len((await surfaces.rest("GET", f"/chat/threads/{thread}/messages")).json()) == 4


async def _usage(surfaces: Surfaces) -> None:
    thread = (await surfaces.rest("POST", "/chat/threads")).json()["id"]
    await surfaces.rest("POST", f"/chat/threads/{thread}/messages", {"text": "what can you do"})
    paths = (await surfaces.rest("GET", "/chat/usage")).json()
    graph = await surfaces.graphql(
        "{ chatUsage { date subject provider model runs inputTokens outputTokens isEstimated } }"
    )
    assert [_said(day) for day in paths] == graph
    assert [day["runs"] for day in paths] == [1]
    assert (await surfaces.rest("GET", "/chat/usage?to=2020-01-01")).json() == []
    refused = await surfaces.rest("GET", "/chat/usage?from=2026-01-02&to=2026-01-01")
    assert [each["loc"] for each in refused.json()["detail"]] == [["query", "to"]]


_GRAPH_APPROVAL = (
    "id runId threadId tool operation arguments argumentsSha256 recordVersion preview status expiresAt decidedAt "
    "result { id }"
)


async def _approvals(surfaces: Surfaces) -> None:
    created = await surfaces.graphql('mutation { accountCreate(input: {name: "Approved Works"}) { account { id } } }')
    thread = (await surfaces.rest("POST", "/chat/threads")).json()["id"]
    run_id = ""
    for decision in ("REJECT", "APPROVE"):
        text, accept = "log a note on Approved Works: they will sign", "application/json"
        sent = await surfaces.rest("POST", f"/chat/threads/{thread}/messages", {"text": text}, Accept=accept)
        run_id = sent.json()["id"]
        path: dict[str, Any] = {}
        async with asyncio.timeout(60):
            while not path:
                waiting = (await surfaces.rest("GET", "/chat/approvals?status=pending&limit=1")).json()
                path = waiting[0] if waiting else {}
        page = await surfaces.graphql(f"{{ chatApprovals(status: PENDING) {{ nodes {{ {_GRAPH_APPROVAL} }} }} }}")
        assert [_said(path) | {"arguments": path["arguments"]}] == page["nodes"]
        assert path["preview"]["id"] == created["account"]["id"]
        assert (await surfaces.rest("GET", f"/chat/approvals/{path['id']}")).json() == path
        if decision == "REJECT":
            body = {"decision": "reject", "arguments_sha256": path["arguments_sha256"]}
            answer = (await surfaces.rest("POST", f"/chat/approvals/{path['id']}", body)).json()
            assert answer["status"] == "rejected"
        else:
            told = await surfaces.graphql(
                "mutation($i: ChatApprovalInput!) { chatApprovalDecide(input: $i) "
                f"{{ approval {{ {_GRAPH_APPROVAL} }} userErrors {{ code }} }} }}",
                i={"id": path["id"], "decision": decision, "argumentsSha256": path["arguments_sha256"]},
            )
            assert (told["approval"]["status"], told["userErrors"]) == ("APPROVED", [])
        await surfaces.rest("GET", f"/chat/runs/{run_id}/events")
    graph = await surfaces.graphql(
        f"query($id: ID!) {{ chatRun(id: $id) {{ approvals {{ {_GRAPH_APPROVAL} }} }} }}", id=run_id
    )
    path = (await surfaces.rest("GET", f"/chat/approvals/{path['id']}")).json()
    result = path.pop("result")
    [below] = graph["approvals"]
    assert (below.pop("result"), result["kind"]) == ({"id": result["id"]}, "note")
    assert below == _said(path)
    assert below["status"] == "EXECUTED"
    for body, at in (({"decision": "reject", "arguments_sha256": "x"}, "argumentsSha256"),):
        refused = await surfaces.rest("POST", f"/chat/approvals/{path['id']}", body)
        assert [each["loc"] for each in refused.json()["detail"]] == [["body", "arguments_sha256"]]
        told = await surfaces.graphql(
            "mutation($i: ChatApprovalInput!) { chatApprovalDecide(input: $i) { userErrors { code field } } }",
            i={"id": path["id"], "decision": "REJECT", "argumentsSha256": "x"},
        )
        assert told["userErrors"] == [{"code": "VALIDATION", "field": ["input", at]}]


COMPARED: dict[str, Callable[[Surfaces], Awaitable[None]]] = {
    "Query.chatUsage": _usage,
    **dict.fromkeys(("Query.chatApprovals", "ChatRun.approvals", "Mutation.chatApprovalDecide"), _approvals),
    **dict.fromkeys(
        (
            *("Query.chatThread", "Query.chatThreads", "Mutation.chatThreadCreate", "Mutation.chatThreadRename"),
            "Mutation.chatThreadDelete",
        ),
        _threads,
    ),
    **dict.fromkeys(
        (
            *("Query.chatRun", "Subscription.chatRun", "Mutation.chatRunCancel", "Mutation.chatSend"),
            "ChatThread.messages",
        ),
        _runs,
    ),
}
