"""No packet has a value that is not in force at the instants that were asked, and each keeps what it may cost.

What is in force is asked of the naive model, to which the same was told.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import pytest

from graph.embedding import Asked, PatientEmbedder
from graph.fence import visible
from graph.indexing import Indexer
from graph.packet import Beside, Limits, Packet, pack
from graph.ports import Page, Reader
from graph.ranking import BALANCED
from graph.recall import Asking, Gathered, Searched, Why, gather
from graph.search import FoundFact, Sought, search
from graph.tokens import CautiousTokenizer
from ontology.facts import AsOf
from ontology.ids import EntityId, FactId
from ontology.instants import DAY, SECOND, Instant, format_instant, parse_instant
from ontology.schema import Kind
from tests.contract.world import CORE, SCOPE, World, claim, retract
from tests.embedding import HashingEmbedder
from tests.naive_store import NaiveStore
from tests.neo4j.stores import NAME, marked
from tests.property.engines import STORES
from tests.sizes import scaled

QUESTIONS: Final = {"sqlite": scaled(1_000), NAME: scaled(200, 40)}
FACTS: Final = 250
PEOPLE: Final = [f"person{number}" for number in range(12)]
WORDS: Final = ["lives_in", "works_for", "knows", "likes", "note", "decided"]
VALUE: Final = re.compile(r"\bv\d{4}\b")
TOKENIZER: Final = CautiousTokenizer()
NOTHING_BESIDE: Final = Beside(held=0, waiting=0, more_waiting=False, remarks=())
START: Final = parse_instant("2026-01-01")


@dataclass
class Stepping:
    """Milliseconds that go on with each look at them, so that the time is over at a place of the test's choosing."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@dataclass
class Twins:
    """The same told to a store and to the naive model."""

    worlds: list[World]
    choose: Random
    commits: list[Instant]

    def tell(self, number: int) -> None:
        choose = self.choose
        key, predicate = choose.choice(PEOPLE), choose.choice(WORDS)
        start = START + choose.randrange(300) * DAY
        day = format_instant(Instant(start))[:10]
        end = None if choose.random() < 0.6 else format_instant(Instant(start + choose.randrange(1, 90) * DAY))[:10]
        value: Any = f"v{number:04d}"
        if predicate in ("knows", "works_for"):
            value = {"type": "entity", "key": choose.choice(PEOPLE)}
        item: Any = claim(key, predicate, value, choose.choice([day, day[:7], "unknown", day]), end)
        if choose.random() < 0.05:
            item = retract(key, predicate, valid_from=day)
        for world in self.worlds:
            world.clock.reading = Instant(START + number * DAY)
            world.write(item)
        self.commits.append(self.worlds[0].now())

    def asked_at(self) -> AsOf:
        choose = self.choose
        valid_at = Instant(START + choose.randrange(-5, 400) * DAY + choose.randrange(3) * SECOND)
        known_at = choose.choice(
            [self.commits[-1], choose.choice(self.commits), Instant(choose.choice(self.commits) - 1)]
        )
        return AsOf(valid_at=valid_at, known_at=max(known_at, self.commits[0]))

    def question(self) -> str:
        choose = self.choose
        people = [choose.choice(PEOPLE).title() for _ in range(choose.choice([0, 1, 1, 1, 2, 5]))]
        words = [choose.choice(WORDS).replace("_", " ") for _ in range(choose.choice([0, 1, 1, 2]))]
        parts = [*people, *words, choose.choice(["where", "who", "what of", "v0007 v0100"])]
        choose.shuffle(parts)
        return " ".join(parts)


@pytest.fixture(scope="module", params=marked(QUESTIONS))
def twins(request: pytest.FixtureRequest) -> Any:
    stores = [STORES[request.param](), NaiveStore()]
    worlds = [World(store) for store in stores]
    for world in worlds:
        world.declare("lives_in", "works_for")
    told = Twins(worlds=worlds, choose=Random(20261130), commits=[])
    for number in range(FACTS):
        told.tell(number)
    indexer = Indexer(store=stores[0], clock=worlds[0].clock, core=CORE, embedder=PatientEmbedder(HashingEmbedder()))
    indexer.index(SCOPE)
    yield request.param, told
    for store in stores:
        store.close()


