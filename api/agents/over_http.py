"""MCP over HTTP, at `/mcp` of the same server: every request is whole by itself, and answered with JSON.

Who calls is known before: `/mcp` stands behind the keys as every route does.
"""

import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.types import Message, Receive, Scope, Send

from api.auth.loopback import is_loopback
from api.edge import BODY, HEADERS
from api.problems import problem_response
from api.requests import KIND, PRINCIPAL, REQUEST_ID, ROUTE
from api.threads import in_thread
from ontology.errors import shown

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from api.agents.endpoints import Endpoints
    from api.auth.principals import Headers, Principal

PATH: Final = "/mcp"

log = logging.getLogger("vigencia.api.agents")


class OverHttp:
    """The endpoint, an ASGI application."""

    def __init__(self, endpoints: "Endpoints") -> None:
        self._endpoints = endpoints
        self._made: Server[Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ROUTE], scope[KIND] = PATH, "server"
        site = _other_site(scope[HEADERS])
        if site is not None:
            detail = f"the Origin {shown(site)} is another site"
            refusal = problem_response("foreign-origin", detail, request_id=str(scope[REQUEST_ID]))
            await refusal(scope, receive, send)
            return
        # the SDK takes a second to load, which is no reason for others to wait
        server = self._made
        if server is None:
            server = await in_thread(self._server)

        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        # One for each request: nothing is kept between two of them, so nothing has to be ended with the server.
        bytes_max = self._endpoints.services.settings.body_bytes_max
        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=bytes_max
        )
        async with manager.run():
            await manager.handle_request(scope, _once(scope[BODY], receive), send)

    def _server(self) -> "Server[Any]":
        from api.agents.offer import offered
        from api.agents.server import Agents

        made = Agents(self._endpoints, offered(self._endpoints.services.settings), _caller).server()
        self._made = made
        return made


def _caller(context: Any) -> "tuple[Principal, str]":
    scope: Scope = context.request.scope
    return scope[PRINCIPAL], str(scope[REQUEST_ID])


def _other_site(headers: "Headers") -> str | None:
    """The site whose page asks, if it is neither this one nor on this machine (MCP: servers must look at `Origin`)."""
    origin = headers.get(b"origin")
    if origin is None:
        return None
    given = origin.decode("latin-1")
    try:
        parts = urlsplit(given)
        known = parts.netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
        return None if parts.hostname and (known or is_loopback(parts.hostname)) else given
    except ValueError:
        return given


def _once(body: bytes, receive: Receive) -> Receive:
    """What receives a body that was read already, and then whatever comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
