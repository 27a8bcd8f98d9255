"""GraphQL over WebSocket: the protocol graphql-transport-ws, to the letter (decision 81)."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

import orjson
from starlette.types import Message, Receive, Scope, Send

from contract.errors import GatewayError, TooManyStreams, Unavailable
from contract.limits import CONNECTION_INIT_SECONDS, STREAM_ID_MAX, STREAM_SEND_SECONDS, STREAMS_PER_CONNECTION
from gateway.operations import Operations
from gateway.vigil import Vigil
from resolvers.context import Context, Services
from rest_compat.errors import report
from schema.errors import refusal
from schema.execution import Answer, Executor, Request

PROTOCOL = "graphql-transport-ws"
_REASON_BYTES_MAX = 120  # a close frame has 125 bytes, two of them the code


class Closed(Exception):
    """The connection is to be closed, with a code and the reason in words."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = reason.encode()[:_REASON_BYTES_MAX].decode(errors="ignore")
        super().__init__(reason)


class WebSocketEndpoint:
    """Takes the connections of one process; `origins` are those of other hosts whose pages may connect."""

    def __init__(self, services: Services, executor: Executor, operations: Operations, origins: Iterable[str]) -> None:
        self.services = services
        self.executor = executor
        self.operations = operations
        self.origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection from its upgrade to its end."""
        await receive()  # the upgrade
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        if not self._admits(headers):
            await send({"type": "websocket.close", "code": 1008, "reason": "Origin not allowed"})
            return
        spoken = PROTOCOL in scope["subprotocols"]
        await send({"type": "websocket.accept", "subprotocol": PROTOCOL if spoken else None})
        if not spoken:
            await send({"type": "websocket.close", "code": 4406, "reason": "Subprotocol not acceptable"})
            return
        await _Connection(self, scope["state"]["request_id"], headers, receive, send).serve()

    def _admits(self, headers: dict[bytes, str]) -> bool:
        """Pages of this host and of the listed origins may connect, and whoever is no page and so names no origin."""
        origin = headers.get(b"origin")
        if origin is None or "*" in self.origins or origin in self.origins:
            return True
        return urlsplit(origin).netloc.lower() == headers.get(b"host", "").lower() != ""


class _Connection:
    """One connection: what was said on it, and the operations that run."""

    def __init__(
        self, endpoint: WebSocketEndpoint, request_id: str, headers: dict[bytes, str], receive: Receive, send: Send
    ) -> None:
        self._endpoint = endpoint
        self._request_id = request_id
        self._headers = headers
        self._receive = receive
        self._send = send
        self._vigil: Vigil | None = None
        self._begun: asyncio.Future[Vigil] = asyncio.get_running_loop().create_future()
        self._operations: dict[str, asyncio.Task[None]] = {}
        self._trouble: asyncio.Future[Closed] = asyncio.get_running_loop().create_future()

    async def serve(self) -> None:
        """Take messages until either end closes."""
        tasks: list[asyncio.Future[Any]] = [
            asyncio.create_task(self._messages()),
            asyncio.create_task(self._watched()),
        ]
        try:
            await asyncio.wait([*tasks, self._trouble], return_when=asyncio.FIRST_COMPLETED)
        finally:
            running = [*self._operations.values()]
            for task in (*tasks, *running):
                task.cancel()
            ended = await asyncio.gather(*tasks, *running, return_exceptions=True)
        if self._trouble.done():
            await self._close(self._trouble.result())
        for error in ended:
            if isinstance(error, Closed):
                await self._close(error)
                return
            if isinstance(error, Exception):
                report(error, self._request_id)
                await self._close(Closed(1011, "Internal error"))
                return

    async def _close(self, closed: Closed) -> None:
        try:
            async with asyncio.timeout(STREAM_SEND_SECONDS):
                await self._send({"type": "websocket.close", "code": closed.code, "reason": closed.reason})
        except (TimeoutError, RuntimeError):  # it reads nothing, or is closed already
            return

    async def _messages(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "websocket.disconnect":
                return
            await self._take(_parsed(message))

    async def _watched(self) -> None:
        """Close where nobody begins, or the credential falls."""
        try:
            async with asyncio.timeout(CONNECTION_INIT_SECONDS):
                vigil = await self._begun
        except TimeoutError:
            raise Closed(4408, "Connection initialisation timeout") from None
        error = await vigil.until_refused()
        raise Closed(4403, f"Forbidden: {error.message}")

    async def _take(self, message: dict[str, Any]) -> None:
        match message.get("type"):
            case "connection_init":
                await self._begin(_payload(message))
            case "ping":
                payload = _payload(message)
                await self._put({"type": "pong"} | ({"payload": payload} if payload else {}))
            case "pong":
                _payload(message)
            case "subscribe":
                await self._subscribe(_identifier(message), message.get("payload"))
            case "complete":
                running = self._operations.pop(_identifier(message), None)
                if running is not None:
                    running.cancel()
            case _:
                raise Closed(4400, "Invalid message: no type of the protocol")

    async def _begin(self, payload: dict[str, Any]) -> None:
        if self._vigil is not None:
            raise Closed(4429, "Too many initialisation requests")
        said = {name.lower(): value for name, value in payload.items() if isinstance(value, str)}
        self._vigil = vigil = Vigil(
            self._endpoint.services.identity,
            said.get("authorization", self._headers.get(b"authorization")),
            said.get("x-service-org", self._headers.get(b"x-service-org")),
        )
        try:
            await vigil.begin()
        except Unavailable:
            raise Closed(1013, "Try again later") from None
        except GatewayError as error:
            raise Closed(4403, f"Forbidden: {error.message}") from None
        await self._put({"type": "connection_ack"})
        self._begun.set_result(vigil)

    async def _subscribe(self, identifier: str, payload: Any) -> None:
        if not self._begun.done():
            raise Closed(4401, "Unauthorized")
        vigil = self._begun.result()
        if identifier in self._operations:
            raise Closed(4409, f"Subscriber for {identifier} already exists")
        if not isinstance(payload, dict):
            raise Closed(4400, "Invalid message: payload must be an object")
        if len(self._operations) >= STREAMS_PER_CONNECTION:
            await self._refuse(identifier, TooManyStreams())
            return
        context = vigil.acting(Context(self._endpoint.services, vigil.principal, self._request_id))
        self._operations[identifier] = asyncio.create_task(self._run(identifier, payload, context, vigil))

    async def _run(self, identifier: str, payload: dict[str, Any], context: Context, vigil: Vigil) -> None:
        """One operation, from its request to its last message."""
        try:
            answers = await self._answers(self._endpoint.operations.read(payload), context)
            if isinstance(answers, Answer):
                if not answers.executed or answers.body.get("data") is None:
                    await self._put({"id": identifier, "type": "error", "payload": answers.body["errors"]})
                    return
                await self._put({"id": identifier, "type": "next", "payload": answers.body})
            else:
                async with aclosing(answers):  # type: ignore[type-var]  # a generator
                    async for answer in answers:
                        await self._put({"id": identifier, "type": "next", "payload": answer.body})
            await self._put({"id": identifier, "type": "complete"})
        except GatewayError as error:
            await self._refuse(identifier, error)
        except Closed as closed:
            if not self._trouble.done():
                self._trouble.set_result(closed)
        except Exception as error:
            report(error, self._request_id)
            await self._refuse(identifier, GatewayError())
        finally:
            vigil.done(context)
            if self._operations.get(identifier) is asyncio.current_task():
                del self._operations[identifier]

    async def _answers(self, request: Request, context: Context) -> AsyncIterator[Answer] | Answer:
        executor = self._endpoint.executor
        if executor.is_subscription(request):
            return await executor.stream(request, context)
        return await executor.run(request, context)

    async def _refuse(self, identifier: str, error: GatewayError) -> None:
        errors = refusal(error, self._request_id)["errors"]
        await self._put({"id": identifier, "type": "error", "payload": errors})

    async def _put(self, message: dict[str, Any]) -> None:
        """Send a message. Raises Closed for a client that stopped reading."""
        text = orjson.dumps(message, option=orjson.OPT_UTC_Z).decode()
        try:
            async with asyncio.timeout(STREAM_SEND_SECONDS):
                await self._send({"type": "websocket.send", "text": text})
        except TimeoutError:
            raise Closed(1008, "The client does not read") from None


def _parsed(message: Message) -> dict[str, Any]:
    """The message as an object. Raises Closed."""
    text = message.get("text")
    if text is None:
        raise Closed(4400, "Invalid message: binary frames are not taken")
    try:
        parsed = orjson.loads(text)
    except (orjson.JSONDecodeError, RecursionError):
        raise Closed(4400, "Invalid message: no JSON") from None
    if not isinstance(parsed, dict):
        raise Closed(4400, "Invalid message: no object")
    return parsed


def _payload(message: dict[str, Any]) -> dict[str, Any]:
    payload = message.get("payload")
    if payload is None:
        return {}
    if not isinstance(payload, dict):
        raise Closed(4400, "Invalid message: payload must be an object")
    return payload


def _identifier(message: dict[str, Any]) -> str:
    identifier = message.get("id")
    if not isinstance(identifier, str) or not 0 < len(identifier) <= STREAM_ID_MAX:
        raise Closed(4400, f"Invalid message: id must be a text of 1 to {STREAM_ID_MAX} characters")
    return identifier
