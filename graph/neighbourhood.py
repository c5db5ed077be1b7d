"""What lies around some entities: a bounded walk over visible facts, whatever their predicates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from graph.expansion import Milliseconds
from graph.periods import ALWAYS
from graph.ports import Reader
from graph.walking import Edge
from ontology.errors import NotFound, shown
from ontology.facts import AsOf, Fact
from ontology.ids import EntityId, FactId
from ontology.intervals import Interval

_TOGETHER: Final = 200
"""Entities whose edges are read at once; between two such reads the clock is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a walk; each is at least 0."""

    hops: int
    nodes: int
    edges: int
    fan_out: int
    """Facts followed from one entity."""
    milliseconds: int


class Reached(NamedTuple):
    entity: EntityId
    depth: int
    """Edges from the nearest seed, which has depth 0."""
    via: FactId | None
    """The fact that led to it; `None` at a seed."""
    holds: Interval
    """Valid time over which every fact holds that led here from its seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    entities: list[Reached]
    """By depth, in the order in which they were reached."""
    facts: list[Fact]
    """By (depth of the nearer end, recorded_from latest first, id)."""
    cut_by: tuple[str, ...]
    """The limits that were met, in the order in which they were."""
    wide: tuple[EntityId, ...]
    """Entities that have more facts than `fan_out`."""


def neighbourhood(
    reader: Reader, seeds: Sequence[EntityId], as_of: AsOf, budget: Budget, clock: Milliseconds
) -> Expansion:
    """Walk outward from `seeds` over facts visible at `as_of`, breadth first, in both directions.

    A fact whose value is an entity leads to it; others are told beside the entity that they are about. Of an entity
    with more than `fan_out` facts those are followed that began to hold last, what is said of it before what points
    at it: one at which very many facts point costs no more than another. A fact whose other end is not in the answer
    is left out. Reads: one for each 200 entities of a layer, and one for the facts of the answer.
    Returns at most `nodes` entities and `edges` facts. Raises `NotFound` if no seed is known.
    """
    known = reader.entities_by_id(list(seeds))
    found = [seed for seed in dict.fromkeys(seeds) if seed in known]
    if not found:
        raise NotFound(f"none of {shown(list(seeds))} is an entity here")
    walk = _Walk(reader, as_of, budget, clock)
    walk.begin(found)
    for depth in range(1, budget.hops + 1):
        if not walk.step(depth):
            break
    return walk.expansion()


class _Arrival(NamedTuple):
    """How an entity was reached: in how many edges, by the last of them, from which entity."""

    depth: int
    via: FactId | None
    before: EntityId | None


class _Walk:
    def __init__(self, reader: Reader, as_of: AsOf, budget: Budget, clock: Milliseconds) -> None:
        self._reader = reader
        self._as_of = as_of
        self._budget = budget
        self._clock = clock
        self._deadline = clock() + budget.milliseconds
        self._arrivals: dict[EntityId, _Arrival] = {}
        self._edges: dict[FactId, Edge] = {}
        self._layer: list[EntityId] = []
        self._cut_by: dict[str, None] = {}
        self._wide: list[EntityId] = []

    def begin(self, seeds: Sequence[EntityId]) -> None:
        self._layer = [seed for seed in seeds if self._reach(seed, _Arrival(0, None, None))]

    def step(self, depth: int) -> bool:
        """Read the edges of the layer and reach the next one; whether there is anything to go on with."""
        read = self._read_layer()
        self._layer = []
        for edge in sorted(read.values(), key=lambda edge: (-edge.recorded_from, edge.fact)):
            if edge.fact not in self._edges:
                self._admit(edge, depth)
        return bool(self._layer) and "milliseconds" not in self._cut_by and "edges" not in self._cut_by

    def expansion(self) -> Expansion:
        facts = self._reader.facts(list(self._edges), self._as_of.known_at)
        return Expansion(
            entities=self._reached(facts),
            facts=[facts[id] for id in self._edges],
            cut_by=tuple(self._cut_by),
            wide=tuple(self._wide),
        )

    def _read_layer(self) -> dict[FactId, Edge]:
        fan_out, read = self._budget.fan_out, dict[FactId, Edge]()
        for first in range(0, len(self._layer), _TOGETHER):
            if self._clock() > self._deadline:
                self._cut_by["milliseconds"] = None
                break
            entities = self._layer[first : first + _TOGETHER]
            around = self._reader.around(entities, self._as_of, limit=fan_out + 1)
            for entity in entities:
                edges = around.get(entity, ())
                if len(edges) > fan_out:
                    self._cut_by["fan_out"] = None
                    self._wide.append(entity)
                read |= {edge.fact: edge for edge in edges[:fan_out]}
        return read

    def _admit(self, edge: Edge, depth: int) -> None:
        if len(self._edges) >= self._budget.edges:
            self._cut_by["edges"] = None
            return
        near, far = edge.subject, edge.target  # one of them was reached before, since the edge was read around it
        if near not in self._arrivals and far is not None:
            near, far = far, near
        if far is not None and far not in self._arrivals:
            if not self._reach(far, _Arrival(depth, edge.fact, near)):
                return
            self._layer.append(far)
        self._edges[edge.fact] = edge

    def _reach(self, entity: EntityId, arrival: _Arrival) -> bool:
        if len(self._arrivals) >= self._budget.nodes:
            self._cut_by["nodes"] = None
            return False
        self._arrivals[entity] = arrival
        return True

    def _reached(self, facts: Mapping[FactId, Fact]) -> list[Reached]:
        found: dict[EntityId, Reached] = {}
        for entity, (depth, via, before) in self._arrivals.items():
            holds = ALWAYS
            if via is not None and before is not None:  # which was reached earlier, so is there
                version, way = facts[via].version, found[before].holds
                holds = way
                if way.start < version.valid_from or version.valid_to < way.end:
                    holds = Interval(max(way.start, version.valid_from), min(way.end, version.valid_to))
            found[entity] = Reached(entity, depth, via, holds)
        return list(found.values())
