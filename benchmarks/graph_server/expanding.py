"""A bounded walk against the driver, and past an entity at which very many facts point, against the walk without it."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat

from benchmarks import walks
from benchmarks.figures import Figure, at_most, plain
from benchmarks.graph_server import bare
from benchmarks.graph_server.place import Place
from benchmarks.graph_server.reading import NOW
from benchmarks.sizes import GraphSizes
from benchmarks.timing import each, interleaved, tell
from graph.neo4j_store import keys
from ontology.facts import AsOf
from ontology.ids import ENTITY, EntityId, locate
from ontology.scope import Scope


def measure(place: Place, sizes: GraphSizes) -> Iterator[Figure]:
    """Milliseconds of a walk of three hops and a thousand edges."""
    tell(f"making an entity at which {sizes.degree:,} facts point")
    scope = place.scope("walk")
    for portion in walks.items(sizes.degree):
        place.write_all(scope, portion, 1_000, "facts")
    with place.store.read(scope) as reader:
        found = reader.entities_by_key([walks.CLEAR, walks.CROWDED, walks.HUB])
        as_of = AsOf(valid_at=NOW, known_at=reader.head.recorded_at)
        ours = {name: partial(walks.walk, reader, found[name].id, as_of) for name in (walks.CLEAR, walks.CROWDED)}
        for name, operation in ours.items():
            walks.check(name, operation(), found[walks.HUB].id)
        by_hand = partial(bare_walk, place, scope, found[walks.CLEAR].id, as_of)
        if by_hand() < walks.EDGES:
            raise AssertionError("the bare walk found too little")
        tell("walking on the server")
        sides: dict[str, Callable[[], object]] = {**ours, "bare": by_hand}
        seconds = interleaved(
            {name: each(repeat(operation), sizes.walks) for name, operation in sides.items()}, sizes.runs
        )
    name = f"neo4j: expansion of {walks.HOPS} hops and {walks.EDGES:,} edges"
    yield at_most(name, seconds[walks.CLEAR] * 1e3, 60, "ms")
    yield plain(f"{name}, against bare", seconds[walks.CLEAR] / seconds["bare"], "x")
    crowded = f"{name}, past an entity of degree {sizes.degree:,}"
    yield plain(crowded, seconds[walks.CROWDED] * 1e3, "ms")
    yield at_most(f"{crowded}, against without", seconds[walks.CROWDED] / seconds[walks.CLEAR], 3)


def bare_walk(place: Place, scope: Scope, seed: EntityId, as_of: AsOf) -> int:
    """The same walk, as one would write it by hand: a query for each layer, one for the facts, nothing made of them."""
    seen = keys.place_key(scope.tenant, _located(seed))
    reached, edges, layer = {seen}, dict[str, list[object]](), [seen]
    asked = {
        "scope": keys.scope_key(scope), "valid_at": as_of.valid_at, "known_at": as_of.known_at,
        "limit": walks.FAN_OUT + 1,
    }  # fmt: skip
    for _ in range(walks.HOPS):
        rows = place.run(bare.EDGES, entities=layer, **asked)
        layer = []
        for row in sorted(rows, key=lambda row: (-row[1], row[0])):
            if len(edges) < walks.EDGES and row[0] not in edges:
                edges[row[0]] = row
                for end in row[2:4]:
                    if end not in reached:
                        reached.add(end)
                        layer.append(end)
    return len(place.run(bare.FACTS, places=list(edges), known_at=as_of.known_at))


def _located(entity: EntityId) -> tuple[int, int]:
    place = locate(entity, ENTITY)
    return place.position, place.ordinal
