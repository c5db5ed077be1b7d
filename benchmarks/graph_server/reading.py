"""State and as-of through the store against a query by hand on the same database, and how they grow."""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import LiteralString

from benchmarks import world
from benchmarks.figures import Figure, at_most, plain
from benchmarks.graph_server import bare
from benchmarks.graph_server.place import Place
from benchmarks.sizes import GraphSizes
from benchmarks.timing import each, interleaved, tell
from graph.neo4j_store import keys
from graph.ports import Page, Reader
from ontology.facts import AsOf
from ontology.ids import EntityId
from ontology.instants import DAY, Instant, days_from_civil
from ontology.scope import Scope

PAGE = Page(100)
NOW = Instant(days_from_civil(2026, 6, 1) * DAY)
_SAMPLED = 2_000

Operation = Callable[[], object]


class Questions:
    """Questions about random slots of a tenant: each is answered with one fact."""

    def __init__(self, place: Place, scope: Scope, facts: int, block: int) -> None:
        self._place = place
        self._scope = scope
        every = range(world.subjects(facts))
        self._numbers = random.Random(facts).sample(every, min(_SAMPLED, len(every)))
        with place.store.read(scope) as reader:
            self._reader: Reader = reader
            found = reader.entities_by_key([world.subject(number) for number in self._numbers])
            self._recorded = recorded_times(reader)
        self._ids = {number: found[world.subject(number)].id for number in self._numbers}
        self._per_block = world.subjects(block)
        self._commits = block // world.batch_items(block)

    def sides(self) -> dict[str, Iterator[Operation]]:
        """The same kinds of question, now and as known earlier: in a snapshot, with it, and by hand."""
        return {
            "state": self._ours(random.Random(1), self._present, self._asked),
            "state with its snapshot": self._ours(random.Random(2), self._present, self._asked_anew),
            "bare state": self._ours(random.Random(3), self._present, self._bare(bare.STATE_NOW)),
            "as-of": self._ours(random.Random(4), self._past, self._asked),
            "as-of with its snapshot": self._ours(random.Random(5), self._past, self._asked_anew),
            "bare as-of": self._ours(random.Random(6), self._past, self._bare(bare.STATE_AS_OF)),
        }

    def check(self) -> None:
        """That each side finds one fact: what is measured is an answer, not a miss."""
        for name, operations in self.sides().items():
            for operation in islice(operations, 50):
                answer = operation()
                if not isinstance(answer, list) or len(answer) != 1:
                    raise AssertionError(f"{name}: a question of the benchmark is not answered with one fact")

    def _present(self, number: int, chance: random.Random) -> AsOf:
        return AsOf(valid_at=NOW, known_at=self._recorded[-1])

    def _past(self, number: int, chance: random.Random) -> AsOf:
        """Some year, as known when one to three of the four values of the subject had been told."""
        first = number // self._per_block * self._commits
        commit = first + chance.randrange(self._commits // 4, self._commits * 3 // 4 + 1)
        year = chance.randrange(world.YEARS[0] + 1, 2020)
        return AsOf(valid_at=Instant(days_from_civil(year, 6, 1) * DAY), known_at=self._recorded[commit])

    def _ours(
        self, chance: random.Random, as_of: Callable[[int, random.Random], AsOf],
        ask: Callable[[EntityId, str, AsOf], Operation],
    ) -> Iterator[Operation]:  # fmt: skip
        while True:
            number = chance.choice(self._numbers)
            yield ask(self._ids[number], chance.choice(world.PREDICATES), as_of(number, chance))

    def _asked(self, subject: EntityId, predicate: str, as_of: AsOf) -> Operation:
        return lambda: self._reader.state([(subject, predicate)], as_of, certain=False, page=PAGE)

    def _asked_anew(self, subject: EntityId, predicate: str, as_of: AsOf) -> Operation:
        def ask() -> object:
            with self._place.store.read(self._scope) as reader:
                return reader.state([(subject, predicate)], as_of, certain=False, page=PAGE)

        return ask

    def _bare(self, query: LiteralString) -> Callable[[EntityId, str, AsOf], Operation]:
        def ask(subject: EntityId, predicate: str, as_of: AsOf) -> Operation:
            pair = keys.pair_key(self._scope, subject, predicate)
            return lambda: self._place.run(query, pair=pair, valid_at=as_of.valid_at, known_at=as_of.known_at)

        return ask


def measure(
    place: Place, scopes: dict[int, Scope], sizes: GraphSizes, beside: str = ""
) -> Iterator[Figure]:  # fmt: skip
    """State and as-of at each size, and how they grow with it; `beside` says what else the database has."""
    asked = {facts: Questions(place, scope, facts, sizes.facts[0]) for facts, scope in scopes.items()}
    sides = {}
    for facts, questions in asked.items():
        questions.check()
        for name, operations in questions.sides().items():
            sides[f"{name} {facts}"] = each(operations, sizes.reads)
    tell(f"reading on the server, at {', '.join(f'{facts:,}' for facts in scopes)} facts")
    seconds = interleaved(sides, sizes.runs)
    for kind in ("state", "as-of"):
        for facts in scopes:
            for name in (f"bare {kind}", kind, f"{kind} with its snapshot"):
                yield plain(f"neo4j: {name}, {facts:,} facts{beside}", seconds[f"{name} {facts}"] * 1e6, "us")
            for name in (kind, f"{kind} with its snapshot"):
                ratio = seconds[f"{name} {facts}"] / seconds[f"bare {kind} {facts}"]
                yield at_most(f"neo4j: {name}, {facts:,} facts{beside}, against bare", ratio, 1.3)
        first, last = min(scopes), max(scopes)
        if first != last:
            growth = seconds[f"{kind} {last}"] / seconds[f"{kind} {first}"]
            yield plain(f"neo4j: {kind}, from {first:,} to {last:,} facts", growth, "x")


def recorded_times(reader: Reader) -> list[Instant]:
    """Of every write to the tenant, in order."""
    found, after = [], 0
    while page := reader.events(after=after, limit=100):
        found += [event.recorded_at for event, _ in page if event.kind.value == "write"]
        after = page[-1][0].position
    return found
