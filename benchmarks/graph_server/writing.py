"""Single durable writes through the writer, alone and eight at once, against a bare managed transaction."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks import world
from benchmarks.figures import Figure, at_least, plain
from benchmarks.graph_server import bare
from benchmarks.graph_server.place import DATABASE, Place
from benchmarks.sizes import GraphSizes
from benchmarks.timing import each, interleaved, tell
from benchmarks.writing import status
from ontology.scope import Scope

TENANTS = 8


class Pair:
    """A tenant that the writer writes to, and one into which the bare driver writes the same commits."""

    def __init__(self, place: Place, name: str, facts: int, count: int) -> None:
        """Bring both to where the commits begin, and make `count` of them ready for the bare side.

        They come from a third tenant that had them already, since a commit is known only when it was made.
        """
        item = status(facts)
        self._place = place
        source, self.scope = place.scope(f"{name}-source"), place.scope(f"{name}-ours")
        loaded: list[list[Mapping[str, Any]]] = []
        with bare.recorded(loaded):
            place.write_all(source, world.items(0, facts, facts), world.batch_items(facts), "facts")
        place.write_all(self.scope, world.items(0, facts, facts), world.batch_items(facts), "facts")
        made: list[list[Mapping[str, Any]]] = []
        with bare.recorded(made):
            for number in range(count):
                place.write(source, [item(number)])
        target = f"{source.tenant}-bare"
        self._seed(source, target, loaded)
        self.ours = (partial(place.write, self.scope, [item(number)]) for number in range(count))
        self.bare = (partial(self._write_bare, bare.Commit(runs, source.tenant, target)) for runs in made)

    def _seed(self, source: Scope, target: str, loaded: list[list[Mapping[str, Any]]]) -> None:
        """Write what was loaded under the keys of the bare tenant."""
        seen: set[str] = set()
        with self._place.driver.session(database=DATABASE) as session:
            for runs in loaded:
                commit = bare.Commit(runs, source.tenant, target)
                session.execute_write(commit.write_bulk, seen)
                session.execute_write(commit.end_bulk)

    def _write_bare(self, commit: bare.Commit) -> None:
        with self._place.driver.session(database=DATABASE) as session:
            session.execute_write(commit.write_single)


def measure(place: Place, sizes: GraphSizes) -> Iterator[Figure]:
    """One writer, and eight at once on a tenant each."""
    facts, count = sizes.written, sizes.writes * (sizes.runs + 1)
    tell(f"single writes on the server beside {facts:,} facts")
    one = Pair(place, "single", facts, count)
    seconds = interleaved({"ours": each(one.ours, sizes.writes), "bare": each(one.bare, sizes.writes)}, sizes.runs)
    yield from _figures("single writes", seconds)
    tell(f"single writes on the server, {TENANTS} at once")
    pairs = [Pair(place, f"eight-{number}", sizes.written // 5, count) for number in range(TENANTS)]
    seconds = interleaved(
        {
            "ours": partial(_at_once, [pair.ours for pair in pairs], sizes.writes),
            "bare": partial(_at_once, [pair.bare for pair in pairs], sizes.writes),
        },
        sizes.runs,
    )
    yield from _figures(f"single writes, {TENANTS} writers on {TENANTS} tenants", seconds)


def _figures(what: str, seconds: Mapping[str, float]) -> Iterator[Figure]:
    yield plain(f"neo4j: {what}, bare", 1 / seconds["bare"], "per s")
    yield plain(f"neo4j: {what}", 1 / seconds["ours"], "per s")
    yield at_least(f"neo4j: {what}, against bare", seconds["bare"] / seconds["ours"], 0.6)


def _at_once(supplies: list[Iterator[Callable[[], object]]], count: int) -> float:
    """Seconds per write where every supply has a thread of its own."""
    ready = [[next(supply) for _ in range(count)] for supply in supplies]

    def work(operations: list[Callable[[], object]]) -> None:
        for operation in operations:
            operation()

    with ThreadPoolExecutor(len(ready)) as threads:
        started = perf_counter()
        for done in [threads.submit(work, operations) for operations in ready]:
            done.result()
        return (perf_counter() - started) / (count * len(ready))
