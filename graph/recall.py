"""What memory has to say to a question: exact state of what it names, and, where that is not enough, what lies around.

Every fact that is gathered is visible at the two instants of the question: it is read so, never filtered afterwards.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import Final

from graph.expansion import Milliseconds
from graph.mentions import Mentions, mentions
from graph.naming import ALIAS, NAME
from graph.neighbourhood import Budget, neighbourhood
from graph.ports import Page, Reader
from graph.searching import ChunkHit
from graph.sentences import label
from graph.topics import inverses, spoken_of, stems
from ontology.facts import AsOf, Fact, ends
from ontology.ids import EntityId, FactId
from ontology.schema import Kind, Predicate, Schema, Volatility
from ontology.values import ValueType, entity_value, value_key

ENOUGH: Final = 0.5
"""Of the words of a predicate: from here on a fact under it answers the question, and nothing further is walked to."""
TOPICS_MAX: Final = 8
"""Predicates that are asked for by themselves."""
FACTS_MAX: Final = 200
"""Read at once, of one subject or under one predicate."""
ANSWERS_MAX: Final = 20
"""So many of those who answer a question are looked at for what it asks further."""
WALK: Final = Budget(hops=2, nodes=100, edges=200, fan_out=40, milliseconds=0)
"""What is walked at most; the time is what is left of that of the question."""
_NOWHERE: Final = 1_000_000
"""The place of what a search did not find."""
_LAST: Final = frozenset({NAME, ALIAS, "type"})
"""What only says who somebody is comes after what is said of them."""


class Why(IntEnum):
    """Why a fact is told, in the order in which facts are."""

    ASKED = 0
    """Of what is named, under a predicate that the question speaks of, from either end."""
    STATE = 1
    """Of what is named."""
    FOUND = 2
    """By its words or its meaning."""
    AROUND = 3
    """Of what is a step or more away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    fact: Fact
    why: Why
    depth: int
    """Steps from the nearest entity that is named."""
    place: int | None
    """In what a search found, if it found this one too."""
    share: float
    """How much of the predicate the question speaks of."""
    onward: bool
    """Whether it is said of what an answer leads to, as `Fjordwind located in Oslo` of where somebody works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    found: list[Found]
    """By (why, depth, what the question speaks of first, place in a search, in the order of naming, certain first,
    latest start first, id); what only a search found by its place. But what is said of what an answer leads to comes
    right behind the answers, if the question speaks of it or if it leads further; else behind the state of those who
    are named."""
    mentions: Mentions
    live: tuple[str, ...]
    """Predicates that the question speaks of whose values only a tool has."""
    quotes: tuple[ChunkHit, ...]
    """Words of episodes that a search found, best first."""
    cut_by: tuple[str, ...]
    """The limits that were met, in the order in which they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A question, and what it may cost."""

    text: str
    """Without its dates."""
    as_of: AsOf
    kinds: Collection[Kind]
    """Which sorts of facts are wanted; empty for all."""
    deadline: float
    """Of the clock that is handed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """What a search finds for a question, visible at its two instants, best first."""

    facts: Sequence[Fact]
    quotes: Sequence[ChunkHit]
    """Words of episodes."""


Searching = Callable[[Sequence[EntityId]], Searched]
"""Searches for the question, near to the entities that it names."""


def gather(reader: Reader, schema: Schema, asking: Asking, clock: Milliseconds, search: Searching | None) -> Gathered:
    """All that is worth telling. Looks up what is named at least, however little time there is.

    What lies around is walked to where exact state is not enough. There, and wherever the question has words that no
    name and no predicate of an answer accounts for, what is said of those who answer is read too, and it is searched.
    """
    work = _Gathering(reader, schema, asking, clock)
    work.read_state()
    enough = work.is_enough()
    understood = enough and work.is_understood()
    if not understood:
        work.go_on()
    if not enough:
        work.walk()
    if search is not None and not understood:
        work.search(search)
    return work.gathered()


