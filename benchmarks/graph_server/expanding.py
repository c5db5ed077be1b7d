"""A bounded walk with an entity in its way at which very many facts point, against the same walk without it."""

import time
from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure, at_most, plain
from benchmarks.graph_server.place import Place
from benchmarks.graph_server.reading import NOW, Operation
from benchmarks.sizes import GraphSizes
from benchmarks.timing import each, interleaved, tell
from consolidation.items import Assert
from graph.neighbourhood import Budget, Expansion, neighbourhood
from graph.ports import Reader
from ontology.facts import AsOf
from ontology.ids import EntityId

HOPS = 3
EDGES = 1_000
BRANCHES = 11
"""Of each entity of a walk; three hops then meet more facts than the budget has."""


def measure(place: Place, sizes: GraphSizes) -> Iterator[Figure]:
    """Seconds of a walk of three hops and a thousand edges."""
    tell(f"making an entity at which {sizes.degree:,} facts point")
    scope = place.scope("walk")
    items = [*_tree("clear"), *_tree("crowded"), _knows("crowded", "hub")]
    place.write_all(scope, items, 1_000, "facts")
    place.write_all(scope, (_knows(f"follower {n}", "hub") for n in range(sizes.degree)), 1_000, "facts")
    with place.store.read(scope) as reader:
        found = reader.entities_by_key(["clear", "crowded", "hub"])
        as_of = AsOf(valid_at=NOW, known_at=reader.head.recorded_at)
        walks = {name: partial(_walk, reader, found[name].id, as_of) for name in ("clear", "crowded")}
        for name, walk in walks.items():
            expansion = walk()
            if len(expansion.facts) < EDGES or (found["hub"].id in expansion.wide) != (name == "crowded"):
                raise AssertionError(f"the walk from {name!r} gave {len(expansion.facts)} facts")
        tell("walking on the server")
        sides = {name: each(_forever(walk), sizes.walks) for name, walk in walks.items()}
        seconds = interleaved(sides, sizes.runs)
    name = f"neo4j: expansion of {HOPS} hops and {EDGES:,} edges"
    yield plain(name, seconds["clear"] * 1e3, "ms")
    crowded = f"{name}, past an entity of degree {sizes.degree:,}"
    yield plain(crowded, seconds["crowded"] * 1e3, "ms")
    yield at_most(f"{crowded}, against without", seconds["crowded"] / seconds["clear"], 3)


def _walk(reader: Reader, seed: EntityId, as_of: AsOf) -> Expansion:
    budget = Budget(hops=HOPS, nodes=10_000, edges=EDGES, fan_out=100, milliseconds=60_000)
    return neighbourhood(reader, [seed], as_of, budget, lambda: time.monotonic() * 1000)


def _tree(root: str) -> Iterator[Assert]:
    layer = [root]
    for _ in range(HOPS):
        below = []
        for name in layer:
            for number in range(BRANCHES):
                below.append(f"{name}.{number}")
                yield _knows(name, below[-1])
        layer = below


def _knows(subject: str, value: str) -> Assert:
    return Assert(subject=subject, predicate="knows", value={"type": "entity", "key": value})


def _forever(operation: Operation) -> Iterator[Operation]:
    while True:
        yield operation
