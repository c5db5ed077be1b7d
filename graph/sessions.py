"""What a store must keep of sessions, beside memory: which there are, and the notes of each until they were read.

Reading stands beside the snapshots and gives what is committed at the moment of each call; writing is a part of the
tenant's transaction, so that notes are handed over in the one that records and queues the episode made of them. They
are erased in the one in which `Queue.complete` lets its operation be done, and a session that is ending and has no
notes left has ended from then on: killed at any instant, no note was lost before and none is left after.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ontology.claims import Source
from ontology.episodes import SaidBy
from ontology.errors import NotFound, shown
from ontology.ids import OperationId, SessionId
from ontology.instants import Instant
from ontology.scope import Namespace, Purpose, Scope, Tenant
from ontology.sessions import Note, Session, Stage


class SessionStore(Protocol):
    """The sessions of all tenants. Safe to use from many threads."""

    def session(self, scope: Scope, id: SessionId) -> Session:
        """Raises `NotFound`, also for one of another scope."""
        ...

    def sessions(
        self, scope: Scope, stage: Stage | None, *, limit: int, after: SessionId | None
    ) -> Sequence[Session]:  # fmt: skip
        """Those of a scope, in one stage or any, in the order of their ids, which is that of their opening."""
        ...

    def notes(self, scope: Scope, id: SessionId, *, limit: int, after: int) -> Sequence[Note]:
        """Notes that are still there with a number greater than `after`, in order; none where there is no session."""
        ...

    def idle(self, before: Instant, *, limit: int) -> Sequence[Session]:
        """Open sessions of all tenants that changed last at `before` or earlier, those first that wait longest."""
        ...


class SessionTransaction(Protocol):
    """The changes, under the tenant's write lock, to sessions of the scope."""

    def session(self, id: SessionId) -> Session:
        """Raises `NotFound`."""
        ...

    def open_sessions(self) -> int:
        """How many sessions of the scope are open."""
        ...

    def put_session(self, session: Session) -> None:
        """Keep a session, new or as it is now."""
        ...

    def put_notes(self, id: SessionId, notes: Sequence[Note]) -> None:
        """Keep notes of a session of the scope."""
        ...

    def unread_notes(self, id: SessionId) -> list[Note]:
        """Those that were not handed over, by number."""
        ...

    def hand_over(self, id: SessionId, operation: OperationId) -> None:
        """Let an operation be what reads those."""
        ...

    def has_notes(self, id: SessionId) -> bool:
        """Whether a note is still there, handed over or not."""
        ...

    # for forgetting

    def sessions_of_namespace(self, *, limit: int, after: Session | None) -> list[Session]:
        """Those of the scope's namespace with any purpose, in the order of purpose and id."""
        ...

    def all_notes(self, id: SessionId) -> list[Note]:
        """Those that are still there, by number."""
        ...

    def erase_some_notes(self, id: SessionId, numbers: Sequence[int], now: Instant) -> None:
        """Erase notes of a session; one that is ending has ended if those were the last."""
        ...


def session_of(row: Sequence[Any]) -> Session:
    """Of (tenant, namespace, purpose, id, principal, source, me, is a key, zone, stage, opened_at, changed_at, notes,
    operations with blanks between)."""
    tenant, namespace, purpose, id, principal, source, me, is_key, zone, stage, opened_at, changed_at, notes, read = row
    return Session(
        id=SessionId(id),
        scope=Scope(tenant=Tenant(tenant), namespace=Namespace(namespace), purpose=Purpose(purpose)),
        principal=principal,
        source=Source(source),
        me=None if me is None else SaidBy(text=me, is_key=bool(is_key)),
        zone=zone,
        stage=Stage(stage),
        opened_at=opened_at,
        changed_at=changed_at,
        notes=notes,
        operations=tuple(map(OperationId, read.split())),
    )


def note_of(row: Sequence[Any]) -> Note:
    """Of (number, speaker, text, at, operation)."""
    number, speaker, text, at, operation = row
    return Note(number=number, speaker=speaker, text=text, at=at, operation=operation)


def no_session(id: SessionId) -> NotFound:
    return NotFound(f"no session {shown(id)} here")
