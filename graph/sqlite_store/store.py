"""The embedded store: one SQLite file, many readers, one writer at a time.

Reading is a deferred transaction on a connection of a pool, so that reads may nest and threads share nothing.
Writing takes a lock of this process first, then the file's; write-ahead logging lets both go on at once.
`:memory:` is one connection for which everybody waits in turn: there a read inside another, or inside a write, of
the same thread is part of it.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from sqlite3 import sqlite_version
from types import TracebackType
from typing import Final

from graph.access import AccessStore
from graph.forgetting import Scrubbed
from graph.handoffs import HandoffStore
from graph.ports import Capabilities, Finding, Grade, MemoryStore, Reader, Transaction
from graph.queue import Queue
from graph.sessions import SessionStore
from graph.sqlite_store.access import SqliteAccess
from graph.sqlite_store.connection import MEMORY, Connection
from graph.sqlite_store.handoffs import SqliteHandoffs
from graph.sqlite_store.ledger import ledger_rows
from graph.sqlite_store.migration import migrate, version
from graph.sqlite_store.queue import SqliteQueue
from graph.sqlite_store.reader import SqliteReader
from graph.sqlite_store.sessions import SqliteSessions
from graph.sqlite_store.transaction import SqliteTransaction
from graph.sqlite_store.vectors import Vectors
from ontology.errors import Busy, Fault, Unavailable
from ontology.instants import Instant
from ontology.scope import Namespace, Purpose, Scope, Tenant

BUSY_SECONDS: Final = 5.0
RETRY_SECONDS: Final = 0.001
"""How long a writer sleeps before it asks again for the file: SQLite's own wait grows to 0.1 s, which starves."""


