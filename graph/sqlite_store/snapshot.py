"""What every read stands on: one connection inside one transaction, and the scope that nothing may leave."""

from graph import decoding
from graph.ports import Head
from graph.serving import Serving
from graph.sqlite_store.connection import Connection, Row
from ontology.facts import Slot
from ontology.ids import ENTITY, EntityId, Ledger
from ontology.instants import OPEN_START, Instant
from ontology.scope import Scope

NO_DIGEST = bytes(32)
NOTHING = -1
"""The key of a tenant or a scope that has no row: it meets none."""

FIRST_TEXT = ""
LAST_TEXT = b""
"""All texts lie between the two, since in SQLite a blob comes after every text."""
FIRST_KEY = b""
LAST_KEY = b"\xff" * 17
"""All value keys lie between the two."""


class Snapshot:
    """The state of one scope as it was when its transaction began."""

    __slots__ = ("_connection", "_ledger", "_row", "_scope", "_scope_pk", "_serving", "_tenant_pk")

    def __init__(self, connection: Connection, scope: Scope) -> None:
        """Take the snapshot; `connection` has begun a transaction."""
        self._connection = connection
        self._scope = scope
        row = connection.one("head", (scope.tenant, scope.namespace, scope.purpose))
        if row is None:
            row = (NOTHING, NOTHING, None, 0, OPEN_START, NO_DIGEST, 0, 0)
        self._tenant_pk: int = row[0]
        self._scope_pk: int = NOTHING if row[1] is None else row[1]
        self._ledger: Ledger = row[2] or Ledger("")
        self._row = row
        self._serving = Serving()

    def serve(self, known_at: Instant, until: Instant) -> None:
        self._serving = Serving(known_at, until)

    @property
    def scope(self) -> Scope:
        return self._scope

    @property
    def head(self) -> Head:
        _, _, ledger, position, recorded_at, digest, erasures, schema_version = self._row
        return Head(
            ledger=ledger,
            position=position,
            recorded_at=recorded_at,
            digest=digest,
            erasures=erasures,
            schema_version=schema_version,
        )

    def _is_now(self, known_at: Instant) -> bool:
        """Whether what was known then is what is known now."""
        return bool(known_at >= self._row[4])

    def _about(self, subject: EntityId, predicate: str | None) -> tuple[int, int, int, object, object] | None:
        """The parameters that name slots of a subject, `None` where there can be none."""
        place = decoding.place(subject, ENTITY, self._ledger)
        if place is None:
            return None
        if predicate is None:
            return self._scope_pk, *place, FIRST_TEXT, LAST_TEXT
        return self._scope_pk, *place, predicate, predicate

    def _slot_row(self, slot: Slot) -> Row | None:
        """The stored row of a slot of this scope."""
        if slot.scope != self._scope:
            return None
        place = decoding.place(slot.subject, ENTITY, self._ledger)
        if place is None:
            return None
        return self._connection.one("slot", (self._scope_pk, *place, slot.predicate, slot.language))
