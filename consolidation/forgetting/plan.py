"""What would be forgotten: gathered under the tenant's lock, and named by a hash that a person can confirm."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import orjson

from consolidation.forgetting.mentions import Mentions, mentioning
from graph.naming import NAMING
from graph.paging import each_told
from graph.ports import OrderKey, Page, Transaction
from ontology.claims import Entity, Source, Told
from ontology.episodes import RecordedEpisode
from ontology.errors import NotFound
from ontology.facts import Fact, FactVersion, Slot
from ontology.handoffs import Handoff
from ontology.ids import (
    ENTITY,
    EPISODE,
    ClaimId,
    EntityId,
    EpisodeId,
    FactId,
    HandoffId,
    SessionId,
    is_recorded,
    locate,
)
from ontology.scope import Scope
from ontology.sessions import Session
from ontology.tombstones import Marked, Target, Tombstone
from ontology.values import entity_value, value_key

PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be forgotten, as it was found."""

    scope: Scope
    target: Target
    subject: Entity | None = None
    """Of a subject or a slot."""
    predicate: str | None = None
    episode: EpisodeId | None = None
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotCut:
    """What goes from a slot of which the subject stays."""

    tx: Transaction
    """In the scope of the slot."""
    slot: Slot
    gone: Sequence[Told]
    left: Sequence[Told]
    versions: Sequence[FactVersion]
    """Those that rested on nothing else, or all where nothing is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesCut:
    """What goes of a session."""

    tx: Transaction
    """In the scope of the session."""
    session: Session
    """As it is from then on: without a name or a source that goes."""
    numbers: Sequence[int]
    """Of the notes that go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffCut:
    """What goes of a handoff."""

    left: Handoff
    """As it is from then on."""
    lines: int
    """How many of its lines and facts go."""


@dataclass(slots=True, kw_only=True)
class Plan:
    """All that would go."""

    wanted: Wanted
    claims: dict[ClaimId, Told] = field(default_factory=dict)
    facts: set[FactId] = field(default_factory=set)
    cuts: list[SlotCut] = field(default_factory=list)
    quotes: dict[Slot, list[ClaimId]] = field(default_factory=dict)
    """Claims that stay and quote words that go."""
    episodes: list[EpisodeId] = field(default_factory=list)
    """Recorded ones that go whole."""
    emptied: list[EpisodeId] = field(default_factory=list)
    """Recorded ones that lose their words."""
    cited: list[EpisodeId] = field(default_factory=list)
    """Episodes that nothing is left to cite."""
    notes: dict[SessionId, NotesCut] = field(default_factory=dict)
    """What goes of the sessions of the namespace."""
    handoffs: dict[HandoffId, HandoffCut] = field(default_factory=dict)
    """The same of its handoffs."""
    words: list[tuple[Marked, str]] = field(default_factory=list)
    """What it is known by: keys, names, sources; of a subject also the purposes in which something showed of it."""

    @property
    def whole(self) -> EntityId | None:
        """The entity that goes, with everything that is said of it."""
        subject = self.wanted.subject
        return subject.id if subject is not None and self.wanted.target is Target.SUBJECT else None

    @property
    def is_empty(self) -> bool:
        return not (self.whole or self.claims or self.episodes)

    @property
    def counts(self) -> dict[str, int]:
        """How much would go, by kind."""
        return {
            "entities": int(self.whole is not None),
            "claims": len(self.claims),
            "facts": len(self.facts),
            "quotes": sum(map(len, self.quotes.values())),
            "episodes": len(self.episodes),
            "verbatims": len(self.episodes) + len(self.emptied),
            "notes": sum(len(cut.numbers) for cut in self.notes.values()),
            "handoffs": sum(cut.lines for cut in self.handoffs.values()),
        }

    @property
    def manifest(self) -> str:
        """The hash of exactly this; of ids alone, so that it gives no word away."""
        wanted = self.wanted
        subject = None if wanted.subject is None else wanted.subject.id
        framed = [
            "vigencia-forget-1", wanted.target, wanted.scope.namespace, wanted.scope.purpose, subject, wanted.predicate,
            sorted(self.claims), sorted(self.facts), sorted(id for ids in self.quotes.values() for id in ids),
            sorted(self.episodes), sorted(self.emptied),
            sorted((id, number) for id, cut in self.notes.items() for number in cut.numbers),
            sorted((id, cut.lines) for id, cut in self.handoffs.items()),
        ]  # fmt: skip
        return hashlib.sha256(orjson.dumps(framed)).hexdigest()


