"""What every read stands on: where the ledger stood, and the scope that nothing may leave.

Neo4j reads what is committed at the moment of each read. A snapshot comes from the data: what a commit made or
ended carries its position or its recorded time, so what came after the head is left out, and what ended after it
has not ended yet.
"""

from collections.abc import Callable, Mapping
from typing import Final

from graph import decoding
from graph.neo4j_store import keys
from graph.neo4j_store.codec import Row
from graph.ports import Head
from graph.serving import Serving
from ontology.facts import Slot
from ontology.ids import EntityId, Ledger
from ontology.instants import OPEN_START, Instant
from ontology.scope import Scope

Run = Callable[[str, Mapping[str, object]], list[Row]]
"""Runs a named query and gives its records."""

NO_DIGEST: Final = bytes(32)
NOTHING: Final = Head(
    ledger=None, position=0, recorded_at=OPEN_START, digest=NO_DIGEST, erasures=0, schema_version=0
)  # fmt: skip
"""The head of a tenant that has no commit."""

SETTLED_MILLISECONDS: Final = 1000
"""Since a commit was written, by the server's own clock: so long after it its lock is free as a rule, though a slow
commit may still be on its way."""


def head_of(row: Row) -> Head:
    """Of (ledger, position, recorded_at, digest, erasures, schema_version)."""
    ledger, position, recorded_at, digest, erasures, schema_version = row
    if position == 0:
        return NOTHING
    return Head(
        ledger=Ledger(ledger), position=position, recorded_at=recorded_at, digest=bytes(digest), erasures=erasures,
        schema_version=schema_version,
    )  # fmt: skip


def readable(row: Row, acknowledged: Head) -> Head:
    """The newest head that is safely readable, from a record of `head`.

    While a commit is applied some of it shows and some does not, but the writer after it got the lock only when all
    of it did. So safe is the commit before the newest, and any that this process saw acknowledged.
    """
    newest = head_of(row[:6])
    if newest.ledger == acknowledged.ledger and row[6] < acknowledged.position <= newest.position:
        return acknowledged
    return head_of([row[0], *row[6:11]])


class Snapshot:
    """One scope as of a head."""

    __slots__ = ("_head", "_ledger", "_run", "_scope", "_scope_key", "_serving")

    def __init__(self, run: Run, scope: Scope, head: Head) -> None:
        self._run = run
        self._scope = scope
        self._scope_key = keys.scope_key(scope)
        self._head = head
        self._ledger: Ledger = head.ledger or Ledger("")
        self._serving = Serving()

    def serve(self, known_at: Instant, until: Instant) -> None:
        self._serving = Serving(known_at, until)

    @property
    def scope(self) -> Scope:
        return self._scope

    @property
    def head(self) -> Head:
        return self._head

    def _is_now(self, known_at: Instant) -> bool:
        """Whether what was known then is what is known now."""
        return known_at >= self._head.recorded_at

    def _about(self, subject: EntityId, predicate: str | None) -> dict[str, object]:
        """The parameters that name slots of a subject."""
        if predicate is None:
            return {"pairs": [], "subjects": [keys.subject_key(self._scope, subject)]}
        return {"pairs": [keys.pair_key(self._scope, subject, predicate)], "subjects": []}

    def _place_key(self, id: str, prefix: str) -> str | None:
        place = decoding.place(id, prefix, self._ledger)
        return None if place is None else keys.place_key(self._scope.tenant, place)

    def _is_here(self, slot: Slot) -> bool:
        return slot.scope == self._scope
