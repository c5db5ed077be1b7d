"""A bounded walk against the bare engine on the same file, and past an entity at which very many facts point."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, repeat
from pathlib import Path

from benchmarks import bare, walks, world
from benchmarks.figures import Figure, at_most, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import each, interleaved, tell
from ontology.facts import AsOf
from ontology.ids import ENTITY, EntityId, locate
from ontology.instants import DAY, Instant, days_from_civil
from ontology.values import entity_value, value_key

_NOW = Instant(days_from_civil(2027, 6, 1) * DAY)
_BATCH = 1_000


def measure(folder: Path, sizes: Sizes) -> Iterator[Figure]:
    """Milliseconds of a walk of three hops and a thousand edges."""
    degree, file = sizes.graph.degree, folder / "walks.db"
    tell(f"making an entity at which {degree:,} facts point")
    services = world.open_store(file)
    for portion in walks.items(degree):
        rest = iter(portion)
        while batch := list(islice(rest, _BATCH)):
            services.writer.write(world.SCOPE, world.PRINCIPAL, batch)
    world.settle(file)
    connection = bare.connect(file)
    with services.store.read(world.SCOPE) as reader:
        found = reader.entities_by_key([walks.CLEAR, walks.CROWDED, walks.HUB])
        as_of = AsOf(valid_at=_NOW, known_at=reader.head.recorded_at)
        ours = {name: partial(walks.walk, reader, found[name].id, as_of) for name in (walks.CLEAR, walks.CROWDED)}
        for name, operation in ours.items():
            walks.check(name, operation(), found[walks.HUB].id)
        by_hand = partial(bare_walk, connection, found[walks.CLEAR].id, as_of)
        if by_hand() < walks.EDGES:
            raise AssertionError("the bare walk found too little")
        tell("walking")
        sides: dict[str, Callable[[], object]] = {**ours, "bare": by_hand}
        runs = {name: each(repeat(operation), sizes.graph.walks) for name, operation in sides.items()}
        seconds = interleaved(runs, sizes.runs)
    connection.close()
    services.close()
    name = f"expansion of {walks.HOPS} hops and {walks.EDGES:,} edges"
    yield at_most(name, seconds[walks.CLEAR] * 1e3, 20, "ms")
    yield plain(f"{name}, against bare", seconds[walks.CLEAR] / seconds["bare"], "x")
    crowded = f"{name}, past an entity of degree {degree:,}"
    yield plain(crowded, seconds[walks.CROWDED] * 1e3, "ms")
    yield at_most(f"{crowded}, against without", seconds[walks.CROWDED] / seconds[walks.CLEAR], 3)


def bare_walk(connection: sqlite3.Connection, seed: EntityId, as_of: AsOf) -> int:
    """The same walk, as one would write it by hand: rows of the same columns, and nothing made of them."""
    scope_pk = connection.execute("SELECT pk FROM scopes").fetchone()[0]
    ledger = locate(seed, ENTITY).ledger
    reached, edges, layer = {seed}, dict[int, tuple[int, ...]](), [seed]
    for _ in range(walks.HOPS):
        read = {}
        for entity in layer:
            place = locate(entity, ENTITY)
            about = (scope_pk, place.position, place.ordinal, as_of.valid_at, as_of.known_at, walks.FAN_OUT + 1)
            key = (scope_pk, value_key(entity_value(entity)), as_of.valid_at, as_of.known_at, walks.FAN_OUT + 1)
            for row in (*connection.execute(bare.EDGES_FROM, about), *connection.execute(bare.EDGES_TO, key)):
                read[row[0]] = row
        layer = []
        for row in sorted(read.values(), key=lambda row: (-row[1], row[0])):
            if len(edges) < walks.EDGES:
                edges[row[0]] = row
                for end in (EntityId(f"ent_{ledger}_{row[2]}_{row[3]}"), EntityId(row[4])):
                    if end not in reached:
                        reached.add(end)
                        layer.append(end)
    return len(connection.execute(bare.FACTS, (json.dumps(list(edges)), as_of.known_at)).fetchall())
