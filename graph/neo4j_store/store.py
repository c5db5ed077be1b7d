"""The graph store: one Neo4j database, many readers beside one writer per tenant, on any number of servers.

Reading needs no transaction: what a snapshot may see follows from its head (snapshot.py). Writing takes a lock of
this process, so that its threads queue here, then the tenant's Clock, which all servers share.
"""

import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from graph.access import AccessStore
from graph.forgetting import Scrubbed
from graph.handoffs import HandoffStore
from graph.neo4j_store.access import Neo4jAccess
from graph.neo4j_store.database import QUERIES, CommitLost, Database, Limits, LockHeld, Work, queries_for
from graph.neo4j_store.diagnosis import check_supported, diagnose, engine
from graph.neo4j_store.handoffs import Neo4jHandoffs
from graph.neo4j_store.ledger import ledger_rows
from graph.neo4j_store.migration import migrate, version
from graph.neo4j_store.queue import Neo4jQueue
from graph.neo4j_store.reader import Neo4jReader
from graph.neo4j_store.sessions import Neo4jSessions
from graph.neo4j_store.snapshot import NO_DIGEST, NOTHING, SETTLED_MILLISECONDS, Run, head_of, readable
from graph.neo4j_store.transaction import Neo4jTransaction
from graph.neo4j_store.vectors import can_filter, make_vector_indexes
from graph.ports import Capabilities, Finding, Head, MemoryStore, Reader, Transaction
from graph.queue import Queue
from graph.sessions import SessionStore
from ontology.errors import Busy, Fault, NotFound, Unavailable
from ontology.instants import Instant
from ontology.scope import Namespace, Purpose, Scope, Tenant

BUSY_SECONDS: Final = 5.0
HEAD_SECONDS: Final = 0.05
"""For how long a head that was read serves the snapshots that follow: each would cost a round trip for its own."""
_UNSURE_SECONDS: Final = 30.0
_SURE_SECONDS: Final = 1.0
"""How long a reader's transaction may wait for the lock; the server looks for those that are over every 2 seconds."""
_HELD_RETRY_SECONDS: Final = 2
"""What a caller is told to wait where another server's write is long: it has been waited for already."""
_LOOKUP_PAUSES: Final = (0.0, 0.1, 0.5, 2.0)
"""How long to wait before each attempt to look up a commit whose reply was lost."""
_LOOKUP_SECONDS: Final = 5.0
"""After which no attempt begins: one at a server that hangs takes as long as everything at it."""


