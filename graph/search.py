"""What memory has to do with a text: found by its words, by its meaning and by what is near, filtered by rule first.

Nothing comes back that an exact read would not serve at the two instants of the question. What holds comes first; what
holds at another time, and what is held, comes only where it was asked for, and behind it. Nothing is kept between two
questions, so no caller's limit or recipe becomes another's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from graph.embedding import Asked, TextAlone, other_model
from graph.expansion import Milliseconds
from graph.gathering import Facts, names_in
from graph.naming import names_of
from graph.neighbourhood import Budget, neighbourhood
from graph.ports import Reader
from graph.ranking import Candidate, Policy, Ranked, Tier, rank
from graph.rarity import words_of
from graph.searching import ChunkHit, Statement, Texts
from graph.sentences import searched, sentence
from graph.terms import terms
from graph.wanted import wanted
from ontology.claims import HELD, Told, Trust
from ontology.facts import AsOf, Fact, ends
from ontology.ids import EntityId
from ontology.instants import Instant
from ontology.schema import Kind, Schema
from ontology.values import value_key

POOL_MIN: Final = 50
"""So many hits of each list are fused at least."""
HELD_MAX: Final = 1_000
"""Claims that wait, and are looked at."""
NEAR: Final = Budget(hops=2, nodes=300, edges=500, fan_out=100, milliseconds=50)
"""How far what is near is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """A text, and what may be given for it."""

    text: str
    as_of: AsOf
    served_at: Instant
    """By which it is judged what has expired."""
    limit: int
    facts: bool
    episodes: bool
    kinds: frozenset[Kind]
    """Of facts; empty for all. So are `predicates`, and `about`, to which facts must lead."""
    predicates: frozenset[str]
    about: tuple[EntityId, ...]
    near: tuple[EntityId, ...]
    """Facts that lie around these come first, all else being the same."""
    history: bool
    """Whether facts that hold at another time are given, too."""
    held: bool
    """Whether claims that wait for a decision are; for whoever may review."""
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFact:
    fact: Fact
    sentence: str
    holds: str
    """`now`, `earlier` or `later` than the asked instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundClaim:
    """A claim that waits for a decision."""

    told: Told
    sentence: str


Item = FoundFact | ChunkHit | FoundClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppressed:
    """Facts that have the words and do not hold at the asked instant."""

    earlier: int
    later: int
    more: bool
    """Whether these are only as many as were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Whether meaning was searched."""

    used: bool
    reason: str
    """Why not, in a word; empty where it was. `detail` says the same for people."""
    detail: str
    floor: float | None
    """The cosine below which nothing is a hit; `None` where they were not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was found, best first, and what an answer must tell of how."""

    items: list[tuple[Item, Ranked]]
    dropped: tuple[str, ...]
    """Words of the question that are too common, and were not asked for."""
    cut: tuple[str, ...]
    """Words beyond the number that is asked for."""
    vectors: Vectors
    suppressed: Suppressed
    truncated: tuple[str, ...]
    """What was met: `limit`, or a bound of looking: `filter`, `history`, `about`, `held`, or `near` with its own."""


def search(reader: Reader, schema: Schema, sought: Sought, meaning: Asked, clock: Milliseconds) -> Found:
    """The best of what matches, in a total order: what holds, what else is believed, what is held.

    `meaning` is the text as a vector, as `graph.embedding.ask` gives it. Raises `NotFound` if none of `near` is an
    entity of the namespace.
    """
    return _Search(reader, schema, sought, meaning).found(clock)


class _Search:
    def __init__(self, reader: Reader, schema: Schema, sought: Sought, meaning: Asked) -> None:
        self._reader = reader
        self._schema = schema
        self._sought = sought
        asked = terms(sought.text)
        self._words = words_of(reader, Texts.SENTENCES, asked)
        self._said = words_of(reader, Texts.CHUNKS, asked if sought.episodes else [])
        self._vectors = _vectors(sought.policy, meaning)
        self._vector = meaning.vector if self._vectors.used else None
        self._model = meaning.model or ""
        self._only = wanted(schema, sought.kinds, sought.predicates, sought.about)
        self._pool = max(POOL_MIN, 2 * sought.limit)
        self._candidates: dict[str, Candidate] = {}
        self._facts: dict[str, Fact] = {}
        self._chunks: dict[str, ChunkHit] = {}
        self._claims: dict[str, FoundClaim] = {}
        self._cut: dict[str, None] = {}
        self._has_near = False

    def found(self, clock: Milliseconds) -> Found:
        sought = self._sought
        suppressed = Suppressed(earlier=0, later=0, more=False)
        if sought.facts and not self._only.nothing:
            suppressed = self._gather_facts(clock)
        if sought.episodes:
            self._gather_episodes()
        if sought.held:
            self._gather_held()
        ranked = rank(list(self._candidates.values()), sought.policy)
        if len(ranked) > sought.limit:
            self._cut["limit"] = None
        return Found(
            items=self._told(ranked[: sought.limit]),
            dropped=_either(self._words.dropped, self._said.dropped),
            cut=_either(self._words.cut, self._said.cut),
            vectors=self._vectors_searched(),
            suppressed=suppressed,
            truncated=tuple(self._cut),
        )

    def _gather_facts(self, clock: Milliseconds) -> Suppressed:
        """Gather candidates; tells what is left out, since it holds at another time."""
        sought = self._sought
        facts = Facts(self._reader, self._schema, self._words, sought.as_of, self._only, self._pool)
        facts.by_words(history=sought.history)
        if self._vector is not None:
            facts.by_meaning(self._vector, self._model, sought.policy.floor, history=sought.history)
            self._has_near |= facts.has_near
        distances = self._distances(clock)
        for candidate in facts.candidates(distances, judges_trust=sought.policy.trust > 0):
            self._candidates[candidate.id] = candidate
        self._facts = {id: gathered.fact for id, gathered in facts.found.items()}
        self._cut |= facts.cut
        later = sum(fact.version.valid_from > sought.as_of.valid_at for fact in facts.left_out)
        return Suppressed(earlier=len(facts.left_out) - later, later=later, more=facts.more_left_out)

    def _distances(self, clock: Milliseconds) -> dict[EntityId, int]:
        """How many facts lie between what the question is near to and each entity around it."""
        if not self._sought.near or self._sought.policy.graph <= 0:
            return {}
        around = neighbourhood(self._reader, self._sought.near, self._sought.as_of, NEAR, clock)
        self._cut |= {f"near_{limit}": None for limit in around.cut_by}
        return {reached.entity: reached.depth for reached in around.entities}

    def _gather_episodes(self) -> None:
        known_at = self._sought.as_of.known_at
        texts = self._said.asked
        by_words = self._reader.match_chunks(texts, known_at, limit=self._pool) if texts else []
        vector = self._vector
        by_meaning = [] if vector is None else self._reader.near_chunks(vector, self._model, known_at, limit=self._pool)
        self._has_near |= bool(by_meaning)
        by_meaning = [hit for hit in by_meaning if hit.score >= self._sought.policy.floor]
        near = {_chunk_id(hit): hit.score for hit in by_meaning}
        worded = {_chunk_id(hit): hit.score for hit in by_words}
        for hit in (*by_meaning, *by_words):
            id = _chunk_id(hit)
            self._chunks[id] = hit
            self._candidates[id] = self._episode(id, hit, worded.get(id), near.get(id))

    def _episode(self, id: str, hit: ChunkHit, text: float | None, vector: float | None) -> Candidate:
        recorded = hit.episode
        said_at = recorded.episode.observed_at or recorded.recorded_at
        verbatim = recorded.verbatim
        return Candidate(
            id=id, pool="episode", tier=Tier.CURRENT, group=id, holds_from=said_at,
            recorded_from=recorded.recorded_at, text=text, vector=vector, distance=None,
            age=max(0, self._sought.as_of.valid_at - said_at), confidence=1.0, certain=True,
            trust=Trust.OBSERVED if verbatim is None else verbatim.vouched.trust,
        )  # fmt: skip

    def _gather_held(self) -> None:
        """Claims that wait are in no index: few do as a rule, so a bounded number is looked at."""
        waiting = self._reader.held(HELD, None, limit=HELD_MAX + 1, after=None)
        if len(waiting) > HELD_MAX:
            self._cut["held"] = None
        told = [each for each in waiting[:HELD_MAX] if self._may_match(each)]
        texts = _claimed(self._reader, told, self._sought.as_of, self._schema)
        for each, (text, indexed) in zip(told, texts, strict=True):
            score = self._words.weight_in(terms(indexed))
            if score > 0:
                claim = each.claim
                self._claims[claim.id] = FoundClaim(told=each, sentence=text)
                self._candidates[claim.id] = Candidate(
                    id=claim.id, pool="claim", tier=Tier.HELD, group=claim.id, holds_from=claim.recorded_at,
                    recorded_from=claim.recorded_at, text=score, vector=None, distance=None,
                    age=max(0, self._sought.as_of.valid_at - claim.entry.observed_at), confidence=claim.confidence,
                    certain=True, trust=claim.trust,
                )  # fmt: skip

    def _vectors_searched(self) -> Vectors:
        """Whether they were: where there were none, another model may serve since the text was embedded."""
        if not self._vectors.used or self._has_near:
            return self._vectors
        serving = self._reader.models().serving
        if serving is None or serving.name == self._model:
            return self._vectors
        return _unused(TextAlone.OTHER_MODEL, other_model(serving.name, self._model))

    def _may_match(self, told: Told) -> bool:
        claim = told.claim
        return (
            claim.value is not None
            and claim.recorded_at <= self._sought.as_of.known_at
            and claim.expires_at > self._sought.served_at
            and self._only.keeps(claim.slot, claim.value)
        )

    def _told(self, ranked: Sequence[Ranked]) -> list[tuple[Item, Ranked]]:
        """What is given, each fact with its sentence."""
        as_of = self._sought.as_of
        versions = [self._facts[each.candidate.id].version for each in ranked if each.candidate.id in self._facts]
        names = names_in(self._reader, versions, as_of)
        told: list[tuple[Item, Ranked]] = []
        for each in ranked:
            id = each.candidate.id
            if id in self._facts:
                fact = self._facts[id]
                text = sentence(fact.version, names, self._schema)
                told.append((FoundFact(fact=fact, sentence=text, holds=_holds(fact, as_of)), each))
            else:
                told.append((self._chunks[id] if id in self._chunks else self._claims[id], each))
        return told


def _vectors(policy: Policy, meaning: Asked) -> Vectors:
    """Whether vectors are searched."""
    if policy.vector <= 0:
        return _unused("recipe", f"the recipe {policy.name!r} asks for words alone")
    if meaning.text_alone is not None:
        return _unused(meaning.text_alone, meaning.detail)
    return Vectors(used=True, reason="", detail="", floor=policy.floor)


def _unused(reason: str, detail: str) -> Vectors:
    return Vectors(used=False, reason=reason, detail=detail, floor=None)


def _claimed(reader: Reader, told: Sequence[Told], as_of: AsOf, schema: Schema) -> list[tuple[str, str]]:
    """What each claim says in a sentence, for people and for an index."""
    said = [
        Statement(slot=each.claim.slot, value=each.claim.value, value_key=value_key(each.claim.value))
        for each in told
        if each.claim.value is not None
    ]
    names = names_of(reader, [end for each in said for end in ends(each.slot, each.value)], as_of)
    return [(sentence(each, names, schema), searched(each, names, schema)) for each in said]


def _holds(fact: Fact, as_of: AsOf) -> str:
    if fact.version.visible_at(as_of):
        return "now"
    return "later" if fact.version.valid_from > as_of.valid_at else "earlier"


def _either(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _chunk_id(hit: ChunkHit) -> str:
    return f"{hit.chunk.episode}#{hit.chunk.number}"
