"""MCP over the standard streams of a process that a client starts: stdout is for the protocol, stderr for the log."""

import secrets
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio.from_thread import BlockingPortal
from mcp.server.stdio import stdio_server
from prometheus_client import CollectorRegistry

from api.agents.offer import endpoints_over, offered
from api.agents.server import Agents
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
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from api.auth.principals import Principal
    from api.wiring import Services

LINES_WAITING: Final = 16


def serve(services: "Services") -> None:
    """Answer until stdin ends, or a signal comes. Raises `Unauthenticated` for a key that is none."""
    caller = _caller_of(services)
    caller()
    metrics = Metrics(CollectorRegistry())
    services.announcer.add(metrics)
    endpoints = endpoints_over(
        services, GROUPS, schemas=Schemas(services.writer), rates=Rates(services.settings), metrics=metrics,
        requests=Requests(metrics),
    )  # fmt: skip
    anyio.run(_serve, Agents(endpoints, offered(services.settings), lambda context: caller()))


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


async def _serve(agents: Agents) -> None:
    server = agents.server()
    async with anyio.create_task_group() as tasks, BlockingPortal() as portal:
        tasks.start_soon(_until_told, tasks.cancel_scope)
        lines = _Lines(portal)
        async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _until_told(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return


class _Lines:
    """The lines of stdin, read in a thread of its own.

    The pool's threads are waited for at the end, and one that waits for a line ends only with the next line.
    """

    def __init__(self, portal: BlockingPortal) -> None:
        streams = anyio.create_memory_object_stream[str](LINES_WAITING)
        self._send: MemoryObjectSendStream[str] = streams[0]
        self._receive: MemoryObjectReceiveStream[str] = streams[1]
        self._portal = portal
        threading.Thread(target=self._read, name="vigencia-stdin", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[str]:
        return self._receive

    def _read(self) -> None:
        try:
            for line in sys.stdin.buffer:
                self._portal.call(self._send.send, line.decode("utf-8", "replace"))
            self._portal.call(self._send.aclose)
        except (RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the server has ended before its client
