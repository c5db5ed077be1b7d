"""What a snapshot knows of what was forgotten, and how forgetting is written."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

import orjson

from graph import decoding
from graph.forgetting import KeptAnswer
from graph.naming import NAMING
from graph.sqlite_store.claims import ClaimReads
from graph.sqlite_store.connection import Connection
from graph.sqlite_store.keys import Keys
from graph.sqlite_store.passages import PassagesOfCommits
from graph.sqlite_store.sessions import let_go
from graph.tombstones import tombstone_row
from ontology.claims import Source, Told
from ontology.episodes import Kept, RecordedEpisode
from ontology.events import Destroyed, Removal
from ontology.ids import CLAIM, EPISODE, FACT, EntityId, EpisodeId, Owner, is_recorded, kind_of, locate
from ontology.instants import Instant
from ontology.operations import operation_of
from ontology.tombstones import Lift, Mark, Tombstone
from ontology.values import ValueKey

WIPE = ("erase_transitions", "erase_quotes", "erase_claims", "erase_versions", "erase_extents", "erase_support")
"""What goes with a slot, in order."""


def blanked(principal: str, key: str) -> str:
    """What stands for an idempotency key whose answer was forgotten."""
    framed = f"{principal}\x1f{key}".encode("utf-8", "surrogatepass")
    return f"\x1f{blake2b(framed, digest_size=16).hexdigest()}"


class ForgettingReads(ClaimReads):
    """The part of a reader that answers for what is gone."""

    __slots__ = ()

    def tombstones(self, *, limit: int, after: int) -> list[Tombstone]:
        return self._stones(self._connection.all("tombstones", (self._tenant_pk, after, limit)))

    def tombstone_of(self, id: str) -> Tombstone | None:
        kind = kind_of(id)
        place = None if kind is None else decoding.place(id, kind, self._ledger)
        if place is None:
            return None
        found = self._stones(self._connection.all("tombstone_of", (self._tenant_pk, kind, *place)))
        return found[0] if found else None

    def marked(self, marks: Sequence[Mark]) -> dict[Mark, Tombstone]:
        rows = {mark: self._connection.all("marked", (self._tenant_pk, mark.kind, mark.digest)) for mark in marks}
        return {mark: self._stones(found)[0] for mark, found in rows.items() if found}

    def secret(self) -> bytes | None:
        row = self._connection.one("secret", (self._tenant_pk,))
        return None if row is None else row[0]

    def recorded_episodes(self, *, limit: int, after: EpisodeId | None) -> list[RecordedEpisode]:
        place = (-1, -1) if after is None else decoding.place(after, EPISODE, self._ledger) or (-1, -1)
        rows = self._connection.all("recorded_after", (self._tenant_pk, *place, self._scope_pk, limit))
        return [decoding.recorded_episode(self._scope, row) for row in rows]

    def _stones(self, rows: Iterable[Sequence[object]]) -> list[Tombstone]:
        return [decoding.tombstone(self._ledger, self._scope.tenant, row) for row in rows]


class SqliteForgettingTransaction(ForgettingReads):
    """The part of a transaction that only forgetting uses."""

    __slots__ = ()

    def all_of_episode(self, id: EpisodeId) -> list[Told]:
        return self._tell(self._connection.all("all_of_episode", (self._tenant_pk, id, self._scope_pk)))

    def all_of_source(self, source: Source) -> list[Told]:
        return self._tell(self._connection.all("all_of_source", (self._tenant_pk, source, self._scope_pk)))

    def all_of_entity(self, value: ValueKey) -> list[Told]:
        return self._tell(self._connection.all("all_of_entity", (value, self._scope_pk)))

    def kept_answers(self) -> Iterator[KeptAnswer]:
        for pk, receipt, principal, key in self._connection.each("kept_answers", (self._scope.tenant,)):
            yield KeptAnswer(handle=(pk, blanked(principal, key)), receipt=receipt)

    def blank_answers(self, handles: Sequence[object]) -> None:
        self._connection.many("blank_answer", [handle for handle in handles if isinstance(handle, tuple)])

    def end_reading(self, episodes: Sequence[EpisodeId], reason: str, now: Instant) -> None:
        for id in episodes:
            place = decoding.place(id, EPISODE, self._ledger)
            if place is not None:
                key = (self._tenant_pk, *place)
                self._connection.many("end_reading", [(*key, reason, now)])
                self._connection.many("next_of_lane", [key])
                self._connection.many("leave_lane", [(*key, f"episode|{id}")])
                let_go(self._connection, self._scope.tenant, operation_of(id), now)

    def forget_readings(self, episodes: Sequence[EpisodeId], now: Instant) -> None:
        for id in episodes:
            place = decoding.place(id, EPISODE, self._ledger)
            if place is not None:
                self._connection.many("forget_readings", [(self._tenant_pk, *place)])
                let_go(self._connection, self._scope.tenant, operation_of(id), now)


class Forgetting:
    """What one commit forgets, on its way out of the tables."""

    def __init__(self, connection: Connection, keys: Keys, passages: PassagesOfCommits) -> None:
        self._connection = connection
        self._keys = keys
        self._passages = passages

    def forget(self, stones: Iterable[Tombstone], removals: Iterable[Removal]) -> None:
        """Take out what a commit names, before anything of it is written."""
        for stone in stones:
            for owner in stone.destroyed:
                self._forget_owner(owner)
        for removal in removals:
            self._remove(removal)

    def destroy(self, destroyed: Destroyed) -> None:
        """Take out what only this store holds of it, once all is written."""
        tenant = self._keys.tenant
        rows = [(tenant, position, *self._keys.owner(owner)) for position, owner in destroyed.payloads]
        self._connection.many("destroy_payload", rows)
        self._connection.many("forget_episode", [(tenant, id) for id in destroyed.cited])
        self._connection.many("empty_kept", [self._emptied(kept) for kept in destroyed.emptied])
        for kept in destroyed.emptied:
            self._passages.words_gone(kept.episode)
        self._connection.many("sweep_names", [(tenant,)])

    def put(self, stones: Iterable[Tombstone], lifts: Iterable[Lift], secret: bytes | None) -> None:
        tenant = self._keys.tenant
        if secret is not None:
            self._connection.many("put_secret", [(tenant, secret)])
        for stone in stones:
            document = orjson.dumps(tombstone_row(stone)).decode()
            row = (tenant, stone.position, document, stone.actor, stone.recorded_at)
            self._connection.many("put_tombstone", [row])
            gone = [(kind_of(id) or "", id) for id in (*stone.destroyed, *stone.claims, *stone.facts)]
            places = [(tenant, kind, *self._keys.located(id, kind), stone.position) for kind, id in gone]
            self._connection.many("put_forgotten", places)
            marks = [(tenant, mark.kind, mark.digest, stone.position) for mark in stone.marks]
            self._connection.many("put_mark", marks)
            self._connection.many("put_scrub", [()])
        for lift in lifts:
            at = locate(lift.tombstone, "frg").position
            self._connection.many("lift_tombstone", [(tenant, at, lift.actor, lift.position, lift.recorded_at)])

    def _forget_owner(self, owner: Owner) -> None:
        tenant = self._keys.tenant
        if is_recorded(owner):
            self._passages.words_gone(owner)
            self._connection.many("forget_kept", [(tenant, *self._keys.located(owner, EPISODE))])
            return
        place = self._keys.owner(owner)
        slots = self._connection.all("slots_of_entity", (tenant, *place))
        for query in WIPE:
            self._connection.many(query, [(slot, None) for (slot,) in slots])
        for (slot,) in slots:
            self._passages.gone_from(slot)
        self._passages.unnamed(EntityId(owner))
        self._connection.many("erase_slot", slots)
        self._connection.many("forget_entity", [(tenant, *place)])
        self._keys.forget_slots()

    def _remove(self, removal: Removal) -> None:
        slot = self._keys.find_slot(removal.slot, -1)
        if slot is None:  # in a copy, which never had what goes
            return
        tenant = self._keys.tenant
        claims = [self._keys.located(id, CLAIM) for id in removal.claims]
        quotes = claims + [self._keys.located(id, CLAIM) for id in removal.quotes]
        self._connection.many("remove_transitions", [(tenant, *place) for place in claims])
        self._connection.many("remove_quotes", [(tenant, *place) for place in quotes])
        self._connection.many("remove_extents", [(slot, *place) for place in claims])
        self._connection.many("remove_claims", [(tenant, *place) for place in claims])
        versions = [(tenant, *self._keys.located(id, FACT)) for id in removal.versions]
        self._connection.many("remove_versions", versions)
        self._passages.gone_from(slot)
        if removal.slot.predicate in NAMING:
            self._passages.unnamed(removal.slot.subject)
        self._connection.many("remove_support", [(slot,)])
        if self._connection.many("remove_slot", [(slot,)]):
            self._keys.forget_slots()

    def _emptied(self, kept: Kept) -> tuple[object, ...]:
        return (self._keys.tenant, *self._keys.located(kept.episode, EPISODE), kept.content)
