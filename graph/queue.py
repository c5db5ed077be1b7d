"""What a store must do as a queue: durable, shared by many workers, and free of clocks, as all of a store.

An operation enters it in the transaction that records its episode (`Transaction.enqueue`). Each method here is one
short transaction of its own. Of one session the next operation can be leased only when the one before is done or
failed for good; one that waits for another attempt delays its own session and no other.
"""

from collections.abc import Sequence
from typing import Protocol

from ontology.ids import OperationId
from ontology.instants import Instant
from ontology.operations import Backlog, Lease, Operation, State
from ontology.scope import Scope, Tenant


class Queue(Protocol):
    """The operations of all tenants. Safe to use from many threads and processes."""

    def lease(self, worker: str, now: Instant, *, until: Instant, limit: int) -> list[Lease]:
        """At most `limit` operations for this worker alone, those first that are due longest.

        Due is also one whose lease has run out: its worker is taken for dead, and what it still sends is refused.
        """
        ...

    def renew(self, lease: Lease, *, until: Instant) -> bool:
        """Keep an operation for longer; false where it was taken over or is over."""
        ...

    def complete(self, lease: Lease, receipts: bytes, now: Instant) -> bool:
        """Let it be done, with what was written; false, and without effect, where it was taken over or is over.

        The notes of a session that were handed over to it are erased with that (`SessionStore`).
        """
        ...

    def postpone(self, lease: Lease, reason: str | None, now: Instant, *, next_at: Instant) -> bool:
        """Let it be tried again at `next_at`; without a reason it is given back, and the attempt does not count."""
        ...

    def give_up(self, lease: Lease, reason: str, now: Instant) -> bool:
        """Let it be failed for good: a dead letter, until somebody retries it."""
        ...

    def retry(self, scope: Scope, id: OperationId, now: Instant) -> bool:
        """Queue a failed operation anew, in its old place of its session; false for one that is not failed.

        Raises `NotFound`.
        """
        ...

    def operation(self, scope: Scope, id: OperationId) -> Operation:
        """Raises `NotFound`."""
        ...

    def operations(self, scope: Scope, state: State, *, limit: int, after: OperationId | None) -> Sequence[Operation]:
        """Those of a scope in a state, in the order in which their episodes were recorded."""
        ...

    def waiting(self, scope: Scope, *, ceiling: int) -> int:
        """How many of a scope are to be begun or being done, counted up to `ceiling`: what is recorded, and not read.

        Those that failed for good are none: nobody will read them by itself.
        """
        ...

    def forget_receipts(self, before: Instant, *, limit: int) -> int:
        """Drop the receipts of operations that were done before an instant, at most so many; gives how many."""
        ...

    def unread(self, tenant: Tenant, *, limit: int, after: OperationId | None) -> list[OperationId]:
        """Those of a tenant that are not done, dead letters too, in the order in which their episodes were recorded.

        One statement finds them, so that none is missed which a worker leases or gives back meanwhile.
        """
        ...

    def backlog(self, now: Instant) -> Backlog: ...
