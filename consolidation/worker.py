"""Who reads the episodes that are queued: leases, heartbeats, another attempt later, dead letters, an orderly end.

A worker may be killed at any instant. What it had leased is leased by another when the lease has run out, and what
it wrote is found again (pipeline.py). How often that may happen to one episode is bounded, so that one which kills
whoever reads it ends as a dead letter too.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from consolidation.pipeline import Unreadable
from graph.ports import Clock, Finding, Grade, MemoryStore
from ontology.errors import Busy, Unavailable, VigenciaError
from ontology.instants import SECOND, Instant, format_instant
from ontology.operations import Backlog, Lease, Operation

ASIDE_SECONDS: Final = 15.0
"""How often a worker does what is to be done besides reading."""
INDEX_SECONDS_MAX: Final = 2.0
"""How long one waits at the most that found nothing to index."""
POLL_SECONDS: Final = 0.5
"""How long a worker that found nothing to do waits before it looks again."""
AWAY_SECONDS: Final = 2.0
"""How long one waits whose store did not answer."""
BACKOFF_SECONDS: Final = 1.0
BACKOFF_SECONDS_MAX: Final = 300.0
OVERDUE_SECONDS: Final = 120
"""From then on the oldest that nobody begins shows that there is no worker, or too few."""
REASON_CHARS: Final = 2_000
FIRST_SWEEP_SECONDS: Final = 30.0

log = logging.getLogger("vigencia.consolidation.worker")


class Runs(Protocol):
    """What reads one episode: the pipeline."""

    def run(self, operation: Operation) -> bytes: ...


class Sweeps(Protocol):
    """What sweeps the store."""

    def sweep(self, *, stopped: Callable[[], bool]) -> object: ...


class Indexes(Protocol):
    """What keeps the index of the store up to date."""

    def warm(self) -> None: ...

    def work(self, *, stopped: Callable[[], bool]) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a worker goes about it."""

    lease_seconds: float = 60.0
    at_once: int = 8
    """How many operations are leased in one transaction; they are done one after the other."""
    attempts_max: int = 5
    sweep_seconds: float = 0.0
    """From one sweep to the next; 0 for none."""


