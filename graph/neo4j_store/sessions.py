"""Sessions and their notes in Neo4j: nodes apart from memory, read as they are committed, not as of a head."""

from collections.abc import Sequence
from typing import Final

from graph.neo4j_store import keys
from graph.neo4j_store.snapshot import Run
from graph.sessions import SessionStore, no_session, note_of, session_of
from ontology.ids import OperationId, SessionId
from ontology.instants import Instant
from ontology.scope import Scope, Tenant
from ontology.sessions import Note, Session, Stage

ALL: Final = 2**31


class Neo4jSessions:
    """Reads; each in a transaction of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def session(self, scope: Scope, id: SessionId) -> Session:
        return _session(self._run, scope, id)

    def sessions(
        self, scope: Scope, stage: Stage | None, *, limit: int, after: SessionId | None
    ) -> Sequence[Session]:  # fmt: skip
        asked: dict[str, object] = {"scope": keys.scope_key(scope), "after": after or "", "limit": limit}
        if stage is None:
            rows = self._run("sessions", asked)
        else:
            rows = self._run("sessions_in_stage", asked | {"stage": stage.value})
        return [session_of(row) for row in rows]

    def notes(self, scope: Scope, id: SessionId, *, limit: int, after: int) -> Sequence[Note]:
        asked = {"key": keys.session_key(scope, id), "after": after, "limit": limit}
        return [note_of(row) for row in self._run("notes", asked)]

    def idle(self, before: Instant, *, limit: int) -> Sequence[Session]:
        return [session_of(row) for row in self._run("idle_sessions", {"before": before, "limit": limit})]


class Neo4jSessionTransaction:
    """The changes, as a part of a transaction."""

    __slots__ = ()

    _run: Run
    _scope: Scope

    def session(self, id: SessionId) -> Session:
        return _session(self._run, self._scope, id)

    def open_sessions(self) -> int:
        return int(self._run("open_sessions", {"scope": keys.scope_key(self._scope)})[0][0])

    def put_session(self, session: Session) -> None:
        scope, me = session.scope, session.me
        asked: dict[str, object] = {
            "key": keys.session_key(scope, session.id), "tenant": scope.tenant, "namespace": scope.namespace,
            "purpose": scope.purpose, "scope": keys.scope_key(scope), "session": session.id,
            "principal": session.principal, "source": session.source, "me": None if me is None else me.text,
            "me_is_key": me is not None and me.is_key, "zone": session.zone, "stage": session.stage.value,
            "opened_at": session.opened_at, "changed_at": session.changed_at, "notes": session.notes,
            "operations": " ".join(session.operations),
        }  # fmt: skip
        self._run("put_session", asked)

    def put_notes(self, id: SessionId, notes: Sequence[Note]) -> None:
        key, tenant = keys.session_key(self._scope, id), self._scope.tenant
        rows = [
            [keys.note_key(key, n.number), key, tenant, n.number, n.speaker, n.text, n.at, n.operation] for n in notes
        ]
        self._run("put_notes", {"rows": rows})

    def unread_notes(self, id: SessionId) -> list[Note]:
        return [note_of(row) for row in self._run("unread_notes", {"key": keys.session_key(self._scope, id)})]

    def hand_over(self, id: SessionId, operation: OperationId) -> None:
        self._run("hand_over", {"key": keys.session_key(self._scope, id), "operation": operation})

    def has_notes(self, id: SessionId) -> bool:
        return bool(self._run("has_notes", {"key": keys.session_key(self._scope, id)})[0][0])

    def sessions_of_namespace(self, *, limit: int, after: Session | None) -> list[Session]:
        purpose, id = ("", "") if after is None else (after.scope.purpose, after.id)
        asked: dict[str, object] = {
            "tenant": self._scope.tenant, "namespace": self._scope.namespace, "purpose": purpose, "after": id,
            "limit": limit,
        }  # fmt: skip
        return [session_of(row) for row in self._run("sessions_of_namespace", asked)]

    def all_notes(self, id: SessionId) -> list[Note]:
        asked = {"key": keys.session_key(self._scope, id), "after": 0, "limit": ALL}
        return [note_of(row) for row in self._run("notes", asked)]

    def erase_some_notes(self, id: SessionId, numbers: Sequence[int], now: Instant) -> None:
        key = keys.session_key(self._scope, id)
        self._run("erase_some_notes", {"keys": [keys.note_key(key, number) for number in numbers]})
        self._run("settle_session", {"key": key, "now": now})


def let_go(run: Run, tenant: Tenant, operation: OperationId, now: Instant) -> None:
    """Erase the notes that an operation has read, and let their session end if those were the last."""
    asked = {"tenant": tenant, "operation": operation}
    for (key,) in run("session_of_operation", asked):
        run("erase_notes", asked)
        run("settle_session", {"key": key, "now": now})


def _session(run: Run, scope: Scope, id: SessionId) -> Session:
    rows = run("session", {"key": keys.session_key(scope, id)})
    if not rows:
        raise no_session(id)
    return session_of(rows[0])


_conforms: type[SessionStore] = Neo4jSessions
