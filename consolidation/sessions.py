"""A session from its opening to its end: notes come in, parts of them become episodes, and the worker reads these.

What is handed over is recorded, queued and marked in one transaction, and erased in the one in which its reading is
done (graph/sessions.py). A session that nobody ends is ended when it was left alone for long.
"""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from consolidation.admission import ON_THIS_MACHINE, Standing, admit_owner
from consolidation.check import NAME_CHARS_MAX, read_at
from consolidation.episodes import NewEpisode, NewTurn, Recorder
from consolidation.idempotency import Written, check_key, kept, replayed
from graph.ports import Clock, MemoryStore, Randomness, Transaction
from ontology.canonical import canonical_label, incorrect
from ontology.claims import Source
from ontology.episodes import SaidBy
from ontology.errors import JSON, Busy, Conflict, Forbidden, TooLarge, Unavailable, VigenciaError, Violation, shown
from ontology.ids import OperationId, SessionId, session_id
from ontology.instants import DAY, SECOND, Instant, check_zone, format_instant
from ontology.scope import Scope
from ontology.sessions import Note, Session, Stage

SESSIONS_MAX: Final = 1_000
"""Open at once in one scope."""
NOTES_MAX: Final = 10_000
"""In one session."""
NOTES_AT_ONCE: Final = 100
"""In one request."""
IDLE_AT_ONCE: Final = 20

log = logging.getLogger("vigencia.consolidation.sessions")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """A session as it came off the wire."""

    source: str | None = None
    me_key: str | None = None
    me_name: str | None = None
    """Who says "I": an entity by its key, or a name; at most one of the two."""
    zone: str | None = None
    subject: str | None = None
    """Whose profile is wanted with it; a part of the request, and not of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNote:
    """A note as it came off the wire."""

    text: str
    speaker: str | None = None
    """The principal where it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tempo:
    """When notes are handed over without being asked for."""

    turns: int = 50
    """When so many wait to be read."""
    idle_seconds: float = 3_600.0
    """So long after the last note of a session, which is ended then."""


