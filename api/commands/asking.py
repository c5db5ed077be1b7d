"""Questions of the command line: the endpoints of the API, called in process, so that both answer the same."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import orjson

from api.auth.principals import local_person
from api.edge import BODY, HEADERS
from api.requests import PRINCIPAL, REQUEST_ID
from api.routes.call import Call
from api.routes.schemas import Schemas
from api.settings import read_settings
from api.wiring import services
from ontology.scope import Tenant, check_name

if TYPE_CHECKING:
    from api.routes.routing import Routes
    from api.wiring import Services

PAGE_MAX: Final = 200

Document = dict[str, Any]
"""A decoded answer of the API."""


class Asking:
    """Asks the endpoints of one store about one scope."""

    def __init__(self, services: "Services", *, namespace: str, purpose: str) -> None:
        self._services = services
        self._schemas = Schemas(services.writer)
        tenant = Tenant(check_name(services.settings.tenant, "tenant"))
        self._principal = local_person(tenant)
        self._scope = {"namespace": namespace, "purpose": purpose}

    def get(
        self, routes: "Routes", path: str, parts: Mapping[str, str] | None = None, **query: str | int | None
    ) -> Document:
        """The answer of `GET path`; what of `query` is `None` is left out. Raises what the endpoint raises."""
        given = {name.rstrip("_"): value for name, value in query.items() if value is not None}
        request: dict[str, Any] = {
            "path_params": dict(parts or {}),
            "query_string": urlencode({**self._scope, **given}).encode(),
            HEADERS: {},
        }
        return self._asked(routes, "GET", path, request)

    def post(self, routes: "Routes", path: str, body: Mapping[str, Any]) -> Document:
        """The answer of `POST path`, which is a question; what of the body is `None` is left out."""
        given = {name: value for name, value in body.items() if value is not None}
        request: dict[str, Any] = {
            "path_params": {},
            "query_string": b"",
            HEADERS: {b"content-type": b"application/json"},
            BODY: orjson.dumps({**self._scope, **given}),
        }
        return self._asked(routes, "POST", path, request)

    def _asked(self, routes: "Routes", method: str, path: str, request: Mapping[str, Any]) -> Document:
        asgi: dict[str, Any] = {
            "type": "http", "method": method, "path": path, "headers": [], PRINCIPAL: self._principal, REQUEST_ID: "",
            **request,
        }  # fmt: skip
        route = next(each for each in routes.listed if (each.method, each.path) == (method, path))
        answer = route.call(Call(self._services, self._schemas, asgi))
        document: Document = orjson.loads(bytes(answer.body))
        return document

    def pages(self, routes: "Routes", path: str, *, limit: int, **query: Any) -> Document:
        """The answer with up to `limit` items, walked page by page; all pages are of one snapshot."""
        whole = self.get(routes, path, limit=min(limit, PAGE_MAX), **query)
        while whole["next_cursor"] is not None and len(whole["items"]) < limit:
            size = min(limit - len(whole["items"]), PAGE_MAX)
            page = self.get(routes, path, limit=size, cursor=whole["next_cursor"], **query)
            whole["items"] += page["items"]
            whole["next_cursor"] = page["next_cursor"]
        return whole

    def state(self, *, limit: int = PAGE_MAX, **query: str | None) -> Document:
        """What holds."""
        from api.routes.state import routes

        return self.pages(routes, "/v1/state", limit=limit, **query)


@contextmanager
def asking(*, store: str | None, tenant: str | None, namespace: str, purpose: str) -> Iterator[Asking]:
    """A way to ask the store that the flags and the settings name; raises `NotFound` where there is none."""
    with services(read_settings(store=store, tenant=tenant), must_exist=True) as opened:
        yield Asking(opened, namespace=namespace, purpose=purpose)
