"""State and as-of in this process against the bare engine on the same file, and a slot with very many versions."""

import random
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from api.wiring import Services
from benchmarks import bare, world
from benchmarks.figures import Figure, at_most, plain
from benchmarks.sizes import Sizes
from benchmarks.timing import each, interleaved, tell
from graph.ports import Page
from ontology.facts import AsOf
from ontology.ids import ENTITY, EntityId, locate
from ontology.instants import DAY, Instant, days_from_civil

_PAGE = Page(100)
_SAMPLED = 5_000

Operation = Callable[[], object]


class Questions:
    """Questions about random slots of a store: each is answered with one fact."""

    def __init__(self, file: Path, facts: int, block: int) -> None:
        self.services = world.open_store(file)
        self.bare = bare.connect(file)
        every = range(world.subjects(facts))
        self.numbers = random.Random(facts).sample(every, min(_SAMPLED, len(every)))
        with self.services.store.read(world.SCOPE) as reader:
            self.known_at = reader.head.recorded_at
            found = reader.entities_by_key([world.subject(number) for number in self.numbers])
        self.ids = {number: found[world.subject(number)].id for number in self.numbers}
        self.scope_pk = self.bare.execute("SELECT pk FROM scopes").fetchone()[0]
        self.now = Instant(days_from_civil(2026, 6, 1) * DAY)
        events = self.bare.execute("SELECT recorded_at FROM events WHERE kind = 'write' ORDER BY position")
        self._recorded = [Instant(row[0]) for row in events]
        self._per_block = world.subjects(block)
        self._commits = block // world.batch_items(block)

    def state(self) -> Iterator[Operation]:
        return self._ours(random.Random(1), self._present)

    def as_of(self) -> Iterator[Operation]:
        return self._ours(random.Random(2), self._past)

    def bare_state(self) -> Iterator[Operation]:
        return self._bare(random.Random(3), bare.STATE_NOW, self._present, 1)

    def bare_as_of(self) -> Iterator[Operation]:
        return self._bare(random.Random(4), bare.STATE_AS_OF, self._past, 2)

    def close(self) -> None:
        self.services.close()
        self.bare.close()

    def _present(self, number: int, chance: random.Random) -> AsOf:
        return AsOf(valid_at=self.now, known_at=self.known_at)

    def _past(self, number: int, chance: random.Random) -> AsOf:
        """Some year, as known when one to three of the four values of the subject had been told."""
        first = number // self._per_block * self._commits
        commit = first + chance.randrange(self._commits // 4, self._commits * 3 // 4 + 1)
        year = chance.randrange(world.YEARS[0] + 1, 2020)
        return AsOf(valid_at=Instant(days_from_civil(year, 6, 1) * DAY), known_at=self._recorded[commit])

    def _ours(self, chance: random.Random, as_of: Callable[[int, random.Random], AsOf]) -> Iterator[Operation]:
        while True:
            number = chance.choice(self.numbers)
            yield asking(self.services, (self.ids[number], chance.choice(world.PREDICATES)), as_of(number, chance))

    def _bare(
        self, chance: random.Random, sql: str, as_of: Callable[[int, random.Random], AsOf], instants: int
    ) -> Iterator[Operation]:
        while True:
            number = chance.choice(self.numbers)
            place, asked = locate(self.ids[number], ENTITY), as_of(number, chance)
            slot = (self.scope_pk, place.position, place.ordinal, chance.choice(world.PREDICATES))
            yield fetching(self.bare, sql, (*slot, *(asked.valid_at, asked.known_at)[:instants]))


def asking(services: Services, pair: tuple[EntityId, str], as_of: AsOf) -> Operation:
    """One question, as a caller in this process asks it: a snapshot, the state, and the snapshot is let go."""

    def ask() -> object:
        with services.store.read(world.SCOPE) as reader:
            return reader.state([pair], as_of, certain=False, page=_PAGE)

    return ask


def fetching(connection: sqlite3.Connection, sql: str, parameters: tuple[object, ...]) -> Operation:
    return lambda: connection.execute(sql, parameters).fetchall()


def measure(files: Mapping[int, Path], sizes: Sizes) -> Iterator[Figure]:
    """State and as-of at each size, and how they grow with it."""
    asked = {facts: Questions(file, facts, sizes.facts[0]) for facts, file in files.items()}
    sides: dict[str, Callable[[], float]] = {}
    for facts, questions in asked.items():
        for name, operations in (
            ("state", questions.state()),
            ("bare state", questions.bare_state()),
            ("as-of", questions.as_of()),
            ("bare as-of", questions.bare_as_of()),
        ):
            sides[f"{name} {facts}"] = each(operations, sizes.reads)
        check(questions)
    tell(f"reading {', '.join(f'{facts:,}' for facts in files)} facts")
    seconds = interleaved(sides, sizes.runs)
    first, *_, last = files
    for kind in ("state", "as-of"):
        for facts in files:
            ours, theirs = seconds[f"{kind} {facts}"], seconds[f"bare {kind} {facts}"]
            yield plain(f"{kind}, {facts:,} facts", ours * 1e6, "us")
            yield plain(f"{kind}, {facts:,} facts, bare", theirs * 1e6, "us")
            yield at_most(f"{kind}, {facts:,} facts, against bare", ours / theirs, 3)
        growth = seconds[f"{kind} {last}"] / seconds[f"{kind} {first}"]
        yield at_most(f"{kind}, from {first:,} to {last:,} facts", growth, 1.5)
        bare_growth = seconds[f"bare {kind} {last}"] / seconds[f"bare {kind} {first}"]
        yield plain(f"{kind}, from {first:,} to {last:,} facts, bare", bare_growth, "x")
    for questions in asked.values():
        questions.close()


def check(questions: Questions) -> None:
    """That each side finds one fact: what is measured is an answer, not a miss."""
    for operations in (questions.state(), questions.bare_state(), questions.as_of(), questions.bare_as_of()):
        found = [operation() for operation in islice(operations, 200)]
        if not all(isinstance(answer, list) and len(answer) == 1 for answer in found):
            raise AssertionError("a question of the benchmark is not answered with one fact")


def measure_long_slot(file: Path, slot: EntityId, facts: int, sizes: Sizes) -> Iterator[Figure]:
    """A slot with very many versions against the others of its store."""
    questions = Questions(file, facts, facts)
    connection = questions.bare
    (first, last) = connection.execute(
        "SELECT min(v.valid_from), max(v.valid_from) FROM versions v JOIN slots s ON s.pk = v.slot_pk "
        "WHERE s.predicate = 'reading'"
    ).fetchone()
    known = [
        Instant(row[0])
        for row in connection.execute(
            "SELECT DISTINCT v.recorded_from FROM versions v JOIN slots s ON s.pk = v.slot_pk "
            "WHERE s.predicate = 'reading' ORDER BY 1"
        )
    ]

    def asked(
        chance: random.Random, valid: tuple[float, float], known_part: tuple[float, float]
    ) -> Iterator[Operation]:
        """Instants from a part of the slot's valid time and a part of its recorded time."""
        while True:
            valid_at = Instant(int(first + (last - first) * chance.uniform(*valid)))
            known_at = known[int((len(known) - 1) * chance.uniform(*known_part))]
            yield asking(questions.services, (slot, "reading"), AsOf(valid_at=valid_at, known_at=known_at))

    whole, newest = (0.0, 1.0), (1.0, 1.0)
    sides = {
        "normal": each(questions.state(), sizes.reads),
        "normal as-of": each(questions.as_of(), sizes.reads),
        "now": each(asked(random.Random(5), newest, newest), sizes.reads),
        "any valid time": each(asked(random.Random(6), whole, newest), sizes.reads),
        "both past": each(asked(random.Random(7), whole, (0.0, 0.999)), sizes.reads),
        "known early, valid late": each(asked(random.Random(8), (0.9, 1.0), (0.0, 0.1)), sizes.reads),
        "known late, valid early": each(asked(random.Random(9), (0.0, 0.1), (0.9, 0.999)), sizes.reads),
    }
    for known_part in (newest, (0.0, 0.1)):
        for operation in islice(asked(random.Random(10), whole, known_part), 100):
            if len(operation()) != 1:  # type: ignore[arg-type]
                raise AssertionError("a question about the long slot is not answered with one fact")
    tell(f"reading a slot with {sizes.slot_versions:,} versions")
    seconds = interleaved(sides, sizes.runs)
    name = f"slot with {sizes.slot_versions:,} versions"
    yield at_most(f"{name}, current, against a normal one", seconds["now"] / seconds["normal"], 2)
    yield at_most(f"{name}, at any valid time, against a normal one", seconds["any valid time"] / seconds["normal"], 2)
    for shape in ("both past", "known early, valid late", "known late, valid early"):
        shown = f"{name}, as-of ({shape}), against a normal one"
        yield at_most(shown, seconds[shape] / seconds["normal as-of"], 2)
    questions.close()
