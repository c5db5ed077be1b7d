"""Which facts a text leads to, in each of the lists that a ranking fuses: by words, by meaning, by what is near."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from graph.naming import names_of
from graph.periods import ALWAYS
from graph.ports import Order, Page, Reader
from graph.ranking import Candidate, Tier
from graph.rarity import Words
from graph.searching import FactHit, Vector
from graph.sentences import Names, searched
from graph.terms import terms
from graph.wanted import LOOKED_AT_MAX, Wanted, enough
from ontology.claims import Trust
from ontology.facts import AsOf, Fact, FactVersion, Slot, ends
from ontology.ids import EntityId, FactId
from ontology.instants import OPEN_START
from ontology.schema import Schema
from ontology.values import entity_value, value_key

OTHER_TIMES: Final = 200
"""Facts that hold at another time, where they are asked for."""
_AMONG: Final = 400
"""So many of the best, whenever they hold, are looked at for them."""
_COUNTED: Final = 60
"""The same where it is only counted what is left out."""
ABOUT_MAX: Final = 500
"""Facts about one entity that are looked at, and as many that point at it."""


@dataclass(slots=True)
class Gathered:
    """A fact, with its scores in the lists in which it was found."""

    fact: Fact
    text: float | None = None
    vector: float | None = None


@dataclass(slots=True)
class Facts:
    """Gathers them in one snapshot; each list has up to `pool` that hold, and `OTHER_TIMES` that do not."""

    reader: Reader
    schema: Schema
    words: Words
    as_of: AsOf
    only: Wanted
    pool: int
    found: dict[FactId, Gathered] = field(default_factory=dict)
    left_out: list[Fact] = field(default_factory=list)
    """Those that have the words, hold at another time, and were not asked for."""
    more_left_out: bool = False
    """Whether these are only as many as were looked at."""
    cut: dict[str, None] = field(default_factory=dict)
    """The bounds of looking that were met."""
    has_near: bool = False
    """Whether there was any vector to compare with."""

    def by_words(self, *, history: bool) -> None:
        """Facts whose sentence has words of the question, and where `history` is wanted, at whatever time they hold."""
        now, others, more = self._about() if self.only.about else self._matching(history)
        if history:
            now += others
        else:
            self.left_out, self.more_left_out = [hit.fact for hit in others], more
        for hit in now:
            self._at(hit.fact).text = hit.score

    def by_meaning(self, vector: Vector, model: str, floor: float, *, history: bool) -> None:
        """Facts whose sentence is near in meaning: that many of the nearest, and of those what is not below `floor`."""

        def give(limit: int, *, history: bool) -> list[FactHit]:
            return self.reader.near_facts(
                vector, model, self.as_of, predicates=self.only.predicates, history=history, limit=limit
            )

        hits = self._wanted(partial(give, history=False), self.pool)
        if history:
            hits += self._wanted(partial(give, history=True), OTHER_TIMES, other_times=True)
        self.has_near = bool(hits)
        for hit in hits:
            if hit.score >= floor:
                self._at(hit.fact).vector = hit.score

    def candidates(self, distances: Mapping[EntityId, int], *, judges_trust: bool) -> list[Candidate]:
        """What was gathered, for ranking; `distances` are those of entities from what the question is near to."""
        slots = list(dict.fromkeys(each.fact.version.slot for each in self.found.values()))
        heads = self.reader.slot_heads(slots) if judges_trust and slots else {}
        trusts = {slot: head.trust for slot, head in heads.items()}
        return [self._candidate(each, distances, trusts) for each in self.found.values()]

    def _candidate(
        self, gathered: Gathered, distances: Mapping[EntityId, int], trusts: Mapping[Slot, Trust]
    ) -> Candidate:
        fact, version = gathered.fact, gathered.fact.version
        known = version.valid_from > OPEN_START
        return Candidate(
            id=version.id,
            pool="fact",
            tier=Tier.CURRENT if version.visible_at(self.as_of) else Tier.OTHER,
            group=version.slot,
            holds_from=version.valid_from,
            recorded_from=version.recorded_from,
            text=gathered.text,
            vector=gathered.vector,
            distance=min(
                (distances[end] for end in ends(version.slot, version.value) if end in distances), default=None
            ),
            age=max(0, self.as_of.valid_at - (version.valid_from if known else fact.support.recorded_from)),
            confidence=fact.support.confidence,
            certain=version.certain,
            trust=trusts.get(version.slot, Trust.OBSERVED),
        )

    def _at(self, fact: Fact) -> Gathered:
        return self.found.setdefault(fact.version.id, Gathered(fact))

    def _matching(self, history: bool) -> tuple[list[FactHit], list[FactHit], bool]:
        """By the index: what holds, what holds at another time, and whether there is more of that.

        Where it is only counted, what holds at another time is looked for among the best alone.
        """
        if not self.words.asked:
            return [], [], False

        def give(limit: int, *, history: bool) -> list[FactHit]:
            return self.reader.match_facts(
                self.words.asked, self.as_of, predicates=self.only.predicates, history=history, limit=limit
            )

        now = self._with_common(self._wanted(partial(give, history=False), self.pool))
        if history:
            others = self._wanted(partial(give, history=True), OTHER_TIMES, other_times=True)
            return now, self._with_common(others), False
        seen = give(_COUNTED, history=True)
        others = [hit for hit in seen if self._keeps(hit) and not hit.fact.version.visible_at(self.as_of)]
        return now, others, len(seen) == _COUNTED

    def _with_common(self, hits: list[FactHit]) -> list[FactHit]:
        """The same, with what the words tell that were too common to be asked for."""
        if not self.words.dropped:
            return hits
        told = self._sentences([hit.fact.version for hit in hits])
        common = [self.words.weight_in(terms(text), self.words.dropped) for text in told]
        return [FactHit(fact=hit.fact, score=hit.score + more) for hit, more in zip(hits, common, strict=True)]

    def _wanted(self, give: Callable[[int], list[FactHit]], count: int, *, other_times: bool = False) -> list[FactHit]:
        def keeps(hit: FactHit) -> bool:
            return self._keeps(hit) and not (other_times and hit.fact.version.visible_at(self.as_of))

        most = _AMONG if other_times else LOOKED_AT_MAX
        hits, more = enough(give, keeps, count, most, most if other_times else count)
        if more:
            self.cut["history" if other_times else "filter"] = None
        return hits

    def _keeps(self, hit: FactHit) -> bool:
        return self.only.keeps(hit.fact.version.slot, hit.fact.version.value)

    def _about(self) -> tuple[list[FactHit], list[FactHit], bool]:
        """What is said of the entities that are asked for, and what points at them: few, so all of it is looked at."""
        now: dict[FactId, Fact] = {}
        others: dict[FactId, Fact] = {}
        page = Page(ABOUT_MAX + 1)
        for entity in sorted(self.only.about):
            key, at = value_key(entity_value(entity)), self.as_of.known_at
            for found, facts in (
                (now, self.reader.state([(entity, None)], self.as_of, certain=False, page=page)),
                (now, self.reader.holders(key, None, self.as_of, certain=False, page=page)),
                (others, self._history(entity, page)),
                (others, self.reader.holders_history(
                    key, None, at, ALWAYS, certain=False, order=Order.VALID_DESCENDING, page=page
                )),
            ):  # fmt: skip
                if len(facts) > ABOUT_MAX:
                    self.cut["about"] = None
                found |= {fact.version.id: fact for fact in facts[:ABOUT_MAX]}
        past = [fact for fact in others.values() if not fact.version.visible_at(self.as_of)]
        return self._scored(list(now.values())), self._scored(past), "about" in self.cut

    def _history(self, entity: EntityId, page: Page) -> list[Fact]:
        return self.reader.history(
            entity, None, self.as_of.known_at, ALWAYS, certain=False, order=Order.VALID_DESCENDING, page=page
        )

    def _scored(self, facts: Sequence[Fact]) -> list[FactHit]:
        kept = [fact for fact in facts if self.only.keeps(fact.version.slot, fact.version.value)]
        told = self._sentences([fact.version for fact in kept])
        scores = [self.words.weight_in(terms(text)) for text in told]
        return [FactHit(fact=fact, score=score) for fact, score in zip(kept, scores, strict=True) if score > 0]

    def _sentences(self, versions: Sequence[FactVersion]) -> list[str]:
        names = names_in(self.reader, versions, self.as_of)
        return [searched(version, names, self.schema) for version in versions]


def names_in(reader: Reader, versions: Sequence[FactVersion], as_of: AsOf) -> Names:
    """What the entities of these versions are called."""
    return names_of(reader, [end for version in versions for end in ends(version.slot, version.value)], as_of)
