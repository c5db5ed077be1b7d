"""The routes, as a tool asks them: in process and as its caller; counted, limited and audited like a request."""

import json
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from api.in_process import Document, Query, document_of, request_of
from api.limits import DEPTH_MAX, too_large
from api.problems import STATUS
from api.requests import PRINCIPAL
from api.routes.call import SPEND, Call
from ontology.canonical import incorrect
from ontology.errors import TooLarge, VigenciaError

if TYPE_CHECKING:
    from starlette.responses import Response

    from api.auth.principals import Principal
    from api.metrics import Metrics
    from api.rates import Rates
    from api.requests import Requests
    from api.routes.routing import Route, Routes
    from api.routes.schemas import Schemas
    from api.wiring import Services


class Endpoints:
    """The routes of one process. Safe to use from many threads."""

    def __init__(
        self, services: "Services", groups: Iterable["Routes"], *, schemas: "Schemas", rates: "Rates",
        metrics: "Metrics", requests: "Requests",
    ) -> None:  # fmt: skip
        self.services = services
        self._routes = {(each.method, each.path): each for group in groups for each in group.listed}
        self._schemas = schemas
        self._rates = rates
        self._metrics = metrics
        self._requests = requests

    def asked_by(self, principal: "Principal", request_id: str) -> "Asker":
        return Asker(self, principal, request_id)

    def call(
        self, principal: "Principal", request_id: str, asked: tuple[str, str], parts: Mapping[str, str], query: Query,
        body: object,
    ) -> "Response":  # fmt: skip
        """What the route with this method and path answers. Raises what it raises."""
        route = self._routes[asked]
        written = b"" if body is None else self._written(body)
        request = request_of(route, principal, request_id, parts, query, written)
        began, status = time.perf_counter(), 500
        try:
            response = self._answered(route, request)
            status = response.status_code
            return response
        except VigenciaError as exc:
            status = STATUS[exc.slug]
            raise
        finally:
            self._requests.over(request, status, time.perf_counter() - began)

    def _answered(self, route: "Route", request: dict[str, Any]) -> "Response":
        request[SPEND] = spend = partial(self._rates.spend, request[PRINCIPAL], route.budget)
        spend()
        return Call(self.services, self._schemas, request, self._metrics).audited(route.call)

    def _written(self, body: object) -> bytes:
        """A body as a client would have sent it; the route reads it as strictly."""
        try:
            written = json.dumps(body, allow_nan=False).encode()
        except ValueError:
            raise incorrect("", "unreadable_json", "a number is NaN or infinite; leave it out") from None
        except RecursionError:
            raise TooLarge(f"the arguments are nested deeper than {DEPTH_MAX} levels; flatten them") from None
        if len(written) > self.services.settings.body_bytes_max:
            raise too_large(self.services.settings.body_bytes_max)
        return written


class Asker:
    """Asks the routes as one caller, for the length of one call of a tool."""

    def __init__(self, endpoints: Endpoints, principal: "Principal", request_id: str) -> None:
        self._endpoints = endpoints
        self.caller = principal
        self._request_id = request_id

    def get(self, path: str, query: Query, **parts: str) -> Document:
        """The answer of `GET path`; what of `query` is `None` is left out. Raises what the route raises."""
        return self._document(("GET", path), parts, query, None)

    def post(self, path: str, body: object, **parts: str) -> Document:
        """The answer of `POST path`. Raises what the route raises."""
        return self._document(("POST", path), parts, {}, body)

    def put(self, path: str, body: object, **parts: str) -> Document:
        """The answer of `PUT path`. Raises what the route raises."""
        return self._document(("PUT", path), parts, {}, body)

    def _document(self, asked: tuple[str, str], parts: Mapping[str, str], query: Query, body: object) -> Document:
        response = self._endpoints.call(self.caller, self._request_id, asked, parts, query, body)
        return document_of(response)
