"""How a route is declared: once, with all that the server and the OpenAPI document need to know of it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel
from starlette.responses import Response

from api.routes.call import Call
from api.wire.queries import NoQuery, read_query

Q = TypeVar("Q", bound=BaseModel)
Handler = Callable[[Call, Q], Response]

EVERYWHERE: Final = (
    "invalid-request", "unauthenticated", "missing-role", "foreign-origin", "too-large", "internal",
    "store-unavailable", "issuer-unavailable",
)  # fmt: skip
"""What each route behind the keys can answer."""
READ: Final = (*EVERYWHERE, "naive-instant", "future-known-at", "forgotten", "store-unavailable")
LISTED: Final = (*READ, "cursor-mismatch")
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
    at_once: bool
    """Whether its handler waits for nothing, the store neither."""
    accepted: bool
    """Whether it may answer 202 too: done later."""


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
    ) -> Callable[[Handler[Q]], Handler[Q]]:
        """Declare the handler of a GET; its docstring becomes summary and description."""
        return self._declare(
            method="GET", path=path, query=query, answer=answer, problems=problems, conditional=conditional,
            body=None, body_optional=False, precondition=False, keyed=False, examples={}, media=(), at_once=at_once,
            accepted=False,
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
    ) -> Callable[[Handler[NoQuery]], Handler[NoQuery]]:
        """Declare the handler of a POST."""
        return self._declare(
            method="POST", path=path, query=NoQuery, answer=answer, problems=problems, conditional=False,
            body=body, body_optional=optional, precondition=precondition, keyed=keyed, examples=examples or {},
            media=("application/json",), at_once=False, accepted=accepted,
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
            at_once=False, accepted=False,
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