class _Gathering:
    def __init__(self, reader: Reader, schema: Schema, asking: Asking, clock: Milliseconds) -> None:
        self._reader = reader
        self._schema = schema
        self._asking = asking
        self._as_of = asking.as_of
        self._clock = clock
        self._mentions = mentions(reader, asking.text, asking.as_of)
        self._named = [each.entity.id for each in self._mentions.named]
        self._shares = spoken_of(asking.text, schema, schema.predicates)
        backwards = inverses(schema)
        read_back = spoken_of(asking.text, schema, backwards)
        self._backwards = {backwards[name]: share for name, share in read_back.items()}
        self._found: dict[FactId, Found] = {}
        self._quotes: tuple[ChunkHit, ...] = ()
        self._cut_by: dict[str, None] = {"words": None} if self._mentions.cut else {}

    # ---- the steps

    def read_state(self) -> None:
        """What holds of those who are named; of nobody in particular, what holds under the predicates."""
        topics = list(self._shares)[:TOPICS_MAX]
        for id in self._named:
            self._add(self._all_of(id, topics))
            if not self._has_time():
                return
            self._add(self._pointing_at(id, topics), back=True)
        if not self._named:
            for topic in self._of_nobody():
                if self._has_time():
                    self._add(self._page(partial(self._reader.of_predicate, topic, self._as_of, certain=False)))

    def _of_nobody(self) -> list[str]:
        """Predicates under which all is told, where nobody is named."""
        if self._mentions.unclear:
            return []
        topics = [topic for topic in self._shares if topic in self._schema.predicates][:TOPICS_MAX]
        return [topic for topic in topics if self._shares[topic] >= ENOUGH and topic not in _LAST]

    def is_enough(self) -> bool:
        """Whether each of those who are named has a fact under what the question speaks of."""
        answered = {
            end
            for each in self._found.values()
            if each.why is Why.ASKED and each.share >= ENOUGH
            for end in _ends(each.fact)
        }
        return answered.issuperset(self._named)

    def go_on(self) -> None:
        """What is said of those to whom the facts lead that the question speaks of."""
        asked = [each for each in self._found.values() if each.why is Why.ASKED and each.share >= ENOUGH]
        led_to = dict.fromkeys(end for each in asked for end in _ends(each.fact) if end not in self._named)
        pairs = [(id, None) for id in list(led_to)[:ANSWERS_MAX]]
        if self._named and pairs and self._has_time():
            for fact in self._page(partial(self._reader.state, pairs, self._as_of, certain=False)):
                self._put(fact, Why.AROUND, 1, onward=True)

    def walk(self) -> None:
        """What lies around those who are named."""
        if not self._named or not self._has_time():
            return
        left = int((self._asking.deadline - self._clock()) / 2)  # half of it, so that a search has some too
        budget = Budget(
            hops=WALK.hops, nodes=WALK.nodes, edges=WALK.edges, fan_out=WALK.fan_out, milliseconds=max(left, 0)
        )
        walked = neighbourhood(self._reader, self._named, self._as_of, budget, self._clock)
        self._cut_by |= dict.fromkeys(walked.cut_by)
        depths = {each.entity: each.depth for each in walked.entities}
        for fact in walked.facts:
            depth = min(depths.get(end, WALK.hops) for end in _ends(fact))
            self._put(fact, Why.AROUND, depth + 1)

    def is_understood(self) -> bool:
        """Whether each word that says something is a part of a name or of the predicate of an answer."""
        accounted = [each.words for each in self._mentions.named]
        for name in {each.fact.version.slot.predicate for each in self._found.values() if each.why is Why.ASKED}:
            known = self._declared(name)
            accounted += [name, label(name, self._schema), self._schema.kind_of(name).value]
            accounted += [known.inverse] if known is not None and known.inverse is not None else []
        return stems(self._asking.text) <= stems(" ".join(accounted))

    def search(self, search: Searching) -> None:
        if self._has_time():
            searched = search(self._named)
            for place, fact in enumerate(searched.facts):
                self._put(fact, self._why_found(fact), 0)
                self._rank(fact, place)
            self._quotes = tuple(searched.quotes)

    def gathered(self) -> Gathered:
        order = {id: place for place, id in enumerate(self._named)}
        found = sorted(self._found.values(), key=lambda each: _order(each, order))
        live = [name for name, share in self._shares.items() if share >= ENOUGH and self._is_live(name)]
        return Gathered(
            found=found, mentions=self._mentions, live=tuple(live), quotes=self._quotes, cut_by=tuple(self._cut_by)
        )

    # ---- reading

    def _all_of(self, id: EntityId, topics: Iterable[str]) -> Iterator[Fact]:
        """All that holds of an entity, or as much as is read at once; what the question speaks of in any case."""
        facts = self._reader.state([(id, None)], self._as_of, certain=False, page=Page(FACTS_MAX + 1))
        yield from facts[:FACTS_MAX]
        if len(facts) > FACTS_MAX:
            self._cut_by["facts"] = None
            pairs = [(id, topic) for topic in topics]
            if pairs:
                yield from self._page(partial(self._reader.state, pairs, self._as_of, certain=False))

    def _pointing_at(self, id: EntityId, topics: Iterable[str]) -> Iterator[Fact]:
        """What points at an entity under the predicates that the question speaks of."""
        entities = (topic for topic in topics if self._takes_entities(topic))
        wanted = list(dict.fromkeys((*self._backwards, *entities)))[:TOPICS_MAX]
        if not wanted:
            return
        key = value_key(entity_value(id))
        facts = self._reader.holders(key, None, self._as_of, certain=False, page=Page(FACTS_MAX + 1))
        if len(facts) <= FACTS_MAX:
            yield from (fact for fact in facts if fact.version.slot.predicate in wanted)
            return
        for predicate in wanted:
            if self._has_time():
                yield from self._page(partial(self._reader.holders, key, predicate, self._as_of, certain=False))

    def _page(self, read: Callable[..., list[Fact]]) -> Iterator[Fact]:
        facts = read(page=Page(FACTS_MAX + 1))
        if len(facts) > FACTS_MAX:
            self._cut_by["facts"] = None
        yield from facts[:FACTS_MAX]

    # ---- keeping

    def _add(self, facts: Iterable[Fact], *, back: bool = False) -> None:
        for fact in facts:
            name = fact.version.slot.predicate
            if name not in self._shares and name not in self._schema.predicates:
                self._shares |= spoken_of(self._asking.text, self._schema, [name]) or {name: 0.0}
            asked = back or self._share(name) > 0
            self._put(fact, Why.ASKED if asked else Why.STATE, 0)

    def _why_found(self, fact: Fact) -> Why:
        """A search may find what exact state was too much to be read of: that is no less of what is asked for."""
        slot = fact.version.slot
        if slot.subject in self._named:
            return Why.ASKED if self._share(slot.predicate) > 0 else Why.STATE
        if not self._named and slot.predicate in self._of_nobody():
            return Why.ASKED
        return Why.FOUND

    def _rank(self, fact: Fact, place: int) -> None:
        found = self._found.get(fact.version.id)
        if found is not None:
            self._found[fact.version.id] = replace(found, place=place)

    def _put(self, fact: Fact, why: Why, depth: int, *, onward: bool = False) -> None:
        name = fact.version.slot.predicate
        if self._is_live(name) or not self._is_wanted(name) or fact.version.id in self._found:
            return
        self._found[fact.version.id] = Found(
            fact=fact, why=why, depth=depth, place=None, share=self._share(name), onward=onward
        )

    def _share(self, name: str) -> float:
        """How much of a predicate, or of its inverse, the question speaks of."""
        return max(self._shares.get(name, 0.0), self._backwards.get(name, 0.0))

    def _is_wanted(self, name: str) -> bool:
        kinds = self._asking.kinds
        return not kinds or self._schema.kind_of(name) in kinds

    def _is_live(self, name: str) -> bool:
        known = self._declared(name)
        return known is not None and known.governance.volatility is Volatility.LIVE

    def _takes_entities(self, name: str) -> bool:
        known = self._declared(name)
        return known is None or known.datatype in (None, ValueType.ENTITY)

    def _declared(self, name: str) -> Predicate | None:
        return self._schema.predicates.get(name)

    def _has_time(self) -> bool:
        if self._clock() <= self._asking.deadline:
            return True
        self._cut_by["milliseconds"] = None
        return False


def _ends(fact: Fact) -> tuple[EntityId, ...]:
    return ends(fact.version.slot, fact.version.value)


def _order(each: Found, named: dict[EntityId, int]) -> tuple[object, ...]:
    version = each.fact.version
    nearest = min((named.get(end, len(named)) for end in _ends(each.fact)), default=len(named))
    turn = each.why
    if each.onward:
        further = each.share > 0 or version.value.type is ValueType.ENTITY
        turn = Why.STATE if further else Why.FOUND
    sought = _NOWHERE if each.place is None else each.place
    return (
        turn, not each.onward, each.depth, sought if each.why is Why.FOUND else 0, -each.share,
        version.slot.predicate in _LAST, sought, nearest, not version.certain, -version.valid_from, version.id,
    )  # fmt: skip
