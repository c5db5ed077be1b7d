"""Sessions and their notes over plain dictionaries: obvious, and slow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from graph.sessions import SessionStore, no_session
from ontology.ids import OperationId, SessionId
from ontology.instants import Instant
from ontology.scope import Scope, Tenant
from ontology.sessions import Note, Session, Stage

Key = tuple[Scope, SessionId]


@dataclass(kw_only=True)
class Sessions:
    """Those of a tenant, with the notes of each by number."""

    sessions: dict[Key, Session] = field(default_factory=dict)
    notes: dict[Key, dict[int, Note]] = field(default_factory=dict)

    def copy(self) -> "Sessions":
        return Sessions(sessions=self.sessions.copy(), notes={key: of.copy() for key, of in self.notes.items()})

    def find(self, scope: Scope, id: SessionId) -> Session:
        found = self.sessions.get((scope, id))
        if found is None:
            raise no_session(id)
        return found

    def notes_of(self, scope: Scope, id: SessionId) -> list[Note]:
        return [note for _, note in sorted(self.notes.get((scope, id), {}).items())]

    def let_go(self, operation: OperationId, now: Instant) -> None:
        for key, notes in self.notes.items():
            read = [number for number, note in notes.items() if note.operation == operation]
            for number in read:
                del notes[number]
            session = self.sessions[key]
            if read and not notes and session.stage is Stage.ENDING:
                self.sessions[key] = replace(session, stage=Stage.ENDED, changed_at=now)


class NaiveSessionTransaction:
    """The changes, as a part of a transaction."""

    _scope: Scope
    of_sessions: Sessions

    def session(self, id: SessionId) -> Session:
        return self.of_sessions.find(self._scope, id)

    def open_sessions(self) -> int:
        mine = [session for (scope, _), session in self.of_sessions.sessions.items() if scope == self._scope]
        return sum(session.stage is Stage.OPEN for session in mine)

    def put_session(self, session: Session) -> None:
        self.of_sessions.sessions[session.scope, session.id] = session

    def put_notes(self, id: SessionId, notes: Sequence[Note]) -> None:
        self.of_sessions.notes.setdefault((self._scope, id), {}).update({note.number: note for note in notes})

    def unread_notes(self, id: SessionId) -> list[Note]:
        return [note for note in self.of_sessions.notes_of(self._scope, id) if note.operation is None]

    def hand_over(self, id: SessionId, operation: OperationId) -> None:
        handed = [replace(note, operation=operation) for note in self.unread_notes(id)]
        self.put_notes(id, handed)

    def has_notes(self, id: SessionId) -> bool:
        return bool(self.of_sessions.notes_of(self._scope, id))

    def sessions_of_namespace(self, *, limit: int, after: Session | None) -> list[Session]:
        def key(session: Session) -> tuple[str, str]:
            return session.scope.purpose, session.id

        mine = [
            session
            for session in self.of_sessions.sessions.values()
            if session.scope.namespace == self._scope.namespace and (after is None or key(session) > key(after))
        ]
        return sorted(mine, key=key)[:limit]

    def all_notes(self, id: SessionId) -> list[Note]:
        return self.of_sessions.notes_of(self._scope, id)

    def erase_some_notes(self, id: SessionId, numbers: Sequence[int], now: Instant) -> None:
        notes = self.of_sessions.notes.get((self._scope, id), {})
        for number in numbers:
            notes.pop(number, None)
        session = self.session(id)
        if not notes and session.stage is Stage.ENDING:
            self.put_session(replace(session, stage=Stage.ENDED, changed_at=now))


class NaiveSessions:
    """The sessions of all tenants of a naive store."""

    def __init__(self, every: Callable[[], Sequence[Tenant]], reading: Callable[[Tenant], Sessions]) -> None:
        self._every = every
        self._reading = reading

    def session(self, scope: Scope, id: SessionId) -> Session:
        return self._reading(scope.tenant).find(scope, id)

    def sessions(
        self, scope: Scope, stage: Stage | None, *, limit: int, after: SessionId | None
    ) -> Sequence[Session]:  # fmt: skip
        listed = [
            session
            for (of, id), session in self._reading(scope.tenant).sessions.items()
            if of == scope and stage in (None, session.stage) and (after is None or id > after)
        ]
        return sorted(listed, key=lambda session: session.id)[:limit]

    def notes(self, scope: Scope, id: SessionId, *, limit: int, after: int) -> Sequence[Note]:
        return [note for note in self._reading(scope.tenant).notes_of(scope, id) if note.number > after][:limit]

    def idle(self, before: Instant, *, limit: int) -> Sequence[Session]:
        listed = [session for tenant in self._every() for session in self._reading(tenant).sessions.values()]
        left = [each for each in listed if each.stage is Stage.OPEN and each.changed_at <= before]
        return sorted(left, key=lambda each: (each.changed_at, each.scope.tenant, each.id))[:limit]


_conforms: type[SessionStore] = NaiveSessions
