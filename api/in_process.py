"""A route asked without a wire: the request as the edge would hand it on, made of what a caller in this process has.

So a command and a tool get what HTTP answers, by the same code, and from one place.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import orjson

from api.edge import BODY, HEADERS
from api.requests import BUDGET, KIND, PRINCIPAL, REQUEST_ID, ROUTE

if TYPE_CHECKING:
    from starlette.responses import Response

    from api.auth.principals import Principal
    from api.routes.routing import Route

Document = dict[str, Any]
"""A decoded answer of a route."""
Query = Mapping[str, object]

_JSON: Final = {b"content-type": b"application/json"}
_PART: Final = re.compile(r"\{(?P<name>\w+)(?::\w+)?\}")


def request_of(
    route: "Route", principal: "Principal", request_id: str, parts: Mapping[str, str], query: Query, body: bytes
) -> dict[str, Any]:
    """The request of this caller; what of `query` is `None` is left out, and `body` is JSON or empty."""
    return {
        "type": "http", "method": route.method, "path": _PART.sub(lambda part: parts[part["name"]], route.path),
        "path_params": dict(parts), "query_string": _query_string(query), HEADERS: _JSON, PRINCIPAL: principal,
        REQUEST_ID: request_id, BODY: body, ROUTE: route.path, KIND: route.kind, BUDGET: route.budget,
    }  # fmt: skip


def document_of(response: "Response") -> Document:
    """What a route answered."""
    document: Document = orjson.loads(bytes(response.body))
    return document


def _query_string(query: Query) -> bytes:
    given = {name: _word(value) for name, value in query.items() if value is not None}
    return urlencode(given).encode()


def _word(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
