"""The queue over a plain dictionary: obvious, and slow."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from graph.queue import Queue
from ontology.errors import NotFound, shown
from ontology.ids import OPERATION, EpisodeId, OperationId, Place, locate
from ontology.instants import Instant
from ontology.operations import Backlog, Job, Lease, Operation, State, lane_of, operation_of
from ontology.scope import Scope, Tenant
from tests.naive_sessions import Sessions

OPEN = (State.QUEUED, State.RUNNING)


@dataclass(frozen=True, kw_only=True)
class Queued:
    """An operation, its lane, the newest lease of it, and when a lease ends."""

    operation: Operation
    lane: str
    token: int = 0
    until: Instant | None = None


Operations = dict[OperationId, Queued]


def enqueue(operations: Operations, jobs: Iterable[Job], now: Instant) -> None:
    for job in jobs:
        operation = Operation(
            id=operation_of(job.episode), episode=job.episode, scope=job.scope, principal=job.principal,
            state=State.QUEUED, attempts=0, next_at=now, reason=None, receipts=None, queued_at=now, changed_at=now,
        )  # fmt: skip
        operations[operation.id] = Queued(operation=operation, lane=lane_of(job))


def end_reading(operations: Operations, episodes: Iterable[EpisodeId], reason: str, now: Instant) -> None:
    for episode in episodes:
        found = operations.get(operation_of(episode))
        if found is not None:
            ended = replace(found.operation, state=State.FAILED, reason=reason, receipts=None, changed_at=now)
            lane = f"episode|{episode}"
            operations[ended.id] = Queued(operation=ended, lane=lane, token=found.token + 1)


def forget_readings(operations: Operations, episodes: Iterable[EpisodeId]) -> None:
    for episode in episodes:
        found = operations.get(operation_of(episode))
        if found is not None:
            operations[found.operation.id] = replace(found, operation=replace(found.operation, receipts=None))


class NaiveQueue:
    """The operations of all tenants of a naive store."""

    def __init__(
        self,
        tenants: Callable[[], Sequence[Tenant]],
        reading: Callable[[Tenant], Operations],
        changing: Callable[[Tenant], AbstractContextManager[tuple[Operations, Sessions]]],
    ) -> None:
        self._tenants = tenants
        self._reading = reading
        self._changing = changing

    def lease(self, worker: str, now: Instant, *, until: Instant, limit: int) -> list[Lease]:
        due = sorted(
            (_due(each), _place(each.operation.id), tenant, each.operation.id)
            for tenant in self._tenants()
            for each in _free(self._reading(tenant), now)
        )
        leases = []
        for *_, tenant, id in due[:limit]:
            with self._changing(tenant) as (operations, _):
                found = operations[id]
                if found not in _free(operations, now):  # another worker was faster
                    continue
                operation = replace(
                    found.operation, state=State.RUNNING, attempts=found.operation.attempts + 1, changed_at=now
                )
                operations[id] = replace(found, operation=operation, token=found.token + 1, until=until)
                leases.append(Lease(operation=operation, token=found.token + 1, worker=worker, until=until))
        return leases

    def renew(self, lease: Lease, *, until: Instant) -> bool:
        with self._changing(lease.operation.scope.tenant) as (operations, _):
            found = _held(operations, lease)
            if found is not None:
                operations[lease.operation.id] = replace(found, until=until)
            return found is not None

    def complete(self, lease: Lease, receipts: bytes, now: Instant) -> bool:
        return self._change(lease, state=State.DONE, reason=None, receipts=receipts, changed_at=now)

    def give_up(self, lease: Lease, reason: str, now: Instant) -> bool:
        return self._change(lease, state=State.FAILED, reason=reason, changed_at=now)

    def postpone(self, lease: Lease, reason: str | None, now: Instant, *, next_at: Instant) -> bool:
        before = lease.operation
        changed = {"reason": reason} if reason is not None else {"attempts": before.attempts - 1}
        return self._change(lease, state=State.QUEUED, next_at=next_at, changed_at=now, **changed)

    def retry(self, scope: Scope, id: OperationId, now: Instant) -> bool:
        self.operation(scope, id)
        with self._changing(scope.tenant) as (operations, _):
            found = operations[id]
            if found.operation.state is not State.FAILED:
                return False
            again = replace(found.operation, state=State.QUEUED, attempts=0, next_at=now, changed_at=now)
            operations[id] = replace(found, operation=again)
            return True

    def operation(self, scope: Scope, id: OperationId) -> Operation:
        locate(id, OPERATION)
        found = self._reading(scope.tenant).get(id)
        if found is None or found.operation.scope != scope:
            raise NotFound(f"no operation {shown(id)} here")
        return found.operation

    def operations(self, scope: Scope, state: State, *, limit: int, after: OperationId | None) -> Sequence[Operation]:
        mine = [
            each.operation
            for each in self._reading(scope.tenant).values()
            if (each.operation.scope, each.operation.state) == (scope, state)
            and (after is None or _place(each.operation.id) > _place(after))
        ]
        return sorted(mine, key=lambda operation: _place(operation.id))[:limit]

    def waiting(self, scope: Scope, *, ceiling: int) -> int:
        mine = [each.operation for each in self._reading(scope.tenant).values() if each.operation.scope == scope]
        return min(ceiling, sum(operation.state in OPEN for operation in mine))

    def forget_receipts(self, before: Instant, *, limit: int) -> int:
        dropped = 0
        for tenant in self._tenants():
            with self._changing(tenant) as (operations, _):
                for id, found in list(operations.items()):
                    operation = found.operation
                    old = operation.state is State.DONE and operation.changed_at < before
                    if old and operation.receipts is not None and dropped < limit:
                        operations[id] = replace(found, operation=replace(operation, receipts=None))
                        dropped += 1
        return dropped

    def unread(self, tenant: Tenant, *, limit: int, after: OperationId | None) -> list[OperationId]:
        found = [each.operation for each in self._reading(tenant).values() if each.operation.state is not State.DONE]
        listed = sorted((operation.id for operation in found), key=_place)
        return [id for id in listed if after is None or _place(id) > _place(after)][:limit]

    def backlog(self, now: Instant) -> Backlog:
        tables = [self._reading(tenant) for tenant in self._tenants()]
        listed = [each.operation for operations in tables for each in operations.values()]
        retried = [o for o in listed if o.state is State.QUEUED and o.reason is not None]
        newest = max(retried, key=lambda o: o.changed_at, default=None)
        return Backlog(
            queued=sum(o.state is State.QUEUED for o in listed),
            running=sum(o.state is State.RUNNING for o in listed),
            failed=sum(o.state is State.FAILED for o in listed),
            overdue_since=min((_due(each) for table in tables for each in _free(table, now)), default=None),
            retried=len(retried),
            failed_at=None if newest is None else newest.changed_at,
            reason=None if newest is None else newest.reason,
            done_at=max((o.changed_at for o in listed if o.state is State.DONE), default=None),
        )

    def _change(self, lease: Lease, **changes: object) -> bool:
        with self._changing(lease.operation.scope.tenant) as (operations, sessions):
            found = _held(operations, lease)
            if found is not None:
                operation = replace(found.operation, **changes)  # type: ignore[arg-type]
                operations[lease.operation.id] = replace(found, operation=operation)
                if operation.state is State.DONE:
                    sessions.let_go(operation.id, operation.changed_at)
            return found is not None


def _held(operations: Operations, lease: Lease) -> Queued | None:
    found = operations.get(lease.operation.id)
    mine = found is not None and found.operation.state is State.RUNNING and found.token == lease.token
    return found if mine else None


def _free(operations: Operations, now: Instant) -> list[Queued]:
    """What may be leased: the first of each lane that is open, if its lane is not busy with another."""
    lanes: dict[str, list[Queued]] = {}
    for each in sorted(operations.values(), key=lambda q: _place(q.operation.id)):
        if each.operation.state in OPEN:
            lanes.setdefault(each.lane, []).append(each)
    running = {lane: [q for q in waiting if q.operation.state is State.RUNNING] for lane, waiting in lanes.items()}
    first = [(running[lane] or waiting)[0] for lane, waiting in lanes.items()]
    return [each for each in first if _due(each) <= now]


def _due(each: Queued) -> Instant:
    return each.until if each.until and each.operation.state is State.RUNNING else each.operation.next_at


def _place(id: OperationId) -> tuple[int, int]:
    place: Place = locate(id, OPERATION)
    return place.position, place.ordinal


_conforms: type[Queue] = NaiveQueue
