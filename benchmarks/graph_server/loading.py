"""Bulk load through the writer and from a journal against a bare `UNWIND` of the same nodes and relationships."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks import world
from benchmarks.figures import Figure, at_least, plain
from benchmarks.graph_server import bare
from benchmarks.graph_server.place import DATABASE, Place
from benchmarks.sizes import GraphSizes
from benchmarks.timing import interleaved, tell
from graph.transfer import export_events, import_events
from ontology.instants import Instant
from ontology.scope import Scope

ROUNDS = 3


def measure(place: Place, sizes: GraphSizes) -> Iterator[Figure]:
    """Facts per second, with no plan of a query at hand and with all of them."""
    facts = sizes.loaded
    tell(f"loading {facts:,} facts into the server, by the writer, from a journal and bare")
    loads = _Loads(place, facts)
    sides = {"by the writer": loads.by_writer, "from a journal": loads.from_journal, "bare": loads.bare}
    cold = {f"{name}, cold": partial(_cold, place, load) for name, load in sides.items()}
    seconds = interleaved(cold, 1) | interleaved(sides, ROUNDS)
    for warmth in ("", ", cold"):
        yield plain(f"neo4j: bulk load bare{warmth}, {facts:,} facts", facts / seconds[f"bare{warmth}"], "facts per s")
        for name in ("by the writer", "from a journal"):
            ours, shown = seconds[name + warmth], f"neo4j: bulk load {name}{warmth}, {facts:,} facts"
            yield plain(shown, facts / ours, "facts per s")
            yield at_least(f"{shown}, against bare", seconds[f"bare{warmth}"] / ours, 0.5)


class _Loads:
    """The same facts, loaded into a tenant of its own each time."""

    def __init__(self, place: Place, facts: int) -> None:
        self._place = place
        self._facts = facts
        self._numbers = itertools.count()
        source = place.scope("load-source")
        self._commits: list[list[Mapping[str, Any]]] = []
        with bare.recorded(self._commits):
            self._write(source)
        self._source = source.tenant
        self._journal: list[bytes] = []
        export_events(place.store, source.tenant, self._journal.append)
        self._until = Instant(2**61)

    def by_writer(self) -> float:
        return self._write(self._place.scope(f"load-{next(self._numbers)}"))

    def from_journal(self) -> float:
        tenant = self._place.empty(f"load-{next(self._numbers)}").tenant
        started = perf_counter()
        import_events(self._place.store, tenant, lambda: self._journal, now=self._until)
        return perf_counter() - started

    def bare(self) -> float:
        target, seen, seconds = f"{self._source}-{next(self._numbers)}", set[str](), 0.0
        for runs in self._commits:
            commit = bare.Commit(runs, self._source, target)
            started = perf_counter()
            with self._place.driver.session(database=DATABASE) as session:
                session.execute_write(commit.write_bulk, seen)
            seconds += perf_counter() - started
        return seconds

    def _write(self, scope: Scope) -> float:
        items = world.items(0, self._facts, self._facts)
        return sum(self._place.write_all(scope, items, world.batch_items(self._facts), "facts"))


def _cold(place: Place, load: Callable[[], float]) -> float:
    place.forget_plans()
    return load()
