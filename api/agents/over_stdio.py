"""MCP over the standard streams of a process that a client starts: stdout is for the protocol, stderr for the log."""

import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp.shared.message import SessionMessage
from prometheus_client import CollectorRegistry

from api.agents.messages import Refusal, read_message, too_long
from api.agents.offer import endpoints_over, offered
from api.agents.server import Agents
from api.agents.streams import Line, Lines, Messages, TooLongLine, messages_out
from api.app import GROUPS
from api.auth.opening import open_authentication
from api.auth.principals import ForeignOrigin, local_agent
from api.metrics import Metrics
from api.rates import Rates
from api.requests import Requests
from api.routes.schemas import Schemas
from ontology.errors import Unauthenticated
from ontology.scope import Tenant, check_name

if TYPE_CHECKING:
    from api.auth.principals import Principal
    from api.wiring import Drain, Services

ENDED: Final = "the server ended before the call did; look whether it was done before you send it again"


def serve(services: "Services") -> None:
    """Answer until stdin ends, or a signal comes; calls that run then are answered.

    Raises `Unauthenticated` for a key that is none.
    """
    caller = _caller_of(services)
    caller()
    metrics = Metrics(CollectorRegistry())
    services.announcer.add(metrics)
    endpoints = endpoints_over(
        services, GROUPS, schemas=Schemas(services.writer), rates=Rates(services.settings), metrics=metrics,
        requests=Requests(metrics),
    )  # fmt: skip
    agents = Agents(endpoints, offered(services.settings), lambda context: caller())
    before = signal.getsignal(signal.SIGTERM)
    try:
        anyio.run(_serve, agents, services)
    finally:
        signal.signal(signal.SIGTERM, before)  # a loop that has heard it leaves what ends a process at once


def _caller_of(services: "Services") -> Callable[[], "tuple[Principal, str]"]:
    """Whoever the key of the settings is, asked anew each time: it may be revoked. Without one the local agent."""
    settings, key = services.settings, services.settings.mcp_key
    if key is None:
        agent = local_agent(Tenant(check_name(settings.tenant, "tenant")))
        return lambda: (agent, _request_id())
    authentication = open_authentication(services)
    headers = {b"authorization": b"Bearer " + key.get_secret_value().encode()}

    def caller() -> "tuple[Principal, str]":
        found = authentication.look_up(None, headers)
        if isinstance(found, ForeignOrigin):
            raise Unauthenticated(found.detail)
        return found, _request_id()

    return caller


def _request_id() -> str:
    return f"req_{secrets.token_hex(8)}"


async def _serve(agents: Agents, services: "Services") -> None:
    server, settings = agents.server(), services.settings
    with messages_out() as out:
        async with anyio.create_task_group() as tasks, BlockingPortal() as portal:
            lines, messages = Lines(portal, settings.body_bytes_max), Messages(portal, out)
            talk = _Talk(lines, messages, settings.body_bytes_max, services.drain)
            tasks.start_soon(_until_told, talk)
            tasks.start_soon(talk.write)
            tasks.start_soon(talk.read)
            await server.run(talk.for_server, talk.from_server, server.create_initialization_options())
            with anyio.move_on_after(services.drain.left()):
                await talk.finish()
            tasks.cancel_scope.cancel()


async def _until_told(talk: "_Talk") -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            talk.end()


class _Talk:
    """What goes to and fro between a client and the server of the SDK.

    At the end, be it that of stdin or a signal, nothing more is read; the calls that run have until the drain is over,
    and those that have no answer then get an error.
    """

    def __init__(self, lines: Lines, messages: Messages, bytes_max: int, drain: "Drain") -> None:
        self._lines = lines
        self._messages = messages
        self._bytes_max = bytes_max
        self._drain = drain
        self._to_server, self.for_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.from_server, self._for_client = anyio.create_memory_object_stream[SessionMessage](0)
        self._refusals = self.from_server.clone()
        self._waiting: set[types.RequestId] = set()
        """The requests that have no answer yet."""
        self._answered = anyio.Event()
        self._reading = anyio.CancelScope()
        self._written = anyio.Event()

    def end(self) -> None:
        """Read no more."""
        self._drain.begin()
        self._reading.cancel()

    async def read(self) -> None:
        async with self._to_server, self._refusals:
            with self._reading, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in self._lines:
                    await self._take(line)
            self._lines.close()
            self._drain.begin()
            with anyio.move_on_after(self._drain.left()):
                while self._waiting:
                    self._answered = anyio.Event()
                    await self._answered.wait()

    async def _take(self, line: Line) -> None:
        if isinstance(line, TooLongLine):
            message: types.JSONRPCMessage | Refusal = too_long(line.head, line.tail, self._bytes_max)
        else:
            message = read_message(line)
        if isinstance(message, Refusal):
            await self._refusals.send(SessionMessage(message.answer))
            return
        if isinstance(message, types.JSONRPCRequest):
            self._waiting.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._over((message.params or {}).get("requestId"))  # it gets no answer
        with anyio.CancelScope(shield=True):  # what counts as a call that runs must be one
            await self._to_server.send(SessionMessage(message))

    async def write(self) -> None:
        try:
            async for each in self._for_client:
                await self._messages.write(_written(each.message))
                if isinstance(each.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._over(each.message.id)
        except OSError:  # the client has gone, and nobody waits any more
            self._for_client.close()
            self._waiting.clear()
            self._answered.set()
            self.end()
        self._written.set()

    async def finish(self) -> None:
        """Once the server answers nothing more: write what it answered, and an error where it did not."""
        await self._written.wait()
        error = types.ErrorData(code=types.INTERNAL_ERROR, message=ENDED)
        with suppress(OSError):
            for id in self._waiting:
                await self._messages.write(_written(types.JSONRPCError(jsonrpc="2.0", id=id, error=error)))

    def _over(self, id: object) -> None:
        self._waiting.discard(id)
        self._answered.set()


def _written(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
