"""Which status a problem type becomes, and how a problem looks on the wire (RFC 9457).

The meanings are those of `ontology.errors.PROBLEMS`; what only a transport can get wrong is added here.
"""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import orjson
from starlette.responses import Response

from ontology.errors import JSON, PROBLEMS, Problem, VigenciaError, Violation

MEDIA_TYPE: Final = "application/problem+json"

ALL_PROBLEMS: Final[Mapping[str, Problem]] = MappingProxyType(
    {
        **PROBLEMS,
        "method-not-allowed": Problem(
            title="The path does not take this method",
            meaning="There is such a path, but not for this method.",
            cause="A GET where a POST is needed, or the other way round.",
            fix="Use a method that the `Allow` header lists.",
        ),
        "foreign-origin": Problem(
            title="The request does not come from this machine",
            meaning="Without keys the server answers its own machine only, under a loopback name.",
            cause="A `Host` or `Origin` header that names another machine, or a caller on the network.",
            fix="Use `http://127.0.0.1`, or make a key with `vigencia keys create` and send it.",
        ),
    }
)

STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "invalid-request": 400,
        "naive-instant": 400,
        "future-known-at": 400,
        "cursor-mismatch": 400,
        "unknown-predicate": 400,
        "unauthenticated": 401,
        "missing-role": 403,
        "foreign-origin": 403,
        "own-review": 403,
        "not-found": 404,
        "method-not-allowed": 405,
        "forgotten": 410,
        "idempotency-in-flight": 409,
        "conflicting-claim": 409,
        "already-decided": 409,
        "version-changed": 412,
        "too-large": 413,
        "unsupported-format": 415,
        "ontology-violation": 422,
        "live-data": 422,
        "idempotency-key-reused": 422,
        "recorded-at-not-settable": 422,
        "precondition-required": 428,
        "rate-limited": 429,
        "internal": 500,
        "store-unavailable": 503,
        "extractor-unavailable": 503,
        "embedder-unavailable": 503,
        "issuer-unavailable": 503,
    }
)

RETRY_AFTER_SECONDS: Final = 1
"""Where the error itself does not say when to try again."""

DEFECT: Final = "a defect; the log has the details under this request_id"

_RESERVED: Final = frozenset({"type", "title", "status", "detail", "remedy", "request_id", "errors"})


def problem_document(
    slug: str,
    detail: str,
    *,
    request_id: str,
    remedy: str = "",
    violations: Iterable[Violation] = (),
    members: Mapping[str, JSON] | None = None,
) -> dict[str, JSON]:
    """The document of one problem; `members` cannot replace what every problem has."""
    problem = ALL_PROBLEMS[slug]
    errors: Sequence[JSON] = [{"pointer": v.pointer, "code": v.code, "detail": v.detail} for v in violations]
    return {
        "type": f"/problems/{slug}",
        "title": problem.title,
        "status": STATUS[slug],
        "detail": detail,
        "remedy": remedy or problem.fix,
        "request_id": request_id,
        "errors": errors,
        **{name: value for name, value in (members or {}).items() if name not in _RESERVED},
    }


def problem_response(
    slug: str,
    detail: str,
    *,
    request_id: str,
    remedy: str = "",
    violations: Iterable[Violation] = (),
    members: Mapping[str, JSON] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem as an answer; never cached."""
    document = problem_document(
        slug, detail, request_id=request_id, remedy=remedy, violations=violations, members=members
    )
    return Response(
        safe_json(document),
        status_code=STATUS[slug],
        media_type=MEDIA_TYPE,
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def error_response(error: VigenciaError, *, request_id: str) -> Response:
    """The answer for an error that was raised on purpose."""
    headers: dict[str, str] = {}
    if STATUS[error.slug] in (409, 429, 503) or error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after or RETRY_AFTER_SECONDS)
    if error.slug == "unauthenticated":
        headers["WWW-Authenticate"] = 'Bearer realm="vigencia"'
    version = error.members.get("current_version")
    if error.slug == "version-changed" and isinstance(version, int):
        headers["ETag"] = version_tag(version)
    detail = error.message if error.slug != "internal" else DEFECT
    return problem_response(
        error.slug,
        detail,
        request_id=request_id,
        remedy=error.remedy,
        violations=error.violations,
        members=error.members if error.slug != "internal" else None,
        headers=headers,
    )


def version_tag(version: int) -> str:
    """The entity tag of what has the version of a slot: what `If-Match` wants back."""
    return f'"v{version}"'


def safe_json(document: object) -> bytes:
    """`document` as JSON; what a caller sent and UTF-8 cannot carry (a lone surrogate) is escaped."""
    try:
        return orjson.dumps(document)
    except TypeError:
        return json.dumps(document, ensure_ascii=True, allow_nan=False).encode()


def problem_page(slug: str) -> dict[str, JSON]:
    """What a problem type means, as JSON."""
    problem = ALL_PROBLEMS[slug]
    return {
        "type": f"/problems/{slug}",
        "title": problem.title,
        "status": STATUS[slug],
        "meaning": problem.meaning,
        "cause": problem.cause,
        "fix": problem.fix,
    }


def problem_html(slug: str) -> str:
    """The same for people."""
    problem = ALL_PROBLEMS[slug]
    rows = "".join(
        f"<dt>{word}</dt><dd>{html.escape(text)}</dd>"
        for word, text in (
            ("Status", str(STATUS[slug])),
            ("Meaning", problem.meaning),
            ("Cause", problem.cause),
            ("What to do", problem.fix),
        )
    )
    return _html(problem.title, f"<dl>{rows}</dl><p><a href='/problems'>All problem types</a></p>")


def problems_html() -> str:
    """The list of all problem types for people."""
    rows = "".join(
        f"<li>{STATUS[slug]} <a href='/problems/{slug}'>{slug}</a>: {html.escape(problem.title)}</li>"
        for slug, problem in ALL_PROBLEMS.items()
    )
    return _html("Problem types", f"<ul>{rows}</ul>")


def _html(title: str, body: str) -> str:
    title = html.escape(title)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title} · Vigencia</title>"
        f"<body style='font: 1rem/1.5 system-ui; max-width: 44rem; margin: 2rem auto; padding: 0 1rem'>"
        f"<h1>{title}</h1>{body}</body></html>"
    )