class Worker:
    """One thread each to read episodes, to renew leases, to sweep and to index. Several workers may share a queue."""

    def __init__(
        self, *, store: MemoryStore, runs: Runs, clock: Clock, name: str, pace: Pace | None = None,
        sweeps: Sweeps | None = None, aside: Callable[[], object] | None = None, indexes: Indexes | None = None,
    ) -> None:  # fmt: skip
        """`aside` is what to do besides, now and then, such as to end sessions that were left alone."""
        self._store = store
        self._runs = runs
        self._clock = clock
        self._name = name
        self._pace = pace or Pace()
        self._sweeps = sweeps
        self._aside = aside
        self._indexes = indexes
        self._indexing: threading.Thread | None = None
        self._aside_at = 0.0
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._held: dict[str, Lease] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    # ---- from outside

    def start(self) -> None:
        """Begin, in threads of this process."""
        sweeping = self._sweeps is not None and self._pace.sweep_seconds > 0
        for run in (self._work, self._renew, *([self._sweep] if sweeping else ())):
            self._begin(run)
        if self._indexes is not None:
            self._indexing = self._begin(self._index)

    def wake(self) -> None:
        """There is something to do: do not wait to find it."""
        self._wake.set()

    def stop(self, seconds: float) -> bool:
        """End the operation at hand, give back the others, and wait so long for that; false where it was not enough.

        What is not ended then is taken over when its lease has run out. Indexing may be cut off anywhere: an embedder
        that does not answer has nothing that another worker takes over.
        """
        self._stop.set()
        self._wake.set()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads if thread is not self._indexing)

    @property
    def alive(self) -> bool:
        """Whether it was started and all of it still runs."""
        return bool(self._threads) and all(thread.is_alive() for thread in self._threads)

    def run_until(self, stopped: Callable[[float], bool]) -> None:
        """Work until `stopped`, asked with seconds that it may take to answer, says so."""
        self.start()
        while not stopped(1.0):
            if not self.alive:
                raise Unavailable(f"the worker {self._name} died; its log says why", remedy="start it again")

    def work_off(self) -> int:
        """Do all that can be done now, in this thread; gives how many operations that were."""
        if self._aside is not None:
            self._aside()
        done = 0
        while leases := self._lease():
            for lease in leases:
                self._do(lease)
            done += len(leases)
        if self._indexes is not None:
            self._indexes.work(stopped=self._stop.is_set)
        return done

    # ---- the threads

    def _begin(self, run: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=run, name=f"{self._name} {run.__name__}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._step_aside()
                leases = self._lease()
                for lease in leases:
                    if self._stop.is_set():
                        self._give_back(lease)
                    else:
                        self._do(lease)
                pause = 0.0 if leases else POLL_SECONDS
            except (Busy, Unavailable) as exc:
                log.warning("worker %s: the store does not answer: %s", self._name, exc.message)
                pause = AWAY_SECONDS
            if pause:
                self._wake.wait(pause)
                self._wake.clear()

    def _step_aside(self) -> None:
        if self._aside is None or time.monotonic() < self._aside_at:
            return
        self._aside_at = time.monotonic() + ASIDE_SECONDS
        try:
            self._aside()
        except (Busy, Unavailable):
            raise
        except Exception:
            log.exception("worker %s: what it does besides reading failed", self._name)

    def _renew(self) -> None:
        """Keep what is leased, three times as often as needed."""
        seconds = self._pace.lease_seconds / 3
        while not self._stop.wait(seconds) or self._held:
            if self._stop.is_set():
                time.sleep(min(1.0, seconds))
            with self._lock:
                leases = list(self._held.values())
            for lease in leases:
                try:
                    if not self._store.queue.renew(lease, until=self._until()):
                        self._forget(lease)
                except (Busy, Unavailable) as exc:
                    log.warning("worker %s: a lease could not be renewed: %s", self._name, exc.message)

    def _sweep(self) -> None:
        """Sweep now and then; the first time soon, since there are workers that never live for long."""
        pause = min(self._pace.sweep_seconds, FIRST_SWEEP_SECONDS)
        while not self._stop.wait(pause):
            pause = self._pace.sweep_seconds
            try:
                if self._sweeps is not None:
                    self._sweeps.sweep(stopped=self._stop.is_set)
            except VigenciaError as exc:
                log.warning("worker %s: the sweep stopped, and comes again: %s", self._name, exc.slug)
            except Exception:
                log.exception("worker %s: the sweep failed", self._name)

    def _index(self) -> None:
        """Index what is to be found, soon after it was written; for a while longer where nothing is."""
        assert self._indexes is not None
        pause, is_warm = 0.0, False
        while not self._stop.wait(pause):
            try:
                if not is_warm:
                    is_warm = True
                    self._indexes.warm()
                did = self._indexes.work(stopped=self._stop.is_set)
                pause = 0.0 if did else min(pause + POLL_SECONDS, INDEX_SECONDS_MAX)
            except (Busy, Unavailable) as exc:
                log.warning("worker %s: indexing stopped, and goes on: %s", self._name, exc.slug)
                pause = AWAY_SECONDS
            except Exception:
                log.exception("worker %s: indexing failed", self._name)
                pause = ASIDE_SECONDS

    # ---- one operation

    def _lease(self) -> list[Lease]:
        queue, now = self._store.queue, self._clock.now()
        leases = queue.lease(self._name, now, until=self._until(), limit=self._pace.at_once)
        with self._lock:
            self._held |= {lease.operation.id: lease for lease in leases}
        return leases

    def _do(self, lease: Lease) -> None:
        """Read one episode, say what became of it. Raises `Busy` or `Unavailable` where the store does not answer."""
        operation = lease.operation
        try:
            if operation.attempts > self._pace.attempts_max:
                died = f"whoever read it died, {operation.attempts - 1} times"
                self._give_up(lease, f"{died}: {operation.reason}" if operation.reason else died)
                return
            try:
                receipts = self._runs.run(operation)
            except Unreadable as exc:
                self._give_up(lease, str(exc))
            except (Busy, Unavailable) as exc:
                self._try_again(lease, f"{exc.slug}: {exc.message}")
            except VigenciaError as exc:
                self._give_up(lease, f"{exc.slug}: {exc.message}")
            except Exception as exc:
                log.exception("worker %s: operation %s failed", self._name, operation.id)
                self._try_again(lease, f"a defect: {type(exc).__name__}; the worker's log has the details")
            else:
                if not self._store.queue.complete(lease, receipts, self._clock.now()):
                    log.warning("worker %s came too late with %s; another has it", self._name, operation.id)
        finally:
            self._forget(lease)

    def _try_again(self, lease: Lease, reason: str) -> None:
        attempts = lease.operation.attempts
        if attempts >= self._pace.attempts_max:
            self._give_up(lease, f"{reason} (after {attempts} attempts)")
            return
        seconds = min(BACKOFF_SECONDS * 2 ** (attempts - 1), BACKOFF_SECONDS_MAX)
        now = self._clock.now()
        next_at = Instant(now + int(seconds * SECOND))
        self._store.queue.postpone(lease, reason[:REASON_CHARS], now, next_at=next_at)
        log.warning("worker %s: operation %s again in %g s", self._name, lease.operation.id, seconds)

    def _give_up(self, lease: Lease, reason: str) -> None:
        self._store.queue.give_up(lease, reason[:REASON_CHARS], self._clock.now())
        log.error("worker %s: operation %s failed for good", self._name, lease.operation.id)

    def _give_back(self, lease: Lease) -> None:
        now = self._clock.now()
        try:
            self._store.queue.postpone(lease, None, now, next_at=now)
        finally:
            self._forget(lease)

    def _forget(self, lease: Lease) -> None:
        with self._lock:
            if self._held.get(lease.operation.id) is lease:
                del self._held[lease.operation.id]

    def _until(self) -> Instant:
        return Instant(self._clock.now() + int(self._pace.lease_seconds * SECOND))


def findings(backlog: Backlog, now: Instant, worker: Worker | None) -> list[Finding]:
    """What the queue says of the workers and of the extractors. `worker` is the one of this process, if it has one."""
    waiting = f"{backlog.queued} queued, {backlog.running} running, {backlog.failed} failed"
    found = [Finding(check="queue", finding=waiting)]
    if worker is not None and not worker.alive:
        found.append(Finding(check="worker", finding="the worker of this process is dead", grade=Grade.FAILED))
    elif backlog.overdue_since is not None and now - backlog.overdue_since > OVERDUE_SECONDS * SECOND:
        since = f"nobody reads what is due since {format_instant(backlog.overdue_since)}; start a worker"
        found.append(Finding(check="worker", finding=since, grade=Grade.FAILED))
    else:
        found.append(Finding(check="worker", finding="nothing is overdue"))
    if backlog.failed_at is not None and backlog.failed_at > (backlog.done_at or 0):
        failing = f"every attempt since the last success failed; {backlog.retried} will be tried again"
        found.append(Finding(check="extractor", finding=failing, grade=Grade.FAILED))
        found.append(Finding(check="extractor reason", finding=backlog.reason or "", private=True))
    else:
        found.append(Finding(check="extractor", finding="nothing fails"))
    return found
