"""What lies around some entities: a bounded walk over visible facts, whatever their predicates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graph.expansion import Milliseconds
from graph.ports import Page, Reader
from ontology.errors import NotFound, shown
from ontology.facts import AsOf, Fact
from ontology.ids import EntityId, FactId
from ontology.values import ValueType, entity_value, value_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a walk; each is at least 0."""

    hops: int
    nodes: int
    edges: int
    fan_out: int
    """Facts read of one entity."""
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    entity: EntityId
    depth: int
    """Edges from the nearest seed, which has depth 0."""


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
    with more than `fan_out` facts those are read that began to hold first, what is said of it before what points at
    it. A fact whose other end is not in the answer is left out. Reads: two queries per entity.
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


class _Walk:
    def __init__(self, reader: Reader, as_of: AsOf, budget: Budget, clock: Milliseconds) -> None:
        self._reader = reader
        self._as_of = as_of
        self._budget = budget
        self._clock = clock
        self._deadline = clock() + budget.milliseconds
        self._depths: dict[EntityId, int] = {}
        self._facts: dict[FactId, Fact] = {}
        self._layer: list[EntityId] = []
        self._cut_by: dict[str, None] = {}
        self._wide: list[EntityId] = []

    def begin(self, seeds: Sequence[EntityId]) -> None:
        self._layer = [seed for seed in seeds if self._reach(seed, 0)]

    def step(self, depth: int) -> bool:
        """Read the facts of the layer and reach the next one; whether there is anything to go on with."""
        read: dict[FactId, Fact] = {}
        for entity in self._layer:
            if self._clock() > self._deadline:
                self._cut_by["milliseconds"] = None
                break
            read |= {fact.version.id: fact for fact in self._around(entity)}
        self._layer = []
        for fact in sorted(read.values(), key=lambda f: (-f.version.recorded_from, f.version.id)):
            if fact.version.id not in self._facts:
                self._admit(fact, depth)
        return bool(self._layer) and "milliseconds" not in self._cut_by and "edges" not in self._cut_by

    def expansion(self) -> Expansion:
        return Expansion(
            entities=[Reached(entity=entity, depth=depth) for entity, depth in self._depths.items()],
            facts=list(self._facts.values()),
            cut_by=tuple(self._cut_by),
            wide=tuple(self._wide),
        )

    def _admit(self, fact: Fact, depth: int) -> None:
        if len(self._facts) >= self._budget.edges:
            self._cut_by["edges"] = None
            return
        ends = [fact.version.slot.subject]
        if fact.version.value.type is ValueType.ENTITY:
            ends.append(EntityId(fact.version.value.text))
        new = [end for end in dict.fromkeys(ends) if end not in self._depths]
        if all(self._reach(end, depth) for end in new):
            self._layer += new
            self._facts[fact.version.id] = fact

    def _reach(self, entity: EntityId, depth: int) -> bool:
        if len(self._depths) >= self._budget.nodes:
            self._cut_by["nodes"] = None
            return False
        self._depths[entity] = depth
        return True

    def _around(self, entity: EntityId) -> list[Fact]:
        """The facts about an entity and those that point at it, `fan_out` at most."""
        key, fan_out = value_key(entity_value(entity)), self._budget.fan_out
        ways: tuple[Callable[[Page], list[Fact]], ...] = (
            lambda page: self._reader.state([(entity, None)], self._as_of, certain=False, page=page),
            lambda page: self._reader.holders(key, None, self._as_of, certain=False, page=page),
        )
        facts: dict[FactId, Fact] = {}
        for way in ways:
            left = fan_out - len(facts)
            own = sum(fact.version.value_key == key for fact in facts.values())  # point at itself, so come twice
            new = [fact for fact in way(Page(left + own + 1)) if fact.version.id not in facts]
            facts |= {fact.version.id: fact for fact in new[:left]}
            if len(new) > left:
                self._cut_by["fan_out"] = None
                self._wide.append(entity)
                break
        return list(facts.values())
