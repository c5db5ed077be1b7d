"""What becomes of episodes: queued, running, done with receipts, failed with a reason."""

import time
from collections.abc import Sequence

import orjson
from starlette.responses import Response

from api.auth.permission import Permitted
from api.routes.call import Call
from api.routes.routing import READ, WRITE, Routes
from api.wire.episodes import OperationAnswer, Operations, OperationsQuery, RetryBody, operation_document
from api.wire.queries import NoQuery, ScopeQuery
from ontology.errors import Conflict
from ontology.grants import Grant
from ontology.ids import OperationId
from ontology.operations import Operation, State

POLL_SECONDS = 0.05

routes = Routes("operations", "What becomes of episodes: queued, running, done with receipts, failed with a reason.")


@routes.get(
    "/v1/operations/{id}", query=ScopeQuery, answer=OperationAnswer, problems=(*READ, "not-found"), conditional=False
)
def read_operation(call: Call, query: ScopeQuery) -> Response:
    """Where the reading of an episode stands, and what came of it.

    `Prefer: wait=n` waits up to n seconds for its end, 30 at most.
    """
    scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
    (operation,) = awaited(call, scope, [OperationId(call.part("id"))])
    return _json(operation_document(operation))


@routes.get("/v1/operations", query=OperationsQuery, answer=Operations, conditional=False)
def list_operations(call: Call, query: OperationsQuery) -> Response:
    """Operations in one state, in the order of their episodes; `failed` are the dead letters."""
    scope = call.scope(query.namespace, query.purpose, needs=Grant.READ)
    after = None if query.after is None else OperationId(query.after)
    found = call.operations_in(scope, State(query.state), limit=query.limit + 1, after=after)
    listed = found[: query.limit]
    more = len(found) > query.limit
    items = [operation_document(operation) for operation in listed]
    return _json({"items": items, "next_after": listed[-1].id if more else None})


@routes.post(
    "/v1/operations/{id}/retry", body=RetryBody, answer=OperationAnswer, problems=(*WRITE, "conflicting-claim"),
    optional=True, keyed=False,
)  # fmt: skip
def retry_operation(call: Call, query: NoQuery) -> Response:
    """Queue a failed operation anew, before what is left of its session.

    One that is queued already stays as it is. 409 for one that is running or done.
    """
    body = call.body(RetryBody, optional=True)
    scope = call.scope(body.namespace, body.purpose, needs=Grant.WRITE)
    id = OperationId(call.part("id"))
    retried = call.retry(scope, id)
    (operation,) = call.operations(scope, [id])
    if not retried and operation.state is not State.QUEUED:
        raise Conflict(f"the operation {id} is {operation.state.value}; only one that failed can be retried")
    return _json(operation_document(operation))


def awaited(call: Call, scope: Permitted, ids: Sequence[OperationId]) -> list[Operation]:
    """The operations, once all are over or the caller has waited as long as it prefers. Raises `NotFound`."""
    deadline = time.monotonic() + call.wait_seconds
    while True:
        operations = call.operations(scope, ids)
        if all(o.state in (State.DONE, State.FAILED) for o in operations) or time.monotonic() >= deadline:
            return operations
        time.sleep(POLL_SECONDS)


def _json(body: object) -> Response:
    return Response(orjson.dumps(body), media_type="application/json", headers={"Cache-Control": "private, no-cache"})
