"""The store contract over plain Python lists: obvious, slow, and the measure of every other store.

A tenant is one `Tables` value. A reader keeps the one that was current when it began; a writer takes the
tenant's lock, works on a copy, and puts the copy in its place when its block ends without an exception.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from graph.access import AccessStore, no_key, prefix_taken
from graph.decoding import recorded_with
from graph.forgetting import KeptAnswer, Scrubbed
from graph.handoffs import HandoffStore
from graph.journal import NO_DIGEST
from graph.journal_rows import lost_words, read_record, read_verbatim
from graph.ledger import KINDS, LedgerItem, ledger_order, ledger_row
from graph.ports import (
    Answered,
    Capabilities,
    Finding,
    Head,
    MemoryStore,
    Order,
    OrderKey,
    Page,
    Transaction,
    Window,
)
from graph.ports import Reader as ReaderPort
from graph.queue import Queue
from graph.sentences import relabelled
from graph.sessions import SessionStore
from ontology.access import ApiKey, Ownership, Revocation
from ontology.claims import FOLDED, HELD, Claim, Entity, Episode, Lifecycle, Source, Told, Transition
from ontology.entries import Entry
from ontology.episodes import EpisodeRecord, Quote, RecordedEpisode, Verbatim, WordsGone, emptied, has_words
from ontology.errors import Busy, NotFound, shown
from ontology.events import Commit, Destroyed, Erasure, Event, Payload, Removal, Shown, SlotHead
from ontology.facts import AsOf, Fact, FactVersion, Slot, Support, edges
from ontology.ids import (
    CLAIM,
    ENTITY,
    EPISODE,
    FACT,
    ClaimId,
    EntityId,
    EpisodeId,
    FactId,
    Ledger,
    Owner,
    is_recorded,
    locate,
)
from ontology.instants import OPEN_END, OPEN_START, Instant
from ontology.intervals import Interval, coalesce
from ontology.line import Extent
from ontology.operations import Job, operation_of
from ontology.schema import Schema
from ontology.scope import DEFAULT_NAMESPACE, DEFAULT_PURPOSE, Scope, Tenant
from ontology.tombstones import Mark, Tombstone
from ontology.values import ValueKey, ValueType
from tests import naive_queue
from tests.naive_handoffs import Handoffs, NaiveHandoffs, NaiveHandoffTransaction
from tests.naive_queue import NaiveQueue, Operations
from tests.naive_search import Index, NaiveSearchReads, NaiveSearchTransaction, wants_index
from tests.naive_sessions import NaiveSessions, NaiveSessionTransaction, Sessions
from tests.naive_walk import NaiveWalkReads

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Showing:
    """A `Shown` with the recorded time over which it held."""

    shown: Shown
    recorded_from: Instant
    recorded_to: Instant


@dataclass(kw_only=True)
class Tables:
    """All that one tenant has. Rows are immutable; a list is changed only in a copy of the whole."""

    ledger: Ledger | None = None
    events: list[Event] = field(default_factory=list)
    payloads: list[tuple[int, Payload]] = field(default_factory=list)
    schemas: list[Schema] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    verbatims: list[Verbatim | WordsGone] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    operations: Operations = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    versions: list[FactVersion] = field(default_factory=list)
    showings: list[Showing] = field(default_factory=list)
    support: list[Support] = field(default_factory=list)
    heads: list[SlotHead] = field(default_factory=list)
    erasures: int = 0
    tombstones: list[Tombstone] = field(default_factory=list)
    secret: bytes | None = None
    answered: dict[tuple[str, str], tuple[Answered, Instant]] = field(default_factory=dict)
    keys: dict[str, ApiKey] = field(default_factory=dict)
    owners: dict[str, Ownership] = field(default_factory=dict)
    of_sessions: Sessions = field(default_factory=Sessions)
    of_handoffs: Handoffs = field(default_factory=Handoffs)
    index: Index = field(default_factory=Index)

    def copy(self) -> "Tables":
        return Tables(
            ledger=self.ledger,
            events=self.events.copy(),
            payloads=self.payloads.copy(),
            schemas=self.schemas.copy(),
            entities=self.entities.copy(),
            episodes=self.episodes.copy(),
            verbatims=self.verbatims.copy(),
            quotes=self.quotes.copy(),
            operations=self.operations.copy(),
            claims=self.claims.copy(),
            transitions=self.transitions.copy(),
            versions=self.versions.copy(),
            showings=self.showings.copy(),
            support=self.support.copy(),
            heads=self.heads.copy(),
            erasures=self.erasures,
            tombstones=self.tombstones.copy(),
            secret=self.secret,
            answered=self.answered.copy(),
            keys=self.keys.copy(),
            owners=self.owners.copy(),
            of_sessions=self.of_sessions.copy(),
            of_handoffs=self.of_handoffs.copy(),
            index=self.index.copy(),
        )

    def records(self) -> list[EpisodeRecord]:
        """Of recorded episodes, those that were not destroyed."""
        found = []
        for _, payload in sorted(self.payloads, key=lambda row: row[0]):
            if payload.subject is not None and is_recorded(payload.subject):
                tenant = next(v.kept.scope.tenant for v in self.verbatims if v.kept.episode == payload.subject)
                found.append(read_record(payload, tenant))
        return [record for record in found if record is not None]

    # ---- one commit

    def apply(self, commit: Commit) -> None:
        """Write a commit in the order of the fields of its change set."""
        changes, now = commit.changes, commit.changes.recorded_at
        if changes.schema is not None:
            self.index.relabelled(relabelled(self.schemas[-1] if self.schemas else None, changes.schema))
            self.schemas.append(changes.schema)
        for erasure in changes.erasures:
            self._erase(erasure)
        for stone in changes.tombstones:
            self._forget(stone)
        for removal in changes.removals:
            self._remove(removal)
        self.erasures += 1 if changes.erases else 0
        self.entities += changes.entities
        self.episodes += changes.episodes
        self.verbatims += changes.verbatims
        self.claims += changes.claims
        self.quotes += changes.quotes
        self.transitions += changes.transitions
        closed = {version.id for version in changes.closed}
        self.versions = [replace(v, recorded_to=now) if v.id in closed else v for v in self.versions]
        self.versions += changes.opened
        self.showings = [
            replace(s, recorded_to=now) if s.recorded_to == OPEN_END and s.shown in changes.hidden else s
            for s in self.showings
        ]
        self.showings += [Showing(shown=s, recorded_from=now, recorded_to=OPEN_END) for s in changes.shown]
        self.support += changes.support
        touched = {head.slot for head in changes.slots}
        self.heads = [head for head in self.heads if head.slot not in touched] + list(changes.slots)
        self.events.append(commit.event)
        for each in commit.restated:
            self.payloads = [
                (at, each.payload if (at, payload.subject) == (each.position, each.payload.subject) else payload)
                for at, payload in self.payloads
            ]
        self.payloads += [(changes.position, payload) for payload in commit.payloads]
        self._destroy(commit.destroyed)
        self.tombstones += changes.tombstones
        lifts = {lift.tombstone: lift for lift in changes.lifts}
        self.tombstones = [replace(t, lifted=lifts.get(t.id, t.lifted)) for t in self.tombstones]
        self.secret = self.secret or changes.secret
        self.index.renamed((*changes.opened, *changes.closed))
        self.index.words |= {each.kept.episode: each.kept for each in changes.verbatims if has_words(each)}
        self.index.lose(each.payload.subject or "" for each in commit.restated if lost_words(each))
        self.index.lose(each.episode for each in commit.destroyed.emptied)
        self.index.settle(self.versions)

    def _forget(self, stone: Tombstone) -> None:
        owners = set(stone.destroyed)
        self.index.lose(owners)
        for owner in owners:
            self.index.unnamed(EntityId(owner), None)
        for scope in {head.slot.scope for head in self.heads}:
            for owner in owners:
                whole = Erasure(scope=scope, subject=EntityId(owner), predicate=None, value_key=None)
                self._erase(whole)
        self.entities = [entity for entity in self.entities if entity.id not in owners]
        self.verbatims = [each for each in self.verbatims if each.kept.episode not in owners]

    def _remove(self, removal: Removal) -> None:
        gone, slot = set(removal.claims), removal.slot
        self.claims = [claim for claim in self.claims if claim.id not in gone]
        self.transitions = [each for each in self.transitions if each.claim not in gone]
        self.quotes = [quote for quote in self.quotes if quote.claim not in {*gone, *removal.quotes}]
        self.showings = [s for s in self.showings if s.shown.claim not in gone]
        self.versions = [v for v in self.versions if v.id not in removal.versions]
        said = {claim.entry.value for claim in self.claims if claim.slot == slot}
        self.support = [s for s in self.support if s.slot != slot or s.value_key in said]
        self.index.unnamed(slot.subject, slot.predicate)
        self.heads = [head for head in self.heads if head.slot != slot or said]

    def _destroy(self, destroyed: Destroyed) -> None:
        gone = set(destroyed.payloads)
        self.payloads = [(at, each) for at, each in self.payloads if (at, each.subject) not in gone]
        self.episodes = [episode for episode in self.episodes if episode.id not in destroyed.cited]
        kept = {each.episode: each for each in destroyed.emptied}
        self.verbatims = [
            replace(emptied(v), kept=kept[v.kept.episode]) if v.kept.episode in kept else v for v in self.verbatims
        ]

    def _erase(self, erasure: Erasure) -> None:
        def gone(slot: Slot, value: ValueKey | None) -> bool:
            return (
                (slot.scope, slot.subject) == (erasure.scope, erasure.subject)
                and erasure.predicate in (None, slot.predicate)
                and erasure.value_key in (None, value)
            )

        self.index.unnamed(erasure.subject, erasure.predicate)
        claims = {claim.id for claim in self.claims if gone(claim.slot, claim.entry.value)}
        self.claims = [claim for claim in self.claims if claim.id not in claims]
        self.transitions = [each for each in self.transitions if each.claim not in claims]
        self.quotes = [quote for quote in self.quotes if quote.claim not in claims]
        self.versions = [v for v in self.versions if not gone(v.slot, v.value_key)]
        self.showings = [s for s in self.showings if not gone(s.shown.slot, s.shown.value_key)]
        self.support = [s for s in self.support if not gone(s.slot, s.value_key)]
        self.heads = [head for head in self.heads if not gone(head.slot, None)]


class NaiveReader(NaiveWalkReads, NaiveSearchReads):
    """One snapshot of one scope."""

    def __init__(self, tables: Tables, scope: Scope) -> None:
        self._tables = tables
        self._scope = scope
        self._serving: tuple[Instant, Instant] | None = None

    def serve(self, known_at: Instant, until: Instant) -> None:
        self._serving = known_at, until

    @property
    def scope(self) -> Scope:
        return self._scope

    def _index(self) -> Index:
        return self._tables.index

    def _hits(self, slot: Slot, value: ValueKey, as_of: AsOf, *, history: bool) -> list[Fact]:
        return self._facts(
            lambda v: (
                (v.slot, v.value_key) == (slot, value)
                and (_known(v, as_of.known_at) if history else v.visible_at(as_of))
            ),
            as_of.known_at,
            certain=False,
            page=Page(10_000),
        )

    @property
    def head(self) -> Head:
        last = self._tables.events[-1] if self._tables.events else None
        schema = self.schema()
        return Head(
            ledger=self._tables.ledger,
            position=0 if last is None else last.position,
            recorded_at=OPEN_START if last is None else last.recorded_at,
            digest=NO_DIGEST if last is None else last.digest,
            erasures=self._tables.erasures,
            schema_version=0 if schema is None else schema.version,
        )

    def schema(self) -> Schema | None:
        return self._tables.schemas[-1] if self._tables.schemas else None

    # ---- entities

    def entities_by_key(self, keys: Sequence[str]) -> dict[str, Entity]:
        return {entity.key: entity for entity in self._entities() if entity.key is not None and entity.key in keys}

    def entities_by_id(self, ids: Sequence[EntityId]) -> dict[EntityId, Entity]:
        return {entity.id: entity for entity in self._entities() if entity.id in ids}

    def list_entities(
        self, as_of: AsOf, *, type: str | None, name: str | None, limit: int, after: EntityId | None
    ) -> list[Entity]:
        visible = [v for v in self._versions() if v.visible_at(as_of) and self._is_served(v, as_of.known_at)]
        shown_ids = {v.slot.subject for v in visible} | {
            EntityId(v.value.text) for v in visible if v.value.type is ValueType.ENTITY
        }
        if type is not None:
            shown_ids &= {v.slot.subject for v in visible if v.slot.predicate == "type" and _says(v, type)}
        if name is not None:
            shown_ids &= {v.slot.subject for v in visible if v.slot.predicate in ("name", "alias") and _says(v, name)}
        rows = sorted((e for e in self._entities() if e.id in shown_ids), key=lambda e: _place(e.id))
        return [entity for entity in rows if after is None or _place(entity.id) > _place(after)][:limit]

    # ---- facts

    def state(
        self, pairs: Sequence[tuple[EntityId, str | None]], as_of: AsOf, *, certain: bool, page: Page
    ) -> list[Fact]:
        return self._facts(
            lambda v: (
                v.visible_at(as_of)
                and any(
                    v.slot.subject == subject and predicate in (None, v.slot.predicate) for subject, predicate in pairs
                )
            ),
            as_of.known_at,
            certain=certain,
            page=page,
        )

    def of_predicate(self, predicate: str, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        return self._facts(
            lambda v: v.visible_at(as_of) and v.slot.predicate == predicate, as_of.known_at, certain=certain, page=page
        )

    def holders(self, value: ValueKey, predicate: str | None, as_of: AsOf, *, certain: bool, page: Page) -> list[Fact]:
        return self._facts(
            lambda v: v.visible_at(as_of) and v.value_key == value and predicate in (None, v.slot.predicate),
            as_of.known_at,
            certain=certain,
            page=page,
        )

    def history(
        self, subject: EntityId, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        return self._facts(
            lambda v: (
                _known(v, known_at)
                and _valid(v).overlaps(within)
                and v.slot.subject == subject
                and predicate in (None, v.slot.predicate)
            ),
            known_at,
            certain=certain,
            page=page,
            order=order,
        )

    def holders_history(
        self, value: ValueKey, predicate: str | None, known_at: Instant, within: Interval, *,
        certain: bool, order: Order, page: Page,
    ) -> list[Fact]:  # fmt: skip
        return self._facts(
            lambda v: (
                _known(v, known_at)
                and _valid(v).overlaps(within)
                and v.value_key == value
                and predicate in (None, v.slot.predicate)
            ),
            known_at,
            certain=certain,
            page=page,
            order=order,
        )

    def audit(
        self,
        subject: EntityId,
        predicate: str | None,
        *,
        valid_at: Instant | None,
        touched: Interval | None,
        page: Page,
    ) -> list[Fact]:
        return self._facts(
            lambda v: (
                v.slot.subject == subject
                and predicate in (None, v.slot.predicate)
                and (valid_at is None or valid_at in _valid(v))
                and (touched is None or v.recorded_from in touched or v.recorded_to in touched)
            ),
            OPEN_END,
            certain=False,
            page=page,
            order=Order.RECORDED,
            raw=True,
        )

    def fact(self, id: FactId) -> Fact:
        locate(id, FACT)
        for version in self._versions():
            if version.id == id:
                return self._fact(version, OPEN_END)
        raise NotFound(f"no fact {shown(id)}")

    def served(self, versions: Sequence[FactVersion]) -> dict[FactId, list[Interval]]:
        found = {}
        claims = {claim.id: claim for claim in self._tables.claims}
        for version in versions:
            shows = [
                s
                for s in self._tables.showings
                if (s.shown.slot, s.shown.value_key) == (version.slot, version.value_key)
                and version.valid_from <= s.shown.valid_from < version.valid_to
            ]
            expiries = [claims[s.shown.claim].expires_at for s in shows]
            if any(expires_at < OPEN_END for expires_at in expiries):
                cuts = sorted({
                    cut
                    for s, expires_at in zip(shows, expiries, strict=True)
                    for cut in (s.recorded_from, s.recorded_to, expires_at)
                } | {version.recorded_from, version.recorded_to})  # fmt: skip
                found[version.id] = coalesce(
                    Interval(start, end)
                    for start, end in pairwise(cuts)
                    if version.recorded_from <= start < version.recorded_to
                    and any(
                        s.recorded_from <= start < min(s.recorded_to, expires_at)
                        for s, expires_at in zip(shows, expiries, strict=True)
                    )
                )
        return found

    def evidence(self, version: FactVersion, known_at: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        ids = {s.shown.claim for s in self._showings(version, known_at)}
        told = [self._told(claim) for claim in self._claims() if claim.id in ids]
        return _page(told, lambda t: t.claim.entry.order, limit, after)

    def first_evidence(
        self, versions: Sequence[FactVersion], known_at: Instant, *, limit: int
    ) -> dict[FactId, list[Told]]:
        found = {each.id: self.evidence(each, known_at, limit=limit, after=None) for each in versions}
        return {id: told for id, told in found.items() if told}

    # ---- claims

    def claims(self, subject: EntityId, predicate: str | None, *, limit: int, after: OrderKey | None) -> list[Told]:
        mine = [c for c in self._claims() if c.slot.subject == subject and predicate in (None, c.slot.predicate)]
        return _page(
            [self._told(claim) for claim in mine],
            lambda t: (t.claim.entry.position, t.claim.entry.ordinal, 0),
            limit,
            after,
        )

    def claim(self, id: ClaimId) -> Told:
        locate(id, CLAIM)
        for claim in self._claims():
            if claim.id == id:
                return self._told(claim)
        raise NotFound(f"no claim {shown(id)}")

    def claims_of_episode(self, id: EpisodeId) -> list[Told]:
        return [self._told(c) for c in _by_place(self._assertions(FOLDED | HELD)) if c.episode == id]

    def claims_of_source(self, source: Source) -> list[Told]:
        return [self._told(c) for c in _by_place(self._assertions(FOLDED | HELD)) if c.source == source]

    def held(
        self, states: Collection[Lifecycle], rule: str | None, *, limit: int, after: OrderKey | None
    ) -> list[Told]:
        waiting = [t for t in self._waiting() if t.state in states and rule in (None, _held(t).rule)]
        return _page(waiting, lambda t: (t.claim.entry.position, t.claim.entry.ordinal, 0), limit, after)

    def held_counts(self) -> dict[tuple[Lifecycle, str], int]:
        return dict(Counter((told.state, _held(told).rule) for told in self._waiting()))

    def quotes(self, claims: Sequence[ClaimId]) -> dict[ClaimId, Quote]:
        mine = {claim.id for claim in self._claims()} & set(claims)
        return {quote.claim: quote for quote in self._tables.quotes if quote.claim in mine}

    def recorded_episode(self, id: EpisodeId) -> RecordedEpisode:
        tables = self._tables
        for verbatim in tables.verbatims:
            if (verbatim.kept.episode, verbatim.kept.scope) == (id, self._scope):
                episode = next(each for each in tables.episodes if each.id == id)
                event = tables.events[locate(id, EPISODE).position - 1]
                payload = next((p for at, p in tables.payloads if (at, p.subject) == (event.position, id)), None)
                left = None if payload is None else read_verbatim(payload, self._scope.tenant)
                return recorded_with(episode, self._scope, event.recorded_at, event.principal, left)
        raise NotFound(f"no recorded episode {shown(id)} here")

    def overdue(self, now: Instant, *, limit: int, after: OrderKey | None) -> list[Told]:
        due = [claim for claim in self._assertions({Lifecycle.ACCEPTED}) if claim.expires_at <= now]
        return [self._told(claim) for claim in _page(due, _end_order, limit, after)]

    def episode_record(self, id: EpisodeId) -> EpisodeRecord | None:
        mine = [record for record in self._tables.records() if (record.episode, record.scope) == (id, self._scope)]
        return mine[-1] if mine else None

    def recorded_episodes(self, *, limit: int, after: EpisodeId | None) -> list[RecordedEpisode]:
        last = (-1, -1) if after is None else _recorded(after)
        ids = sorted((v.kept.episode for v in self._tables.verbatims if v.kept.scope == self._scope), key=_recorded)
        return [self.recorded_episode(id) for id in ids if _recorded(id) > last][:limit]

    # ---- what was forgotten

    def tombstones(self, *, limit: int, after: int) -> list[Tombstone]:
        return [stone for stone in self._tables.tombstones if stone.position > after][:limit]

    def tombstone_of(self, id: str) -> Tombstone | None:
        stones = self._tables.tombstones
        return next((t for t in stones if id in (*t.destroyed, *t.claims, *t.facts)), None)

    def marked(self, marks: Sequence[Mark]) -> dict[Mark, Tombstone]:
        return {mark: stone for stone in self._tables.tombstones for mark in marks if mark in stone.marks}

    def secret(self) -> bytes | None:
        return self._tables.secret

    # ---- slots, events, idempotency keys

    def slot_heads(self, slots: Sequence[Slot]) -> dict[Slot, SlotHead]:
        return {h.slot: h for h in self._tables.heads if h.slot in slots and h.slot.scope == self._scope}

    def slots_of(self, subject: EntityId, predicate: str | None) -> list[SlotHead]:
        mine = [
            head
            for head in self._tables.heads
            if head.slot.scope == self._scope
            and head.slot.subject == subject
            and predicate in (None, head.slot.predicate)
        ]
        return sorted(mine, key=lambda head: (head.slot.predicate, head.slot.language))

    def slots(self, predicate: str | None, *, limit: int, after: Slot | None) -> list[SlotHead]:
        heads = [h for h in self._tables.heads if h.slot.scope == self._scope]
        mine = sorted((h for h in heads if predicate in (None, h.slot.predicate)), key=lambda h: _slot_order(h.slot))
        return [head for head in mine if after is None or _slot_order(head.slot) > _slot_order(after)][:limit]

    def events(self, *, after: int, limit: int) -> list[tuple[Event, tuple[Payload, ...]]]:
        payloads: defaultdict[int, list[Payload]] = defaultdict(list)
        for position, payload in self._tables.payloads:
            payloads[position].append(payload)
        found = [event for event in self._tables.events if event.position > after]
        return [(event, tuple(payloads[event.position])) for event in found[:limit]]

    def answered(self, principal: str, key: str) -> Answered | None:
        kept = self._tables.answered.get((principal, key))
        return None if kept is None else kept[0]

    # ---- what all of these are made of

    def _entities(self) -> list[Entity]:
        return [entity for entity in self._tables.entities if entity.namespace == self._scope.namespace]

    def _versions(self) -> list[FactVersion]:
        return [version for version in self._tables.versions if version.slot.scope == self._scope]

    def _claims(self) -> list[Claim]:
        return [claim for claim in self._tables.claims if claim.slot.scope == self._scope]

    def _assertions(self, states: Collection[Lifecycle]) -> list[Claim]:
        """Those that are in one of these states."""
        return [claim for claim in self._claims() if claim.entry.asserts and self._told(claim).state in states]

    def _waiting(self) -> list[Told]:
        return [told for told in map(self._told, self._claims()) if told.state in HELD]

    def _told(self, claim: Claim) -> Told:
        mine = [each for each in self._tables.transitions if each.claim == claim.id]
        return Told(claim=claim, transitions=tuple(sorted(mine, key=lambda each: each.position)))

    def _facts(
        self,
        wanted: Callable[[FactVersion], bool],
        known_at: Instant,
        *,
        certain: bool,
        page: Page,
        order: Order = Order.VALID,
        raw: bool = False,
    ) -> list[Fact]:
        versions = [v for v in self._versions() if wanted(v) and (v.certain or not certain)]
        versions = [v for v in versions if raw or self._is_served(v, known_at)]
        key = _recorded_order if order is Order.RECORDED else _valid_order
        rows = _page(versions, key, page.limit, page.after, descending=order is Order.VALID_DESCENDING)
        return [self._fact(version, known_at) for version in rows]

    def _fact(self, version: FactVersion, known_at: Instant) -> Fact:
        """The version as known at an instant, or when it was last believed, if that is earlier."""
        showings = self._showings(version, known_at)
        first = [s.shown.claim for s in showings if s.shown.valid_from == version.valid_from]
        last = [s.shown.claim for s in showings if s.shown.valid_to == version.valid_to]
        entries = {claim.id: claim.entry for claim in self._tables.claims}
        start, end = edges(version, [entries[id] for id in first], [entries[id] for id in last])
        return Fact(
            version=version, start=start, end=end, support=self._support(version, known_at),
            expires_at=max(self._expiries(version, known_at), default=OPEN_END),
        )  # fmt: skip

    def _expiries(self, version: FactVersion, known_at: Instant) -> list[Instant]:
        """When each of the claims expires that show in a version at an instant."""
        shown_ids = {s.shown.claim for s in self._showings(version, known_at)}
        return [claim.expires_at for claim in self._tables.claims if claim.id in shown_ids]

    def _is_served(self, version: FactVersion, known_at: Instant) -> bool:
        judged_at = known_at
        if self._serving is not None and known_at >= self._serving[0]:
            judged_at = self._serving[1]
        until = max(self._expiries(version, known_at), default=OPEN_END)
        return until == OPEN_END or until > judged_at

    def _showings(self, version: FactVersion, known_at: Instant) -> list[Showing]:
        """Where claims show inside a version, as known at an instant or when it was last believed."""
        at = min(known_at, version.recorded_to - 1)
        return [
            s
            for s in self._tables.showings
            if (s.shown.slot, s.shown.value_key) == (version.slot, version.value_key)
            and version.valid_from <= s.shown.valid_from
            and s.shown.valid_to <= version.valid_to
            and s.recorded_from <= at < s.recorded_to
        ]

    def _support(self, version: FactVersion, known_at: Instant) -> Support:
        at = min(known_at, version.recorded_to - 1)
        rows = [
            s
            for s in self._tables.support
            if (s.slot, s.value_key) == (version.slot, version.value_key) and s.recorded_from <= at
        ]
        return max(rows, key=lambda s: s.recorded_from)


class NaiveTransaction(NaiveReader, NaiveSessionTransaction, NaiveHandoffTransaction, NaiveSearchTransaction):
    """A reader of a copy that only it sees, and that it changes."""

    def __init__(self, tables: Tables, scope: Scope, taken: Callable[[], set[str]]) -> None:
        """`taken` gives the prefixes of the keys of every tenant."""
        super().__init__(tables, scope)
        self.of_sessions = tables.of_sessions
        self.of_handoffs = tables.of_handoffs
        self._taken = taken

    def window(self, slot: Slot, value: ValueKey | None, around: Interval, margin: int | None) -> Window:
        now = [
            version
            for version in self._tables.versions
            if version.slot == slot and version.recorded_to == OPEN_END and value in (None, version.value_key)
        ]
        span = Interval(OPEN_START, OPEN_END) if margin is None else _span(now, around, margin)
        versions = sorted((v for v in now if _valid(v).overlaps(span)), key=_valid_order)
        claims = {claim.id: claim for claim in self._tables.claims}
        shows = [
            s.shown
            for s in self._tables.showings
            if s.shown.slot == slot
            and s.recorded_to == OPEN_END
            and value in (None, s.shown.value_key)
            and Interval(s.shown.valid_from, s.shown.valid_to).overlaps(span)
        ]
        return Window(
            span=span,
            versions=versions,
            extents=[Extent(claims[s.claim].entry, s.valid_from, s.valid_to) for s in shows],
        )

    def entries(self, slot: Slot) -> list[tuple[Entry, ClaimId]]:
        folded = [claim for claim in self._tables.claims if claim.slot == slot and self._told(claim).is_folded]
        return [(claim.entry, claim.id) for claim in sorted(folded, key=lambda c: c.entry.order)]

    def support_now(self, slot: Slot, values: Sequence[ValueKey]) -> dict[ValueKey, Support]:
        rows = [s for s in self._tables.support if s.slot == slot and s.value_key in values]
        return {s.value_key: s for s in sorted(rows, key=lambda s: s.recorded_from)}

    def voice(self, slot: Slot, value: ValueKey, root: str, episode: EpisodeId | None) -> tuple[float | None, bool]:
        claims = self._for(slot, value, FOLDED)
        heard = max((c.confidence for c in claims if c.root == root), default=None)
        return heard, any(c.episode == episode and not c.echo for c in claims if episode is not None)

    def repeated(self, slot: Slot, value: ValueKey, episode: EpisodeId) -> list[Told]:
        mine = self._for(slot, value, FOLDED | HELD)
        return [self._told(claim) for claim in _by_place(mine) if claim.episode == episode]

    def heard(self, slot: Slot, value: ValueKey) -> list[Told]:
        states = FOLDED | HELD | {Lifecycle.REJECTED}
        return [self._told(claim) for claim in _by_place(self._for(slot, value, states))]

    def episodes(self, ids: Sequence[EpisodeId]) -> dict[EpisodeId, Episode]:
        return {episode.id: episode for episode in self._tables.episodes if episode.id in ids}

    def recorded_as(self, contents: Sequence[bytes]) -> dict[bytes, EpisodeId]:
        kept = [v.kept for v in self._tables.verbatims if v.kept.scope == self._scope and v.kept.content in contents]
        return {each.content: each.episode for each in kept}

    def enqueue(self, jobs: Sequence[Job], now: Instant) -> None:
        naive_queue.enqueue(self._tables.operations, jobs, now)

    def words_recorded(self, before: Instant, *, limit: int, after: tuple[int, int]) -> list[EpisodeId]:
        found = []
        for verbatim in self._tables.verbatims:
            place = locate(verbatim.kept.episode, EPISODE)
            event = self._tables.events[place.position - 1]
            payloads = [p for _, p in self._tables.payloads if p.subject == verbatim.kept.episode]
            words = [read_verbatim(payload, self._scope.tenant) for payload in payloads]
            if event.recorded_at < before and any(isinstance(each, Verbatim) for each in words):
                found.append(((place.position, place.ordinal), verbatim.kept.episode))
        return [id for place, id in sorted(found) if place > after][:limit]

    def within(self, scope: Scope) -> "NaiveTransaction":
        return NaiveTransaction(self._tables, scope, self._taken)

    def all_of_episode(self, id: EpisodeId) -> list[Told]:
        return [self._told(claim) for claim in _by_place(self._claims()) if claim.episode == id]

    def all_of_source(self, source: Source) -> list[Told]:
        return [self._told(claim) for claim in _by_place(self._claims()) if claim.source == source]

    def all_of_entity(self, value: ValueKey) -> list[Told]:
        return [self._told(claim) for claim in _by_place(self._claims()) if claim.entry.value == value]

    def kept_answers(self) -> Iterator[KeptAnswer]:
        for handle, (answered, _) in self._tables.answered.items():
            yield KeptAnswer(handle=handle, receipt=answered.receipt)

    def blank_answers(self, handles: Sequence[object]) -> None:
        blank = Answered(request=b"", receipt=b"")
        for key, (_, until) in [*self._tables.answered.items()]:
            if key in handles:
                self._tables.answered[key] = blank, until

    def end_reading(self, episodes: Sequence[EpisodeId], reason: str, now: Instant) -> None:
        naive_queue.end_reading(self._tables.operations, episodes, reason, now)
        for episode in episodes:
            self.of_sessions.let_go(operation_of(episode), now)

    def forget_readings(self, episodes: Sequence[EpisodeId], now: Instant) -> None:
        naive_queue.forget_readings(self._tables.operations, episodes)
        for episode in episodes:
            self.of_sessions.let_go(operation_of(episode), now)

    def payloads_about(self, subject: Owner | None) -> list[tuple[int, Payload]]:
        found = [(position, payload) for position, payload in self._tables.payloads if payload.subject == subject]
        return sorted(found, key=lambda row: row[0])

    def apply(self, commit: Commit, *, ledger: Ledger) -> None:
        if self._tables.ledger is None:
            self._tables.ledger = ledger
        self._tables.apply(commit)

    def remember(self, principal: str, key: str, answered: Answered, until: Instant) -> None:
        self._tables.answered[principal, key] = answered, until

    def forget_keys(self, before: Instant) -> int:
        known = len(self._tables.answered)
        kept = {key: row for key, row in self._tables.answered.items() if row[1] >= before}
        self._tables.answered = kept
        return known - len(kept)

    def put_key(self, key: ApiKey) -> None:
        if key.prefix in self._taken():
            raise prefix_taken(key.prefix)
        self._tables.keys[key.prefix] = key

    def revoke_key(self, prefix: str, revocation: Revocation) -> ApiKey:
        key = self._tables.keys.get(prefix)
        if key is None:
            raise no_key(prefix)
        self._tables.keys[prefix] = key if key.revocation else replace(key, revocation=revocation)
        return self._tables.keys[prefix]

    def owner(self) -> Ownership | None:
        return self._tables.owners.get(self._scope.namespace)

    def own(self, ownership: Ownership) -> None:
        self._tables.owners[ownership.namespace] = ownership

    @property
    def operations(self) -> Operations:
        return self._tables.operations

    def _for(self, slot: Slot, value: ValueKey, states: Collection[Lifecycle]) -> list[Claim]:
        """The assertions of a value that are in one of these states."""
        return [c for c in self._assertions(states) if c.slot == slot and c.entry.value == value]


class NaiveStore:
    """Every tenant in this process's memory."""

    def __init__(self, busy_seconds: float = 5.0) -> None:
        self._busy_seconds = busy_seconds
        self._tables: dict[Tenant, Tables] = {}
        self._locks: defaultdict[Tenant, threading.Lock] = defaultdict(threading.Lock)
        self._lock_of_locks = threading.Lock()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(engine="naive", concurrent_writers=False)

    @property
    def access(self) -> AccessStore:
        return NaiveAccess(self)

    def tables(self, tenant: Tenant) -> Tables:
        return self._tables.get(tenant) or Tables()

    def _all_keys(self) -> list[ApiKey]:
        return [key for tables in self._tables.values() for key in tables.keys.values()]

    @contextmanager
    def read(self, scope: Scope) -> Iterator[ReaderPort]:
        yield NaiveReader(self._tables.get(scope.tenant) or Tables(), scope)

    @contextmanager
    def write(self, scope: Scope) -> Iterator[Transaction]:
        with self._lock_of_locks:
            lock = self._locks[scope.tenant]
        if not lock.acquire(timeout=self._busy_seconds):
            raise Busy(f"the write lock of {shown(scope.tenant)} was not free for {self._busy_seconds} s")
        try:
            copy = (self._tables.get(scope.tenant) or Tables()).copy()
            yield NaiveTransaction(copy, scope, lambda: {key.prefix for key in self._all_keys()})
            self._tables[scope.tenant] = copy
        finally:
            lock.release()

    @property
    def queue(self) -> Queue:
        def reading(tenant: Tenant) -> Operations:
            return (self._tables.get(tenant) or Tables()).operations

        @contextmanager
        def changing(tenant: Tenant) -> Iterator[tuple[Operations, Sessions]]:
            with self.write(Scope(tenant=tenant, namespace=DEFAULT_NAMESPACE, purpose=DEFAULT_PURPOSE)) as tx:
                assert isinstance(tx, NaiveTransaction)
                yield tx.operations, tx.of_sessions

        return NaiveQueue(self.tenants, reading, changing)

    @property
    def sessions(self) -> SessionStore:
        return NaiveSessions(lambda: list(self._tables), lambda tenant: self.tables(tenant).of_sessions)

    @property
    def handoffs(self) -> HandoffStore:
        return NaiveHandoffs(lambda tenant: self.tables(tenant).of_handoffs)

    def tenants(self) -> list[Tenant]:
        return sorted(tenant for tenant, tables in self._tables.items() if tables.events)

    def scopes(self, tenant: Tenant) -> list[Scope]:
        tables = self._tables.get(tenant) or Tables()
        written = {head.slot.scope for head in tables.heads} | {each.kept.scope for each in tables.verbatims}
        return sorted(written, key=lambda scope: (scope.namespace, scope.purpose))

    def scopes_to_index(self, model: str | None, *, limit: int) -> list[Scope]:
        every = [scope for tenant in self.tenants() for scope in self.scopes(tenant)]
        waiting = [scope for scope in every if wants_index(self._tables[scope.tenant].index, scope, model)]
        return sorted(waiting, key=lambda scope: (scope.tenant, scope.namespace, scope.purpose))[:limit]

    def ledger(self, tenant: Tenant) -> Iterator[tuple[str, tuple[object, ...]]]:
        tables = self._tables.get(tenant) or Tables()
        kinds: tuple[Sequence[LedgerItem], ...] = (
            tables.schemas, tables.entities, tables.episodes, [verbatim.kept for verbatim in tables.verbatims],
            tables.claims, tables.transitions, tables.versions, tables.support, tables.quotes, tables.records(),
            tables.tombstones,
        )  # fmt: skip
        for kind, items in zip(KINDS, kinds, strict=True):
            yield from ((kind, ledger_row(kind, item)) for item in sorted(items, key=ledger_order))

    def scrub(self) -> Scrubbed:
        return Scrubbed(done=True, left="")

    def check(self, now: Instant) -> list[Finding]:
        return [Finding(check="engine", finding="naive"), Finding(check="tenants", finding=str(len(self.tenants())))]

    def close(self) -> None:
        """Nothing to let go of."""


