"""A head that was read a moment ago serves the next snapshots, but never hides what this process has written."""

from collections.abc import Iterator
from typing import Any

import pytest

from consolidation.items import Assert
from consolidation.write import Writer
from graph.neo4j_store.store import Neo4jStore
from ontology.instants import parse_instant
from ontology.packs import load_core
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.neo4j.stores import empty_store, server

pytestmark = pytest.mark.neo4j

SCOPE = scope_of("red")


@pytest.fixture
def store() -> Iterator[Neo4jStore]:
    store = empty_store()
    yield store
    store.close()


def writer_of(store: Neo4jStore) -> Writer:
    clock = FrozenClock(parse_instant("2026-01-01"))
    return Writer(store=store, clock=clock, randomness=SeededRandomness(), core=load_core())


def write(writer: Writer, number: int) -> None:
    writer.write(SCOPE, "me", [Assert(subject="mira", predicate="likes", value=f"tea {number}")])


def position(store: Neo4jStore) -> int:
    with store.read(SCOPE) as reader:
        return reader.head.position


def test_what_this_process_wrote_shows_at_once(store: Neo4jStore) -> None:
    writer = writer_of(store)
    for number in range(1, 20):
        write(writer, number)
        assert [position(store), position(store)] == [number, number]


def test_a_head_that_was_read_before_a_write_does_not_come_after_it(
    store: Neo4jStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writer_of(store)
    write(writer, 1)
    run = store._database.run

    def overtaken(query: str, parameters: dict[str, Any]) -> Any:
        found = run(query, parameters)
        if query == "head":
            monkeypatch.undo()
            write(writer, 2)
        return found

    monkeypatch.setattr(store._database, "run", overtaken)
    assert position(store) == 1
    assert position(store) == 2


def test_snapshots_that_follow_closely_share_a_head(store: Neo4jStore, monkeypatch: pytest.MonkeyPatch) -> None:
    write(writer_of(store), 1)
    other = Neo4jStore(server().uri)
    monkeypatch.setattr("graph.neo4j_store.store.HEAD_SECONDS", 60.0)
    asked: list[str] = []
    run = other._database.run

    def counted(query: str, parameters: dict[str, Any]) -> Any:
        asked.append(query)
        return run(query, parameters)

    monkeypatch.setattr(other._database, "run", counted)
    for _ in range(3):
        position(other)
    other.close()
    assert asked == ["head"]
