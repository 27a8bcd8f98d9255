"""One connection over which GraphQL is spoken: the protocol graphql-transport-ws, to the letter (decision 81)."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from contract.errors import BadRequest, GatewayError, TimedOut, TooManyStreams, Unauthenticated, Unavailable
from contract.limits import (
    ANONYMOUS_IDLE_SECONDS,
    CONNECTION_INIT_SECONDS,
    STREAM_SEND_SECONDS,
    STREAMS_PER_CONNECTION,
)
from contract.tracing import Span, SpanKind
from gateway.graphql.encoding import encoded
from gateway.graphql.operations import Operations, key_of, read_after_of
from gateway.graphql.ws_messages import Closed, identifier_of, payload_of, read_message
from gateway.observability import logs
from gateway.observability.metrics import count_request
from gateway.server.shutdown import LAST_WORK_SECONDS
from gateway.server.websocket_protocol import RECEIVED, WebSocketServerProtocol
from gateway.tracing.requests import BEGUN, tell
from resolvers.shared.context import Context, Services
from resolvers.shared.positions import ReadAfter, follow
from schema.errors import refusal
from schema.execution import Answer, Executor, Request
from transport.credential_watch import CredentialWatch
from transport.errors import report
from transport.headers import address_of
from transport.places import Path, Places
from transport.request_log import RequestLog
from transport.streams import STREAM, Streams

_LAST_ANSWERS_SECONDS = LAST_WORK_SECONDS + 0.5


@dataclass(frozen=True, slots=True)
class Shared:
    """The state that the connections of one process have in common.

    `places` are those of all requests, `sockets` those of connections (decision 107).
    """

    services: Services
    executor: Executor
    operations: Operations
    streams: Streams
    places: Places
    sockets: Places


class Connection:
    """One connection, counted at `path`: what was said on it, and the operations that run."""

    def __init__(
        self,
        shared: Shared,
        scope: Scope,
        headers: Mapping[str, str],
        receive: Receive,
        send: Send,
        path: Path,
    ) -> None:
        self.path = path
        self._shared = shared
        self._record: RequestLog = scope["state"]["record"]
        self._request_id = self._record.request_id
        self._traced: Callable[[str, SpanKind], Span] | None = scope["state"].get(BEGUN)
        self._address = address_of(scope)
        self._headers = headers
        self._receive = receive
        self._received: WebSocketServerProtocol | None = scope.get("extensions", {}).get(RECEIVED)
        self._send = send
        self._watch: CredentialWatch | None = None
        self._begun: asyncio.Future[CredentialWatch] = asyncio.get_running_loop().create_future()
        self._operations: dict[str, asyncio.Task[None]] = {}
        self._renewing = asyncio.Lock()
        self._idle_since = 0.0
        self._streams: set[asyncio.Task[None] | None] = set()
        self._trouble: asyncio.Future[Closed] = asyncio.get_running_loop().create_future()

    async def serve(self) -> None:
        tasks: list[asyncio.Future[None]] = [
            asyncio.create_task(work) for work in (self._messages(), self._watched(), self._stopped())
        ]
        try:
            waiting: list[asyncio.Future[None] | asyncio.Future[Closed]] = [*tasks, self._trouble]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            running = [*self._operations.values()]
            for task in (*tasks, *running):
                task.cancel()
            ended = await asyncio.gather(*tasks, *running, return_exceptions=True)
        if self._trouble.done():
            ended.insert(0, self._trouble.result())
        for error in ended:
            if isinstance(error, Closed):
                await self._close(error)
                return
            if isinstance(error, Exception):
                report(error, self._request_id)
                await self._close(Closed(1011, "Internal error"))
                return

    async def _close(self, closed: Closed) -> None:
        with suppress(OSError, RuntimeError):  # it is closed already
            await self._send({"type": "websocket.close", "code": closed.code, "reason": closed.reason})

    async def _stopped(self) -> None:
        """Close when the service ends, after what is no stream has been answered."""
        await self._shared.streams.stopping.wait()
        answering = [task for task in self._operations.values() if task not in self._streams]
        if answering:
            await asyncio.wait(answering, timeout=_LAST_ANSWERS_SECONDS)
        raise Closed(1001, "The service is ending")

    async def _messages(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._take(read_message(message))

    async def _watched(self) -> None:
        """Close where nobody begins, the credential falls, or there is none and nothing is asked."""
        try:
            async with asyncio.timeout(CONNECTION_INIT_SECONDS):
                watch = await self._begun
        except TimeoutError:
            raise Closed(4408, "Connection initialisation timeout") from None
        if watch.principal is None:
            await self._idle()
            raise Closed(1000, "Nothing was asked, without a credential")
        error = await watch.until_refused()
        raise Closed(4403, f"Forbidden: {error.message}")

    async def _idle(self) -> None:
        """Wait until no operation has run for a while."""
        now, self._idle_since = time.monotonic(), time.monotonic()
        while self._operations or now - self._idle_since < ANONYMOUS_IDLE_SECONDS:
            await asyncio.sleep(max(1.0, self._idle_since + ANONYMOUS_IDLE_SECONDS - now))
            now = time.monotonic()

    async def _take(self, message: dict[str, object]) -> None:
        match message.get("type"):
            case "connection_init":
                await self._begin(payload_of(message))
            case "ping":
                payload = payload_of(message)
                await self._put({"type": "pong"} | ({"payload": payload} if payload else {}))
            case "pong":
                payload_of(message)
            case "subscribe":
                await self._subscribe(identifier_of(message), message.get("payload"))
            case "complete":
                running = self._operations.pop(identifier_of(message), None)
                if running is not None:
                    running.cancel()
            case _:
                raise Closed(4400, "Invalid message: no type of the protocol")

    async def _begin(self, payload: dict[str, object]) -> None:
        if self._watch is not None:
            raise Closed(4429, "Too many initialisation requests")
        said = {name.lower(): value for name, value in payload.items() if isinstance(value, str)}
        self._watch = watch = CredentialWatch(
            self._shared.streams,
            said.get("authorization", self._headers.get("authorization")),
            said.get("x-service-org", self._headers.get("x-service-org")),
            self._address,
        )
        try:
            await watch.begin()
            self._record.principal = watch.principal
        except (Unavailable, TimedOut):
            raise Closed(1013, "Try again later") from None
        except GatewayError as error:
            raise Closed(4403, f"Forbidden: {error.message}") from None
        if watch.principal is not None:
            self._move(watch.path)
        if self._received is not None:
            self._received.begin(is_anonymous=watch.principal is None)
        await self._put({"type": "connection_ack"})
        self._begun.set_result(watch)

    def _move(self, path: Path) -> None:
        """Have the connection counted with its caller. Raises Closed where there are as many as may be."""
        if not self._shared.sockets.take(path):
            raise Closed(1013, "Try again later")
        self._shared.sockets.leave(self.path)
        self.path = path

    async def _subscribe(self, identifier: str, payload: object) -> None:
        if not self._begun.done():
            raise Closed(4401, "Unauthorized")
        watch = self._begun.result()
        if identifier in self._operations:
            raise Closed(4409, f"Subscriber for {identifier} already exists")
        if not isinstance(payload, dict):
            raise Closed(4400, "Invalid message: payload must be an object")
        try:
            request = self._shared.operations.read(payload, self._address if watch.principal is None else None)
            key, asked = key_of(request, None), read_after_of(request, None)
            if len(self._operations) >= STREAMS_PER_CONNECTION:
                raise TooManyStreams()
            if self._shared.streams.stopping.is_set():
                raise Unavailable()
        except BadRequest as error:
            raise Closed(4400, f"Invalid message: {error.message}") from None
        except GatewayError as error:
            await self._refuse(identifier, error)
            return
        context = watch.acting(
            Context(self._shared.services, watch.principal, self._request_id, key=key, look=watch.look)
        )
        self._operations[identifier] = asyncio.create_task(self._run(identifier, request, context, watch, asked))

    async def _run(
        self, identifier: str, request: Request, context: Context, watch: CredentialWatch, asked: ReadAfter | None
    ) -> None:
        """One operation, from its request to its last message, and its line in the log."""
        record, began = RequestLog(self._request_id, "graphql", principal=context.principal), time.perf_counter()
        span = None if self._traced is None else self._traced("WEBSOCKET /graphql", SpanKind.SERVED)
        status = 0
        try:
            try:
                await self._renew(watch)
                await self._shared.executor.open(request, record)
                if self._shared.executor.is_query(request):
                    follow(context, asked)
                status = await self._execute(identifier, request, context, record, watch.path)
            except GatewayError as error:
                record.refused(error)
                status = error.status
                await self._refuse(identifier, error)
            except Closed:
                raise
            except Exception as error:
                report(error, self._request_id)
                record.code, status = GatewayError.code, GatewayError.status
                await self._refuse(identifier, GatewayError())
        except Closed as closed:
            if not self._trouble.done():
                self._trouble.set_result(closed)
        finally:
            seconds = time.perf_counter() - began
            count_request(record, status, seconds)
            logs.access.write("WEBSOCKET", _PATH, status, seconds, record)
            if span is not None:
                tell(span, record, status, _PATH)
                span.end()
            watch.done(context)
            self._idle_since = time.monotonic()
            self._streams.discard(asyncio.current_task())
            if self._operations.get(identifier) is asyncio.current_task():
                del self._operations[identifier]

    async def _renew(self, watch: CredentialWatch) -> None:
        """Have the credential hold at this moment, as for each request over HTTP. Raises Closed, and Unavailable.

        One after the other, so that operations begin in the order in which they were sent.
        """
        try:
            async with self._renewing:
                await watch.renew()
        except (Unavailable, TimedOut):
            raise
        except GatewayError as error:
            raise Closed(4403, f"Forbidden: {error.message}") from None

    async def _execute(
        self, identifier: str, request: Request, context: Context, record: RequestLog, path: Path
    ) -> int:
        """Send the answers of an operation that is open; the status that they would have over HTTP.

        While it is worked on, what is no stream holds a place like a request.
        What is wrong with it as a whole is an error, which ends it as well.
        """
        executor = self._shared.executor
        if not executor.is_subscription(request):
            with self._shared.places.one(path):
                answer = await executor.run(request, context)
            record.answered(answer.body)
            if not answer.executed:
                await self._put({"id": identifier, "type": "error", "payload": answer.body["errors"]})
                return _status(answer)
            await self._put({"id": identifier, "type": "next", "payload": answer.body})
        else:
            record.surface = STREAM
            answers = await executor.stream(request, context)
            if isinstance(answers, Answer):
                record.answered(answers.body)
                await self._put({"id": identifier, "type": "error", "payload": answers.body["errors"]})
                return _status(answers)
            self._streams.add(asyncio.current_task())
            with self._shared.streams.one(path):
                async with aclosing(answers):  # type: ignore[type-var]  # a generator
                    async for answer in answers:
                        record.answered(answer.body)
                        await self._put({"id": identifier, "type": "next", "payload": answer.body})
        await self._put({"id": identifier, "type": "complete"})
        return 200

    async def _refuse(self, identifier: str, error: GatewayError) -> None:
        errors = refusal(error, self._request_id)["errors"]
        await self._put({"id": identifier, "type": "error", "payload": errors})

    async def _put(self, message: dict[str, object]) -> None:
        """Send a message. Raises Closed for a client that stopped reading, and ResponseTooLarge."""
        text = encoded(message).decode()
        try:
            async with asyncio.timeout(STREAM_SEND_SECONDS):
                await self._send({"type": "websocket.send", "text": text})
        except TimeoutError:
            raise Closed(1008, "The client does not read") from None
        except (OSError, RuntimeError):
            raise Closed(1006, "The client has gone") from None


_PATH = "/graphql"


def _status(answer: Answer) -> int:
    """Says which status an answer without a result would have had over HTTP."""
    return Unauthenticated.status if answer.needs_credential else BadRequest.status