def plan_of(tx: Transaction, wanted: Wanted, scopes: Sequence[Scope]) -> Plan:
    """What goes with a target. `scopes` are all of the tenant; only those of its namespace are changed."""
    return _Gathering(tx, wanted, scopes).plan()


def plan_again(tx: Transaction, stone: Tombstone, scopes: Sequence[Scope], end: int) -> Plan:
    """What is here of what a tombstone stands for, by its ids alone: no word of it is known any more.

    `end` is the position up to which ids are those that the tombstone means.
    """
    whole = stone.target is Target.SUBJECT and stone.subject is not None
    subject: Entity | None = None
    if whole and stone.subject is not None and locate(stone.subject, ENTITY).position <= end:
        subject = Entity(id=stone.subject, namespace=stone.scope.namespace, key=None)
    wanted = Wanted(scope=stone.scope, target=stone.target, subject=subject, predicate=stone.predicate)
    return _Gathering(tx, wanted, scopes).again(stone, end)


class _Gathering:
    def __init__(self, tx: Transaction, wanted: Wanted, scopes: Sequence[Scope]) -> None:
        self._wanted = wanted
        self._plan = Plan(wanted=wanted)
        scoped = [scope for scope in scopes if scope.namespace == wanted.scope.namespace and scope != wanted.scope]
        self._here = [tx] + ([tx.within(scope) for scope in scoped] if wanted.target is Target.SUBJECT else [])
        self._everywhere = [tx] + [tx.within(scope) for scope in scopes if scope != wanted.scope]

    def plan(self) -> Plan:
        for tx in self._here:
            self._claims(tx)
        for tx in self._here:
            self._episodes(tx)
        for tx in self._here:
            self._cuts(tx)
        self._cited()
        self._notes()
        self._handoffs()
        return self._plan

    def again(self, stone: Tombstone, end: int) -> Plan:
        plan = self._plan
        recorded = [EpisodeId(id) for id in stone.destroyed if is_recorded(id)]
        plan.episodes += [id for id in recorded if locate(id, EPISODE).position <= end]
        emptied = [EpisodeId(id) for id in stone.restated if is_recorded(id)]
        for tx in self._here:
            for id in stone.claims:
                with suppress(NotFound):
                    plan.claims[id] = tx.claim(id)
        for tx in self._here:
            for episode in emptied:
                with suppress(NotFound):
                    recorded_then = tx.recorded_episode(episode)
                    if recorded_then.verbatim is not None or recorded_then.destroyed is not None:
                        plan.emptied.append(episode)
                        self._quoting(tx, episode)
        for tx in self._here:
            self._cuts(tx)
        self._cited()
        return plan

    # ---- claims

    def _claims(self, tx: Transaction) -> None:
        wanted, plan = self._wanted, self._plan
        match wanted.target:
            case Target.SUBJECT if wanted.subject is not None:
                told = [*_all_told(tx, wanted.subject.id, None)]
                self._known_by(wanted.subject, told)
                told += tx.all_of_entity(value_key(entity_value(wanted.subject.id)))
                if told:
                    self._shows_in(tx.scope)
            case Target.SLOT if wanted.subject is not None:
                told = [*_all_told(tx, wanted.subject.id, wanted.predicate)]
            case Target.EPISODE if wanted.episode is not None:
                told = tx.all_of_episode(wanted.episode)
                if not is_recorded(wanted.episode):
                    plan.words.append((Marked.EPISODE, wanted.episode))
            case _:
                source = wanted.source or Source("")
                plan.words.append((Marked.SOURCE, source))
                told = [*tx.all_of_source(source)]
                for id in dict.fromkeys(each.claim.episode for each in told if each.claim.episode is not None):
                    if tx.episodes([id])[id].source == source:
                        told += tx.all_of_episode(id)
        plan.claims |= {each.claim.id: each for each in told}

    def _known_by(self, subject: Entity, told: Iterable[Told]) -> None:
        names = [t.claim.value.text for t in told if t.claim.value is not None and t.claim.slot.predicate in NAMING]
        words = [(Marked.NAME, name) for name in names]
        if subject.key is not None:
            words.append((Marked.KEY, subject.key))
        self._plan.words += [word for word in dict.fromkeys(words) if word not in self._plan.words]

    def _shows_in(self, scope: Scope) -> None:
        word = Marked.PURPOSE, str(scope.purpose)
        if self._plan.whole is not None and word not in self._plan.words:
            self._plan.words.append(word)

    # ---- words

    def _episodes(self, tx: Transaction) -> None:
        """The recorded episodes of a scope that go, or lose their words, and what quotes them."""
        wanted, plan = self._wanted, self._plan
        cited = {each.claim.episode for each in plan.claims.values() if each.claim.slot.scope == tx.scope}
        mentions = mentioning([text for kind, text in plan.words if kind in (Marked.NAME, Marked.KEY)])
        for recorded in _each_recorded(tx):
            id, words = recorded.episode.id, recorded.verbatim
            if id == wanted.episode or (wanted.source is not None and recorded.episode.source == wanted.source):
                plan.episodes.append(id)
            elif words is not None:
                texts = [words.body] if isinstance(words.body, str) else [f"{t.speaker} {t.text}" for t in words.body]
                told = [*texts, "" if words.me is None else words.me.text, words.session or "", words.source_uri or ""]
                if id in cited or any(mentions(text) for text in told):
                    plan.emptied.append(id)
                    self._quoting(tx, id)
                    self._shows_in(tx.scope)
            elif recorded.destroyed is not None and (id in cited or self._is_quoted(tx, id, mentions)):
                plan.emptied.append(id)
                self._quoting(tx, id)
                self._shows_in(tx.scope)
        if wanted.target is Target.SOURCE:
            for id in plan.episodes:
                plan.claims |= {each.claim.id: each for each in tx.all_of_episode(id)}

    def _notes(self) -> None:
        """Notes that mention a subject, of every purpose; of a source, all those that it said. Those that were handed
        over to an episode which loses its words go with its operation."""
        wanted, plan, tx = self._wanted, self._plan, self._here[0]
        if wanted.target not in (Target.SUBJECT, Target.SOURCE):
            return
        mentions = mentioning([text for kind, text in plan.words if kind in (Marked.NAME, Marked.KEY)])
        after: Session | None = None
        while page := tx.sessions_of_namespace(limit=PAGE, after=after):
            for session in page:
                here = tx if session.scope == tx.scope else tx.within(session.scope)
                notes, left = here.all_notes(session.id), session
                if wanted.target is Target.SOURCE:
                    if session.scope != tx.scope or session.source != wanted.source:
                        continue
                    left = replace(session, source=Source(session.principal))
                else:
                    notes = [note for note in notes if mentions(f"{note.speaker} {note.text}")]
                    left = replace(session, me=None) if session.me and mentions(session.me.text) else session
                if notes or left != session:
                    numbers = [note.number for note in notes]
                    plan.notes[session.id] = NotesCut(tx=here, session=left, numbers=numbers)
                    self._shows_in(session.scope)
            after = page[-1]

    def _handoffs(self) -> None:
        """Facts that go are pinned no longer, in any purpose; of a subject, no line mentions it."""
        plan, tx = self._plan, self._here[0]
        mentions = mentioning([text for kind, text in plan.words if kind in (Marked.NAME, Marked.KEY)])
        after: Handoff | None = None
        while page := tx.handoffs_of_namespace(limit=PAGE, after=after):
            for handoff in page:
                left = _without(handoff, plan.facts, mentions)
                if left != handoff:
                    plan.handoffs[handoff.id] = HandoffCut(left=left, lines=left.lost - handoff.lost)
                    self._shows_in(handoff.scope)
            after = page[-1]

    def _is_quoted(self, tx: Transaction, episode: EpisodeId, mentions: Mentions) -> bool:
        """Whether a claim quotes words that mention what goes, of an episode of which only such words are left."""
        quotes = tx.quotes([told.claim.id for told in tx.all_of_episode(episode)])
        return any(mentions(quote.text) for quote in quotes.values())

    def _quoting(self, tx: Transaction, episode: EpisodeId) -> None:
        others = [t.claim for t in tx.all_of_episode(episode) if t.claim.id not in self._plan.claims]
        quoting = tx.quotes([claim.id for claim in others])
        for claim in others:
            if claim.id in quoting:
                self._plan.quotes.setdefault(claim.slot, []).append(claim.id)

    # ---- slots

    def _cuts(self, tx: Transaction) -> None:
        plan = self._plan
        mine = [each for each in plan.claims.values() if each.claim.slot.scope == tx.scope]
        if plan.whole is not None:
            plan.facts |= {fact.version.id for fact in _rectangles(tx, plan.whole, None)}
        slots = dict.fromkeys(each.claim.slot for each in mine if each.claim.slot.subject != plan.whole)
        for slot in slots:
            told = [*each_told(tx, slot)]
            left = [each for each in told if each.claim.id not in plan.claims]
            facts = [f.version for f in _rectangles(tx, slot.subject, slot.predicate) if f.version.slot == slot]
            versions = [version for version in facts if not left or self._rested_on_nothing_else(tx, version)]
            gone = [each for each in told if each.claim.id in plan.claims]
            plan.cuts.append(SlotCut(tx=tx, slot=slot, gone=gone, left=left, versions=versions))
            plan.facts |= {version.id for version in versions}

    def _rested_on_nothing_else(self, tx: Transaction, version: FactVersion) -> bool:
        after: OrderKey | None = None
        while page := tx.evidence(version, tx.head.recorded_at, limit=PAGE, after=after):
            if any(each.claim.id not in self._plan.claims for each in page):
                return False
            after = page[-1].claim.entry.order
        return True

    def _cited(self) -> None:
        """The episodes that no claim is left to cite; a recorded one only where it goes whole."""
        plan = self._plan
        cited = {t.claim.episode for t in plan.claims.values() if t.claim.episode is not None}
        for id in dict.fromkeys([*plan.episodes, *sorted(cited)]):
            if is_recorded(id) and id not in plan.episodes:
                continue
            told = (each for tx in self._everywhere for each in tx.all_of_episode(id))
            if all(each.claim.id in plan.claims for each in told):
                plan.cited.append(id)


