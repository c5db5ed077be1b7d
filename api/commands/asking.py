"""Questions of the command line: the endpoints of the API, called in process, so that both answer the same."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson

from api.auth.principals import local_person
from api.in_process import Document, Query, document_of, request_of
from api.routes.call import Call
from api.routes.schemas import Schemas
from api.settings import read_settings
from api.wiring import services
from ontology.scope import Tenant, check_name

if TYPE_CHECKING:
    from api.routes.routing import Routes
    from api.wiring import Services

PAGE_MAX: Final = 200


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
        given = {name.rstrip("_"): value for name, value in query.items()}
        return self._asked(routes, "GET", path, parts or {}, {**self._scope, **given}, b"")

    def post(self, routes: "Routes", path: str, body: Mapping[str, Any]) -> Document:
        """The answer of `POST path`, which is a question; what of the body is `None` is left out."""
        given = {name: value for name, value in body.items() if value is not None}
        return self._asked(routes, "POST", path, {}, {}, orjson.dumps({**self._scope, **given}))

    def _asked(
        self, routes: "Routes", method: str, path: str, parts: Mapping[str, str], query: Query, body: bytes
    ) -> Document:
        route = next(each for each in routes.listed if (each.method, each.path) == (method, path))
        request = request_of(route, self._principal, "", parts, query, body)
        return document_of(route.call(Call(self._services, self._schemas, request)))

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
