"""What a snapshot knows of what was forgotten, and how forgetting is written."""

from collections.abc import Iterable, Iterator, Sequence

import orjson

from graph import decoding
from graph.forgetting import KeptAnswer
from graph.naming import NAMING
from graph.neo4j_store import keys
from graph.neo4j_store.claims import ClaimReads
from graph.neo4j_store.codec import Row
from graph.neo4j_store.rows import Rows
from graph.neo4j_store.sessions import let_go
from graph.neo4j_store.snapshot import Run
from graph.tombstones import tombstone_row
from ontology.claims import Source, Told
from ontology.episodes import RecordedEpisode
from ontology.events import Destroyed, Removal
from ontology.ids import CLAIM, ENTITY, EPISODE, FACT, TOMBSTONE, EpisodeId, Owner, is_recorded, kind_of, locate
from ontology.instants import Instant
from ontology.operations import operation_of
from ontology.scope import Tenant
from ontology.tombstones import Lift, Mark, Tombstone
from ontology.values import ValueKey

WIPE = (
    "remove_statements", "erase_transitions", "erase_claims", "erase_versions", "erase_values", "erase_extents",
    "erase_support",
)  # fmt: skip
"""What goes with a slot, in order."""


class ForgettingReads(ClaimReads):
    """The part of a reader that answers for what is gone."""

    __slots__ = ()

    def tombstones(self, *, limit: int, after: int) -> list[Tombstone]:
        return self._stones(self._run("tombstones", self._until() | {"limit": limit, "after": after}))

    def tombstone_of(self, id: str) -> Tombstone | None:
        kind = kind_of(id)
        place = None if kind is None else decoding.place(id, kind, self._ledger)
        if kind is None or place is None:
            return None
        asked = {"id": _gone_key(self._scope.tenant, kind, place), "position": self._head.position}
        found = self._stones(self._run("tombstone_of", asked))
        return found[0] if found else None

    def marked(self, marks: Sequence[Mark]) -> dict[Mark, Tombstone]:
        asked = {_mark_key(self._scope.tenant, mark): mark for mark in marks}
        rows = self._run("marked", {"marks": list(asked), "position": self._head.position}) if asked else []
        return {asked[row[7]]: self._stones([row[:7]])[0] for row in rows}

    def secret(self) -> bytes | None:
        rows = self._run("secret", {"tenant": self._scope.tenant})
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def recorded_episodes(self, *, limit: int, after: EpisodeId | None) -> list[RecordedEpisode]:
        place = (-1, -1) if after is None else decoding.place(after, EPISODE, self._ledger) or (-1, -1)
        asked = {"after": list(place), "limit": limit, "scope": self._scope_key, "ledger": self._ledger}
        rows = self._run("recorded_after", self._until() | asked)
        return [decoding.recorded_episode(self._scope, [*row[:6], *(row[6] or [None] * 4)]) for row in rows]

    def _until(self) -> dict[str, object]:
        return {"tenant": self._scope.tenant, "position": self._head.position}

    def _stones(self, rows: Iterable[Row]) -> list[Tombstone]:
        return [decoding.tombstone(self._ledger, self._scope.tenant, row) for row in rows]


class Neo4jForgettingTransaction(ForgettingReads):
    """The part of a transaction that only forgetting uses."""

    __slots__ = ()

    def all_of_episode(self, id: EpisodeId) -> list[Told]:
        return self._tell(self._run("all_of_episode", {"scope": self._scope_key, "episode": id}))

    def all_of_source(self, source: Source) -> list[Told]:
        return self._tell(self._run("all_of_source", {"scope": self._scope_key, "source": source}))

    def all_of_entity(self, value: ValueKey) -> list[Told]:
        asked = {"scope": self._scope_key, "tenant": self._scope.tenant, "value": value.hex()}
        return self._tell(self._run("all_of_entity", asked))

    def kept_answers(self) -> Iterator[KeptAnswer]:
        for key, receipt in self._run("kept_answers", {"tenant": self._scope.tenant}):
            yield KeptAnswer(handle=key, receipt=bytes(receipt))

    def blank_answers(self, handles: Sequence[object]) -> None:
        self._run("blank_answer", {"keys": list(handles), "empty": b""})

    def end_reading(self, episodes: Sequence[EpisodeId], reason: str, now: Instant) -> None:
        for id in episodes:
            place = self._place_key(id, EPISODE)
            if place is not None:
                self._run("end_reading", {"place": place, "reason": reason, "now": now})
                self._run("next_of_lane", {"place": place})
                lane = keys.lane_key(self._scope.tenant, f"episode|{id}")
                self._run("leave_lane", {"place": place, "lane": lane})
                let_go(self._run, self._scope.tenant, operation_of(id), now)

    def forget_readings(self, episodes: Sequence[EpisodeId], now: Instant) -> None:
        places = (self._place_key(id, EPISODE) for id in episodes)
        self._run("forget_readings", {"places": [place for place in places if place is not None]})
        for id in episodes:
            let_go(self._run, self._scope.tenant, operation_of(id), now)


