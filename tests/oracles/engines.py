"""The engines by their names: which store, and what happens between writing and asking."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from graph.ledger import ledger_hash
from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from graph.transfer import export_events, import_events, verify_events
from tests.naive_store import NaiveStore
from tests.oracles.embedded import Embedded
from tests.oracles.memory import AFTER_ALL, Engine

MEMORY: Final = ":memory:"
SQLITE: Final = "sqlite:///"
NEO4J: Final = ("neo4j://", "bolt://")


class Unsuitable(Exception):
    """Such an engine cannot do what was asked; the argument says why."""


def naive() -> Embedded:
    return Embedded(NaiveStore())


def sqlite(path: str = MEMORY) -> Embedded:
    return Embedded(SqliteStore(path))


@contextmanager
def engine(store: str, *, reopen: bool = False, rebuild: bool = False) -> Iterator[Engine]:
    """The engine that a store names: `naive`, `http` (a server with a database of its own), `neo4j` (a server that
    is found or started as the tests do it, and emptied), the address of a Neo4j server, which keeps what it has, or
    a SQLite URL.

    With `reopen` its file is closed and opened again before the questions; with `rebuild` they are put to a store in
    memory that was rebuilt from the journals. Raises `Unsuitable`.
    """
    if store == "http" and not (reopen or rebuild):
        from tests.oracles.served import Server

        with Server.running() as server:
            yield server
        return
    embedded = _embedded(store, reopen=reopen, rebuild=rebuild)
    try:
        yield embedded
    finally:
        embedded.close()


def _embedded(store: str, *, reopen: bool, rebuild: bool) -> Embedded:
    if store == "neo4j" and not reopen:
        from tests.neo4j.stores import empty_store

        return Embedded(empty_store(), settle=_rebuilt if rebuild else None)
    if store.startswith(NEO4J) and not reopen:
        return Embedded(_on_server(store), settle=_rebuilt if rebuild else None)
    if store == "naive" and not reopen:
        return Embedded(NaiveStore(), settle=_rebuilt if rebuild else None)
    path = store.removeprefix(SQLITE)
    if path in ("", store):
        raise Unsuitable(
            f"no store {store!r} that can do this; "
            "give sqlite:///PATH, sqlite:///:memory:, naive, neo4j, neo4j://HOST:PORT or http"
        )
    if not reopen:
        return Embedded(SqliteStore(path), settle=_rebuilt if rebuild else None)
    if path == MEMORY:
        raise Unsuitable("what is only in memory cannot be opened again; name a file")

    def reopened(engine: Embedded) -> MemoryStore:
        engine.store.close()
        again = SqliteStore(path)
        if rebuild:
            engine.store = again
            return _rebuilt(engine)
        return again

    return Embedded(SqliteStore(path), settle=reopened)


def _on_server(address: str) -> MemoryStore:
    """Somebody's Neo4j, with the password of the environment, if it has one."""
    from graph.neo4j_store.store import Neo4jStore

    password = os.environ.get("NEO4J_PASSWORD")
    user = os.environ.get("NEO4J_USERNAME", "neo4j") if password else None
    return Neo4jStore(address, user=user, password=password)


def _rebuilt(engine: Embedded) -> MemoryStore:
    """A store with what the exported journals of another hold, which is closed then.

    Raises `AssertionError` where the copy does not hold the same, or its chain is broken.
    """
    source, copy = engine.store, SqliteStore(MEMORY)
    for tenant in source.tenants():
        lines: list[bytes] = []
        export_events(source, tenant, lines.append)
        import_events(copy, tenant, lambda lines=lines: lines, now=AFTER_ALL)  # type: ignore[misc]
        assert ledger_hash(copy, tenant) == ledger_hash(source, tenant), tenant
        assert verify_events(copy, tenant) == [], tenant
    source.close()
    return copy
