"""What a walk asks of a snapshot in Neo4j: a layer of entities in two round trips, whole facts many at once."""

from collections.abc import Mapping, Sequence

from graph import decoding
from graph.neo4j_store import codec, keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.facts import FactReads
from graph.ports import Order
from graph.walking import Edge
from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import FACT, EntityId, FactId, Place, entity_id, fact_id
from ontology.instants import Instant
from ontology.values import entity_value, value_key


class WalkReads(FactReads):
    """The part of a reader that walks stand on."""

    __slots__ = ()

    def around(self, entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        scope, each = self._scope, list(dict.fromkeys(entities))
        subjects = [[number, keys.subject_key(scope, entity)] for number, entity in enumerate(each)]
        about = {entity: list[Edge]() for entity in each}
        for number, rows in self._asked("edges_from", subjects, as_of, limit):
            about[each[number]] = self._edges(rows)
        held = [
            [number, keys.held_key(scope, value_key(entity_value(entity)))]
            for number, entity in enumerate(each)
            if len(about[entity]) < limit
        ]
        # what an entity says of itself points at it too and comes again
        own = max((sum(edge.target == entity for edge in found) for entity, found in about.items()), default=0)
        for number, rows in self._asked("edges_to", held, as_of, limit + own):
            entity = each[number]
            about[entity] += [edge for edge in self._edges(rows) if edge.subject != entity]
        return {entity: found[:limit] for entity, found in about.items() if found}

    def facts(self, ids: Sequence[FactId], known_at: Instant) -> Mapping[FactId, Fact]:
        places = [place for id in ids if (place := self._place_key(id, FACT)) is not None]
        known_at = min(known_at, self._head.recorded_at)
        asked = {"places": places, "scope": self._scope_key, "position": self._head.position, "known_at": known_at}
        rows = self._run("facts", asked)[0][0] if places else []
        return {fact.version.id: fact for fact in self._facts(rows, known_at, Order.VALID)}

    def entity_edges(self, slots: Sequence[Slot], as_of: AsOf, *, limit: int) -> Sequence[FactVersion]:
        asked = [[number, keys.slot_key(slot)] for number, slot in enumerate(slots) if self._is_here(slot)]
        until = self._head.recorded_at
        return [
            decoding.version(self._ledger, slots[number], codec.version(row, until))
            for number, row in self._asked("entity_edges", asked, as_of, limit)
        ]

    # ---- what these are made of

    def _asked(self, query: str, asked: list[Row], as_of: AsOf, limit: int) -> list[Row]:
        parameters = {
            "asked": asked,
            "valid_at": as_of.valid_at,
            "known_at": min(as_of.known_at, self._head.recorded_at),
            "served_at": self._serving.judged_at(as_of.known_at),
            "limit": limit,
        }
        return self._run(query, parameters) if asked else []

    def _edges(self, rows: Sequence[Row]) -> list[Edge]:
        """Of (valid_from, recorded_from, ordinal, position, subject position, subject ordinal, target)."""
        ledger = self._ledger
        return [
            Edge(fact_id(Place(ledger, row[3], row[2])), entity_id(Place(ledger, row[4], row[5])), row[6], row[1])
            for row in sorted(rows, key=lambda row: row[:3], reverse=True)
        ]