class Sessions:
    """The sessions of one store. Safe to use from many threads."""

    def __init__(
        self, *, store: MemoryStore, recorder: Recorder, clock: Clock, randomness: Randomness, tempo: Tempo,
        bytes_max: int = 1_000_000, key_days: int = 7,
    ) -> None:  # fmt: skip
        """`bytes_max` is how long the text of one episode may be, in UTF-8; the notes of one request, half of that."""
        self._store = store
        self._recorder = recorder
        self._clock = clock
        self._randomness = randomness
        self._tempo = tempo
        self._bytes_max = bytes_max // 2
        self._key_days = key_days

    def open(
        self, scope: Scope, principal: str, new: NewSession, *, key: str | None = None,
        standing: Standing = ON_THIS_MACHINE,
    ) -> Written:  # fmt: skip
        """Open a session; gives its document.

        Raises `Incorrect`, `TooLarge` where too many are open, `Forbidden`, `KeyReused`, `Busy`, `Unavailable`.
        """
        me, zone = _me(new), None if new.zone is None else read_at("/tz", check_zone, new.zone)
        source = Source(_label(new.source, "/source") or principal)

        def act(tx: Transaction, now: Instant) -> Session:
            if tx.open_sessions() >= SESSIONS_MAX:
                raise TooLarge(f"{SESSIONS_MAX} sessions are open in this scope, the most there may be; end some")
            opened = Session(
                id=session_id(now, self._randomness.bytes(8)), scope=scope, principal=principal, source=source, me=me,
                zone=zone, stage=Stage.OPEN, opened_at=now, changed_at=now, notes=0, operations=(),
            )  # fmt: skip
            tx.put_session(opened)
            return opened

        return self._do(scope, principal, key, ["open", new], standing, act)

    def note(
        self, scope: Scope, principal: str, id: SessionId, notes: Sequence[NewNote], *, key: str | None = None,
        standing: Standing = ON_THIS_MACHINE,
    ) -> Written:  # fmt: skip
        """Add notes to a session that this principal opened; gives its document. Where enough wait they are read.

        Raises what `open` raises, `NotFound`, and `Conflict` where the session takes no more notes.
        """
        speakers = self._check(notes)

        def act(tx: Transaction, now: Instant) -> Session:
            session = _own(tx.session(id), principal)
            if session.stage is not Stage.OPEN:
                raise Conflict(f"the session {id} is {session.stage.value} and takes no more notes; open another")
            if session.notes + len(notes) > NOTES_MAX:
                raise TooLarge(f"a session takes {NOTES_MAX} notes, this one has {session.notes}; end it, open another")
            new = [
                Note(number=number, speaker=speaker or principal, text=note.text, at=now, operation=None)
                for number, (note, speaker) in enumerate(zip(notes, speakers, strict=True), start=session.notes + 1)
            ]
            tx.put_notes(id, new)
            session = replace(session, notes=session.notes + len(new), changed_at=now)
            unread = tx.unread_notes(id)
            if len(unread) >= self._tempo.turns or sum(map(_size, unread)) > self._bytes_max:
                session = self._hand_over(tx, session, unread)
            tx.put_session(session)
            return session

        return self._do(scope, principal, key, ["note", id, list(notes)], standing, act)

    def end(
        self, scope: Scope, principal: str, id: SessionId, *, standing: Standing = ON_THIS_MACHINE
    ) -> Session:  # fmt: skip
        """Let a session take no more notes, and hand over those that wait; one that is ending or ended stays as it is.

        Whoever may write in the scope may end it: what is read is written as said by who opened it. Raises `NotFound`,
        `Forbidden`, `Busy`, `Unavailable`.
        """
        return self._end(scope, id, lambda tx: admit_owner(tx, principal, standing, self._clock.now()))

    def end_idle(self) -> int:
        """End sessions that were left alone, some of them; gives how many those were."""
        before = Instant(self._clock.now() - int(self._tempo.idle_seconds * SECOND))
        idle = self._store.sessions.idle(before, limit=IDLE_AT_ONCE)
        for session in idle:
            try:
                self._end(session.scope, session.id, lambda _: None, idle_since=before)
            except (Busy, Unavailable):
                raise
            except VigenciaError as exc:
                log.error("the session %s, which was left alone, cannot be ended: %s", session.id, exc.slug)
                self._let_wait(session)
        return len(idle)

    # ---- reading

    def session(self, scope: Scope, id: SessionId) -> Session:
        """Raises `NotFound`."""
        return self._store.sessions.session(scope, id)

    def listed(
        self, scope: Scope, stage: Stage | None, *, limit: int, after: SessionId | None
    ) -> Sequence[Session]:  # fmt: skip
        """Those of a scope, as they were opened."""
        return self._store.sessions.sessions(scope, stage, limit=limit, after=after)

    def notes(self, scope: Scope, id: SessionId, *, limit: int, after: int) -> Sequence[Note]:
        """Notes of a session that were not read yet, by number."""
        return self._store.sessions.notes(scope, id, limit=limit, after=after)

    # ---- one transaction

    def _do(
        self, scope: Scope, principal: str, key: str | None, request: Sequence[object], standing: Standing,
        act: Callable[[Transaction, Instant], Session],
    ) -> Written:  # fmt: skip
        if key is not None:
            check_key(key)
        digest = hashlib.sha256(orjson.dumps([scope, *request])).digest()
        now = self._clock.now()
        with self._store.write(scope) as tx:
            if key is not None:
                earlier = replayed(tx, principal, key, digest, now)
                if earlier is not None:
                    return earlier
            admit_owner(tx, principal, standing, now)
            receipt = document(act(tx, now))
            if key is not None:
                tx.remember(principal, key, kept(digest, receipt), Instant(now + self._key_days * DAY))
        return Written(receipt=receipt, replayed=False)

    def _end(
        self, scope: Scope, id: SessionId, admit: Callable[[Transaction], None], idle_since: Instant | None = None
    ) -> Session:
        with self._store.write(scope) as tx:
            admit(tx)
            session = tx.session(id)
            if session.stage is not Stage.OPEN or (idle_since is not None and session.changed_at > idle_since):
                return session
            unread = tx.unread_notes(id)
            if unread:
                session = self._hand_over(tx, session, unread)
            stage = Stage.ENDING if tx.has_notes(id) else Stage.ENDED
            session = replace(session, stage=stage, changed_at=self._clock.now())
            tx.put_session(session)
        return session

    def _let_wait(self, session: Session) -> None:
        """Let a session that cannot be ended wait as long again, so that others get their turn."""
        with self._store.write(session.scope) as tx:
            tx.put_session(replace(tx.session(session.id), changed_at=self._clock.now()))

    def _hand_over(self, tx: Transaction, session: Session, unread: Sequence[Note]) -> Session:
        """Record the notes as an episode, and let its operation be what reads them."""
        said = min(unread[-1].at, self._clock.now())  # the clock may have been set back since
        episode = NewEpisode(
            turns=[NewTurn(speaker=each.speaker, text=each.text, at=format_instant(each.at)) for each in unread],
            me_key=session.me.text if session.me is not None and session.me.is_key else None,
            me_name=session.me.text if session.me is not None and not session.me.is_key else None,
            source=session.source,
            session=session.id,
            observed_at=format_instant(said),
            zone=session.zone,
            part=unread[0].number,
        )
        items = self._recorder.record_in(tx, session.principal, [episode])["items"]
        operation = OperationId(str(items[0]["operation"])) if isinstance(items, list) else OperationId("")
        tx.hand_over(session.id, operation)
        return replace(session, operations=(*session.operations, operation))

    # ---- checking

    def _check(self, notes: Sequence[NewNote]) -> list[str | None]:
        """Who speaks in each."""
        if not 1 <= len(notes) <= NOTES_AT_ONCE:
            raise incorrect("/notes", "out_of_range", f"{len(notes)} notes in one request; give 1 to {NOTES_AT_ONCE}")
        for index, note in enumerate(notes):
            try:
                note.text.encode()
            except UnicodeEncodeError:
                detail = f"text with a lone surrogate cannot be kept: {shown(note.text)}"
                raise incorrect(f"/notes/{index}/text", "lone_surrogate", detail) from None
            if not note.text.strip():
                raise incorrect(f"/notes/{index}/text", "empty", "there are no words in the note; give what was said")
        size = sum(len(note.text.encode()) for note in notes)
        if size > self._bytes_max:
            detail = f"the notes have {size} bytes, {self._bytes_max} at most are taken at once; split them"
            raise TooLarge(detail, violations=(Violation(pointer="/notes", code="too_large", detail=detail),))
        return [_label(note.speaker, f"/notes/{index}/speaker") for index, note in enumerate(notes)]


