"""What a walk asks of a snapshot in SQLite: edges entity by entity, whole facts many at once."""

import json
from collections.abc import Iterable, Mapping, Sequence

from graph import decoding
from graph.sqlite_store.connection import Row
from graph.sqlite_store.facts import FactReads
from graph.walking import Edge
from ontology.facts import AsOf, Fact, FactVersion, Slot, known_ends
from ontology.ids import ENTITY, FACT, EntityId, FactId, Place, entity_id, fact_id
from ontology.instants import OPEN_END, Instant
from ontology.values import entity_value, value_key


class WalkReads(FactReads):
    """The part of a reader that walks stand on."""

    __slots__ = ()

    def around(self, entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        instants = (as_of.valid_at, as_of.known_at)
        judged = self._judged(as_of.known_at)
        found: dict[EntityId, list[Edge]] = {}
        for entity in dict.fromkeys(entities):
            place = decoding.place(entity, ENTITY, self._ledger)
            if place is None:
                continue
            rows = self._connection.all("edges_from", (self._scope_pk, *place, *instants, limit, judged))
            about = [Edge(fact_id(Place(self._ledger, *row[:2])), entity, row[2], row[3]) for row in rows]
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
        places = [place for id in ids if (place := decoding.place(id, FACT, self._ledger)) is not None]
        asked = (json.dumps(places), self._tenant_pk, self._scope_pk, known_at)
        rows = self._connection.all("facts", asked) if places else []
        ends = self._ends_of([row[22] for row in rows if not row[16]], known_at)
        expiries = self._expiries_of([row[22] for row in rows if row[21] < OPEN_END], known_at)
        slots = {row[11]: row[12:16] for row in rows}  # far fewer than facts
        named = {pk: decoding.slot(self._ledger, self._scope, row) for pk, row in slots.items()}
        return {fact.version.id: fact for fact in (self._whole(row, named[row[11]], ends, expiries) for row in rows)}

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
        ledger = self._ledger
        return [
            Edge(fact_id(Place(ledger, *row[:2])), entity_id(Place(ledger, *row[4:])), row[2], row[3]) for row in rows
        ]

    def _whole(
        self, row: Row, slot: Slot, ends: Mapping[int, tuple[list[int], list[int]]], expiries: Mapping[int, Instant]
    ) -> Fact:
        version = decoding.version(self._ledger, slot, row[:11])
        support = decoding.support(slot, version.value_key, row[17:21], version.recorded_from)
        expires_at = expiries.get(row[22], OPEN_END)
        if row[16]:
            return decoding.plain_fact(version, support, expires_at)
        start, end = known_ends(version, *ends[row[22]])
        return Fact(version=version, start=start, end=end, support=support, expires_at=expires_at)

    def _ends_of(self, versions: Sequence[int], known_at: Instant) -> Mapping[int, tuple[list[int], list[int]]]:
        """For each version the kinds of start of the claims that show at its first instant, and the kinds of end of
        those that show at its last."""
        found: dict[int, tuple[list[int], list[int]]] = {version: ([], []) for version in versions}
        if versions:
            asked = (json.dumps(versions), self._tenant_pk, known_at)
            for version, side, kind in self._connection.all("edges_of_facts", asked):
                found[version][side].append(kind)
        return found

    def _expiries_of(self, versions: Sequence[int], known_at: Instant) -> Mapping[int, Instant]:
        if not versions:
            return {}
        return dict(self._connection.all("expiry_of_facts", (json.dumps(versions), self._tenant_pk, known_at)))