def recalled(
    reader: Reader, question: str, as_of: AsOf, limits: Limits, kinds: frozenset[Kind]
) -> tuple[Packet, Gathered]:
    schema = reader.schema()
    assert schema is not None
    clock = Stepping()
    asking = Asking(text=question, as_of=as_of, kinds=kinds, deadline=limits.deadline)

    def searching(near: Sequence[EntityId]) -> Searched:
        vector = HashingEmbedder().embed_question(question)[0]
        meaning = Asked(vector=vector, model="hashing", text_alone=None, detail="")
        sought = Sought(
            text=question, as_of=as_of, served_at=as_of.known_at, limit=50, facts=True, episodes=True, kinds=kinds,
            predicates=frozenset(), about=(), near=tuple(near), history=False, held=False, policy=BALANCED,
        )  # fmt: skip
        items = [item for item, _ in search(reader, schema, sought, meaning, clock).items]
        return Searched(facts=[item.fact for item in items if isinstance(item, FoundFact)], quotes=())

    gathered = gather(reader, schema, asking, clock, searching)
    return pack(reader, schema, gathered, as_of, limits, NOTHING_BESIDE, TOKENIZER, clock), gathered


def in_force(world: World, packet: Packet, as_of: AsOf) -> tuple[set[FactId], set[str]]:
    """The facts of the slots that a packet tells of, and all values in force of anybody, as the model has them."""
    with world.store.read(SCOPE) as reader:
        reader.serve(as_of.known_at, as_of.known_at)
        entities = reader.entities_by_key(PEOPLE)
        facts = reader.state(
            [(entity.id, None) for entity in entities.values()], as_of, certain=False, page=Page(10_000)
        )
    return {fact.version.id for fact in facts}, {fact.version.value.text for fact in facts}


def test_no_packet_has_a_value_that_is_not_in_force_and_each_keeps_its_budgets(twins: tuple[str, Twins]) -> None:
    name, told = twins
    seen = {
        "lines": 0,
        "found by a search": 0,
        "cut by tokens": 0,
        "cut by time": 0,
        "cut by lines": 0,
        "past belief": 0,
    }
    for _ in range(QUESTIONS[name]):
        question, as_of = told.question(), told.asked_at()
        limits = Limits(
            tokens=told.choose.choice([200, 300, 1_000, 4_000]), lines=told.choose.choice([1, 5, 50]),
            deadline=float(told.choose.choice([0, 3, 10, 10_000])),
        )  # fmt: skip
        kinds = frozenset(told.choose.choice([(), (), (Kind.FACT,), (Kind.DECISION, Kind.WORKING_NOTE)]))
        with told.worlds[0].store.read(SCOPE) as reader:
            reader.serve(as_of.known_at, as_of.known_at)
            packet, gathered = recalled(reader, question, as_of, limits, kinds)
        ids, values = in_force(told.worlds[1], packet, as_of)
        where = (question, as_of, limits, packet.text)

        assert {line.fact.version.id for line in packet.lines} <= ids, where
        assert set(VALUE.findall(packet.text)) <= values, where
        assert packet.tokens == TOKENIZER.count(packet.text) <= limits.tokens, where
        assert len(packet.lines) <= limits.lines, where
        assert packet.left_out == len(gathered.found) - len(packet.lines), where
        assert bool(packet.left_out) <= bool(packet.cut_by), where
        seen["lines"] += len(packet.lines)
        seen["found by a search"] += any(line.why is Why.FOUND for line in packet.lines)
        seen["cut by tokens"] += "tokens" in packet.cut_by
        seen["cut by time"] += "milliseconds" in packet.cut_by
        seen["cut by lines"] += "lines" in packet.cut_by
        seen["past belief"] += as_of.known_at < told.commits[-1] and bool(packet.lines)
    print(f"{QUESTIONS[name]} questions on {name}: {seen}")
    assert all(count > QUESTIONS[name] / 50 for count in seen.values()), seen


def test_who_is_named_is_told_of_in_full_where_there_is_room(twins: tuple[str, Twins]) -> None:
    _, told = twins
    for key in PEOPLE:
        as_of = told.asked_at()
        with told.worlds[0].store.read(SCOPE) as reader:
            reader.serve(as_of.known_at, as_of.known_at)
            limits = Limits(tokens=16_000, lines=200, deadline=1e9)
            packet, _ = recalled(reader, f"What of {key}?", as_of, limits, frozenset())
        with told.worlds[1].store.read(SCOPE) as reader:
            reader.serve(as_of.known_at, as_of.known_at)
            own = reader.entities_by_key([key])[key].id
            facts = reader.state([(own, None)], as_of, certain=False, page=Page(10_000))
        assert {fact.version.id for fact in facts} <= {line.fact.version.id for line in packet.lines}
        stated = [line for line in packet.lines if line.why is Why.STATE]
        assert all(visible(line.sentence) in line.text for line in stated)
