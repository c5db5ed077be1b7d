"""Who read what is sensitive: a line of the audit for each answer with facts of a predicate that is declared so.

What an answer shows is noted where it is rendered, so that no route can forget it; which of it is sensitive, the schema
of the snapshot tells. A line has no value, so the audit may be kept where memory may not.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from api.logs import AUDIT, told
from ontology.ids import EntityId
from ontology.schema import Schema
from ontology.scope import Scope

if TYPE_CHECKING:
    from api.auth.principals import Principal

Shown = tuple[EntityId | None, str]
"""A subject, and the predicate of what is shown of it; none where nobody was found of whom it is said."""

_shown: ContextVar[list[Shown] | None] = ContextVar("vigencia_shown", default=None)

log: Final = logging.getLogger(AUDIT)


def note(subject: EntityId | None, predicate: str) -> None:
    """What is said of a subject under a predicate is shown."""
    shown = _shown.get()
    if shown is not None:
        shown.append((subject, predicate))


def anything_shown() -> bool:
    """Whether something was noted by now."""
    return bool(_shown.get())


@contextmanager
def noting() -> Iterator[list[Shown]]:
    """What is shown in a block, in the thread that runs it; the same may come several times."""
    shown: list[Shown] = []
    token = _shown.set(shown)
    try:
        yield shown
    finally:
        _shown.reset(token)


def audit(
    shown: Sequence[Shown], schema: Schema, scope: Scope, principal: "Principal", *, route: str, request_id: str
) -> bool:
    """Write a line for each sensitive predicate, with the subjects of whom it was shown; whether there was any."""
    subjects: dict[str, dict[EntityId, None]] = {}
    for subject, name in shown:
        predicate = schema.predicates.get(name)
        if predicate is not None and predicate.governance.sensitive:
            known = subjects.setdefault(name, {})
            if subject is not None:
                known[subject] = None
    for name, ids in subjects.items():
        fields = told(
            request_id=request_id, tenant=scope.tenant, principal=principal.name, namespace=scope.namespace,
            purpose=scope.purpose, route=route, predicate=name, subjects=list(ids),
        )  # fmt: skip
        log.info("read", extra=fields)
    return bool(subjects)