class NaiveAccess:
    """Keys and owners, as they are now."""

    def __init__(self, store: NaiveStore) -> None:
        self._store = store

    def key(self, digest: bytes) -> ApiKey | None:
        return next((key for key in self._store._all_keys() if key.digest == digest), None)

    def has_keys(self) -> bool:
        return bool(self._store._all_keys())

    def keys(self, tenant: Tenant, *, limit: int, after: str) -> list[ApiKey]:
        found = self._store.tables(tenant).keys
        return [found[prefix] for prefix in sorted(found) if prefix > after][:limit]

    def owners(self, tenant: Tenant, *, limit: int, after: str) -> list[Ownership]:
        found = self._store.tables(tenant).owners
        return [found[name] for name in sorted(found) if name > after][:limit]


_conforms: type[MemoryStore] = NaiveStore


def _end_order(claim: Claim) -> OrderKey:
    return claim.expires_at, claim.entry.position, claim.entry.ordinal


def _page(
    rows: Iterable[Row],
    key: Callable[[Row], OrderKey],
    limit: int,
    after: OrderKey | None,
    *,
    descending: bool = False,
) -> list[Row]:
    ordered = sorted(rows, key=key, reverse=descending)
    beyond = [row for row in ordered if after is None or (key(row) < after if descending else key(row) > after)]
    return beyond[:limit]


