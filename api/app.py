"""The HTTP application: its routes, what stands around them, and its document."""

from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from api import auth
from api.auth import AGENT, Authenticate, Keys, Principal, authenticator
from api.edge import REQUEST_ID, Edge
from api.problems import DEFECT, problem_response
from api.routes import claims, entities, events, facts, health, history, ontology, state
from api.routes.call import Call
from api.routes.routing import Route
from api.routes.schemas import Schemas
from api.wire.openapi import openapi_document
from ontology.errors import shown
from ontology.scope import Tenant

if TYPE_CHECKING:
    from api.wiring import Services

GROUPS: Final = (
    state.routes,
    claims.routes,
    facts.routes,
    history.routes,
    entities.routes,
    ontology.routes,
    events.routes,
    health.routes,
)
"""In reading order."""


def create_app(services: "Services") -> FastAPI:
    """The application over these services. Raises `Incorrect` where its key file cannot be used."""
    settings = services.settings
    keys = None if settings.keys_file is None else auth.load_keys(settings.keys_file)
    app = FastAPI(
        title="Vigencia", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        exception_handlers={HTTPException: _transport_problem},
    )  # fmt: skip
    schemas = Schemas(services.writer)
    for group in GROUPS:
        for route in group.listed:
            app.add_api_route(
                route.path, _endpoint(route, services, schemas), methods=[route.method], response_model=None,
                name=route.name, include_in_schema=False,
            )  # fmt: skip
    document = openapi_document(GROUPS, _version(), keys=keys is not None)
    app.openapi = lambda: document  # type: ignore[method-assign]
    app.add_api_route("/openapi.json", _document(document), methods=["GET"], include_in_schema=False)
    app.add_middleware(Edge, authenticate=_authenticate(keys, settings.tenant), body_bytes_max=settings.body_bytes_max)
    return app


def _endpoint(route: Route, services: "Services", schemas: Schemas) -> Callable[[Request], Response]:
    """A function that FastAPI runs in its thread pool; it takes the request alone, which costs no look-ups."""

    def endpoint(request: Request) -> Response:
        return route.call(Call(services, schemas, request))

    return endpoint


def _document(document: dict[str, Any]) -> Callable[[Request], Response]:
    content = orjson.dumps(document)

    def endpoint(request: Request) -> Response:
        return Response(content, media_type="application/json", headers={"Cache-Control": "no-cache"})

    return endpoint


def _authenticate(keys: Keys | None, tenant: str) -> Authenticate:
    return authenticator(keys, Principal(name=AGENT, tenant=Tenant(tenant), may_import=False))


async def _transport_problem(request: Request, exc: Exception) -> Response:
    """What Starlette itself refuses: a path or a method that is not there."""
    status = exc.status_code if isinstance(exc, HTTPException) else 500
    headers = dict(exc.headers or {}) if isinstance(exc, HTTPException) else {}
    request_id, path = str(request.scope[REQUEST_ID]), request.scope["path"]
    if status == 405:
        detail = f"{request.method} is not for {shown(path)}"
        return problem_response("method-not-allowed", detail, request_id=request_id, headers=headers)
    slug = {404: "not-found", 413: "too-large"}.get(status, "invalid-request" if status < 500 else "internal")
    detail = f"there is no path {shown(path)}" if status == 404 else DEFECT
    remedy = "/openapi.json lists the paths" if status == 404 else ""
    return problem_response(slug, detail, request_id=request_id, remedy=remedy, headers=headers)


def _version() -> str:
    try:
        return metadata.version("vigencia")
    except metadata.PackageNotFoundError:
        return "0"
