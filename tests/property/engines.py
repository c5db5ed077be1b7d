"""The stores of the tests, each behind a writer; every world is a tenant of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from tests.naive_store import NaiveStore
from tests.neo4j.stores import NAME, empty_store
from tests.oracles.embedded import Embedded
from tests.property.stores import StoredWorld
from tests.property.worlds import MakeWorld

STORES: Final[dict[str, Callable[[], MemoryStore]]] = {
    "sqlite": lambda: SqliteStore(":memory:"),
    "naive": NaiveStore,
    NAME: empty_store,
}


@contextmanager
def worlds_of(store: str) -> Iterator[MakeWorld]:
    """Makes worlds in one new store."""
    engine = Embedded(STORES[store]())
    try:
        yield partial(StoredWorld, engine)
    finally:
        engine.close()
