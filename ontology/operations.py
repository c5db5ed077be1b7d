"""What becomes of a recorded episode: the reading of it, which a worker does later. No part of the ledger."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from ontology.ids import EPISODE, OPERATION, EpisodeId, OperationId
from ontology.instants import Instant
from ontology.scope import Scope


class State(StrEnum):
    """Where an operation stands. Clients must tolerate more members."""

    QUEUED = "queued"
    """Not begun, or to be tried again."""
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """Given up, with the reason; it can be retried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A recorded episode that is to be read."""

    episode: EpisodeId
    scope: Scope
    session: str | None
    """Of one session the next is read only when the one before is over; `None` waits for nobody."""
    principal: str
    """Who submitted it, and in whose name what is read is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The reading of one episode."""

    id: OperationId
    episode: EpisodeId
    scope: Scope
    principal: str
    state: State
    attempts: int
    """How often it was begun since it was queued or retried."""
    next_at: Instant
    """Not before which it is begun, while it is queued."""
    reason: str | None
    """Why the last attempt failed."""
    receipts: bytes | None
    """What was written, as JSON, once it is done."""
    queued_at: Instant
    changed_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """That a worker has an operation for itself until an instant, unless it renews the lease."""

    operation: Operation
    token: int
    """Grows with each lease: who comes with an older one is too late."""
    worker: str
    until: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """How much there is to do, over all tenants."""

    queued: int
    running: int
    failed: int
    overdue_since: Instant | None
    """Since when the oldest of those that nobody has could be begun, or its lease has run out; `None` if none can."""
    retried: int
    """Of those that are queued: how many failed and will be tried again."""
    failed_at: Instant | None
    """When an attempt failed last, of those that will be tried again."""
    reason: str | None
    """Why it did."""
    done_at: Instant | None
    """When one was done last."""


def operation_of(episode: EpisodeId) -> OperationId:
    """The operation that reads a recorded episode."""
    return OperationId(OPERATION + episode.removeprefix(EPISODE))


def episode_of(operation: OperationId) -> EpisodeId:
    """The recorded episode that an operation reads."""
    return EpisodeId(EPISODE + operation.removeprefix(OPERATION))


def lane_of(job: Job) -> str:
    """What jobs that must wait for each other have in common, within a tenant.

    It outlives the words of the episode, so it has a digest of the session's name, which may name somebody.
    """
    scope = job.scope
    if job.session is None:
        return f"episode|{job.episode}"
    named = "\0".join((scope.namespace, scope.purpose, job.session))
    return f"session|{hashlib.sha256(named.encode('utf-8')).hexdigest()}"
