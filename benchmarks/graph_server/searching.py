"""Search through the store against what the two indexes of the server give when they are asked by hand."""

import random
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Final, LiteralString

import numpy as np

from benchmarks import world
from benchmarks.figures import Figure, at_most, plain
from benchmarks.graph_server.place import Place
from benchmarks.graph_server.reading import NOW, Operation
from benchmarks.searching import MODEL, dealt, index, unit
from benchmarks.sizes import GraphSizes
from benchmarks.timing import Run, each, interleaved, tell
from graph.neo4j_store import keys
from graph.neo4j_store.database import queries_for
from graph.neo4j_store.vectors import can_filter
from graph.ports import Reader
from graph.searching import Vector
from ontology.facts import AsOf
from ontology.scope import Scope

_LIMIT: Final = 50
_CANDIDATES: Final = 150
_WORDS: Final = 6
_BY_WORDS: Final = """
CALL db.index.fulltext.queryNodes('statement_words', $sought, {limit: $limit}) YIELD node, score
RETURN node.said, score
"""


def measure(place: Place, sizes: GraphSizes) -> Iterator[Figure]:
    facts = sizes.searched
    tell(f"indexing {facts:,} facts on the server")
    scope = place.scope("searched")
    place.write_all(scope, world.items(0, facts, facts), world.batch_items(facts), "facts")
    for _ in index(place.store, scope):
        pass
    tell("searching on the server")
    with place.store.read(scope) as reader:
        as_of = AsOf(valid_at=NOW, known_at=reader.head.recorded_at)
        asked = {
            "by words": (_by_words(reader, as_of), _bare_words(place, scope)),
            "by meaning": (_by_meaning(reader, as_of), _bare_meaning(place, scope, as_of)),
        }
        sides: dict[str, Run] = {}
        for name, (ours, bare) in asked.items():
            sides |= {f"ours {name}": each(ours, sizes.reads), f"bare {name}": each(bare, sizes.reads)}
        seconds = interleaved(sides, sizes.runs)
    what = f"neo4j: search of {facts:,} facts"
    for name in asked:
        yield plain(f"{what} {name}", seconds[f"ours {name}"] * 1e3, "ms")
        yield plain(f"{what} {name}, against bare", seconds[f"ours {name}"] / seconds[f"bare {name}"], "x")
    both = {side: sum(seconds[f"{side} {name}"] for name in asked) for side in ("ours", "bare")}
    yield at_most(f"{what} by words and meaning, against bare", both["ours"] / both["bare"], 2)


def _by_words(reader: Reader, as_of: AsOf) -> Iterator[Operation]:
    for seed in count():
        terms = list(dict.fromkeys(dealt(random.Random(seed), _WORDS)))
        yield partial(reader.match_facts, terms, as_of, predicates=None, history=False, limit=_LIMIT)


def _bare_words(place: Place, scope: Scope) -> Iterator[Operation]:
    for seed in count():
        terms = " ".join(dict.fromkeys(dealt(random.Random(seed), _WORDS)))
        sought = f"+written:{keys.scope_key(scope)}^0 +words:({terms})"
        yield partial(place.run, _BY_WORDS, sought=sought, limit=_CANDIDATES)


def _by_meaning(reader: Reader, as_of: AsOf) -> Iterator[Operation]:
    for vector in _vectors():
        yield partial(reader.near_facts, vector, MODEL.name, as_of, predicates=None, history=False, limit=_LIMIT)


def _bare_meaning(place: Place, scope: Scope, as_of: AsOf) -> Iterator[Operation]:
    query: LiteralString = queries_for(can_filter(place.store.capabilities.engine))["near_facts_a"]
    asked = {
        "scope": keys.scope_key(scope), "since": as_of.valid_at, "until": as_of.valid_at, "known_at": as_of.known_at,
        "predicates": None, "limit": _CANDIDATES,
    }  # fmt: skip
    for vector in _vectors():
        yield partial(place.run, query, vector=vector.tolist(), **asked)


def _vectors() -> Iterator[Vector]:
    normal = np.random.default_rng(2)
    while True:
        yield unit(normal)
