"""Handoffs and their adoptions in SQLite."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from graph.handoffs import HandoffStore, adoption_of, content_of, handoff_of, no_handoff
from graph.sqlite_store.connection import Connection, Row
from ontology.handoffs import Adoption, Handoff
from ontology.ids import HandoffId
from ontology.instants import Instant
from ontology.scope import Scope


class SqliteHandoffs:
    """Reads; each is one statement."""

    def __init__(self, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._reading = reading

    def handoff(self, scope: Scope, id: HandoffId) -> Handoff:
        with self._reading() as connection:
            return _handoff(connection, scope, id)

    def adoptions(self, scope: Scope, id: HandoffId, *, limit: int) -> Sequence[Adoption]:
        with self._reading() as connection:
            return [adoption_of(row) for row in connection.all("adoptions", (*_key(scope, id), limit))]


class SqliteHandoffTransaction:
    """The changes, as a part of a transaction."""

    __slots__ = ()

    _connection: Connection
    _scope: Scope

    def handoff(self, id: HandoffId) -> Handoff:
        return _handoff(self._connection, self._scope, id)

    def handoffs_kept(self) -> int:
        scope = self._scope
        return int(self._connection.all("handoffs_kept", (scope.tenant, scope.namespace, scope.purpose))[0][0])

    def put_handoff(self, handoff: Handoff) -> None:
        row = (
            *_key(handoff.scope, handoff.id), handoff.sender, handoff.receiver, content_of(handoff), handoff.made_at,
            handoff.expires_at,
        )  # fmt: skip
        self._connection.many("put_handoff", [row])

    def adopted(self, id: HandoffId, principal: str) -> Adoption | None:
        row = self._connection.one("adoption", (*_key(self._scope, id), principal))
        return None if row is None else adoption_of(row)

    def put_adoption(self, id: HandoffId, adoption: Adoption) -> None:
        row = (*_key(self._scope, id), adoption.principal, adoption.adopted_at)
        self._connection.many("put_adoption", [row])

    def drop_handoffs(self, now: Instant) -> int:
        over = (self._scope.tenant, now)
        count = int(self._connection.all("expired_handoffs", over)[0][0])
        if count:
            self._connection.many("drop_adoptions", [over])
            self._connection.many("drop_handoffs", [over])
        return count

    def handoffs_of_namespace(self, *, limit: int, after: Handoff | None) -> list[Handoff]:
        place = ("", "") if after is None else (after.scope.purpose, after.id)
        asked = (self._scope.tenant, self._scope.namespace, *place, limit)
        return [handoff_of(row) for row in self._connection.all("handoffs_of_namespace", asked)]


def _handoff(connection: Connection, scope: Scope, id: HandoffId) -> Handoff:
    row: Row | None = connection.one("handoff", _key(scope, id))
    if row is None:
        raise no_handoff(id)
    return handoff_of(row)


def _key(scope: Scope, id: HandoffId) -> tuple[str, str, str, str]:
    return scope.tenant, scope.namespace, scope.purpose, id


_conforms: type[HandoffStore] = SqliteHandoffs
