"""The queue on SQLite: a table that writers change under the file's write lock, for as short as a row takes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from graph import decoding
from graph.queue import Queue
from graph.sqlite_store.connection import Connection
from graph.sqlite_store.sessions import let_go
from ontology.errors import NotFound, shown
from ontology.ids import OPERATION, OperationId, Place, locate, operation_id
from ontology.instants import Instant
from ontology.operations import Backlog, Lease, Operation, State
from ontology.scope import Scope, Tenant

Opens = Callable[[], AbstractContextManager[Connection]]
Key = tuple[int, int, int]
"""Of an operation: the tenant's key, then its place."""


class SqliteQueue:
    """The operations in one file."""

    def __init__(self, reading: Opens, writing: Opens) -> None:
        self._reading = reading
        self._writing = writing

    def lease(self, worker: str, now: Instant, *, until: Instant, limit: int) -> list[Lease]:
        with self._reading() as connection:  # most often there is nothing to do, and no need of the lock
            if not connection.all("due_operations", (now, 1)):
                return []
        with self._writing() as connection:
            keys = connection.all("due_operations", (now, limit))
            connection.many("lease_operation", [(pk, until, worker, now) for (pk,) in keys])
            rows = [row for key in keys for row in connection.all("leased_operation", key)]
        return [Lease(operation=decoding.operation(row), token=row[14], worker=worker, until=until) for row in rows]

    def renew(self, lease: Lease, *, until: Instant) -> bool:
        with self._writing() as connection:
            key = _key(connection, lease.operation.scope.tenant, lease.operation.id)
            return key is not None and connection.many("renew_operation", [(*key, lease.token, until)]) == 1

    def complete(self, lease: Lease, receipts: bytes, now: Instant) -> bool:
        return self._end(lease, State.DONE, None, receipts, now)

    def give_up(self, lease: Lease, reason: str, now: Instant) -> bool:
        return self._end(lease, State.FAILED, reason, None, now)

    def postpone(self, lease: Lease, reason: str | None, now: Instant, *, next_at: Instant) -> bool:
        with self._writing() as connection:
            key = _key(connection, lease.operation.scope.tenant, lease.operation.id)
            row = (lease.token, next_at, reason, now)
            return key is not None and connection.many("postpone_operation", [(*key, *row)]) == 1

    def retry(self, scope: Scope, id: OperationId, now: Instant) -> bool:
        self.operation(scope, id)
        with self._writing() as connection:
            key = _key(connection, scope.tenant, id)
            if key is None or connection.many("retry_operation", [(*key, now)]) != 1:
                return False
            if not connection.all("lane_is_running", key):
                connection.many("hold_lane", [key])
                connection.many("next_of_lane", [key])
            return True

    def operation(self, scope: Scope, id: OperationId) -> Operation:
        place = locate(id, OPERATION)
        with self._reading() as connection:
            asked = (scope.tenant, scope.namespace, scope.purpose, place.position, place.ordinal)
            row = connection.one("operation", asked)
        if row is None or row[1] != place.ledger:
            raise NotFound(f"no operation {shown(id)} here")
        return decoding.operation(row)

    def operations(self, scope: Scope, state: State, *, limit: int, after: OperationId | None) -> Sequence[Operation]:
        asked = (scope.tenant, scope.namespace, scope.purpose, state.value, *_place(after), limit)
        with self._reading() as connection:
            return [decoding.operation(row) for row in connection.all("operations", asked)]

    def waiting(self, scope: Scope, *, ceiling: int) -> int:
        asked = (scope.tenant, scope.namespace, scope.purpose, ceiling)
        with self._reading() as connection:
            return int(connection.all("count_waiting", asked)[0][0])

    def forget_receipts(self, before: Instant, *, limit: int) -> int:
        with self._writing() as connection:
            return connection.many("forget_receipts", [(before, limit)])

    def unread(self, tenant: Tenant, *, limit: int, after: OperationId | None) -> list[OperationId]:
        asked = (tenant, *_place(after), limit)
        with self._reading() as connection:
            return [operation_id(Place(*row)) for row in connection.all("unread", asked)]

    def backlog(self, now: Instant) -> Backlog:
        with self._reading() as connection:
            return decoding.backlog(connection.all("backlog", (now,))[0])

    def _end(self, lease: Lease, state: State, reason: str | None, receipts: bytes | None, now: Instant) -> bool:
        with self._writing() as connection:
            key = _key(connection, lease.operation.scope.tenant, lease.operation.id)
            row = (lease.token, state.value, reason, receipts, now)
            if key is None or connection.many("end_operation", [(*key, *row)]) != 1:
                return False
            if state is State.DONE:
                let_go(connection, lease.operation.scope.tenant, lease.operation.id, now)
            connection.many("next_of_lane", [key])
            return True


def _key(connection: Connection, tenant: Tenant, id: OperationId) -> Key | None:
    row = connection.one("tenant", (tenant,))
    place = locate(id, OPERATION)
    return None if row is None or row[1] != place.ledger else (row[0], place.position, place.ordinal)


def _place(id: OperationId | None) -> tuple[int, int]:
    """The place of an operation; without one, a place before all."""
    if id is None:
        return -1, -1
    found = locate(id, OPERATION)
    return found.position, found.ordinal


_conforms: type[Queue] = SqliteQueue
