"""Working notes of an agent: they live with a session, and what is worth it is read when it ends."""

import time

import orjson
from starlette.responses import Response

from api.auth.permission import Permitted
from api.routes.call import Call
from api.routes.operations import POLL_SECONDS
from api.routes.profiles import profile_at, profile_document_of
from api.routes.reading import ask, reading, subject_of
from api.routes.routing import READ, WRITE, Routes
from api.wire import rendering
from api.wire.queries import NoQuery, ReadQuery
from api.wire.rendering import Wire
from api.wire.sessions import (
    NOTES,
    OPENING,
    EndBody,
    NotesBody,
    OpenedSession,
    ReadSession,
    SessionAnswer,
    SessionBody,
    SessionList,
    SessionQuery,
    SessionsQuery,
    WholeSession,
    note_document,
    read_document,
)
from consolidation.idempotency import Written
from consolidation.sessions import document
from graph.naming import shows
from ontology.errors import JSON
from ontology.facts import FactVersion
from ontology.grants import Grant
from ontology.ids import OperationId, SessionId
from ontology.operations import Operation, State
from ontology.sessions import Session, Stage

routes = Routes("sessions", "Working notes that live with a session, and are read when it ends.")


@routes.post("/v1/sessions", body=SessionBody, answer=OpenedSession, problems=WRITE, optional=True, examples=OPENING)
def open_session(call: Call, query: NoQuery) -> Response:
    """Open a session, for working notes that die with it.

    One that gets no note for `VIGENCIA_SESSION_IDLE_SECONDS` is ended. With `subject` the answer has that one's
    profile, as it is now, which counts as served in the session.
    """
    body = call.body(SessionBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    profile, served = _profile(call, body)
    written = call.open_session(scope, body.session(), key=call.idempotency_key(body.operation_id))
    if served:
        readable = call.scope(body.namespace, body.purpose, needs=Grant.READ)
        call.served(readable, str(written.receipt["id"]), served)
    return _written(written, profile=profile)


@routes.get("/v1/sessions", query=SessionsQuery, answer=SessionList, conditional=False)
def list_sessions(call: Call, query: SessionsQuery) -> Response:
    """Sessions in the order in which they were opened, in one stage or all."""
    scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
    stage = None if query.stage is None else Stage(query.stage)
    after = None if query.after is None else SessionId(query.after)
    found = call.sessions_in(scope, stage, limit=query.limit + 1, after=after)
    listed = found[: query.limit]
    more = len(found) > query.limit
    return _json({"items": [document(each) for each in listed], "next_after": listed[-1].id if more else None})


@routes.get(
    "/v1/sessions/{id}", query=SessionQuery, answer=WholeSession, problems=(*READ, "not-found"), conditional=False
)
def read_session(call: Call, query: SessionQuery) -> Response:
    """One session, its notes that were not read yet, and what was made of the others."""
    scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
    session = call.session(scope, SessionId(call.part("id")))
    found = call.notes_of(scope, session.id, limit=query.limit + 1, after=query.after)
    listed = found[: query.limit]
    more = len(found) > query.limit
    notes: Wire = {
        "items": [note_document(note) for note in listed],
        "next_after": listed[-1].number if more else None,
    }
    operations = call.operations(scope, session.operations)
    return _json({**read_document(session, operations, call.schema(scope)), "unread": notes})


@routes.post(
    "/v1/sessions/{id}/notes", body=NotesBody, answer=SessionAnswer, problems=(*WRITE, "conflicting-claim"),
    examples=NOTES,
)  # fmt: skip
def add_notes(call: Call, query: NoQuery) -> Response:
    """Add notes to a session that the caller opened: all of them, or none.

    They are no facts, and no read of memory shows them. Where `VIGENCIA_SESSION_TURNS` wait, they are handed over as an
    episode, which is read while the session goes on. 409 where the session takes no more notes.
    """
    body = call.body(NotesBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    key = call.idempotency_key(body.operation_id)
    return _written(call.note(scope, SessionId(call.part("id")), body.new(), key=key))


@routes.post(
    "/v1/sessions/{id}/end", body=EndBody, answer=ReadSession, problems=WRITE, optional=True, keyed=False,
    accepted=True,
)  # fmt: skip
def end_session(call: Call, query: NoQuery) -> Response:
    """End a session: its notes become an episode, and are gone once that was read.

    The answer is 202 while it is read, with the operation, and 200 with what was extracted once all is. `Prefer:
    wait=n` waits up to n seconds for that, 30 at most. Where the reading failed for good the notes stay until it is
    retried. One that has ended is answered as it is.
    """
    body = call.body(EndBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    session = call.end_session(scope, SessionId(call.part("id")))
    headers = {"Cache-Control": "no-store"}
    session, operations = _awaited(call, scope, session)
    if call.wait_seconds:
        headers["Preference-Applied"] = f"wait={call.wait_seconds:g}"
    content = orjson.dumps(read_document(session, operations, call.schema(scope)))
    status = 200 if session.stage is Stage.ENDED else 202
    return Response(content, status_code=status, media_type="application/json", headers=headers)


def _awaited(call: Call, scope: Permitted, session: Session) -> tuple[Session, list[Operation]]:
    """The session and what reads it, once it has ended, a reading failed or the caller has waited long enough."""
    deadline = time.monotonic() + call.wait_seconds
    while True:
        session = call.session(scope, session.id)  # before its operations: once it has ended, all of them are done
        operations = call.operations(scope, [OperationId(id) for id in session.operations])
        over = session.stage is Stage.ENDED or any(each.state is State.FAILED for each in operations)
        if over or time.monotonic() >= deadline:
            return session, operations
        time.sleep(POLL_SECONDS)


def _profile(call: Call, body: SessionBody) -> tuple[JSON, list[FactVersion]]:
    """The profile of the subject that a body names, and what is served with it. Raises as `subject_of` does."""
    if body.subject is None:
        return None, []
    query = ReadQuery(namespace=body.namespace, purpose=body.purpose)
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        subject = subject_of(reader, body.subject)
        if subject is None or not shows(reader, subject.id, question.as_of):
            return None, []
        profile = profile_at(question, subject)
        document = profile_document_of(question, subject, profile)
    versions = [line.fact.version for line in profile.lines]
    return {**document, "as_of": rendering.as_of(question.as_of, question.now)}, versions


def _written(written: Written, **others: JSON) -> Response:
    headers = {"Cache-Control": "no-store"}
    if written.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(orjson.dumps({**written.receipt, **others}), media_type="application/json", headers=headers)


def _json(body: Wire) -> Response:
    return Response(orjson.dumps(body), media_type="application/json", headers={"Cache-Control": "private, no-cache"})
