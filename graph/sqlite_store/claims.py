"""What a snapshot answers about claims and slots."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from graph import decoding
from graph.ports import BEFORE_ALL, OrderKey
from graph.sqlite_store.connection import Row
from graph.sqlite_store.snapshot import Snapshot
from ontology.claims import Lifecycle, Source, Told
from ontology.errors import Fault, NotFound, shown
from ontology.events import SlotHead
from ontology.facts import FactVersion, Slot
from ontology.ids import CLAIM, ENTITY, ClaimId, EntityId, EpisodeId, FactId
from ontology.instants import Instant


class ClaimReads(Snapshot):
    """The part of a reader that answers with claims and slot heads."""

    __slots__ = ()

    def evidence(self, version: FactVersion, known_at: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        row = None
        if version.slot.scope == self._scope:
            place = (version.position, version.ordinal)
            row = self._connection.one("version_by_id", (self._tenant_pk, *place, self._scope_pk))
        if row is None:
            return []
        at = min(known_at, version.recorded_to - 1)
        parameters = (
            self._tenant_pk, row[1], version.value_key, version.valid_from, version.valid_to, at,
            *(after or BEFORE_ALL), limit,
        )  # fmt: skip
        return self._tell(self._connection.all("evidence", parameters))

    def first_evidence(
        self, versions: Sequence[FactVersion], known_at: Instant, *, limit: int
    ) -> Mapping[FactId, list[Told]]:
        found = {each.id: self.evidence(each, known_at, limit=limit, after=None) for each in versions}
        return {id: told for id, told in found.items() if told}

    def claims(self, subject: EntityId, predicate: str | None, *, limit: int, after: OrderKey | None) -> list[Told]:
        about = self._about(subject, predicate)
        if about is None:
            return []
        position, ordinal, _ = after or BEFORE_ALL
        return self._tell(self._connection.all("claims_of_subject", (*about, position, ordinal, limit)))

    def claim(self, id: ClaimId) -> Told:
        place = decoding.place(id, CLAIM, self._ledger)
        told = None if place is None else self._told(place)
        if told is None:
            raise NotFound(f"no claim {shown(id)} here")
        return told

    def claims_of_episode(self, id: EpisodeId) -> list[Told]:
        return self._tell(self._connection.all("claims_of_episode", (self._tenant_pk, id, self._scope_pk)))

    def claims_of_source(self, source: Source) -> list[Told]:
        return self._tell(self._connection.all("claims_of_source", (self._tenant_pk, source, self._scope_pk)))

    def held(
        self, states: Collection[Lifecycle], rule: str | None, *, limit: int, after: OrderKey | None
    ) -> list[Told]:
        first, *rest = sorted(states)
        position, ordinal, _ = after or BEFORE_ALL
        parameters = (self._scope_pk, position, ordinal, rule, first, rest[0] if rest else first, limit)
        return self._tell(self._connection.all("held", parameters))

    def held_counts(self) -> dict[tuple[Lifecycle, str], int]:
        rows = self._connection.all("held_counts", (self._scope_pk,))
        return {(Lifecycle(state), rule): count for state, rule, count in rows}

    def overdue(self, now: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        parameters = (self._tenant_pk, self._scope_pk, now, *(after or BEFORE_ALL), limit)
        return self._tell(self._connection.all("overdue", parameters))

    def slot_heads(self, slots: Sequence[Slot]) -> dict[Slot, SlotHead]:
        if len(slots) == 1:
            row = self._slot_row(slots[0])
            return {} if row is None else {slots[0]: decoding.slot_head(slots[0], row[5:13])}
        own = [slot for slot in slots if slot.scope == self._scope]
        places = [decoding.place(slot.subject, ENTITY, self._ledger) or (-1, -1) for slot in own]
        asked = [(*place, slot.predicate, slot.language) for place, slot in zip(places, own, strict=True)]
        rows = self._connection.all("slot_heads", (json.dumps(asked, ensure_ascii=False), self._scope_pk))
        return {own[row[0]]: decoding.slot_head(own[row[0]], row[5:13]) for row in rows}

    def slots_of(self, subject: EntityId, predicate: str | None) -> list[SlotHead]:
        about = self._about(subject, predicate)
        return [] if about is None else self._heads(self._connection.all("slots_of", about))

    def slots(self, predicate: str | None, *, limit: int, after: Slot | None) -> list[SlotHead]:
        last: tuple[int, int, str, str] = (-1, -1, "", "")
        if after is not None:
            place = decoding.place(after.subject, ENTITY, self._ledger) or (-1, -1)
            last = (*place, after.predicate, after.language)
        if predicate is None:
            return self._heads(self._connection.all("slots_after", (self._scope_pk, *last, limit)))
        return self._heads(self._connection.all("slots_of_predicate_after", (self._scope_pk, *last, limit, predicate)))

    def _heads(self, rows: Iterable[Row]) -> list[SlotHead]:
        return [decoding.slot_head(decoding.slot(self._ledger, self._scope, row[1:5]), row[5:13]) for row in rows]

    def _tell(self, places: Iterable[Row]) -> list[Told]:
        """The claims behind rows of (position, ordinal)."""
        found = [self._told(row) for row in places]
        if any(told is None for told in found):
            raise Fault("a claim is gone from inside its snapshot")
        return [told for told in found if told is not None]

    def _told(self, place: Row) -> Told | None:
        row = self._connection.one("claim", (self._tenant_pk, *place, self._scope_pk))
        if row is None:
            return None
        *columns, transitions = row
        return decoding.told(self._ledger, self._scope, (*columns, sorted(json.loads(transitions))))
