"""What happens to every request before and after its endpoint: its id, its principal, its body, its failure.

One ASGI middleware, written by hand: the usual base class costs more than a look-up in memory does.
"""

import logging
import re
import secrets
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.authentication import Authentication
from api.auth.principals import ForeignOrigin, Headers, Principal
from api.limits import too_large
from api.problems import DEFECT, error_response, problem_response
from api.requests import BUDGET, PRINCIPAL, REQUEST_ID, Requests
from api.threads import in_thread
from ontology.errors import Incorrect, Unauthenticated, VigenciaError

if TYPE_CHECKING:
    from api.rates import Rates

HEADERS: Final = "vigencia.headers"
BODY: Final = "vigencia.body"
AGAIN: Final = "vigencia.again"
"""Under which names of the ASGI scope an endpoint finds them."""

PUBLIC: Final = frozenset({"/healthz", "/readyz", "/openapi.json", "/problems"})
"""What anybody may ask, with the pages under `/problems/`: it says nothing of memory."""
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "DELETE"})

log = logging.getLogger("vigencia.api.edge")


class Edge:
    """Everything around the application. Nothing that an endpoint raises goes past it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authentication: Authentication,
        body_bytes_max: int,
        exact: Mapping[tuple[str, str], ASGIApp],
        rates: "Rates",
        requests: Requests,
    ) -> None:
        """`exact` holds endpoints by method and path, which need no router to be found."""
        self.app = app
        self.exact = exact
        self.authentication = authentication
        self.body_bytes_max = body_bytes_max
        self.rates = rates
        self.requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers: Headers = dict(scope["headers"])
        request_id = _request_id(headers)
        began = time.perf_counter()
        status: int | None = None

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"request-id", request_id.encode("ascii")))
                if BUDGET in scope:
                    message["headers"] += self.rates.fields(scope[PRINCIPAL], scope[BUDGET])
            await send(message)

        scope[REQUEST_ID] = request_id
        scope[HEADERS] = headers
        try:
            if not _is_public(scope["path"]):
                client = scope["client"][0] if scope.get("client") else None
                caller = self.authentication.at_once(client, headers)
                if caller is None:
                    caller = await in_thread(self.authentication.look_up, client, headers)
                if isinstance(caller, ForeignOrigin):
                    refusal = problem_response("foreign-origin", caller.detail, request_id=request_id)
                    await refusal(scope, receive, marked)
                    return
                scope[PRINCIPAL] = caller
                scope[AGAIN] = partial(self._again, client, headers)
            if scope["method"] not in _BODILESS:
                scope[BODY] = await self._body(headers, receive)
            endpoint = self.exact.get((scope["method"], scope["path"]), self.app)
            await endpoint(scope, receive, marked)
        except VigenciaError as exc:
            if exc.slug == "internal":
                log.error("request %s failed", request_id, exc_info=exc)
            if status is not None:
                raise
            await error_response(exc, request_id=request_id)(scope, receive, marked)
        except Exception:
            log.exception("request %s failed", request_id)
            if status is not None:
                raise
            await problem_response("internal", DEFECT, request_id=request_id)(scope, receive, marked)
        finally:
            self.requests.over(scope, status, time.perf_counter() - began)

    def _again(self, client: str | None, headers: Headers) -> Principal:
        """Who calls, now. Raises as `look_up` does."""
        caller = self.authentication.look_up(client, headers)
        if isinstance(caller, ForeignOrigin):
            raise Unauthenticated(caller.detail)
        return caller

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """The whole body. Raises `TooLarge`, for a body that is a little too long only when all of it has come."""
        declared = headers.get(b"content-length", b"")
        drained_max = 2 * self.body_bytes_max
        if declared.isdigit() and int(declared[:19]) > drained_max:
            raise too_large(self.body_bytes_max)
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Incorrect("the body ended before it was complete", remedy="send it again")
            part = message.get("body", b"")
            size += len(part)
            if size > drained_max:
                raise too_large(self.body_bytes_max)
            if size <= self.body_bytes_max:
                parts.append(part)
            more = message.get("more_body", False)
        if size > self.body_bytes_max:
            raise too_large(self.body_bytes_max)
        return b"".join(parts)


def _is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith("/problems/")


def _request_id(headers: Mapping[bytes, bytes]) -> str:
    given = headers.get(b"request-id")
    if given is not None and _REQUEST_ID.fullmatch(given):
        return given.decode("ascii")
    return f"req_{secrets.token_hex(8)}"
