"""The routes, as a tool asks them: in process and as its caller; counted, limited and audited like a request."""

import json
import re
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import orjson

from api.edge import BODY, HEADERS
from api.limits import DEPTH_MAX, too_large
from api.problems import STATUS
from api.requests import BUDGET, KIND, PRINCIPAL, REQUEST_ID, ROUTE
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

Document = dict[str, Any]
"""A decoded answer of a route."""
Query = Mapping[str, object]

_JSON: Final = {b"content-type": b"application/json"}
_PART: Final = re.compile(r"\{(?P<name>\w+)(?::\w+)?\}")


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
        request: dict[str, Any] = {
            "type": "http", "method": route.method, "path": _PART.sub(lambda part: parts[part["name"]], route.path),
            "path_params": dict(parts), "query_string": _query_string(query), HEADERS: _JSON, PRINCIPAL: principal,
            REQUEST_ID: request_id, BODY: b"" if body is None else self._written(body),
            ROUTE: route.path, KIND: route.kind, BUDGET: route.budget,
        }  # fmt: skip
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
        document: Document = orjson.loads(bytes(response.body))
        return document


def _query_string(query: Query) -> bytes:
    given = {name: _word(value) for name, value in query.items() if value is not None}
    return urlencode(given).encode()


def _word(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
