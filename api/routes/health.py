"""Whether the server runs, and whether it can answer; and what its problem types mean."""

from collections.abc import Sequence

import orjson
from starlette.responses import HTMLResponse, Response

from api.metrics import MEDIA_TYPE as METRICS_TYPE
from api.problems import ALL_PROBLEMS, problem_html, problem_page, problems_html
from api.routes.call import Call
from api.routes.routing import EVERYWHERE, Routes
from api.wire import answers
from api.wire.queries import NoQuery
from graph.ports import Finding, Grade
from ontology.errors import JSON, NotFound, Unavailable, shown
from ontology.grants import Grant

routes = Routes("server", "Whether the server runs, and what its problem types mean.")


@routes.get(
    "/healthz", query=NoQuery, answer=answers.Health, problems=("invalid-request", "internal"), conditional=False,
    at_once=True,
)  # fmt: skip
def read_health(call: Call, query: NoQuery) -> Response:
    """Whether the process runs."""
    return _json({"status": "ok"})


@routes.get(
    "/readyz", query=NoQuery, answer=answers.Ready,
    problems=("invalid-request", "internal", "store-unavailable", "extractor-unavailable"), conditional=False,
)  # fmt: skip
def read_readiness(call: Call, query: NoQuery) -> Response:
    """Whether the store answers and episodes are read, and what both report of themselves.

    503 where the store does not answer or is not well, a worker is dead, nobody reads what is due, the extractors that
    are set cannot be made, or every attempt since the last success failed.
    """
    found, reading = call.findings(), call.backlog()
    if told := _failing(found):
        raise Unavailable(f"the store is not well: {told}", members={"checks": _checks(found)})
    if told := _failing(reading):
        raise Unavailable(
            f"episodes are not read: {told}", slug="extractor-unavailable", members={"checks": _checks(reading)}
        )
    return _json({"status": "ready", "checks": _checks([*found, *reading])})


def _failing(found: Sequence[Finding]) -> str:
    """What is wrong, in words; nothing where nothing is."""
    failed = [each for each in found if each.grade is Grade.FAILED]
    return "; ".join(f"{each.check}: {'see the log' if each.private else each.finding}" for each in failed)


def _checks(found: Sequence[Finding]) -> dict[str, JSON]:
    return {each.check: each.finding for each in found if not each.private}


@routes.get("/metrics", query=NoQuery, answer=None, problems=EVERYWHERE, conditional=False, media="text/plain")
def read_metrics(call: Call, query: NoQuery) -> Response:
    """What the server counts and measures, in the text format of Prometheus.

    It is of all tenants together, so it needs the grant `admin` for the whole tenant; it never holds memory content.
    """
    call.tenant(needs=Grant.ADMIN)
    return Response(call.exposed(), headers={"Content-Type": METRICS_TYPE, "Cache-Control": "no-store"})


@routes.get(
    "/problems", query=NoQuery, answer=answers.ProblemTypes,
    problems=("invalid-request", "internal"), conditional=False, at_once=True, media="text/html",
)  # fmt: skip
def list_problems(call: Call, query: NoQuery) -> Response:
    """All problem types, as JSON, or as a page where the client prefers HTML."""
    if _wants_html(call):
        return HTMLResponse(problems_html())
    return _json({"items": [problem_page(slug) for slug in ALL_PROBLEMS]})


@routes.get(
    "/problems/{slug}", query=NoQuery, answer=answers.ProblemType,
    problems=("invalid-request", "not-found", "internal"), conditional=False, at_once=True, media="text/html",
)  # fmt: skip
def read_problem(call: Call, query: NoQuery) -> Response:
    """What a problem type means, its usual cause, and what to do."""
    slug = call.part("slug")
    if slug not in ALL_PROBLEMS:
        raise NotFound(f"no problem type {shown(slug)}; /problems lists them")
    return HTMLResponse(problem_html(slug)) if _wants_html(call) else _json(problem_page(slug))


def _wants_html(call: Call) -> bool:
    accept = call.header(b"accept") or ""
    return "text/html" in accept and "application/json" not in accept


def _json(body: object) -> Response:
    return Response(orjson.dumps(body), media_type="application/json", headers={"Cache-Control": "no-cache"})
