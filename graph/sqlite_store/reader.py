"""One consistent snapshot of one scope: the store's `Reader`."""

import json
from collections.abc import Sequence

from graph import decoding
from graph.ports import Answered, Page
from graph.ports import Reader as ReaderPort
from graph.sqlite_store.connection import Row, translated
from graph.sqlite_store.forgetting import ForgettingReads, blanked
from graph.sqlite_store.searching import SqliteSearchReads
from graph.sqlite_store.walking import WalkReads
from ontology.claims import Entity
from ontology.events import Event, Payload
from ontology.facts import AsOf
from ontology.ids import ENTITY, EntityId, Place, entity_id
from ontology.schema import Schema
from ontology.schema_document import schema_from_document
from ontology.values import Value, ValueType, entity_value, value_key

_BATCH = 500


class SqliteReader(WalkReads, ForgettingReads, SqliteSearchReads):
    """What may be asked of a snapshot."""

    __slots__ = ()

    def schema(self) -> Schema | None:
        row = self._connection.one("newest_schema", (self._tenant_pk,))
        return None if row is None else schema_from_document(json.loads(row[0]))

    # ---- entities

    def entities_by_key(self, keys: Sequence[str]) -> dict[str, Entity]:
        rows = (self._connection.one("entity_by_key", (self._tenant_pk, self._scope.namespace, key)) for key in keys)
        return {row[2]: self._entity(row) for row in rows if row is not None}

    def entities_by_id(self, ids: Sequence[EntityId]) -> dict[EntityId, Entity]:
        places = [place for id in ids if (place := decoding.place(id, ENTITY, self._ledger)) is not None]
        asked = (json.dumps(places), self._tenant_pk, self._scope.namespace)
        found = [self._entity(row) for row in self._connection.all("entity_by_id", asked)] if places else []
        return {entity.id: entity for entity in found}

    def list_entities(
        self, as_of: AsOf, *, type: str | None, name: str | None, limit: int, after: EntityId | None
    ) -> list[Entity]:
        place = (-1, -1) if after is None else decoding.place(after, ENTITY, self._ledger) or (-1, -1)
        found: list[Entity] = []
        while len(found) < limit:
            rows = self._candidates(as_of, type, name, place)
            found += [self._entity(row) for row in rows if self._fits(row, as_of, type, name)]
            if len(rows) < _BATCH:
                break
            place = rows[-1][0], rows[-1][1]
        return found[:limit]

    # ---- the journal, and what was answered before

    def events(self, *, after: int, limit: int) -> list[tuple[Event, tuple[Payload, ...]]]:
        return [self._event(row) for row in self._connection.all("events_after", (self._tenant_pk, after, limit))]

    def answered(self, principal: str, key: str) -> Answered | None:
        row = self._connection.one("answered", (self._scope.tenant, principal, key, blanked(principal, key)))
        return None if row is None else Answered(request=row[0], receipt=row[1])

    # ---- what these are made of

    def _entity(self, row: Row) -> Entity:
        return decoding.entity(self._ledger, self._scope.namespace, row)

    def _candidates(self, as_of: AsOf, type: str | None, name: str | None, after: tuple[int, int]) -> list[Row]:
        """The next entities, in order, that can be in the list: those of the name, else of the type, else all."""
        if name is None and type is None:
            return self._connection.all("entities_after", (self._tenant_pk, self._scope.namespace, *after, _BATCH))
        text, predicates = (type, ("type", "type")) if name is None else (name, ("name", "alias"))
        parameters = (
            self._tenant_pk, self._scope_pk, _text_key(text or ""), *predicates,
            as_of.valid_at, as_of.known_at, *after, _BATCH, self._judged(as_of.known_at),
        )  # fmt: skip
        return self._connection.all("subjects_holding", parameters)

    def _fits(self, row: Row, as_of: AsOf, type: str | None, name: str | None) -> bool:
        """Whether a candidate shows in this scope and has the type that `_candidates` did not look at."""
        instants = (as_of.valid_at, as_of.known_at, self._judged(as_of.known_at))
        subject = (self._scope_pk, row[0], row[1])
        if name is not None:
            if type is None:
                return True
            return self._connection.one("is_held", (*subject, "type", _text_key(type), *instants)) is not None
        id = entity_id(Place(self._ledger, row[0], row[1]))
        if type is not None or self.state([(id, None)], as_of, certain=False, page=Page(1)):
            return True
        pointed = value_key(entity_value(id))
        return self._connection.one("is_value", (self._scope_pk, pointed, *instants)) is not None

    def _event(self, row: Row) -> tuple[Event, tuple[Payload, ...]]:
        return decoding.event(self._ledger, row[1:], self._connection.all("payloads_of_event", row[:1]))


def _text_key(text: str) -> bytes:
    try:
        return value_key(Value(type=ValueType.TEXT, text=text, qualifier=""))
    except UnicodeEncodeError as exc:
        raise translated(exc) from exc


_conforms: type[ReaderPort] = SqliteReader