def _valid_order(version: FactVersion) -> OrderKey:
    return version.valid_from, version.recorded_from, version.ordinal


def _recorded_order(version: FactVersion) -> OrderKey:
    return version.recorded_from, version.ordinal, version.valid_from


def _valid(version: FactVersion) -> Interval:
    return Interval(version.valid_from, version.valid_to)


def _known(version: FactVersion, known_at: Instant) -> bool:
    return version.recorded_from <= known_at < version.recorded_to


def _says(version: FactVersion, text: str) -> bool:
    return version.value.type is ValueType.TEXT and version.value.text == text


def _slot_order(slot: Slot) -> tuple[tuple[int, int], str, str]:
    return _place(slot.subject), slot.predicate, slot.language


def _place(entity: EntityId) -> tuple[int, int]:
    place = locate(entity, ENTITY)
    return place.position, place.ordinal


def _recorded(episode: EpisodeId) -> tuple[int, int]:
    place = locate(episode, EPISODE)
    return place.position, place.ordinal


def _held(told: Told) -> Transition:
    assert told.held is not None
    return told.held


def _by_place(claims: Iterable[Claim]) -> list[Claim]:
    return sorted(claims, key=lambda claim: (claim.entry.position, claim.entry.ordinal))


def _span(now: Sequence[FactVersion], around: Interval, margin: int) -> Interval:
    """`around`, and on each side as far as `margin` versions more; all the way where there are no more than that."""
    ends_before = sorted((v.valid_to for v in now if v.valid_to <= around.start), reverse=True)
    begins_after = sorted(v.valid_from for v in now if v.valid_from >= around.end)
    start = ends_before[margin] if len(ends_before) > margin else OPEN_START
    end = begins_after[margin] if len(begins_after) > margin else OPEN_END
    return Interval(start, end)
