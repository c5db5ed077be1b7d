"""One consistent snapshot of one scope: the store's `Reader`."""

import json
from collections.abc import Sequence
from typing import Final

from graph import decoding
from graph.neo4j_store import keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.database import translating
from graph.neo4j_store.forgetting import ForgettingReads
from graph.neo4j_store.searching import Neo4jSearchReads
from graph.neo4j_store.walking import WalkReads
from graph.ports import Answered
from graph.ports import Reader as ReaderPort
from ontology.claims import Entity
from ontology.events import Event, Payload
from ontology.facts import AsOf
from ontology.ids import ENTITY, EntityId
from ontology.schema import Schema
from ontology.schema_document import schema_from_document
from ontology.values import Value, ValueType, value_key

_BATCH: Final = 500


class Neo4jReader(WalkReads, Neo4jSearchReads, ForgettingReads):
    """What may be asked of a snapshot."""

    __slots__ = ()

    def schema(self) -> Schema | None:
        rows = self._run("newest_schema", {"tenant": self._scope.tenant, "position": self._head.position})
        return schema_from_document(json.loads(rows[0][0])) if rows else None

    # ---- entities

    def entities_by_key(self, keys: Sequence[str]) -> dict[str, Entity]:
        rows = self._run("entity_by_key", self._here() | {"keys": list(keys)}) if keys else []
        return {row[2]: self._entity(row) for row in rows}

    def entities_by_id(self, ids: Sequence[EntityId]) -> dict[EntityId, Entity]:
        places = [place for id in ids if (place := self._place_key(id, ENTITY)) is not None]
        rows = self._run("entity_by_id", self._here() | {"places": places}) if places else []
        return {entity.id: entity for entity in map(self._entity, rows)}

    def list_entities(
        self, as_of: AsOf, *, type: str | None, name: str | None, limit: int, after: EntityId | None
    ) -> list[Entity]:
        place = (-1, -1) if after is None else decoding.place(after, ENTITY, self._ledger) or (-1, -1)
        found: list[Entity] = []
        while len(found) < limit:
            rows = self._candidates(as_of, type, name, place)
            found += [self._entity(row) for row in rows if row[3]]
            if len(rows) < _BATCH:
                break
            place = rows[-1][0], rows[-1][1]
        return found[:limit]

    # ---- the journal, and what was answered before

    def events(self, *, after: int, limit: int) -> list[tuple[Event, tuple[Payload, ...]]]:
        asked = {"tenant": self._scope.tenant, "after": after, "limit": limit, "position": self._head.position}
        return [self._event(row) for row in self._run("events_after", asked)]

    def answered(self, principal: str, key: str) -> Answered | None:
        rows = self._run("answered", {"key": keys.answer_key(self._scope.tenant, principal, key)})
        return Answered(request=bytes(rows[0][0]), receipt=bytes(rows[0][1])) if rows else None

    # ---- what these are made of

    def _here(self) -> dict[str, object]:
        scope = self._scope
        return {"tenant": scope.tenant, "namespace": scope.namespace, "position": self._head.position}

    def _entity(self, row: Row) -> Entity:
        return decoding.entity(self._ledger, self._scope.namespace, row)

    def _candidates(self, as_of: AsOf, type: str | None, name: str | None, after: tuple[int, int]) -> list[Row]:
        """The next entities, in order, with whether each is in the list."""
        known_at = min(as_of.known_at, self._head.recorded_at)
        parameters = self._here() | {
            "scope": self._scope_key,
            "valid_at": as_of.valid_at,
            "known_at": known_at,
            "served_at": self._serving.judged_at(as_of.known_at),
            "after": list(after),
            "limit": _BATCH,
        }
        if name is None and type is None:
            return self._run("entities_after", parameters)
        held, predicates = (type, ["type"]) if name is None else (name, ["name", "alias"])
        also = None if name is None or type is None else self._text_key(type)
        parameters |= {"held": self._text_key(held or ""), "predicates": predicates, "type": also}
        return self._run("subjects_holding", parameters)

    def _text_key(self, text: str) -> str:
        with translating():
            return keys.held_key(self._scope, value_key(Value(type=ValueType.TEXT, text=text, qualifier="")))

    def _event(self, row: Row) -> tuple[Event, tuple[Payload, ...]]:
        return decoding.event(self._ledger, row[:7], row[7])


_conforms: type[ReaderPort] = Neo4jReader
