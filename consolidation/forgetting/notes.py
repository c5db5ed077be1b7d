"""Which notes of sessions go with what is forgotten: they are no memory and die by themselves, but may hold it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from consolidation.forgetting.mentions import Mentions
from consolidation.forgetting.plan import Plan
from graph.ports import Transaction
from graph.sessions import SessionStore
from ontology.ids import SessionId
from ontology.scope import Scope
from ontology.sessions import Note, Session
from ontology.tombstones import Marked, Target

PAGE = 200
FORGOTTEN_SOURCE = "forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What goes of one session."""

    scope: Scope
    session: SessionId
    numbers: tuple[int, ...]
    speaker: bool
    """Whether who says "I" is not to be known any more."""
    source: str
    """Under which name the rest is kept."""


def notes_of(sessions: SessionStore, scopes: Iterable[Scope], plan: Plan) -> list[Notes]:
    """Of a subject the notes that mention it, of a source all that it noted; nothing else reaches a session."""
    if plan.wanted.target not in (Target.SUBJECT, Target.SOURCE):
        return []
    words = [text for kind, text in plan.words if kind in (Marked.NAME, Marked.KEY)]
    mentions = Mentions(words)
    found = []
    for scope in scopes:
        for session in _each_session(sessions, scope):
            whole = plan.wanted.source == session.source
            numbers = tuple(
                note.number
                for note in _each_note(sessions, session)
                if whole or mentions(f"{note.speaker} {note.text}")
            )
            speaker = session.me is not None and mentions(session.me.text)
            if numbers or speaker or whole:
                source = FORGOTTEN_SOURCE if whole else session.source
                found.append(
                    Notes(scope=scope, session=session.id, numbers=numbers, speaker=speaker, source=source)
                )  # fmt: skip
    return found


def forget_notes(tx: Transaction, found: Iterable[Notes]) -> None:
    """Take them out."""
    for each in found:
        there = tx if each.scope == tx.scope else tx.within(each.scope)
        there.forget_notes(each.session, each.numbers)
        there.forget_speaker(each.session, keeps_me=not each.speaker, source=each.source)


def _each_session(sessions: SessionStore, scope: Scope) -> Iterator[Session]:
    after: SessionId | None = None
    while page := sessions.sessions(scope, None, limit=PAGE, after=after):
        yield from page
        after = page[-1].id


def _each_note(sessions: SessionStore, session: Session) -> Iterator[Note]:
    after = 0
    while page := sessions.notes(session.scope, session.id, limit=PAGE, after=after):
        yield from page
        after = page[-1].number
