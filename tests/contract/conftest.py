"""The stores that keep the contract, each empty, and a world in each."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from graph.ports import MemoryStore
from graph.sqlite_store.store import SqliteStore
from tests.contract.world import FUNCTIONAL, World
from tests.naive_store import NaiveStore
from tests.neo4j.stores import NAME, empty_store, marked


def in_memory(_: Path) -> MemoryStore:
    return SqliteStore(":memory:", busy_seconds=0.2)


def in_file(folder: Path) -> MemoryStore:
    return SqliteStore(str(folder / "store.db"), busy_seconds=0.2)


def naive(_: Path) -> MemoryStore:
    return NaiveStore(busy_seconds=0.2)


def on_neo4j(_: Path) -> MemoryStore:
    return empty_store(busy_seconds=0.2)


STORES: Final[Mapping[str, Callable[[Path], MemoryStore]]] = {
    "sqlite-file": in_file,
    "sqlite-memory": in_memory,
    "naive": naive,
    NAME: on_neo4j,
}


@pytest.fixture(params=marked(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    """An empty store of each kind; a writer waits 0.2 s for its lock."""
    opened = STORES[request.param](tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def world(store: MemoryStore) -> World:
    """An empty world in which `lives_in` and `works_for` have one value."""
    world = World(store)
    world.declare(*FUNCTIONAL)
    return world
