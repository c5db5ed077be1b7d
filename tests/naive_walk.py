"""What a walk asks, over plain lists: the part of the naive store that tells of edges."""

from collections.abc import Mapping, Sequence

from graph.walking import Edge
from ontology.facts import AsOf, Fact, FactVersion, Slot
from ontology.ids import EntityId, FactId
from ontology.instants import Instant
from ontology.values import ValueType


class NaiveWalkReads:
    def _versions(self) -> list[FactVersion]:
        raise NotImplementedError

    def _is_served(self, version: FactVersion, known_at: Instant) -> bool:
        raise NotImplementedError

    def _fact(self, version: FactVersion, known_at: Instant) -> Fact:
        raise NotImplementedError

    def around(self, entities: Sequence[EntityId], as_of: AsOf, *, limit: int) -> Mapping[EntityId, Sequence[Edge]]:
        visible = sorted(self._seen(as_of), key=_order, reverse=True)
        found = {}
        for entity in entities:
            about = [v for v in visible if v.slot.subject == entity]
            pointing = [v for v in visible if _target(v) == entity and v.slot.subject != entity]
            found[entity] = [
                Edge(v.id, v.slot.subject, _target(v), v.recorded_from) for v in [*about, *pointing][:limit]
            ]
        return {entity: edges for entity, edges in found.items() if edges}

    def facts(self, ids: Sequence[FactId], known_at: Instant) -> Mapping[FactId, Fact]:
        return {v.id: self._fact(v, known_at) for v in self._versions() if v.id in ids}

    def entity_edges(self, slots: Sequence[Slot], as_of: AsOf, *, limit: int) -> Sequence[FactVersion]:
        visible = sorted((v for v in self._seen(as_of) if _target(v) is not None), key=_order)
        return [v for slot in slots for v in visible if v.slot == slot][:limit]

    def _seen(self, as_of: AsOf) -> list[FactVersion]:
        return [v for v in self._versions() if v.visible_at(as_of) and self._is_served(v, as_of.known_at)]


def _target(version: FactVersion) -> EntityId | None:
    return EntityId(version.value.text) if version.value.type is ValueType.ENTITY else None


def _order(version: FactVersion) -> tuple[int, int, int]:
    return version.valid_from, version.recorded_from, version.ordinal
