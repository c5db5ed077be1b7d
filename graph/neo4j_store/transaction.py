"""A reader under the write lock: what a writer reads of a slot before it decides, and the one commit at the end."""

from collections.abc import Mapping, Sequence
from typing import Final

from graph.neo4j_store import codec, keys
from graph.neo4j_store.access import Neo4jAccessTransaction
from graph.neo4j_store.applying import Applying
from graph.neo4j_store.codec import Row
from graph.neo4j_store.reader import Neo4jReader
from graph.neo4j_store.snapshot import Run
from graph.ports import Answered, Head, Window
from graph.ports import Transaction as TransactionPort
from ontology.claims import Episode, Source, Told
from ontology.entries import Entry
from ontology.events import Commit, Payload
from ontology.facts import Slot, Support
from ontology.ids import ENTITY, ClaimId, EntityId, EpisodeId, Ledger, Place, claim_id
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.line import Extent
from ontology.scope import Scope
from ontology.values import ValueKey

_EVERYTHING: Final = Interval(OPEN_START, OPEN_END)


class Neo4jTransaction(Neo4jReader, Neo4jAccessTransaction):
    """What a writer may ask and do; whoever made it commits or rolls back."""

    __slots__ = ("committing",)

    def __init__(self, run: Run, scope: Scope, head: Head) -> None:
        super().__init__(run, scope, head)
        self.committing: Head | None = None
        """Where the ledger will stand once its commit is acknowledged."""

    def window(self, slot: Slot, value: ValueKey | None, around: Interval, margin: int | None) -> Window:
        if not self._is_here(slot):
            return Window(span=_EVERYTHING, versions=(), extents=(), claims={})
        key = keys.slot_key(slot)
        asked: dict[str, object] = {
            "since": around.start, "until": around.end, "margin": max(margin or 1, 1), "all": margin is None,
        }  # fmt: skip
        if value is None:
            found = self._run("window", asked | {"slot": key})
        else:
            found = self._run("window_of_value", asked | {"said": keys.said_key(key, value)})
        start, end, versions, extents = found[0]
        entries: dict[tuple[int, int], Entry] = {}
        for row in extents:
            if (row[2], row[3]) not in entries:
                entries[row[2], row[3]] = codec.entry(row[2:14])
        return Window(
            span=Interval(start, end),
            versions=sorted(
                (codec.version(self._ledger, slot, row, OPEN_END) for row in versions),
                key=lambda v: (v.valid_from, v.recorded_from, v.ordinal),
            ),
            extents=[Extent(entries[row[2], row[3]], row[0], row[1]) for row in extents],
            claims={key: self._claim_id(entry) for key, entry in entries.items()},
        )

    def entries(self, slot: Slot) -> list[tuple[Entry, ClaimId]]:
        rows = self._run("entries", {"slot": keys.slot_key(slot)}) if self._is_here(slot) else []
        return [(entry, self._claim_id(entry)) for entry in map(codec.entry, rows)]

    def support_now(self, slot: Slot, values: Sequence[ValueKey]) -> dict[ValueKey, Support]:
        if not self._is_here(slot):
            return {}
        key = keys.slot_key(slot)
        said = {keys.said_key(key, value): value for value in values}
        rows = self._run("support_now", {"said": list(said)})
        return {said[row[0]]: codec.support(slot, said[row[0]], row[1:5], row[1]) for row in rows}

    def voice(self, slot: Slot, value: ValueKey, root: str, episode: EpisodeId | None) -> tuple[float | None, bool]:
        if not self._is_here(slot):
            return None, False
        said = keys.said_key(keys.slot_key(slot), value)
        cited = None if episode is None else keys.cited_key(said, episode)
        heard, is_cited = self._run("voice_of_root", {"voice": keys.voice_key(said, root), "cited": cited})[0]
        return heard, is_cited

    def repeated(self, slot: Slot, value: ValueKey, episode: EpisodeId) -> list[Told]:
        if not self._is_here(slot):
            return []
        cited = keys.cited_key(keys.said_key(keys.slot_key(slot), value), episode)
        return self._tell(self._run("claims_of_episode_for", {"cited": cited}))

    def episodes(self, ids: Sequence[EpisodeId]) -> dict[EpisodeId, Episode]:
        rows = self._run("episode", {"tenant": self._scope.tenant, "episodes": list(ids)}) if ids else []
        return {
            EpisodeId(row[0]): Episode(id=EpisodeId(row[0]), source=Source(row[1]), observed_at=row[2], root=row[3])
            for row in rows
        }

    def payloads_about(self, subject: EntityId) -> list[tuple[int, Payload]]:
        place = self._place_key(subject, ENTITY)
        rows = [] if place is None else self._run("payloads_about", {"subject": place})
        return [(row[0], _payload(subject, row)) for row in rows]

    def apply(self, commit: Commit, *, ledger: Ledger) -> None:
        head = self.committing or self._head
        applying = Applying(self._run, self._scope.tenant, self._head, head, head.ledger or ledger)
        self.committing = applying.apply(commit)

    def remember(self, principal: str, key: str, answered: Answered, until: Instant) -> None:
        row: Mapping[str, object] = {
            "key": keys.answer_key(self._scope.tenant, principal, key),
            "tenant": self._scope.tenant,
            "request": answered.request,
            "receipt": answered.receipt,
            "until": until,
        }
        self._run("put_answer", {"row": row})

    def forget_keys(self, before: Instant) -> None:
        self._run("forget_answers", {"tenant": self._scope.tenant, "before": before})

    def _claim_id(self, entry: Entry) -> ClaimId:
        return claim_id(Place(self._ledger, entry.position, entry.ordinal))


def _payload(subject: EntityId, row: Row) -> Payload:
    _, digest, restated, salt, body = row
    return Payload(subject=subject, salt=bytes(salt), body=bytes(body), digest=bytes(restated or digest))


_conforms: type[TransactionPort] = Neo4jTransaction
