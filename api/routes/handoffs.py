"""Packets from one agent for another: conclusions, pinned facts, and what was rejected."""

from collections.abc import Sequence

import orjson
from starlette.responses import Response

from api.auth.permission import Permitted
from api.routes.call import Call
from api.routes.reading import ask, reading
from api.routes.routing import READ, WRITE, Routes
from api.wire import rendering
from api.wire.handoffs import EXAMPLES, AdoptBody, HandoffAnswer, HandoffBody, HandoffQuery, handoff_document
from api.wire.queries import NoQuery, ReadQuery
from api.wire.rendering import Wire
from graph.handed import handed
from ontology.facts import FactVersion
from ontology.grants import Grant
from ontology.handoffs import Handoff
from ontology.ids import HandoffId

routes = Routes("handoffs", "Hand work over to another agent: conclusions, pinned facts, and what was rejected.")


@routes.post("/v1/handoffs", body=HandoffBody, answer=HandoffAnswer, problems=WRITE, examples=EXAMPLES)
def make_handoff(call: Call, query: NoQuery) -> Response:
    """Make a packet for another agent, or for whoever may read in this scope.

    It carries conclusions: what looks like a transcript (turns with who spoke and what, or lines that begin with
    speakers) is refused, and so is a text of more than 1,000 characters. Facts are named by their versions, which must
    be believed now; they are read from memory whenever the packet is: it has no copy of what may be forgotten.
    """
    body = call.body(HandoffBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    readable = call.scope(body.namespace, body.purpose, needs=Grant.READ)
    made = call.make_handoff(scope, body.new(), key=call.idempotency_key(body.operation_id))
    handoff = call.handoff(readable, HandoffId(str(made.receipt["id"])))
    document, _ = _document(call, readable, handoff, ReadQuery(namespace=body.namespace, purpose=body.purpose))
    headers = {"Cache-Control": "no-store", "Location": f"/v1/handoffs/{handoff.id}"}
    if made.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(orjson.dumps(document), media_type="application/json", headers=headers)


@routes.get(
    "/v1/handoffs/{id}", query=HandoffQuery, answer=HandoffAnswer, problems=(*READ, "not-found"), conditional=False
)
def read_handoff(call: Call, query: HandoffQuery) -> Response:
    """A packet as it is now: which of its facts have changed since, and who adopted it."""
    scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
    handoff = call.handoff(scope, HandoffId(call.part("id")))
    asked = ReadQuery(namespace=query.namespace, purpose=query.purpose, min_position=query.min_position)
    document, _ = _document(call, scope, handoff, asked)
    headers = {"Cache-Control": "private, no-cache"}
    return Response(orjson.dumps(document), media_type="application/json", headers=headers)


@routes.post(
    "/v1/handoffs/{id}/adopt", body=AdoptBody, answer=HandoffAnswer,
    problems=(*READ, "not-found", "unsupported-format"), optional=True, keyed=False,
)  # fmt: skip
def adopt_handoff(call: Call, query: NoQuery) -> Response:
    """Take a packet on, as another than its sender; that is recorded, once for each who does.

    `changed` tells which of its facts are not as they were pinned, and `instead` what holds now. Done again, it gives
    the first time. Nothing of it becomes memory by that. 403 for others than the one to whom it is addressed.
    """
    body = call.body(AdoptBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.READ)
    handoff, adoption = call.adopt(scope, HandoffId(call.part("id")))
    document, served = _document(call, scope, handoff, ReadQuery(namespace=body.namespace, purpose=body.purpose))
    if body.session is not None:
        call.served(scope, body.session, served)
    own: Wire = {"adopted_by": adoption.principal, "adopted_at": rendering.instant(adoption.adopted_at)}
    headers = {"Cache-Control": "no-store"}
    return Response(orjson.dumps({**document, **own}), media_type="application/json", headers=headers)


def _document(
    call: Call, scope: Permitted, handoff: Handoff, query: ReadQuery
) -> tuple[Wire, Sequence[FactVersion]]:  # fmt: skip
    """A handoff on the wire, and the versions that are served with it."""
    adoptions = call.adoptions(scope, handoff.id)
    with reading(call, query) as reader:
        question = ask(call, reader, query)
        given = handed(reader, call.schemas.of(reader), handoff, question.as_of, question.served_at)
        shown = [fact for each in given.facts for fact in (each.fact, *each.instead) if fact is not None]
        versions = [fact.version for fact in shown]
        names = rendering.names_in(reader, versions)
        heads = rendering.versions_of(reader, versions)
        known_at, served_at = question.as_of.known_at, question.served_at
        document = handoff_document(handoff, given, adoptions, names, heads, known_at, served_at)
    return {**document, "as_of": rendering.as_of(question.as_of, question.now)}, versions
