"""Sessions on the wire: what a body may hold, what an answer looks like, how one is rendered."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from api.wire.answers import When
from api.wire.episodes import MeBody, OperationAnswer, operation_document
from api.wire.profiles import ProfileAnswer
from api.wire.queries import LIMIT, Limit, Position, ScopeQuery, Words
from api.wire.rendering import Wire
from consolidation.sessions import NewNote, NewSession, document
from ontology.errors import JSON
from ontology.instants import format_instant
from ontology.operations import Operation
from ontology.schema import Kind, Schema
from ontology.sessions import Note, Session

OPENING: dict[str, Any] = {
    "a talk with Mira": {"me": {"key": "mira"}, "source": "chat", "tz": "Europe/Vienna"},
    "with what is at hand of her": {"me": {"key": "mira"}, "subject": "mira"},
}
NOTES: dict[str, Any] = {
    "two turns": {"notes": [{"speaker": "Mira", "text": "I moved to Paris."}, {"speaker": "agent", "text": "Noted."}]},
}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _ScopeBody(_Body):
    namespace: str = Field("default", max_length=500)
    purpose: str = Field("general", max_length=500)


class SessionBody(_ScopeBody):
    """A session that is to be opened."""

    me: MeBody | None = Field(None, description='Who says "I" in the notes, or which speaker is who.')
    source: str | None = Field(None, max_length=500, description="Who says what is noted; by default the caller.")
    tz: str | None = Field(None, max_length=64, description="The zone of who speaks, for days such as yesterday.")
    subject: str | None = Field(
        None, max_length=500, description="Of whom the answer gives the profile: a key, or an id `ent_…`; needs `read`."
    )
    operation_id: str | None = Field(None, max_length=255, description="The same as `Idempotency-Key`.")

    def session(self) -> NewSession:
        me = self.me or MeBody()
        return NewSession(source=self.source, me_key=me.key, me_name=me.name, zone=self.tz, subject=self.subject)


class NoteBody(_Body):
    """What was said, or noted."""

    text: str
    speaker: str | None = Field(None, min_length=1, max_length=500, description="By default the caller.")


class NotesBody(_ScopeBody):
    """Notes that are taken together or not at all."""

    notes: list[NoteBody] = Field(json_schema_extra={"minItems": 1, "maxItems": 100})
    operation_id: str | None = Field(None, max_length=255, description="The same as `Idempotency-Key`.")

    def new(self) -> list[NewNote]:
        return [NewNote(text=note.text, speaker=note.speaker) for note in self.notes]


class EndBody(_ScopeBody):
    """Where the session is."""


class SessionsQuery(ScopeQuery):
    """Sessions in one stage, or all."""

    stage: Literal["open", "ending", "ended"] | None = None
    after: Words | None = Field(None, description="The id of the last one that is known already.")
    limit: Limit = LIMIT


class SessionQuery(ScopeQuery):
    """One session, with its notes from one on."""

    after: Position = Field(0, description="The number of the last note that is known already.")
    limit: Limit = LIMIT


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class SessionAnswer(_Answer):
    """A session without its notes."""

    id: str
    stage: str = Field(description="`open`; `ending` while its notes are read; `ended` once they are, and are gone.")
    principal: str
    source: str
    me: dict[str, str] | None
    tz: str | None
    opened_at: When
    changed_at: When
    notes: int = Field(description="How many it ever got.")
    operations: list[str] = Field(description="Those that read its notes; see `/v1/operations/{id}`.")


class OpenedSession(SessionAnswer):
    """A new session, and what is at hand of the subject that was named."""

    profile: ProfileAnswer | None = Field(
        description="As of `GET /v1/profiles/{id}`; `null` where no subject was named, or nothing shows of it."
    )


class ReadSession(SessionAnswer):
    """A session with what was made of it so far."""

    reading: list[OperationAnswer]
    extracted: dict[str, list[dict[str, Any]]] = Field(
        description="What was written, by the kind of its predicate: `fact`, `preference`, `decision` and others."
    )


class OpenNotes(_Answer):
    """A page of notes that were not read yet."""

    items: list[dict[str, Any]]
    next_after: int | None


class WholeSession(ReadSession):
    """A session with its notes that were not read yet, and what was made of the others."""

    unread: OpenNotes


class SessionList(_Answer):
    """A page of sessions."""

    items: list[SessionAnswer]
    next_after: str | None


def read_document(session: Session, operations: Sequence[Operation], schema: Schema) -> Wire:
    """A session with what became of the notes that were handed over."""
    return {
        **document(session),
        "reading": [operation_document(operation) for operation in operations],
        "extracted": extracted(operations, schema),
    }


def extracted(operations: Iterable[Operation], schema: Schema) -> dict[str, JSON]:
    """What was written, by the kind of its predicate; facts, preferences and decisions stand there even if none is."""
    found: dict[str, list[JSON]] = {kind.value: [] for kind in (Kind.FACT, Kind.PREFERENCE, Kind.DECISION)}
    for operation in operations:
        receipts = {} if operation.receipts is None else orjson.loads(operation.receipts)
        for claim in receipts.get("claims", ()):
            kind = schema.kind_of(claim["predicate"])
            found.setdefault(kind.value, []).append({**claim, "operation": operation.id})
    return dict(found)


def note_document(note: Note) -> Wire:
    return {
        "number": note.number,
        "speaker": note.speaker,
        "text": note.text,
        "at": format_instant(note.at),
        "operation": note.operation,
    }
