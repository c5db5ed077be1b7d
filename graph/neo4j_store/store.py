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
from graph.neo4j_store.access import Neo4jAccess
from graph.neo4j_store.database import QUERIES, CommitLost, Database, Limits, Work
from graph.neo4j_store.diagnosis import diagnose, engine
from graph.neo4j_store.ledger import ledger_rows
from graph.neo4j_store.migration import migrate
from graph.neo4j_store.reader import Neo4jReader
from graph.neo4j_store.snapshot import NO_DIGEST, NOTHING, SETTLED_MILLISECONDS, head_of, readable
from graph.neo4j_store.transaction import Neo4jTransaction
from graph.ports import Capabilities, Head, MemoryStore, Reader, Transaction
from ontology.errors import Busy, Fault, Unavailable
from ontology.scope import Namespace, Purpose, Scope, Tenant

BUSY_SECONDS: Final = 5.0
_UNSURE_SECONDS: Final = 30.0
_LOOKUP_PAUSES: Final = (0.0, 0.1, 0.5, 2.0)
"""How long to wait before each attempt to look up a commit whose reply was lost."""


class Neo4jStore:
    """Memory kept in one database of a Neo4j server or cluster."""

    def __init__(
        self, uri: str, *, user: str | None = None, password: str | None = None, database: str = "neo4j",
        busy_seconds: float = BUSY_SECONDS, wait_seconds: float = 0.0, limits: Limits | None = None,
    ) -> None:  # fmt: skip
        """`busy_seconds` is how long a writer waits for the others of this process; the server has a limit of its own
        for those of other processes (`db.lock.acquisition.timeout`). `wait_seconds` is how long a server that is
        away may take to come up.

        Raises `Unavailable` where it does not, `Incorrect` for a bad URI, `Unsupported` for another version's data.
        """
        self._busy_seconds = busy_seconds
        self._database = Database(uri, user=user, password=password, database=database, limits=limits or Limits())
        self._nonces = itertools.count()
        self._lock = threading.Lock()
        self._locks: dict[Tenant, threading.Lock] = {}
        self._acknowledged: dict[Tenant, Head] = {}
        self._unsure_until: dict[Tenant, float] = {}
        try:
            self._engine = self._await_server(wait_seconds)
            migrate(self._database)
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
        lock = self._lock_of(scope.tenant)
        if not lock.acquire(timeout=self._busy_seconds):
            raise Busy(f"another writer held the tenant for {self._busy_seconds:g} s; nothing was written")
        try:
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
        finally:
            lock.release()

    def tenants(self) -> list[Tenant]:
        return [Tenant(row[0]) for row in self._database.run("tenants", {})]

    def scopes(self, tenant: Tenant) -> list[Scope]:
        rows = self._database.run("scopes", {"tenant": tenant})
        return [Scope(tenant=tenant, namespace=Namespace(row[0]), purpose=Purpose(row[1])) for row in rows]

    def ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        return ledger_rows(self._database, tenant, self._head(tenant))

    def check(self) -> dict[str, str]:
        return diagnose(self._database)

    def close(self) -> None:
        self._database.close()

    # ---- heads

    def _reader(self, scope: Scope) -> Neo4jReader:
        return Neo4jReader(self._database.run, scope, self._head(scope.tenant))

    def _head(self, tenant: Tenant) -> Head:
        """The newest head of a tenant that is safely readable."""
        rows = self._database.run("head", {"tenant": tenant, "settled": SETTLED_MILLISECONDS})
        if not rows:
            return NOTHING
        head = readable(rows[0], self._acknowledged.get(tenant, NOTHING))
        newest, settled = head_of(rows[0][:6]), rows[0][11]
        return self._make_sure(tenant, head) if head != newest and settled else head

    def _make_sure(self, tenant: Tenant, safe: Head) -> Head:
        """The newest head, once the lock says that all of its commit was applied; `safe` where it is not free in time.

        One thread waits for it at a time, and after it waited in vain none does for a while. The lock is given back
        by a commit, so that a reader of a cluster waits for the member that it asks.
        """
        now = time.monotonic()
        with self._lock:
            if now < self._unsure_until.get(tenant, now):
                return safe
            self._unsure_until[tenant] = now + _UNSURE_SECONDS
        try:
            work, head = self._begin(tenant)
            with work:
                work.commit()
        except (Busy, CommitLost):
            return safe
        self._acknowledge(tenant, head)
        with self._lock:
            self._unsure_until.pop(tenant, None)
        return head

    def _acknowledge(self, tenant: Tenant, head: Head) -> None:
        with self._lock:
            known = self._acknowledged.get(tenant, NOTHING)
            if known.ledger != head.ledger or known.position < head.position:
                self._acknowledged[tenant] = head

    def _begin(self, tenant: Tenant) -> tuple[Work, Head]:
        """A transaction that has the tenant's lock, and the head under it."""
        for _ in range(2):
            work = self._database.begin()
            try:
                rows = work.run("lock", {"tenant": tenant, "nonce": f"{os.getpid()}-{next(self._nonces)}"})
            except BaseException:
                work.end()
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
        for pause in _LOOKUP_PAUSES:
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

    def _lock_of(self, tenant: Tenant) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(tenant, threading.Lock())

    def _await_server(self, wait_seconds: float) -> str:
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                return engine(self._database)
            except Unavailable:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.5)


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
