"""What a snapshot answers about claims and slots."""

from collections.abc import Collection, Mapping, Sequence

from graph import decoding
from graph.neo4j_store import codec, keys
from graph.neo4j_store.codec import Row
from graph.neo4j_store.snapshot import Snapshot
from graph.ports import BEFORE_ALL, OrderKey
from ontology.claims import Lifecycle, Source, Told
from ontology.errors import NotFound, shown
from ontology.events import SlotHead
from ontology.facts import FactVersion, Slot
from ontology.ids import CLAIM, ENTITY, FACT, ClaimId, EntityId, EpisodeId, FactId
from ontology.instants import Instant


class ClaimReads(Snapshot):
    """The part of a reader that answers with claims and slot heads."""

    __slots__ = ()

    def evidence(self, version: FactVersion, known_at: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        return self._evidence([version], known_at, limit, after).get(version.id, [])

    def first_evidence(
        self, versions: Sequence[FactVersion], known_at: Instant, *, limit: int
    ) -> Mapping[FactId, list[Told]]:
        return self._evidence(versions, known_at, limit, None)

    def claims(self, subject: EntityId, predicate: str | None, *, limit: int, after: OrderKey | None) -> list[Told]:
        paging = {"after": list(after or BEFORE_ALL)[:2], "limit": limit, "position": self._head.position}
        return self._tell(self._run("claims_of_subject", self._about(subject, predicate) | paging))

    def claim(self, id: ClaimId) -> Told:
        place = self._place_key(id, CLAIM)
        asked = {"place": place, "scope": self._scope_key, "position": self._head.position}
        found = [] if place is None else self._tell(self._run("claim", asked))
        if not found:
            raise NotFound(f"no claim {shown(id)} here")
        return found[0]

    def claims_of_episode(self, id: EpisodeId) -> list[Told]:
        asked = {"scope": self._scope_key, "episode": id, "position": self._head.position}
        return self._tell(self._run("claims_of_episode", asked))

    def claims_of_source(self, source: Source) -> list[Told]:
        asked = {"scope": self._scope_key, "source": source, "position": self._head.position}
        return self._tell(self._run("claims_of_source", asked))

    def held(
        self, states: Collection[Lifecycle], rule: str | None, *, limit: int, after: OrderKey | None
    ) -> list[Told]:
        asked = {
            "scope": self._scope_key,
            "states": [state.value for state in states],
            "rule": rule,
            "after": list(after or BEFORE_ALL)[:2],
            "limit": limit,
            "position": self._head.position,
        }
        return self._tell(self._run("held", asked))

    def held_counts(self) -> dict[tuple[Lifecycle, str], int]:
        rows = self._run("held_counts", {"scope": self._scope_key, "position": self._head.position})
        return {(Lifecycle(state), rule): count for state, rule, count in rows}

    def overdue(self, now: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        paging = {"limit": limit, "after": list(after or BEFORE_ALL), "position": self._head.position}
        asked = {"scope": self._scope_key, "now": now} | paging
        return self._tell(self._run("overdue", asked))

    def slot_heads(self, slots: Sequence[Slot]) -> dict[Slot, SlotHead]:
        asked = [keys.slot_key(slot) for slot in slots if self._is_here(slot)]
        if not asked:
            return {}
        rows = self._run("slot", {"slots": asked, "position": self._head.position})
        return {head.slot: head for head in self._heads(rows)}

    def slots_of(self, subject: EntityId, predicate: str | None) -> list[SlotHead]:
        about = self._about(subject, predicate)
        return self._heads(self._run("slots_of", about | {"position": self._head.position}))

    def slots(self, predicate: str | None, *, limit: int, after: Slot | None) -> list[SlotHead]:
        last: list[object] = [-1, -1, "", ""]
        if after is not None:
            place = decoding.place(after.subject, ENTITY, self._ledger) or (-1, -1)
            last = [*place, after.predicate, after.language]
        asked = {"scope": self._scope_key, "after": last, "limit": limit, "position": self._head.position}
        if predicate is None:
            return self._heads(self._run("slots_after", asked))
        return self._heads(self._run("slots_of_predicate_after", asked | {"predicate": predicate}))

    def _heads(self, rows: Sequence[Row]) -> list[SlotHead]:
        """The heads behind rows of `slot`; of those that changed since the snapshot, what they were in it."""
        position = self._head.position
        changed = [row[0] for row in rows if row[5] > position]
        if changed:
            then = {row[0]: row for row in self._run("slot_as_of", {"slots": changed, "position": position})}
            rows = [[*row[:5], *_head_columns(then[row[0]]), *row[11:13]] if row[0] in then else row for row in rows]
        return [decoding.slot_head(decoding.slot(self._ledger, self._scope, row[1:5]), row[5:13]) for row in rows]

    def _evidence(
        self, versions: Sequence[FactVersion], known_at: Instant, limit: int, after: OrderKey | None
    ) -> dict[FactId, list[Told]]:
        until = min(known_at, self._head.recorded_at)
        asked = [
            [number, place, each.valid_from, each.valid_to, min(until, each.recorded_to - 1)]
            for number, each in enumerate(versions)
            if self._is_here(each.slot) and (place := self._place_key(each.id, FACT)) is not None
        ]
        paging = {"scope": self._scope_key, "after": list(after or BEFORE_ALL), "limit": limit}
        rows = self._run("evidence", {"asked": asked} | paging) if asked else []
        found: dict[FactId, list[Told]] = {}
        for row, told in zip(rows, self._tell(rows), strict=True):
            found.setdefault(versions[row[-1]].id, []).append(told)
        return {id: sorted(each, key=lambda told: told.claim.entry.order) for id, each in found.items()}

    def _tell(self, rows: Sequence[Row]) -> list[Told]:
        return [decoding.told(self._ledger, self._scope, codec.told(row, self._head.position)) for row in rows]


def _head_columns(row: Row) -> Row:
    """The first six columns of a slot's head from a row of `slot_as_of`; the other two are bounds, good then too."""
    _, version, last, functional, plain = row
    return [version, *(last or (None, None, None)), functional, plain]