def _without(handoff: Handoff, facts: Collection[FactId], mentions: Mentions) -> Handoff:
    """A handoff without these facts and without lines that mention what goes."""
    stays = [not mentions(f"{each.what} {each.why or ''}") for each in handoff.rejected]
    left = replace(
        handoff,
        task=None if handoff.task is None or mentions(handoff.task) else handoff.task,
        requirements=tuple(each for each in handoff.requirements if not mentions(each)),
        constraints=tuple(each for each in handoff.constraints if not mentions(each)),
        format=None if handoff.format is None or mentions(handoff.format) else handoff.format,
        facts=tuple(id for id in handoff.facts if id not in facts),
        rejected=tuple(each for each, keeps in zip(handoff.rejected, stays, strict=True) if keeps),
    )
    return replace(left, lost=handoff.lost + _size(handoff) - _size(left))


def _size(handoff: Handoff) -> int:
    lists = (handoff.requirements, handoff.constraints, handoff.facts, handoff.rejected)
    return sum(map(len, lists)) + (handoff.task is not None) + (handoff.format is not None)


def _all_told(tx: Transaction, subject: EntityId, predicate: str | None) -> Iterator[Told]:
    after: OrderKey | None = None
    while page := tx.claims(subject, predicate, limit=PAGE, after=after):
        yield from page
        after = (page[-1].claim.entry.position, page[-1].claim.entry.ordinal, 0)


def _rectangles(tx: Transaction, subject: EntityId, predicate: str | None) -> Iterator[Fact]:
    after: OrderKey | None = None
    while page := tx.audit(subject, predicate, valid_at=None, touched=None, page=Page(PAGE, after)):
        yield from page
        last = page[-1].version
        after = (last.recorded_from, last.ordinal, last.valid_from)


def _each_recorded(tx: Transaction) -> Iterator[RecordedEpisode]:
    after: EpisodeId | None = None
    while page := tx.recorded_episodes(limit=PAGE, after=after):
        yield from page
        after = page[-1].episode.id
