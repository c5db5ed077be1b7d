"""What a scope holds as a stream of RDF: commit after commit from the journal, each as it was when it was made.

A commit only ever adds: a version is written where it was opened, and its end where it was closed. So what was
exported up to one position and what comes after it are the whole; only forgetting takes something away, and says what.
Memory holds one commit, and the names of predicates and of those who said something.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from graph import journal
from graph.ports import OrderKey, Page, Reader
from ontology import rdf, rdf_episodes, rdf_schema, rdf_tombstones
from ontology.claims import HELD, Claim, Lifecycle, Source, Told, Transition
from ontology.episodes import Verbatim, WordsGone
from ontology.errors import NotFound
from ontology.events import ChangeSet, Event, Shown
from ontology.facts import AsOf, FactVersion, Slot
from ontology.ids import ClaimId, EpisodeId, Ledger, is_recorded
from ontology.instants import Instant
from ontology.lineage import SlotCommit, ended, lineage
from ontology.rdf_terms import Iri, Names, Statement
from ontology.schema import Schema

EVENTS_AT_ONCE: Final = 100
ROWS_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Included:
    """What is written that not everybody may read."""

    words: bool
    """What was said, word for word, with its hashes: artifacts, quotes, summaries."""
    held: bool
    """Claims that wait or were turned down."""


def statements(reader: Reader, names: Names, included: Included, core: Schema) -> Iterator[Statement]:
    """The whole ledger of a scope, in the order of its commits, each statement once.

    `core` is the schema that holds before the first schema event. Entities are those of the namespace; commits, agents
    and schemas those of the tenant.
    """
    head = reader.head
    if head.ledger is None:
        return
    export = _Export(reader, names, head.ledger, included)
    after = 0
    while after < head.position:
        found = reader.events(after=after, limit=EVENTS_AT_ONCE)
        for event, payloads in found:
            yield from export.commit(event, journal.decode(event, payloads, tenant=reader.scope.tenant))
        after = found[-1][0].position
    yield from export.slots()
    yield from export.referred(core)


def current(reader: Reader, names: Names, as_of: AsOf) -> Iterator[Statement]:
    """What a scope believes at two instants as plain statements, for a graph of its own; nothing in it is read back.

    Each once: a value that several versions have holds once.
    """
    written: set[Statement] = set()
    after: Slot | None = None
    while heads := reader.slots(None, limit=ROWS_AT_ONCE, after=after):
        for each in heads:
            if after is None or each.slot.subject != after.subject:
                written.clear()
            after = each.slot
            for version in _certain(reader, each.slot, as_of):
                new = [said for said in rdf.current(names, version) if said not in written]
                written.update(new)
                yield from new


def _certain(reader: Reader, slot: Slot, as_of: AsOf) -> Iterator[FactVersion]:
    after: OrderKey | None = None
    pair = [(slot.subject, slot.predicate)]
    while facts := reader.state(pair, as_of, certain=True, page=Page(ROWS_AT_ONCE, after)):
        yield from (fact.version for fact in facts if fact.version.slot == slot)
        last = facts[-1].version
        after = (last.valid_from, last.recorded_from, last.ordinal)


class _Export:
    """One run: what was written so far that is written once."""

    def __init__(self, reader: Reader, names: Names, ledger: Ledger, included: Included) -> None:
        self._reader = reader
        self._names = names
        self._ledger = ledger
        self._included = included
        self._principals: set[str] = set()
        self._sources: set[str] = set()
        self._predicates: set[str] = set()
        self._cited: set[Iri] = set()
        self._schema: Schema | None = None

    def commit(self, event: Event, changes: ChangeSet) -> Iterator[Statement]:
        names, scope = self._names, self._reader.scope
        self._principals.add(event.principal)
        yield from rdf.commit(names, self._ledger, event)
        if changes.schema is not None:
            self._schema = changes.schema
            yield from rdf_schema.schema(names, changes.schema)
        for entity in changes.entities:
            if entity.namespace == scope.namespace:
                yield from rdf.entity(names, entity)
        used: dict[Iri, None] = {}
        yield from self._episodes(changes)
        yield from self._claims(changes, used)
        yield from self._versions(changes, used)
        for support in changes.support:
            if support.slot.scope == scope:
                yield from rdf.support(names, support, self._ledger, changes.position)
        yield from rdf.usages(names, self._ledger, changes.position, changes.recorded_at, used)
        for stone in changes.tombstones:
            if stone.scope.namespace == scope.namespace:
                self._principals.add(stone.actor)
                yield from rdf_tombstones.tombstone(names, stone)
        for lift in changes.lifts:
            self._principals.add(lift.actor)
            yield from rdf_tombstones.lifted(names, lift)

    def slots(self) -> Iterator[Statement]:
        """Every slot of the scope."""
        after: Slot | None = None
        while heads := self._reader.slots(None, limit=ROWS_AT_ONCE, after=after):
            for head in heads:
                if head.version or self._included.held:
                    self._predicates.add(head.slot.predicate)
                    yield from rdf.slot(self._names, head.slot)
            after = heads[-1].slot

    def referred(self, core: Schema) -> Iterator[Statement]:
        """What rows refer to: the terms of the newest schema, other predicates, agents."""
        schema = self._schema or core
        if self._schema is None:
            yield from rdf_schema.schema(self._names, core)
        yield from rdf_schema.terms(self._names, schema)
        inverses = {each.inverse for each in schema.predicates.values() if each.inverse is not None}
        for name in sorted((self._predicates | inverses) - schema.predicates.keys()):
            yield from rdf_schema.predicate(self._names, name)
        for name in sorted(self._principals):
            yield from rdf.principal(self._names, name)
        for name in sorted(self._sources):
            yield from rdf.source(self._names, name)

    # ---- what was said

    def _episodes(self, changes: ChangeSet) -> Iterator[Statement]:
        names, scope, words = self._names, self._reader.scope, self._included.words
        mine = {each.kept.episode: each for each in changes.verbatims if each.kept.scope == scope}
        cited = {claim.episode for claim in self._shown(changes)}
        for episode in changes.episodes:
            if episode.id in mine or (episode.id in cited and not is_recorded(episode.id)):
                self._sources.add(episode.source)
                self._cited.add(names.episode(episode.id))
                at = changes.recorded_at if is_recorded(episode.id) else None
                yield from rdf_episodes.episode(names, episode, at)
        for verbatim in mine.values():
            yield from self._verbatim(verbatim)
        for record in changes.records:
            if record.scope == scope:
                yield from rdf_episodes.record(names, record, words=words)

    def _verbatim(self, of: Verbatim | WordsGone) -> Iterator[Statement]:
        yield from rdf_episodes.kept(self._names, of.kept, words=self._included.words)
        if self._included.words or isinstance(of, WordsGone):
            yield from rdf_episodes.verbatim(self._names, of)

    def _claims(self, changes: ChangeSet, used: dict[Iri, None]) -> Iterator[Statement]:
        """New claims with their quotes and the transitions; what had waited unseen, as soon as it counts."""
        names, waits = self._names, self._waiting(changes)
        quotes = {quote.claim: quote for quote in changes.quotes}
        for claim in self._shown(changes):
            self._sources.add(claim.source)
            used.update(dict.fromkeys(rdf.used_by_claim(names, claim)))
            yield from self._cite(claim)
            yield from rdf.claim(names, claim)
            if self._included.words and claim.id in quotes:
                yield from rdf_episodes.quote(names, quotes[claim.id])
        for step in changes.transitions:
            if step.claim in waits and not self._included.held:
                continue
            told = self._told(step)
            if told is None:
                continue
            if step.state is Lifecycle.ACCEPTED and not self._included.held:
                yield from self._late(told, step)
            elif self._included.held or told.folded_from <= changes.recorded_at:
                self._principals.add(step.actor)
                yield from rdf.transition(names, step)

    def _late(self, told: Told, accepted: Transition) -> Iterator[Statement]:
        """A claim that had waited, and how it came to count."""
        claim, names = told.claim, self._names
        self._sources.add(claim.source)
        yield from self._cite(claim)
        yield from rdf.claim(names, claim)
        yield from rdf.usages(
            names, self._ledger, claim.entry.position, claim.recorded_at, rdf.used_by_claim(names, claim)
        )
        if self._included.words:
            for quote in self._reader.quotes([claim.id]).values():
                yield from rdf_episodes.quote(names, quote)
        for step in told.transitions:
            if step.position <= accepted.position:
                self._principals.add(step.actor)
                yield from rdf.transition(names, step)

    def _cite(self, claim: Claim) -> Iterator[Statement]:
        """A node for an episode that another scope was the first to cite: no more of it belongs to this one."""
        if claim.episode is None or self._names.episode(claim.episode) in self._cited or is_recorded(claim.episode):
            return
        self._cited.add(self._names.episode(claim.episode))
        yield from rdf_episodes.cited(self._names, EpisodeId(claim.episode), Source(claim.source))

    # ---- what is believed

    def _versions(self, changes: ChangeSet, used: dict[Iri, None]) -> Iterator[Statement]:
        names, scope, at = self._names, self._reader.scope, changes.recorded_at
        opened = [version for version in changes.opened if version.slot.scope == scope]
        commits = self._slot_commits(changes)
        facts = self._reader.facts([version.id for version in opened], at)
        for version in opened:
            fact = facts.get(version.id)
            if fact is not None:  # what an erasure removed since is not there
                how = lineage(version, self._evidence(version, at), commits[version.slot])
                used.update(dict.fromkeys(rdf.used_by_version(names, how)))
                yield from rdf.version(names, fact, how)
        for version in changes.closed:
            if version.slot.scope == scope:
                why = ended(version, commits[version.slot])
                yield from rdf.closed(names, version, changes.position, at, why)

    def _slot_commits(self, changes: ChangeSet) -> Mapping[Slot, SlotCommit]:
        scope, waits = self._reader.scope, self._waiting(changes)
        touched = {row.slot for row in (*changes.opened, *changes.closed) if row.slot.scope == scope}
        fresh = [claim for claim in self._mine(changes.claims) if claim.id not in waits]
        for step in changes.transitions:
            if step.state is Lifecycle.ACCEPTED and (told := self._told(step)) is not None:
                fresh.append(told.claim)
        fresh.sort(key=lambda claim: claim.entry.order)
        closed, news = _by_slot(changes.closed), _by_slot(fresh)
        hidden, steps = _by_slot(changes.hidden), _by_claim(changes.transitions)
        return {
            slot: SlotCommit(
                closed=closed.get(slot, ()),
                fresh=news.get(slot, ()),
                hidden=hidden.get(slot, ()),
                transitions=[step for claim in _claims_of(hidden.get(slot, ())) for step in steps.get(claim, ())],
            )
            for slot in touched
        }

    def _evidence(self, version: FactVersion, at: Instant) -> list[Told]:
        found: list[Told] = []
        after: OrderKey | None = None
        while rows := self._reader.evidence(version, at, limit=ROWS_AT_ONCE, after=after):
            found += rows
            after = rows[-1].claim.entry.order
        return found

    def _mine(self, claims: Iterable[Claim]) -> list[Claim]:
        return [claim for claim in claims if claim.slot.scope == self._reader.scope]

    def _shown(self, changes: ChangeSet) -> list[Claim]:
        """The new claims of the scope that may be seen."""
        waits = frozenset[str]() if self._included.held else self._waiting(changes)
        return [claim for claim in self._mine(changes.claims) if claim.id not in waits]

    def _waiting(self, changes: ChangeSet) -> frozenset[str]:
        """The claims that came into a state of waiting with this commit."""
        return frozenset(step.claim for step in changes.transitions if step.state in HELD)

    def _told(self, step: Transition) -> Told | None:
        """The claim of a transition; `None` for one of another scope, or one that is gone."""
        try:
            return self._reader.claim(step.claim)
        except NotFound:
            return None


class _InSlot(Protocol):
    @property
    def slot(self) -> Slot: ...


T = TypeVar("T", bound=_InSlot)


def _by_slot(rows: Iterable[T]) -> dict[Slot, list[T]]:
    found: dict[Slot, list[T]] = {}
    for row in rows:
        found.setdefault(row.slot, []).append(row)
    return found


def _by_claim(steps: Iterable[Transition]) -> dict[ClaimId, list[Transition]]:
    found: dict[ClaimId, list[Transition]] = {}
    for step in steps:
        found.setdefault(step.claim, []).append(step)
    return found


def _claims_of(hidden: Iterable[Shown]) -> Iterable[ClaimId]:
    """Each once, in order."""
    return dict.fromkeys(each.claim for each in hidden)
