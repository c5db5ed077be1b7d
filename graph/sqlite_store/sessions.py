"""Sessions and their notes in SQLite."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

from graph.sessions import SessionStore, no_session, note_of, session_of
from graph.sqlite_store.connection import Connection, Row
from ontology.ids import OperationId, SessionId
from ontology.instants import Instant
from ontology.scope import Scope, Tenant
from ontology.sessions import Note, Session, Stage

ALL: Final = 2**62


class SqliteSessions:
    """Reads; each in a transaction of its own."""

    def __init__(self, reading: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._reading = reading

    def session(self, scope: Scope, id: SessionId) -> Session:
        with self._reading() as connection:
            return _session(connection, scope, id)

    def sessions(
        self, scope: Scope, stage: Stage | None, *, limit: int, after: SessionId | None
    ) -> Sequence[Session]:  # fmt: skip
        asked = (*_key(scope, after or SessionId("")), limit)
        with self._reading() as connection:
            if stage is None:
                rows = connection.all("sessions", asked)
            else:
                rows = connection.all("sessions_in_stage", (*asked, stage))
        return [session_of(row) for row in rows]

    def notes(self, scope: Scope, id: SessionId, *, limit: int, after: int) -> Sequence[Note]:
        with self._reading() as connection:
            return [note_of(row) for row in connection.all("notes", (*_key(scope, id), after, limit))]

    def idle(self, before: Instant, *, limit: int) -> Sequence[Session]:
        with self._reading() as connection:
            return [session_of(row) for row in connection.all("idle_sessions", (before, limit))]


class SqliteSessionTransaction:
    """The changes, as a part of a transaction."""

    __slots__ = ()

    _connection: Connection
    _scope: Scope

    def session(self, id: SessionId) -> Session:
        return _session(self._connection, self._scope, id)

    def open_sessions(self) -> int:
        scope = self._scope
        return int(self._connection.all("open_sessions", (scope.tenant, scope.namespace, scope.purpose))[0][0])

    def put_session(self, session: Session) -> None:
        me = session.me
        row = (
            *_key(session.scope, session.id), session.principal, session.source, None if me is None else me.text,
            me is not None and me.is_key, session.zone, session.stage, session.opened_at, session.changed_at,
            session.notes, " ".join(session.operations),
        )  # fmt: skip
        self._connection.many("put_session", [row])

    def put_notes(self, id: SessionId, notes: Sequence[Note]) -> None:
        key = _key(self._scope, id)
        rows = [(*key, note.number, note.speaker, note.text, note.at, note.operation) for note in notes]
        self._connection.many("put_notes", rows)

    def unread_notes(self, id: SessionId) -> list[Note]:
        return [note_of(row) for row in self._connection.all("unread_notes", _key(self._scope, id))]

    def hand_over(self, id: SessionId, operation: OperationId) -> None:
        self._connection.many("hand_over", [(*_key(self._scope, id), operation)])

    def has_notes(self, id: SessionId) -> bool:
        row = self._connection.one("has_notes", _key(self._scope, id))
        return row is not None and bool(row[0])

    def sessions_of_namespace(self, *, limit: int, after: Session | None) -> list[Session]:
        place = ("", "") if after is None else (after.scope.purpose, after.id)
        asked = (self._scope.tenant, self._scope.namespace, *place, limit)
        return [session_of(row) for row in self._connection.all("sessions_of_namespace", asked)]

    def all_notes(self, id: SessionId) -> list[Note]:
        return [note_of(row) for row in self._connection.all("notes", (*_key(self._scope, id), 0, ALL))]

    def erase_some_notes(self, id: SessionId, numbers: Sequence[int], now: Instant) -> None:
        key = _key(self._scope, id)
        self._connection.many("erase_some_notes", [(*key, number) for number in numbers])
        self._connection.many("settle_session", [(*key, now)])


def let_go(connection: Connection, tenant: Tenant, operation: OperationId, now: Instant) -> None:
    """Erase the notes that an operation has read, and let their session end if those were the last."""
    for key in connection.all("session_of_operation", (tenant, operation)):
        connection.many("erase_notes", [(*key, operation)])
        connection.many("settle_session", [(*key, now)])


def _session(connection: Connection, scope: Scope, id: SessionId) -> Session:
    row: Row | None = connection.one("session", _key(scope, id))
    if row is None:
        raise no_session(id)
    return session_of(row)


def _key(scope: Scope, id: SessionId) -> tuple[str, str, str, str]:
    return scope.tenant, scope.namespace, scope.purpose, id


_conforms: type[SessionStore] = SqliteSessions