class Neo4jStore:
    """Memory kept in one database of a Neo4j server or cluster."""

    def __init__(
        self, uri: str, *, user: str | None = None, password: str | None = None, database: str = "neo4j",
        busy_seconds: float = BUSY_SECONDS, limits: Limits | None = None, make: bool = True,
    ) -> None:  # fmt: skip
        """`busy_seconds` is how long a writer waits for the others of this process; the server has a limit of its own
        for those of other processes (`db.lock.acquisition.timeout`). Without `make` the database is left as it is.

        Raises `Unavailable` where the server is away, `Incorrect` for a bad URI, `Unsupported` for a server that is
        too old or another version's data, `NotFound` for a database that was never made a store.
        """
        self._busy_seconds = busy_seconds
        self._database = Database(uri, user=user, password=password, database=database, limits=limits or Limits())
        self._nonces = itertools.count()
        self._lock = threading.Lock()
        self._locks: dict[Tenant, threading.Lock] = {}
        self._acknowledged: dict[Tenant, Head] = {}
        self._recent: dict[Tenant, tuple[float, Head]] = {}
        """The head that was read last, and until when it will do."""
        self._unsure: dict[Tenant, tuple[int, float]] = {}
        self._held_at: dict[Tenant, float] = {}
        """When a writer of this process last waited in vain for one of another."""
        try:
            self._engine = engine(self._database)
            check_supported(self._engine)
            if not make and version(self._database) == 0:
                raise NotFound(f"the database {database!r} of {uri} ({self._engine}) holds no store")
            migrate(self._database)
            make_vector_indexes(self._database, self._engine)
            self._database.speak(queries_for(can_filter(self._engine)))
        except BaseException:
            self._database.close()
            raise

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(engine=self._engine, concurrent_writers=True)

    @property
    def access(self) -> AccessStore:
        return Neo4jAccess(self._database)

    def read(self, scope: Scope) -> AbstractContextManager[Reader]:
        return _Reading(self._reader(scope))

    @contextmanager
    def write(self, scope: Scope) -> Iterator[Transaction]:
        """Errors that would pass with another attempt come out as `Busy` or `Unavailable`: the block cannot be run
        again from here, so its caller repeats it, under its idempotency key."""
        with self._turn(scope.tenant):
            work, head = self._begin(scope.tenant)
            with work:
                transaction = Neo4jTransaction(work.run, scope, head)
                yield transaction
                try:
                    work.commit()
                except CommitLost as exc:
                    self._look_up(scope.tenant, transaction, exc)
            if transaction.committing is not None:
                self._acknowledge(scope.tenant, transaction.committing)

    @property
    def queue(self) -> Queue:
        return Neo4jQueue(self._database.run, self._changing)

    @property
    def sessions(self) -> SessionStore:
        return Neo4jSessions(self._database.run)

    @property
    def handoffs(self) -> HandoffStore:
        return Neo4jHandoffs(self._database.run)

    @contextmanager
    def _changing(self, tenant: Tenant) -> Iterator[Run]:
        """A transaction under a tenant's lock that is no commit of its ledger."""
        with self._turn(tenant):
            work, _ = self._begin(tenant)
            with work:
                yield work.run
                try:
                    work.commit()
                except CommitLost as exc:
                    detail = "the connection broke; nobody knows whether the operation changed"
                    raise Unavailable(detail, retry_after=1) from exc

    def tenants(self) -> list[Tenant]:
        return [Tenant(row[0]) for row in self._database.run("tenants", {})]

    def scopes(self, tenant: Tenant) -> list[Scope]:
        rows = self._database.run("scopes", {"tenant": tenant})
        return [Scope(tenant=tenant, namespace=Namespace(row[0]), purpose=Purpose(row[1])) for row in rows]

    def scopes_to_index(self, model: str | None, *, limit: int) -> list[Scope]:
        rows = self._database.run("scopes_to_index", {"model": model, "limit": limit})
        return [Scope(tenant=Tenant(row[0]), namespace=Namespace(row[1]), purpose=Purpose(row[2])) for row in rows]

    def ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        head = self._newest(tenant, self._acknowledged.get(tenant, NOTHING))
        return ledger_rows(self._database, tenant, head)

    def scrub(self) -> Scrubbed:
        return Scrubbed(
            done=False,
            left="the files of Neo4j hold what was deleted until it is written over: export the journal, and import it "
            "into a new database",
        )

    def check(self, now: Instant) -> list[Finding]:
        return diagnose(self._database, now)

    def close(self) -> None:
        self._database.close()

    # ---- heads

    def _reader(self, scope: Scope) -> Neo4jReader:
        return Neo4jReader(self._database.run, scope, self._head(scope.tenant))

    def _head(self, tenant: Tenant) -> Head:
        """The newest head of a tenant that is safely readable.

        One that was read a moment ago will do: what others commit may be seen late anyway, and what this process
        committed since takes it back.
        """
        asked_at = time.monotonic()
        with self._lock:
            acknowledged = self._acknowledged.get(tenant, NOTHING)
            until, recent = self._recent.get(tenant, (asked_at, NOTHING))
        if asked_at < until:
            return recent
        head = self._newest(tenant, acknowledged)
        with self._lock:
            known = self._acknowledged.get(tenant, NOTHING)
            if known is acknowledged or known == head:
                self._recent[tenant] = (asked_at + HEAD_SECONDS, head)
        return head

    def _newest(self, tenant: Tenant, acknowledged: Head) -> Head:
        rows = self._database.run("head", {"tenant": tenant, "settled": SETTLED_MILLISECONDS})
        if not rows:
            return NOTHING
        head = readable(rows[0], acknowledged)
        newest, settled = head_of(rows[0][:6]), rows[0][11]
        # whoever has just begun shows what was acknowledged before: to the next command, that of the last one
        unsure = head != newest and (settled or acknowledged is NOTHING)
        return self._make_sure(tenant, newest.position, head) if unsure else head

    def _make_sure(self, tenant: Tenant, newest: int, safe: Head) -> Head:
        """The newest head, once the lock says that all of its commit was applied; `safe` where it is not free in time.

        One thread waits for it at a time, and after it waited in vain none does for a while, unless there is a newer
        one. The lock is given back by a commit, so that a reader of a cluster waits for the member that it asks.
        """
        now = time.monotonic()
        with self._lock:
            position, until = self._unsure.get(tenant, (newest, now))
            if position == newest and now < until:
                return safe
            self._unsure[tenant] = newest, now + _UNSURE_SECONDS
        try:
            work, head = self._begin(tenant, _SURE_SECONDS)
            with work:
                work.commit()
        except (Busy, CommitLost):
            return safe
        except BaseException:
            self._unsure.pop(tenant, None)
            raise
        self._acknowledge(tenant, head)
        self._unsure.pop(tenant, None)
        return head

    def _acknowledge(self, tenant: Tenant, head: Head) -> None:
        with self._lock:
            known = self._acknowledged.get(tenant, NOTHING)
            if known.ledger != head.ledger or known.position < head.position:
                self._acknowledged[tenant] = head
                self._recent.pop(tenant, None)

    def _begin(self, tenant: Tenant, seconds: float | None = None) -> tuple[Work, Head]:
        """A transaction that has the tenant's lock, and the head under it; it may take `seconds`, or as long as any.

        Raises `Busy` where the lock cannot be had: the server says after how long, for all of its clients.
        """
        for _ in range(2):
            began = time.monotonic()
            work = self._database.begin(seconds)
            try:
                rows = work.run("lock", {"tenant": tenant, "nonce": f"{os.getpid()}-{next(self._nonces)}"})
            except BaseException as exc:
                work.end()
                if isinstance(exc, LockHeld):
                    self._held_at[tenant] = time.monotonic()
                    raise _held_elsewhere(tenant, time.monotonic() - began) from exc
                raise
            if rows:
                return work, head_of(rows[0])
            work.end()  # looking for a Clock that is not there keeps others, this one too, from making it
            self._database.change(QUERIES["put_tenant"], {"tenant": tenant, "digest": NO_DIGEST})
        raise Fault(f"the Clock of tenant {tenant!r} is gone")

    def _look_up(self, tenant: Tenant, transaction: Neo4jTransaction, lost: CommitLost) -> None:
        """Find out whether a commit whose reply was lost took effect. Raises `Unavailable` where it did not, or
        where that cannot be found out."""
        if transaction.committing is None:
            raise Unavailable("the connection broke; nothing was to be written", retry_after=1) from lost
        deadline = time.monotonic() + _LOOKUP_SECONDS
        for pause in _LOOKUP_PAUSES:
            if time.monotonic() + pause > deadline:
                break
            time.sleep(pause)
            try:
                work, _ = self._begin(tenant)  # what is still on its way holds the lock
                with work:
                    asked = {"tenant": tenant, "position": transaction.committing.position}
                    found = work.run("committed", asked)
            except (Unavailable, Busy):
                continue
            if found and bytes(found[0][0]) == transaction.committing.digest:
                return
            raise Unavailable("the connection broke; nothing was written", retry_after=1) from lost
        raise Unavailable(
            "the connection broke during the commit, and the server does not say whether it was written",
            remedy="repeat the request with the same idempotency key", retry_after=2,
        ) from lost  # fmt: skip

    # ---- locks

    @contextmanager
    def _turn(self, tenant: Tenant) -> Iterator[None]:
        """The turn of a thread among the writers of this process.

        Whoever waited long, and sees that the one before waited for another server in vain, does not wait that long
        again: both waits would add up.
        """
        lock, began = self._lock_of(tenant), time.monotonic()
        if not lock.acquire(timeout=self._busy_seconds):
            raise Busy(_held(tenant, "of this server", time.monotonic() - began))
        try:
            waited = time.monotonic() - began
            if waited > self._busy_seconds / 2 and self._held_at.get(tenant, began) > began:
                raise _held_elsewhere(tenant, waited)
            yield
        finally:
            lock.release()

    def _lock_of(self, tenant: Tenant) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(tenant, threading.Lock())


def _held(tenant: Tenant, whose: str, seconds: float) -> str:
    return f"another writer, {whose}, held the tenant {tenant!r} for {seconds:.1f} s; nothing was written"


def _held_elsewhere(tenant: Tenant, seconds: float) -> Busy:
    return Busy(_held(tenant, "of another server or command", seconds), retry_after=_HELD_RETRY_SECONDS)


class _Reading:
    """The block of one snapshot; there is nothing to end."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Neo4jReader) -> None:
        self._reader = reader

    def __enter__(self) -> Neo4jReader:
        return self._reader

    def __exit__(self, *_: object) -> None:
        return None


_conforms: type[MemoryStore] = Neo4jStore
