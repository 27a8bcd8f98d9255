"""The one way to Sentry's library, imported only where CRM_SENTRY_DSN is set: it carries what `error_reports` wrote.

The client is made without an integration, so that nothing is hooked into this process and nothing is collected: no
breadcrumbs, no request, no local variables, no modules. What is added all the same is cut by `_kept`.
"""

from typing import TYPE_CHECKING, Final, cast

import sentry_sdk

from contract.limits import VERSION
from gateway.observability.error_reports import OWN, Raised, Report

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

CLOSE_SECONDS: Final = 1.5
"""How long the end of the process waits for the last errors to be taken."""
_KEPT: Final = frozenset(
    {"event_id", "timestamp", "level", "logger", "platform", "release", "environment", "server_name", "sdk"}
    | {"exception", "logentry", "tags"}
)


class Sentry:
    """A client that sends, in a thread of its own, what it is given."""

    def __init__(self, dsn: str) -> None:
        self._client = sentry_sdk.Client(
            dsn,
            release=f"crm-gateway@{VERSION}",
            default_integrations=False,
            auto_enabling_integrations=False,
            include_local_variables=False,
            include_source_context=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            auto_session_tracking=False,
            send_client_reports=False,
            enable_backpressure_handling=False,
            propagate_traces=False,
            spotlight=False,
            before_send=_kept,
        )

    def send(self, report: Report) -> None:
        """Have the report sent, later; where too many wait already it is dropped."""
        event = {
            "level": "error",
            "logger": report.logger,
            "logentry": {"message": report.words},
            "exception": {"values": [_value(raised) for raised in report.raised]},
            "tags": dict(report.tags),
        }
        self._client.capture_event(cast("Event", event))

    def close(self) -> None:
        """Wait a moment for what is on its way, and end."""
        self._client.close(timeout=CLOSE_SECONDS)


def _value(raised: Raised) -> dict[str, object]:
    frames = [
        {
            "filename": frame["file"],
            "lineno": frame["line"],
            "function": frame["function"],
            "in_app": frame["file"].partition("/")[0] in OWN,
        }
        for frame in raised.frames
    ]
    return {"type": raised.type, "stacktrace": {"frames": frames}}


def _kept(event: "Event", _hint: "Hint") -> "Event":
    return cast("Event", {name: value for name, value in event.items() if name in _KEPT})
