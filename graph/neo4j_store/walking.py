"""What a walk asks of a snapshot in Neo4j: a layer of entities in one round trip, whole facts many at once."""

from collections.abc import Mapping, Sequence

from graph import decoding
from graph.neo4j_store import codec, keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.facts import FactReads
from graph.ports import Order
from graph.walking import Edge
from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import ENTITY, FACT, EntityId, FactId
from ontology.instants import Instant
from ontology.values import entity_value, value_key


class WalkReads(FactReads):
    """The part of a reader that walks stand on."""

    __slots__ = ()

    def around(self, entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        ledger, each = self._ledger, list(dict.fromkeys(entities))
        asked = [
            [number, *self._keys_around(entity), *place]
            for number, entity in enumerate(each)
            if (place := decoding.place(entity, ENTITY, ledger)) is not None
        ]
        fact, whose = f"{FACT}_{ledger}", f"{ENTITY}_{ledger}"
        found: dict[EntityId, list[Edge]] = {}
        for number, about, pointing in self._asked("around", asked, as_of, limit)[0][0] if asked else ():
            entity, edges = each[number], []
            # latest to hold first; no two rows have the same first three, so what follows them is never compared
            for _, since, ordinal, position, target in sorted(about, reverse=True):
                edges.append(Edge(FactId(f"{fact}_{position}_{ordinal}"), entity, target, since))
            for _, since, ordinal, position, *at in sorted(pointing, reverse=True):
                subject = EntityId(f"{whose}_{at[0]}_{at[1]}")
                edges.append(Edge(FactId(f"{fact}_{position}_{ordinal}"), subject, entity, since))
            if edges:
                found[entity] = edges[:limit]
        return found

    def facts(self, ids: Sequence[FactId], known_at: Instant) -> Mapping[FactId, Fact]:
        places = [place for id in ids if (place := self._place_key(id, FACT)) is not None]
        known_at = min(known_at, self._head.recorded_at)
        asked = {"places": places, "scope": self._scope_key, "position": self._head.position, "known_at": known_at}
        slots = self._run("facts", asked)[0][0] if places else []
        rows = [[*row[:11], *shared, *row[11:]] for shared, facts in slots for row in facts]
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

    def _keys_around(self, entity: EntityId) -> tuple[str, str]:
        """Of what is said of an entity, and of what points at it."""
        scope = self._scope
        return keys.subject_key(scope, entity), keys.held_key(scope, value_key(entity_value(entity)))
