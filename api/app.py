"""The HTTP application: its routes, what stands around them, and its document."""

from collections.abc import Awaitable, Callable
from functools import cache, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import orjson
from fastapi import FastAPI, Request
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from api.agents.offer import endpoints_over
from api.agents.over_http import PATH as MCP
from api.agents.over_http import OverHttp
from api.auth.opening import open_authentication
from api.edge import Edge
from api.metrics import Metrics
from api.problems import DEFECT, problem_response
from api.rates import Rates
from api.requests import BUDGET, KIND, PRINCIPAL, REQUEST_ID, ROUTE, Requests
from api.routes import (
    analysis,
    claims,
    entities,
    episodes,
    events,
    facts,
    forgetting,
    handoffs,
    health,
    history,
    namespaces,
    ontology,
    operations,
    profiles,
    recall,
    review,
    search,
    sessions,
    state,
)
from api.routes.call import SPEND, Call
from api.routes.routing import Route
from api.routes.schemas import Schemas
from api.threads import in_thread
from api.wire.openapi import openapi_document
from ontology.errors import shown

if TYPE_CHECKING:
    from api.wiring import Services

GROUPS: Final = (
    state.routes,
    search.routes,
    recall.routes,
    claims.routes,
    review.routes,
    episodes.routes,
    operations.routes,
    sessions.routes,
    profiles.routes,
    handoffs.routes,
    facts.routes,
    history.routes,
    entities.routes,
    analysis.routes,
    ontology.routes,
    events.routes,
    forgetting.routes,
    namespaces.routes,
    health.routes,
)
"""In reading order."""


def create_app(services: "Services", registry: CollectorRegistry | None = None) -> FastAPI:
    """The application over these services; its metrics come into `registry`, one of its own if there is none.

    Raises `Incorrect` where its key file, or what is set of tokens, cannot be used.
    """
    settings = services.settings
    authentication = open_authentication(services)
    app = FastAPI(
        title="Vigencia", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False,
        exception_handlers={HTTPException: _transport_problem},
    )  # fmt: skip
    metrics, rates, schemas = Metrics(registry or CollectorRegistry()), Rates(settings), Schemas(services.writer)
    services.announcer.add(metrics)
    requests = Requests(metrics)
    exact: dict[tuple[str, str], ASGIApp] = {}
    for route in (route for group in GROUPS for route in group.listed):
        endpoint = Endpoint(route, services, schemas, rates, metrics)
        app.router.routes.append(StarletteRoute(route.path, endpoint, methods=[route.method], name=route.name))
        if "{" not in route.path:
            exact[route.method, route.path] = endpoint
    endpoints = endpoints_over(
        services, GROUPS, schemas=schemas, rates=rates, metrics=metrics, requests=requests
    )  # fmt: skip
    exact["POST", MCP] = OverHttp(endpoints)
    app.router.routes.append(StarletteRoute(MCP, exact["POST", MCP], methods=["POST"], name="mcp"))
    document = cache(lambda: openapi_document(GROUPS, _version(), keys=authentication.is_closed()))
    app.openapi = document  # type: ignore[method-assign]
    app.router.routes.append(StarletteRoute("/openapi.json", _document(document), methods=["GET"]))
    app.add_middleware(
        Edge, authentication=authentication, body_bytes_max=settings.body_bytes_max, exact=exact, rates=rates,
        requests=requests,
    )  # fmt: skip
    return app


class Endpoint:
    """A route as an ASGI application: its handler runs in the thread pool, and what it raises goes up to the edge.

    FastAPI's own routes solve dependencies and validate answers, which costs a read as much as the store does; here
    the declarations of `routing` say all that those would be told.
    """

    def __init__(self, route: Route, services: "Services", schemas: Schemas, rates: Rates, metrics: Metrics) -> None:
        self._route = route
        self._services = services
        self._schemas = schemas
        self._rates = rates
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._route
        scope[ROUTE], scope[KIND] = route.path, route.kind
        if PRINCIPAL in scope:
            scope[BUDGET] = route.budget
            scope[SPEND] = spend = partial(self._rates.spend, scope[PRINCIPAL], route.budget)
            spend()
        call = Call(self._services, self._schemas, scope, self._metrics)
        # what waits for nothing needs no thread, and is answered where all of them wait
        response = route.call(call) if route.at_once else await in_thread(call.audited, route.call)
        await response(scope, receive, send)


def _document(document: Callable[[], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    content = cache(lambda: orjson.dumps(document()))

    async def endpoint(request: Request) -> Response:
        return Response(await in_thread(content), media_type="application/json", headers={"Cache-Control": "no-cache"})

    return endpoint


async def _transport_problem(request: Request, exc: Exception) -> Response:
    """What Starlette itself refuses: a path or a method that is not there."""
    status = exc.status_code if isinstance(exc, HTTPException) else 500
    request_id, path = str(request.scope[REQUEST_ID]), request.scope["path"]
    match status:
        case 404:
            detail, remedy = f"there is no path {shown(path)}", "/openapi.json lists the paths"
            return problem_response("not-found", detail, request_id=request_id, remedy=remedy)
        case 405:
            detail, allow = f"{request.method} is not for {shown(path)}", {"Allow": ", ".join(_methods(request))}
            return problem_response("method-not-allowed", detail, request_id=request_id, headers=allow)
        case _ if status < 500:
            return problem_response("invalid-request", f"the request is refused ({status})", request_id=request_id)
    return problem_response("internal", DEFECT, request_id=request_id)


def _methods(request: Request) -> list[str]:
    """Every method that the path of a request takes."""
    routes = [route for route in request.app.router.routes if isinstance(route, StarletteRoute)]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in matching for method in route.methods or ()})


def _version() -> str:
    try:
        return metadata.version("vigencia")
    except metadata.PackageNotFoundError:
        return "0"
