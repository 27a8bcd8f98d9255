"""Server-sent events: an answer, or a stream of them, as graphql-sse's distinct connections have it (decision 81)."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from starlette.types import Receive, Send

from contract.errors import GatewayError, ResponseTooLarge
from gateway.graphql.encoding import encoded
from schema.errors import refusal
from schema.execution import Answer
from transport import event_stream
from transport.credential_watch import CredentialWatch
from transport.event_stream import EVENT_STREAM, HEADERS
from transport.request_log import Answer as Body
from transport.request_log import RequestLog

__all__ = ["EVENT_STREAM", "EventStream"]

_COMPLETE = b"event: complete\ndata:\n\n"


class EventStream:
    """A response of GraphQL's events: to be sent instead of a body."""

    def __init__(self, answers: AsyncIterator[Answer] | Answer, watch: CredentialWatch, record: RequestLog) -> None:
        self._answers = answers
        self._watch = watch
        self._record = record

    async def __call__(self, receive: Receive, send: Send) -> None:
        """Send until there is no more to send (transport/event_stream.py)."""
        if isinstance(self._answers, Answer):
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            body = self._next(self._answers.body) + _COMPLETE
            await send({"type": "http.response.body", "body": body, "more_body": False})
            return
        pieces = self._pieces(self._answers)
        stream = event_stream.EventStream(
            pieces, self._watch, self._record.request_id, end=_COMPLETE, refused=self._refused
        )
        await stream(receive, send)

    async def _pieces(self, answers: AsyncIterator[Answer]) -> AsyncIterator[bytes]:
        async with aclosing(answers):  # type: ignore[type-var]  # a generator
            async for answer in answers:
                self._record.answered(answer.body)
                yield self._next(answer.body)

    def _next(self, body: Body) -> bytes:
        try:
            return _event(encoded(body))
        except ResponseTooLarge as error:
            return self._refused(error)

    def _refused(self, error: GatewayError) -> bytes:
        self._record.refused(error)
        return _event(encoded(refusal(error, self._record.request_id)))


def _event(content: bytes) -> bytes:
    return b"event: next\ndata: " + content + b"\n\n"
