"""The queue on Neo4j: nodes that change under their tenant's lock alone, as all of a tenant does.

Which operations are due is asked without a lock, of all tenants; each is looked at again under that of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from graph import decoding
from graph.neo4j_store import keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.sessions import let_go
from graph.neo4j_store.snapshot import Run
from graph.queue import Queue
from ontology.errors import NotFound, shown
from ontology.ids import OPERATION, OperationId, Place, locate, operation_id
from ontology.instants import Instant
from ontology.operations import Backlog, Lease, Operation, State
from ontology.scope import Scope, Tenant


class Neo4jQueue:
    """The operations in one database."""

    def __init__(self, run: Run, changing: Callable[[Tenant], AbstractContextManager[Run]]) -> None:
        """`changing` gives a transaction that has the lock of a tenant."""
        self._run = run
        self._changing = changing

    def lease(self, worker: str, now: Instant, *, until: Instant, limit: int) -> list[Lease]:
        due: dict[Tenant, list[str]] = {}
        for tenant, place in self._run("due_operations", {"now": now, "limit": limit}):
            due.setdefault(tenant, []).append(place)
        rows: list[Row] = []
        for tenant, places in due.items():
            with self._changing(tenant) as run:
                for place in places:
                    rows += run("lease_operation", {"place": place, "now": now, "until": until, "worker": worker})
        return [Lease(operation=decoding.operation(row), token=row[14], worker=worker, until=until) for row in rows]

    def renew(self, lease: Lease, *, until: Instant) -> bool:
        with self._changing(lease.operation.scope.tenant) as run:
            return _one(run, "renew_operation", _held(lease) | {"until": until})

    def complete(self, lease: Lease, receipts: bytes, now: Instant) -> bool:
        return self._end(lease, State.DONE, None, receipts, now)

    def give_up(self, lease: Lease, reason: str, now: Instant) -> bool:
        return self._end(lease, State.FAILED, reason, None, now)

    def postpone(self, lease: Lease, reason: str | None, now: Instant, *, next_at: Instant) -> bool:
        with self._changing(lease.operation.scope.tenant) as run:
            return _one(run, "postpone_operation", _held(lease) | {"next_at": next_at, "reason": reason, "now": now})

    def retry(self, scope: Scope, id: OperationId, now: Instant) -> bool:
        self.operation(scope, id)
        place = {"place": _place(scope.tenant, id)}
        with self._changing(scope.tenant) as run:
            if not _one(run, "retry_operation", place | {"now": now}):
                return False
            if not run("lane_is_running", place):
                run("hold_lane", place)
                run("next_of_lane", place)
            return True

    def operation(self, scope: Scope, id: OperationId) -> Operation:
        rows = self._run("operation", {"place": _place(scope.tenant, id), "scope": keys.scope_key(scope)})
        if not rows or rows[0][1] != locate(id, OPERATION).ledger:
            raise NotFound(f"no operation {shown(id)} here")
        return decoding.operation(rows[0])

    def operations(self, scope: Scope, state: State, *, limit: int, after: OperationId | None) -> Sequence[Operation]:
        asked = {"scope": keys.scope_key(scope), "state": state.value, "after": _after(after), "limit": limit}
        return [decoding.operation(row) for row in self._run("operations", asked)]

    def waiting(self, scope: Scope, *, ceiling: int) -> int:
        return int(self._run("count_waiting", {"scope": keys.scope_key(scope), "ceiling": ceiling})[0][0])

    def forget_receipts(self, before: Instant, *, limit: int) -> int:
        old: dict[Tenant, list[str]] = {}
        for tenant, place in self._run("old_receipts", {"before": before, "limit": limit}):
            old.setdefault(tenant, []).append(place)
        dropped = 0
        for tenant, places in old.items():
            with self._changing(tenant) as run:
                dropped += run("forget_receipts", {"places": places, "before": before})[0][0]
        return dropped

    def unread(self, tenant: Tenant, *, limit: int, after: OperationId | None) -> list[OperationId]:
        asked = {"tenant": tenant, "after": _after(after), "limit": limit}
        with self._changing(tenant) as run:  # under the lock: one that changes its state could be passed over
            return [operation_id(Place(*row)) for row in run("unread", asked)]

    def backlog(self, now: Instant) -> Backlog:
        return decoding.backlog(self._run("backlog", {"now": now})[0])

    def _end(self, lease: Lease, state: State, reason: str | None, receipts: bytes | None, now: Instant) -> bool:
        ended = {"state": state.value, "reason": reason, "receipts": receipts, "now": now}
        with self._changing(lease.operation.scope.tenant) as run:
            if not _one(run, "end_operation", _held(lease) | ended):
                return False
            if state is State.DONE:
                let_go(run, lease.operation.scope.tenant, lease.operation.id, now)
            run("next_of_lane", {"place": _held(lease)["place"]})
            return True


def _held(lease: Lease) -> dict[str, object]:
    return {"place": _place(lease.operation.scope.tenant, lease.operation.id), "token": lease.token}


def _place(tenant: Tenant, id: OperationId) -> str:
    place = locate(id, OPERATION)
    return keys.place_key(tenant, (place.position, place.ordinal))


def _after(id: OperationId | None) -> list[int]:
    """The place of an operation; without one, a place before all."""
    if id is None:
        return [-1, -1]
    place = locate(id, OPERATION)
    return [place.position, place.ordinal]


def _one(run: Run, query: str, parameters: Mapping[str, object]) -> bool:
    return bool(run(query, parameters)[0][0] == 1)


_conforms: type[Queue] = Neo4jQueue