def document(session: Session) -> dict[str, JSON]:
    """A session as the wire shows it, without its notes."""
    me = session.me
    return {
        "id": session.id,
        "stage": session.stage.value,
        "principal": session.principal,
        "source": session.source,
        "me": None if me is None else {"key" if me.is_key else "name": me.text},
        "tz": session.zone,
        "opened_at": format_instant(session.opened_at),
        "changed_at": format_instant(session.changed_at),
        "notes": session.notes,
        "operations": list(session.operations),
    }


def _own(session: Session, principal: str) -> Session:
    """What is noted is written in the name of who opened the session: so nobody else adds to it."""
    if session.principal != principal:
        detail = f"the session {session.id} was opened by {session.principal!r}, and only they add notes to it"
        scope = session.scope
        members = {"grant": "write", "namespace": str(scope.namespace), "purpose": str(scope.purpose)}
        raise Forbidden(detail, remedy="open a session of your own", members=members)
    return session


def _size(note: Note) -> int:
    return len(note.text.encode())


def _me(new: NewSession) -> SaidBy | None:
    if new.me_key is not None and new.me_name is not None:
        raise incorrect("/me", "exactly_one", "who says 'I'? give either 'key' or 'name'")
    text = _label(new.me_key, "/me/key") or _label(new.me_name, "/me/name")
    return None if text is None else SaidBy(text=text, is_key=new.me_key is not None)


def _label(text: str | None, at: str) -> str | None:
    return None if text is None else canonical_label(text, at, at.rsplit("/", 1)[1], NAME_CHARS_MAX)
