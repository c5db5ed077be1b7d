"""A reader under the write lock: what a writer reads of a slot before it decides, and the one commit at the end.

What is asked of a slot is answered from what was read with its head, where that was all; a write of one item then
takes five round trips, and one of a thousand hardly more.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from graph import decoding
from graph.neo4j_store import codec, keys
from graph.neo4j_store.access import Neo4jAccessTransaction
from graph.neo4j_store.applying import Applying
from graph.neo4j_store.codec import Row
from graph.neo4j_store.forgetting import Neo4jForgettingTransaction
from graph.neo4j_store.handoffs import Neo4jHandoffTransaction
from graph.neo4j_store.indexing import Neo4jSearchTransaction
from graph.neo4j_store.present import MOST, Present, part
from graph.neo4j_store.reader import Neo4jReader
from graph.neo4j_store.sessions import Neo4jSessionTransaction
from graph.neo4j_store.snapshot import Run
from graph.periods import valid_order
from graph.ports import Answered, Head, Window
from graph.ports import Transaction as TransactionPort
from ontology.claims import Episode, Lifecycle, Told
from ontology.entries import Entry
from ontology.events import Commit, Payload, SlotHead
from ontology.facts import Slot, Support
from ontology.ids import EPISODE, ClaimId, EpisodeId, Ledger, Owner, Place, claim_id, episode_id, locate
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval
from ontology.operations import Job, lane_of
from ontology.scope import Scope
from ontology.values import ValueKey

_EVERYTHING: Final = Interval(OPEN_START, OPEN_END)
_SLOTS_AT_ONCE: Final = 1_000


class Neo4jTransaction(
    Neo4jReader,
    Neo4jForgettingTransaction,
    Neo4jAccessTransaction,
    Neo4jSessionTransaction,
    Neo4jHandoffTransaction,
    Neo4jSearchTransaction,
):
    """What a writer may ask and do; whoever made it commits or rolls back."""

    __slots__ = ("_present", "committing")

    def __init__(self, run: Run, scope: Scope, head: Head) -> None:
        super().__init__(run, scope, head)
        self._present: dict[Slot, Present] = {}
        self.committing: Head | None = None
        """Where the ledger will stand once its commit is acknowledged."""

    def within(self, scope: Scope) -> TransactionPort:
        return Neo4jTransaction(self._run, scope, self._head)

    def slot_heads(self, slots: Sequence[Slot]) -> dict[Slot, SlotHead]:
        if self.committing is not None:
            return super().slot_heads(slots)
        asked = [keys.slot_key(slot) for slot in slots if self._is_here(slot)]
        heads: dict[Slot, SlotHead] = {}
        for start in range(0, len(asked), _SLOTS_AT_ONCE):
            parameters = {"slots": asked[start : start + _SLOTS_AT_ONCE], "position": self._head.position}
            for row in self._run("slot_with_present", parameters | {"most": MOST + 1}):
                slot = decoding.slot(self._ledger, self._scope, row[1:5])
                heads[slot] = decoding.slot_head(slot, row[5:13])
                self._present[slot] = self._read_ahead(slot, *row[13:16])
        return heads

    def window(self, slot: Slot, value: ValueKey | None, around: Interval, margin: int | None) -> Window:
        if not self._is_here(slot):
            return Window(span=_EVERYTHING, versions=(), extents=())
        ahead = self._present.get(slot)
        if ahead is not None and ahead.whole is not None:
            return part(ahead.whole, value, around, margin)
        key = keys.slot_key(slot)
        asked: dict[str, object] = {
            "since": around.start, "until": around.end, "margin": max(margin or 1, 1), "all": margin is None,
        }  # fmt: skip
        if value is None:
            found = self._run("window", asked | {"slot": key})
        else:
            found = self._run("window_of_value", asked | {"said": keys.said_key(key, value)})
        start, end, versions, extents = found[0]
        return self._window(slot, Interval(start, end), versions, extents)

    def entries(self, slot: Slot) -> list[tuple[Entry, ClaimId]]:
        rows = self._run("entries", {"slot": keys.slot_key(slot)}) if self._is_here(slot) else []
        found = map(decoding.entry, map(codec.entry, rows))
        return [(entry, claim_id(Place(self._ledger, entry.position, entry.ordinal))) for entry in found]

    def support_now(self, slot: Slot, values: Sequence[ValueKey]) -> dict[ValueKey, Support]:
        if not self._is_here(slot):
            return {}
        ahead = self._present.get(slot)
        if ahead is not None and ahead.support is not None:
            return {value: ahead.support[value] for value in values if value in ahead.support}
        key = keys.slot_key(slot)
        said = {keys.said_key(key, value): value for value in values}
        rows = self._run("support_now", {"said": list(said)})
        return {said[row[0]]: decoding.support(slot, said[row[0]], row[1:5], row[1]) for row in rows}

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

    def heard(self, slot: Slot, value: ValueKey) -> list[Told]:
        if not self._is_here(slot):
            return []
        found = self._tell(self._run("heard", {"slot": keys.slot_key(slot), "value": value.hex()}))
        return [told for told in found if told.state not in (Lifecycle.WITHDRAWN, Lifecycle.FORGOTTEN)]

    def episodes(self, ids: Sequence[EpisodeId]) -> dict[EpisodeId, Episode]:
        rows = self._run("episode", {"tenant": self._scope.tenant, "episodes": list(ids)}) if ids else []
        return {row[0]: decoding.episode(row) for row in rows}

    def recorded_as(self, contents: Sequence[bytes]) -> dict[bytes, EpisodeId]:
        said = [keys.content_key(self._scope, content) for content in contents]
        rows = self._run("recorded_as", {"said": said, "position": self._head.position}) if said else []
        return {bytes(row[0]): episode_id(Place(self._ledger, row[1], row[2])) for row in rows}

    def enqueue(self, jobs: Sequence[Job], now: Instant) -> None:
        tenant = self._scope.tenant
        lanes = [keys.lane_key(tenant, lane_of(job)) for job in jobs]
        taken = {row[0] for row in self._run("open_lanes", {"lanes": list(dict.fromkeys(lanes))})}
        rows: list[list[object]] = []
        for job, lane in zip(jobs, lanes, strict=True):
            place, scope = locate(job.episode, EPISODE), job.scope
            at = (place.position, place.ordinal)
            due = None if lane in taken else now
            whose = [tenant, place.ledger, scope.namespace, scope.purpose, keys.scope_key(scope)]
            rows.append([keys.place_key(tenant, at), *whose, *at, lane, job.principal, due, now])
            taken.add(lane)
        self._run("enqueue", {"rows": rows})

    def words_recorded(self, before: Instant, *, limit: int, after: tuple[int, int]) -> list[EpisodeId]:
        rows = self._run("words_recorded", {"tenant": self._scope.tenant, "limit": limit, "after": list(after)})
        old = (row for row in rows if row[2] < before)  # recorded times grow with positions
        return [episode_id(Place(self._ledger, row[0], row[1])) for row in old]

    def payloads_about(self, subject: Owner | None) -> list[tuple[int, Payload]]:
        if subject is None:
            found = self._run("payloads_of_nobody", {"tenant": self._scope.tenant})
            return [(row[0], decoding.payload(None, row[1:])) for row in found]
        place = decoding.owner_place(subject, self._ledger)
        key = None if place is None else keys.place_key(self._scope.tenant, place)
        rows = [] if key is None else self._run("payloads_about", {"subject": key})
        return [(row[0], decoding.payload(subject, row[1:])) for row in rows]

    def apply(self, commit: Commit, *, ledger: Ledger) -> None:
        head = self.committing or self._head
        self._present.clear()
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

    def forget_keys(self, before: Instant) -> int:
        return int(self._run("forget_answers", {"tenant": self._scope.tenant, "before": before})[0][0])

    # ---- what these are made of

    def _read_ahead(self, slot: Slot, versions: Sequence[Row], extents: Sequence[Row], support: list[Row]) -> Present:
        whole = held = None
        if max(len(versions), len(extents)) <= MOST:
            whole = self._window(slot, _EVERYTHING, versions, extents)
        if len(support) <= MOST:
            newest = {codec.key(row[0]): row[1:] for row in sorted(support, key=lambda row: row[1])}
            held = {value: decoding.support(slot, value, row, row[0]) for value, row in newest.items()}
        return Present(whole=whole, support=held)

    def _window(self, slot: Slot, span: Interval, versions: Sequence[Row], extents: Sequence[Row]) -> Window:
        rows = (codec.version(row, OPEN_END) for row in versions)
        return Window(
            span=span,
            versions=sorted((decoding.version(self._ledger, slot, row) for row in rows), key=valid_order),
            extents=decoding.extents(map(codec.extent, extents)),
        )


_conforms: type[TransactionPort] = Neo4jTransaction