class SqliteStore:
    """Memory kept in the SQLite file at `path`, which is made if it is not there."""

    def __init__(self, path: str, busy_seconds: float = BUSY_SECONDS) -> None:
        """`busy_seconds` is how long a writer waits for each of its two locks.

        Raises `Unavailable` for a file that cannot be opened, `Unsupported` for one that is not ours.
        """
        self._path = path
        self._busy_seconds = busy_seconds
        self._closed = False
        self._unscrubbed = False
        self._inherited: list[object] = []
        self._idle: list[Connection]
        self._writer: Connection | None
        """Never waits inside SQLite: `_wait_for` decides how to wait."""
        self._begin_process()
        connection = self._open(busy_seconds)
        try:
            self._wait_for(lambda: migrate(connection))
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        with suppress(Busy, Unavailable):  # of a process that was killed amid it; if not now, the next one does
            self.scrub()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(engine=f"SQLite {sqlite_version}", concurrent_writers=False)

    @property
    def access(self) -> AccessStore:
        return SqliteAccess(self._reading)

    def read(self, scope: Scope) -> AbstractContextManager[Reader]:
        return _Reading(self, scope)

    @contextmanager
    def write(self, scope: Scope) -> Iterator[Transaction]:
        with self._writing() as connection:
            transaction = SqliteTransaction(connection, scope)
            yield transaction
            connection.run("COMMIT")
            self._scrub_after(transaction, connection)

    @property
    def queue(self) -> Queue:
        return SqliteQueue(self._reading, self._changing)

    @property
    def sessions(self) -> SessionStore:
        return SqliteSessions(self._reading)

    @property
    def handoffs(self) -> HandoffStore:
        return SqliteHandoffs(self._reading)

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """A transaction that is no commit of a ledger, committed if the block ends without an exception."""
        with self._writing() as connection:
            yield connection
            connection.run("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A connection that has both locks and has begun a transaction; what is not committed is rolled back."""
        with self._alone() as connection:
            self._wait_for(lambda: connection.run("BEGIN IMMEDIATE"))
            yield connection

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        """The writer's connection, for one thread of this process; no transaction is begun, and none is left open."""
        self._check_process()
        lock = self._write_lock
        if not lock.acquire(timeout=self._busy_seconds):
            raise Busy(f"another writer held the store for {self._busy_seconds:g} s; nothing was written")
        try:
            connection = self._acquire_writer()
            try:
                yield connection
            finally:
                connection.rollback()
                self._release_writer(connection)
        finally:
            lock.release()

    def tenants(self) -> list[Tenant]:
        with self._reading() as connection:
            return [Tenant(name) for (name,) in connection.all("tenants")]

    def scopes(self, tenant: Tenant) -> list[Scope]:
        with self._reading() as connection:
            rows = connection.all("scopes", (tenant,))
        return [Scope(tenant=tenant, namespace=Namespace(row[0]), purpose=Purpose(row[1])) for row in rows]

    def scopes_to_index(self, model: str | None, *, limit: int) -> list[Scope]:
        with self._reading() as connection:
            self._vectors.let_go(connection)  # whoever indexes asks again and again
            rows = connection.all("scopes_to_index", (model, limit))
        return [Scope(tenant=Tenant(row[0]), namespace=Namespace(row[1]), purpose=Purpose(row[2])) for row in rows]

    def ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        if self._path == MEMORY:  # its one connection is not for a caller to keep
            with self._reading() as connection:
                return iter(list(ledger_rows(connection, tenant)))
        return self._each_of_ledger(tenant)

    def scrub(self) -> Scrubbed:
        """Write the file anew without what is free in it, and empty the write-ahead log."""
        with self._reading() as connection:
            if not connection.all("scrubs"):
                return Scrubbed(done=True, left="")
        with self._alone() as connection:
            connection.run("PRAGMA temp_store = FILE")  # a copy of all that stays, for a while
            try:
                connection.run("VACUUM")
            finally:
                connection.run("PRAGMA temp_store = MEMORY")
            if connection.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] != 0:
                return Scrubbed(
                    done=False, left="a reader held the write-ahead log open; forget again, or open the store anew"
                )
            connection.many("end_scrubs", [()])
            return Scrubbed(done=True, left="")

    def check(self, now: Instant) -> list[Finding]:
        with self._reading() as connection:
            pages, size, free = (
                int(connection.run(f"PRAGMA {name}")[0][0]) for name in ("page_count", "page_size", "freelist_count")
            )
            mode = str(connection.run("PRAGMA journal_mode")[0][0])
            # without a write-ahead log a reader would hold up the writer
            grade = Grade.OK if mode == "wal" or self._path == MEMORY else Grade.FAILED
            return [
                Finding(check="engine", finding=f"SQLite {sqlite_version}"),
                Finding(check="file", finding=self._path, private=True),
                Finding(check="bytes", finding=str(pages * size)),
                Finding(check="bytes_free", finding=str(free * size)),
                Finding(check="journal_mode", finding=mode, grade=grade),
                Finding(check="migration", finding=str(version(connection))),
            ]

    def close(self) -> None:
        """Let go of the file; transactions that still run end in peace."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        if self._writer is not None and self._write_lock.acquire(blocking=False):
            self._writer.close()
            self._writer = None
            self._write_lock.release()

    # ---- connections

    def acquire(self) -> Connection:
        """A connection to read with, for one thread, until `release`."""
        self._check_process()
        if self._closed:
            raise Unavailable("the store is closed")
        if self._path != MEMORY:
            try:
                return self._idle.pop()
            except IndexError:
                return self._open(self._busy_seconds)
        if not self._turn.acquire(timeout=self._busy_seconds):
            raise Busy(f"the store was in use for {self._busy_seconds:g} s")
        return self._idle[0]

    def release(self, connection: Connection) -> None:
        if self._path == MEMORY:
            self._turn.release()
        elif self._closed or connection.broken:
            connection.close()
        else:
            self._idle.append(connection)

    def _acquire_writer(self) -> Connection:
        if self._path == MEMORY:
            connection = self.acquire()
            if connection.in_transaction:
                self.release(connection)
                raise Fault("in a store in memory a write cannot begin inside a read of the same thread")
            return connection
        if self._closed:
            raise Unavailable("the store is closed")
        if self._writer is None:
            self._writer = self._open(0)
        return self._writer

    def _release_writer(self, connection: Connection) -> None:
        if self._path == MEMORY:
            self.release(connection)
        elif self._closed or connection.broken:
            self._writer = None
            connection.close()

    def _open(self, busy_seconds: float) -> Connection:
        connection = Connection(self._path, busy_seconds, self._vectors)
        try:
            self._wait_for(lambda: connection.run("PRAGMA journal_mode = WAL"))
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_process(self) -> None:
        """After a fork start afresh: no connection and no lock of the parent may be used, or even closed."""
        if os.getpid() != self._pid:
            self._inherited += [self._idle, self._writer]
            self._begin_process()

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._vectors = Vectors()
        self._idle = []
        self._writer = None
        self._write_lock = threading.Lock()
        self._turn = threading.RLock()

    # ---- transactions

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection in a transaction that is over at the end of the block, unless it was one before."""
        connection = self.acquire()
        begins = not connection.in_transaction
        try:
            if begins:
                connection.run("BEGIN")
            yield connection
        finally:
            if begins:
                connection.rollback()
            self.release(connection)

    def _each_of_ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        with self._reading() as connection:
            yield from ledger_rows(connection, tenant)

    def _wait_for(self, action: Callable[[], object]) -> None:
        """Do `action` as soon as the file's lock permits. Raises `Busy` after `busy_seconds`."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                action()
            except Busy:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _scrub_after(self, transaction: SqliteTransaction, connection: Connection) -> None:
        """Once something was erased, empty the write-ahead log, which still has it, as soon as no reader needs it."""
        if transaction.erased:
            self._vectors.forget(transaction.scope.tenant)
        if transaction.erased or self._unscrubbed:
            self._unscrubbed = True
            with suppress(
                Busy, Unavailable
            ):  # what was committed is not reported as failed; the next write tries again
                self._unscrubbed = connection.run("PRAGMA wal_checkpoint(TRUNCATE)")[0][0] != 0


class _Reading:
    """The block of one snapshot."""

    __slots__ = ("_begins", "_connection", "_scope", "_store")

    def __init__(self, store: SqliteStore, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def __enter__(self) -> SqliteReader:
        self._connection = connection = self._store.acquire()
        self._begins = not connection.in_transaction
        try:
            if self._begins:
                connection.run("BEGIN")
            return SqliteReader(connection, self._scope)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._begins:
            self._connection.rollback()
        self._store.release(self._connection)


_conforms: type[MemoryStore] = SqliteStore
