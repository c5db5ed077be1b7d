"""What is told of a request once it is over: a line of the log, and the metrics. By its route, never by its path."""

import logging
from collections.abc import MutableMapping
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from api.logs import REQUESTS, told

if TYPE_CHECKING:
    from api.auth.principals import Principal
    from api.metrics import Metrics

PRINCIPAL: Final = "vigencia.principal"
REQUEST_ID: Final = "vigencia.request_id"
ROUTE: Final = "vigencia.route"
KIND: Final = "vigencia.kind"
BUDGET: Final = "vigencia.budget"
"""From which share of its caller it was asked."""
STREAMED: Final = "vigencia.streamed"
"""Under which names of the ASGI scope it is found."""

NO_ROUTE: Final = "none"
"""Of a request that led to no route: what was asked for may be anything."""
GONE: Final = "gone"
"""The status of one that ended before its answer began."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
"""Whatever else is sent as a method may be anything, and is told as `other`."""
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""What machines ask every few seconds; it is logged only where it goes wrong, or for whoever wants to know all."""


class Budget(StrEnum):
    """The shares of a caller, which are counted apart."""

    READ = "read"
    WRITE = "write"


log = logging.getLogger(REQUESTS)


class Requests:
    """Tells of the requests of one server."""

    def __init__(self, metrics: "Metrics") -> None:
        self._metrics = metrics

    def over(self, asgi: MutableMapping[str, Any], status: int | None, seconds: float) -> None:
        """A request is over; `status` is `None` where its caller went away before there was one."""
        route = asgi.get(ROUTE, NO_ROUTE)
        method = asgi["method"] if asgi["method"] in METHODS else "other"
        code = GONE if status is None else str(status)
        streamed = asgi.get(STREAMED, False)
        self._metrics.answered(method, route, asgi.get(KIND, NO_ROUTE), code, None if streamed else seconds)
        if status == HTTPStatus.TOO_MANY_REQUESTS and BUDGET in asgi:
            self._metrics.limited(asgi[BUDGET].value)
        level = logging.DEBUG if route in PROBES and status is not None and status < 400 else logging.INFO
        if log.isEnabledFor(level):
            principal: Principal | None = asgi.get(PRINCIPAL)
            fields = told(
                request_id=asgi[REQUEST_ID], method=method, route=route, status=code, seconds=round(seconds, 6),
                tenant=None if principal is None else principal.tenant,
                principal=None if principal is None else principal.name,
            )  # fmt: skip
            log.log(level, "answered", extra=fields)