class Forgetting:
    """What one commit forgets, on its way out of the graph."""

    def __init__(self, run: Run, tenant: Tenant, rows: Rows) -> None:
        self._run = run
        self._tenant = tenant
        self._rows = rows

    def forget(self, stones: Iterable[Tombstone], removals: Sequence[Removal]) -> None:
        """Take out what a commit names, before anything of it is written."""
        for removal in removals:  # a fact that points at an entity goes with it, and is what its statement is found by
            versions = [self._rows.place(id, FACT) for id in removal.versions]
            self._run("remove_statements_of_facts", {"places": versions})
        for stone in stones:
            for owner in stone.destroyed:
                self._forget_owner(owner)
        for removal in removals:
            self._remove(removal)

    def destroy(self, destroyed: Destroyed) -> None:
        """Take out what only this store holds of it, once all is written."""
        rows = [[position, self._rows.owner(owner)] for position, owner in destroyed.payloads]
        self._run("destroy_payload", {"tenant": self._tenant, "rows": rows})
        self._run("forget_episode", {"tenant": self._tenant, "episodes": list(destroyed.cited)})
        emptied = [
            [self._rows.place(kept.episode, EPISODE), keys.content_key(kept.scope, kept.content), kept.content]
            for kept in destroyed.emptied
        ]
        self._run("empty_kept", {"rows": emptied})
        self._run("remove_chunks", {"places": [row[0] for row in emptied]})

    def forget_name(self, scope: str | None, place: str) -> None:
        """Take away the texts in which a name of the entity at a place may stand; they are to be written anew."""
        for query in ("remove_texts_around", "remove_vectors_around"):
            self._run(query, {"rows": [[scope, place]]})

    def put(self, stones: Iterable[Tombstone], lifts: Iterable[Lift], secret: bytes | None) -> None:
        tenant = self._tenant
        if secret is not None:
            self._run("put_secret", {"tenant": tenant, "secret": secret})
        for stone in stones:
            document = orjson.dumps(tombstone_row(stone)).decode()
            row = {
                "tenant": tenant, "position": stone.position, "document": document, "actor": stone.actor,
                "recorded_at": stone.recorded_at,
            }  # fmt: skip
            self._run("put_tombstone", {"row": row})
            places = [locate(id, kind_of(id) or "") for id in (*stone.destroyed, *stone.claims, *stone.facts)]
            kinds = [kind_of(id) or "" for id in (*stone.destroyed, *stone.claims, *stone.facts)]
            gone = [
                [_gone_key(tenant, kind, (place.position, place.ordinal)), stone.position]
                for kind, place in zip(kinds, places, strict=True)
            ]
            self._run("put_forgotten", {"tenant": tenant, "rows": gone})
            marks = [[_mark_key(tenant, mark), stone.position] for mark in stone.marks]
            self._run("put_mark", {"tenant": tenant, "rows": marks})
        for lift in lifts:
            at = locate(lift.tombstone, TOMBSTONE).position
            lifted = {"actor": lift.actor, "at": lift.position, "recorded_at": lift.recorded_at}
            self._run("lift_tombstone", {"tenant": tenant, "stone": at, **lifted})

    def _forget_owner(self, owner: Owner) -> None:
        if is_recorded(owner):
            self._run("forget_kept", {"place": self._rows.place(owner, EPISODE)})
            self._run("remove_chunks", {"places": [self._rows.place(owner, EPISODE)]})
            return
        place = self._rows.place(owner, ENTITY)
        self.forget_name(None, place)
        slots = [row[0] for row in self._run("slots_of_entity", {"place": place})]
        for query in WIPE:
            self._run(query, {"slots": slots, "value": None})
        self._run("erase_slot", {"slots": slots})
        self._run("forget_entity", {"place": place})

    def _remove(self, removal: Removal) -> None:
        slot = keys.slot_key(removal.slot)
        claims = [self._rows.place(id, CLAIM) for id in removal.claims]
        self._run("remove_transitions", {"places": claims})
        self._run("remove_quotes", {"places": claims + [self._rows.place(id, CLAIM) for id in removal.quotes]})
        self._run("remove_extents", {"places": claims})
        self._run("remove_claims", {"places": claims})
        self._run("remove_versions", {"places": [self._rows.place(id, FACT) for id in removal.versions]})
        if removal.slot.predicate in NAMING:
            self.forget_name(keys.scope_key(removal.slot.scope), self._rows.place(removal.slot.subject, ENTITY))
        for query in ("remove_values", "remove_support", "remove_slot"):
            self._run(query, {"slot": slot})


def _gone_key(tenant: Tenant, kind: str, place: tuple[int, int]) -> str:
    return f"{kind}|{keys.place_key(tenant, place)}"


def _mark_key(tenant: Tenant, mark: Mark) -> str:
    return f"{tenant}|{mark.kind.value}|{mark.digest.hex()}"
