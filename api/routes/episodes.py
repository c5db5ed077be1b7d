"""What was said, word for word: kept at once, read later."""

from contextlib import suppress

import orjson
from starlette.responses import Response

from api.authority import sees_held
from api.routes.call import Call
from api.routes.operations import awaited
from api.routes.reading import reading
from api.routes.routing import READ, WRITE, Routes
from api.sensitive import note
from api.wire.episodes import (
    EXAMPLES,
    EpisodesBody,
    Recorded,
    episode_document,
    operation_document,
    quoted,
    record_document,
)
from api.wire.episodes import Episode as EpisodeAnswer
from api.wire.queries import NoQuery, ScopeQuery
from ontology.errors import JSON, NotFound
from ontology.grants import Grant
from ontology.ids import EpisodeId, OperationId
from ontology.operations import State, operation_of

routes = Routes("episodes", "What was said, word for word: kept at once, read later.")

_OVER = (State.DONE, State.FAILED)


@routes.post("/v1/episodes", body=EpisodesBody, answer=Recorded, problems=WRITE, examples=EXAMPLES, accepted=True)
def record_episodes(call: Call, query: NoQuery) -> Response:
    """Keep what was said, word for word, and queue it to be read: all of the episodes, or none.

    The answer is 202 once they are on the disk, with an operation for each, which says later what was made of it.
    What the same source said before in the same session is not kept again. `Prefer: wait=n` waits up to n seconds,
    30 at most, and answers 200 if all is over by then.
    """
    body = call.body(EpisodesBody)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    episodes = [each.episode() for each in body.episodes]
    written = call.record(scope, episodes, key=call.idempotency_key(body.operation_id))
    headers = {"Cache-Control": "no-store"}
    if written.replayed:
        headers["Idempotency-Replayed"] = "true"
    receipt = dict(written.receipt)
    items = receipt["items"]
    listed = [dict(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    if len(listed) == 1:
        headers["Location"] = f"/v1/operations/{listed[0]['operation']}"
    over = False
    if call.wait_seconds:
        headers["Preference-Applied"] = f"wait={call.wait_seconds:g}"
        ids = [OperationId(str(item["operation"])) for item in listed]
        operations = awaited(call, scope, ids)
        for item, operation in zip(listed, operations, strict=True):
            item["state"] = operation.state.value
        over = all(operation.state in _OVER for operation in operations)
    content = orjson.dumps({**receipt, "items": listed})
    return Response(content, status_code=200 if over else 202, media_type="application/json", headers=headers)


@routes.get(
    "/v1/episodes/{id}", query=ScopeQuery, answer=EpisodeAnswer, problems=(*READ, "not-found"), conditional=False
)
def read_episode(call: Call, query: ScopeQuery) -> Response:
    """What was said, word for word, what was made of it, and the claims that cite it with the words they quote.

    A claim that waits is shown to whoever wrote it and to reviewers.
    """
    id = EpisodeId(call.part("id"))
    scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
    with reading(call, query) as reader:
        recorded = reader.recorded_episode(id)
        record = reader.episode_record(id)
        told = [t for t in reader.claims_of_episode(id) if t.is_folded or sees_held(call.principal, t)]
        cited = [each.claim for each in told]
        quotes = reader.quotes([claim.id for claim in cited])
    for claim in cited:
        note(claim.slot.subject, claim.slot.predicate)  # the episode says it word for word
    document = episode_document(recorded)
    operation = None
    with suppress(NotFound):  # a journal that was imported brings no operations
        operation = operation_document(call.operations(scope, [operation_of(id)])[0])
    claims: list[JSON] = [
        {
            "id": claim.id,
            "subject": claim.slot.subject,
            "predicate": claim.slot.predicate,
            "span": quoted(quotes.get(claim.id)),
        }
        for claim in cited
    ]
    made = {"record": record_document(record, recorded.verbatim)}
    content = orjson.dumps({**document, "operation": operation, "claims": claims, **made})
    return Response(content, media_type="application/json", headers={"Cache-Control": "private, no-cache"})
