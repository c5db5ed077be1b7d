"""How a route is declared: once, with all that the server and the OpenAPI document need to know of it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from starlette.responses import Response

from api.requests import Budget
from api.routes.call import Call
from api.wire.queries import NoQuery, read_query

Q = TypeVar("Q", bound=BaseModel)
Handler = Callable[[Call, Q], Response]

EVERYWHERE: Final = (
    "invalid-request", "unauthenticated", "missing-role", "foreign-origin", "too-large", "rate-limited",
    "internal", "store-unavailable", "issuer-unavailable",
)  # fmt: skip
"""What each route behind the keys can answer."""
READ: Final = (*EVERYWHERE, "naive-instant", "future-known-at", "forgotten", "store-unavailable")
LISTED: Final = (*READ, "cursor-mismatch")
SEARCHES: Final = frozenset({"/v1/search", "/v1/recall"})
WRITE: Final = (
    *EVERYWHERE, "naive-instant", "unknown-predicate", "not-found", "forgotten", "version-changed",
    "unsupported-format", "ontology-violation", "live-data", "missing-role", "idempotency-key-reused",
    "store-unavailable",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation of the API."""

    method: str
    path: str
    """As Starlette matches it."""
    tag: str
    name: str
    """The operation id: stable, and unique."""
    summary: str
    description: str
    call: Callable[[Call], Response]
    query: type[BaseModel]
    body: type[BaseModel] | None
    body_optional: bool
    answer: type[BaseModel] | None
    problems: tuple[str, ...]
    conditional: bool
    """Whether it gives an `ETag` and takes `If-None-Match`."""
    precondition: bool
    """Whether it wants `If-Match`."""
    keyed: bool
    """Whether it takes `Idempotency-Key` and `Prefer`."""
    examples: dict[str, Any]
    """Of the body, by name."""
    media: tuple[str, ...]
    """The content types of a body."""
    media_given: str | None
    """A content type of its answer besides JSON."""
    headers: dict[str, str]
    """Headers of a request that only it takes, with what they mean."""
    at_once: bool
    """Whether its handler waits for nothing, the store neither."""
    accepted: bool
    """Whether it may answer 202 too: done later."""
    writes: bool
    """Whether it is counted as a write; only then it may change something."""

    @property
    def budget(self) -> Budget:
        """From which share of its caller it is asked."""
        return Budget.WRITE if self.writes else Budget.READ

    @property
    def kind(self) -> str:
        """What is measured together."""
        if not self.path.startswith("/v1/"):
            return "server"
        return "search" if self.path in SEARCHES else self.budget.value


class Routes:
    """The routes of one tag, in reading order."""

    def __init__(self, tag: str, words: str) -> None:
        self.tag = tag
        self.words = words
        """What the tag is about, for the OpenAPI document."""
        self.listed: list[Route] = []

    def get(
        self,
        path: str,
        *,
        query: type[Q],
        answer: type[BaseModel] | None,
        problems: tuple[str, ...] = READ,
        conditional: bool = True,
        at_once: bool = False,
        media: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Callable[[Handler[Q]], Handler[Q]]:
        """Declare the handler of a GET; its docstring becomes summary and description."""
        return self._declare(
            method="GET", path=path, query=query, answer=answer, problems=problems, conditional=conditional,
            body=None, body_optional=False, precondition=False, keyed=False, examples={}, media=(), at_once=at_once,
            accepted=False, writes=False, media_given=media, headers=headers or {},
        )  # fmt: skip

    def post(
        self,
        path: str,
        *,
        body: type[BaseModel],
        answer: type[BaseModel],
        problems: tuple[str, ...] = WRITE,
        optional: bool = False,
        precondition: bool = False,
        keyed: bool = True,
        examples: dict[str, Any] | None = None,
        accepted: bool = False,
        reads: bool = False,
    ) -> Callable[[Handler[NoQuery]], Handler[NoQuery]]:
        """Declare the handler of a POST; `reads`: it is a question that is too long for a query."""
        return self._declare(
            method="POST", path=path, query=NoQuery, answer=answer, problems=problems, conditional=False,
            body=body, body_optional=optional, precondition=precondition, keyed=keyed, examples=examples or {},
            media=("application/json",), at_once=False, accepted=accepted, writes=not reads,
            media_given=None, headers={},
        )  # fmt: skip

    def put(
        self,
        path: str,
        *,
        query: type[Q],
        body: type[BaseModel],
        answer: type[BaseModel],
        problems: tuple[str, ...],
        examples: dict[str, Any],
        media: tuple[str, ...],
    ) -> Callable[[Handler[Q]], Handler[Q]]:
        """Declare the handler of a PUT."""
        return self._declare(
            method="PUT", path=path, query=query, answer=answer, problems=problems, conditional=False,
            body=body, body_optional=False, precondition=False, keyed=False, examples=examples, media=media,
            at_once=False, accepted=False, writes=True, media_given=None, headers={},
        )  # fmt: skip

    def _declare(self, *, query: type[Q], **known: Any) -> Callable[[Handler[Q]], Handler[Q]]:
        def declare(handler: Handler[Q]) -> Handler[Q]:
            summary, _, description = inspect.cleandoc(handler.__doc__ or "").partition("\n")
            self.listed.append(
                Route(
                    tag=self.tag,
                    name=handler.__name__,
                    summary=summary.rstrip("."),
                    description=description.strip(),
                    call=lambda call: handler(call, read_query(query, call.query_string)),
                    query=query,
                    **known,
                )
            )
            return handler

        return declare
