"""What a walk asks of a snapshot in SQLite: edges entity by entity, whole facts many at once."""

from collections.abc import Iterable, Mapping, Sequence

from graph import decoding
from graph.sqlite_store.connection import Row
from graph.sqlite_store.whole_facts import WholeFacts
from graph.walking import Edge
from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import ENTITY, FACT, EntityId, FactId
from ontology.instants import Instant
from ontology.values import entity_value, value_key


class WalkReads(WholeFacts):
    """The part of a reader that walks stand on."""

    __slots__ = ()

    def around(self, entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        instants = (as_of.valid_at, as_of.known_at)
        judged, fact = self._judged(as_of.known_at), f"{FACT}_{self._ledger}"
        found: dict[EntityId, list[Edge]] = {}
        for entity in dict.fromkeys(entities):
            place = decoding.place(entity, ENTITY, self._ledger)
            if place is None:
                continue
            rows = self._connection.all("edges_from", (self._scope_pk, *place, *instants, limit, judged))
            about = [
                Edge(FactId(f"{fact}_{position}_{ordinal}"), entity, target, since)
                for position, ordinal, target, since in rows
            ]
            if len(about) < limit:
                own = sum(edge.target == entity for edge in about)  # come again, for they point at it too
                key = value_key(entity_value(entity))
                asked = (self._scope_pk, key, *instants, limit - len(about) + own, judged)
                pointing = self._pointing(self._connection.all("edges_to", asked))
                about += [edge for edge in pointing if edge.subject != entity]
            if about:
                found[entity] = about[:limit]
        return found

    def facts(self, ids: Sequence[FactId], known_at: Instant) -> Mapping[FactId, Fact]:
        places = {place: id for id in ids if (place := decoding.place(id, FACT, self._ledger)) is not None}
        found = self._facts_at(places, known_at)
        return {places[place]: fact for place, fact in found.items()}

    def entity_edges(self, slots: Sequence[Slot], as_of: AsOf, *, limit: int) -> Sequence[FactVersion]:
        judged, found = self._judged(as_of.known_at), list[FactVersion]()
        for slot in slots:
            place = decoding.place(slot.subject, ENTITY, self._ledger)
            if slot.scope != self._scope or place is None:
                continue
            if len(found) >= limit:
                break
            asked = (self._scope_pk, *place, slot.predicate, as_of.valid_at, as_of.known_at, limit - len(found), judged)
            rows = self._connection.all("entity_edges", (*asked, slot.language))
            found += [decoding.version(self._ledger, slot, row) for row in rows]
        return found

    # ---- what these are made of

    def _pointing(self, rows: Iterable[Row]) -> list[Edge]:
        """Of (position, ordinal, target, recorded_from, subject position, subject ordinal)."""
        fact, entity = f"{FACT}_{self._ledger}", f"{ENTITY}_{self._ledger}"
        return [
            Edge(FactId(f"{fact}_{row[0]}_{row[1]}"), EntityId(f"{entity}_{row[4]}_{row[5]}"), row[2], row[3])
            for row in rows
        ]
