"""Where it is measured: a store on a server, a writer for it, and a driver that asks the same database directly."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, LiteralString

from neo4j import Driver, GraphDatabase, NotificationMinimumSeverity

from api.wiring import SystemClock, SystemRandomness
from benchmarks import world
from benchmarks.timing import tell
from consolidation.items import Item
from consolidation.write import Writer
from graph.neo4j_store.store import Neo4jStore
from ontology.packs import load_core
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from tests.neo4j_server import find_or_start

DATABASE: Final = "neo4j"
PACK: Final = {
    "pack": "graph-bench",
    "predicates": {
        **{name: {"datatype": "text", "cardinality": "functional"} for name in (*world.PREDICATES, "reading")},
        "knows": {"datatype": "entity"},
    },
}  # fmt: skip


class Place:
    """A database of a server, asked through the store and directly."""

    def __init__(self, uri: str) -> None:
        self.store = Neo4jStore(uri)
        self.writer = Writer(store=self.store, clock=SystemClock(), randomness=SystemRandomness(), core=load_core())
        self.driver: Driver = GraphDatabase.driver(
            uri, notifications_min_severity=NotificationMinimumSeverity.OFF, telemetry_disabled=True
        )
        self._started = time.time_ns()

    def empty(self, name: str) -> Scope:
        """A tenant of this run, which has nothing."""
        return scope_of(f"{name}-{self._started}")

    def scope(self, name: str) -> Scope:
        """A tenant of this run, which has the predicates of the benchmarks and nothing else."""
        scope = self.empty(name)
        if not self.writer.schema(scope).predicates.keys() & {"reading"}:
            self.writer.put_schema(scope, world.PRINCIPAL, pack_from_document(PACK))
        return scope

    def run(self, query: LiteralString, **parameters: object) -> list[list[Any]]:
        """What a query gives, asked as a program that uses the driver would: a session and its transaction."""
        with self.driver.session(database=DATABASE) as session:
            return session.run(query, parameters).values()

    def write(self, scope: Scope, items: Sequence[Item]) -> None:
        self.writer.write(scope, world.PRINCIPAL, items)

    def write_all(self, scope: Scope, items: Iterable[Item], batch: int, what: str) -> list[float]:
        """Write in batches; the seconds of each."""
        rest, seconds, told, made = iter(items), [], time.perf_counter(), 0
        while portion := list(islice(rest, batch)):
            started = time.perf_counter()
            self.write(scope, portion)
            seconds.append(time.perf_counter() - started)
            made += len(portion)
            if time.perf_counter() - told > 30:
                told = time.perf_counter()
                tell(f"  {made:,} {what} so far")
        return seconds

    def forget_plans(self) -> None:
        """Let the server plan every query again."""
        self.run("CALL db.clearQueryCaches()")

    def close(self) -> None:
        self.driver.close()
        self.store.close()


@contextmanager
def place() -> Iterator[Place]:
    """On the server that is named by the environment, or one that is started for the block."""
    server = find_or_start()
    try:
        here = Place(server.uri)
        tell(f"measuring on {here.store.capabilities.engine}")
        yield here
        here.close()
    finally:
        server.stop()
