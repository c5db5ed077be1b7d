"""A slot with very many versions against the others of its store."""

import random
from collections.abc import Iterator

from benchmarks.figures import Figure, at_most, plain
from benchmarks.graph_server.place import Place
from benchmarks.graph_server.reading import PAGE, Operation, recorded_times
from benchmarks.sizes import GraphSizes
from benchmarks.timing import each, interleaved, tell
from consolidation.items import Assert, Said
from graph.ports import Reader
from ontology.facts import AsOf
from ontology.ids import EntityId
from ontology.instants import DAY, Instant, civil_from_days, format_date

_NORMAL = 4
_NORMAL_SLOTS = 50


def measure(place: Place, sizes: GraphSizes) -> Iterator[Figure]:
    """Current state, any valid time, and as-of in the middle of both times, at each length."""
    per_length = {}
    for versions in sizes.slot_versions:
        tell(f"making a slot with {versions:,} versions on the server")
        per_length[versions] = _Slots(place, versions)
    sides = {}
    for versions, slots in per_length.items():
        for name, operations in slots.sides().items():
            sides[f"{name} {versions}"] = each(operations, sizes.reads)
    tell("reading long slots on the server")
    seconds = interleaved(sides, sizes.runs)
    for versions in sizes.slot_versions:
        for shape in ("current", "at any valid time", "as-of in the middle"):
            normal = "normal as-of" if shape.startswith("as-of") else "normal"
            name = f"neo4j: slot with {versions:,} versions, {shape}"
            yield plain(name, seconds[f"{shape} {versions}"] * 1e6, "us")
            ratio = seconds[f"{shape} {versions}"] / seconds[f"{normal} {versions}"]
            yield at_most(f"{name}, against a normal one", ratio, 2)


class _Slots:
    """A slot whose value changed every day, and some that changed a few times, in one tenant."""

    def __init__(self, place: Place, versions: int) -> None:
        scope = place.scope(f"slot-{versions}")
        self._versions = versions
        for year in range(_NORMAL):
            place.write(scope, [_reading(f"normal {n}", f"{2000 + year}-01-01", year) for n in range(_NORMAL_SLOTS)])
        # whole days, each in a portion that closes one version and opens the others
        days = (_reading("long", _day(number), number) for number in range(-versions, 0))
        place.write_all(scope, days, min(1_000, max(versions // 10, 1)), "versions")
        with place.store.read(scope) as reader:
            self._reader: Reader = reader
            names = ["long", *(f"normal {n}" for n in range(_NORMAL_SLOTS))]
            found = reader.entities_by_key(names)
        self._long = found["long"].id
        self._normal = [found[name].id for name in names[1:]]
        self._known = recorded_times(reader)

    def sides(self) -> dict[str, Iterator[Operation]]:
        newest = self._known[-1]
        start, end = -self._versions * DAY, 0
        # in the middle of its recorded time the first half was known
        built = self._known[_NORMAL:]
        known = built[len(built) // 2 : len(built) * 6 // 10 + 1]
        return {
            "normal": self._asked(1, self._normal, (12_100 * DAY, 20_000 * DAY), [newest]),
            "normal as-of": self._asked(2, self._normal, (10_957 * DAY, 12_000 * DAY), self._known[1:_NORMAL]),
            "current": self._asked(3, [self._long], (end, end + DAY), [newest]),
            "at any valid time": self._asked(4, [self._long], (start, end), [newest]),
            "as-of in the middle": self._asked(5, [self._long], (start * 6 // 10, start * 55 // 100), known),
        }

    def _asked(
        self, seed: int, subjects: list[EntityId], valid: tuple[int, int], known: list[Instant]
    ) -> Iterator[Operation]:
        chance = random.Random(seed)
        while True:
            as_of = AsOf(valid_at=Instant(chance.randrange(*valid)), known_at=chance.choice(known))
            yield self._ask(chance.choice(subjects), as_of)

    def _ask(self, subject: EntityId, as_of: AsOf) -> Operation:
        def ask() -> object:
            found = self._reader.state([(subject, "reading")], as_of, certain=False, page=PAGE)
            if len(found) != 1:
                raise AssertionError(f"{subject!r} is not answered with one fact at {as_of}")
            return found

        return ask


def _reading(subject: str, day: str, number: int) -> Assert:
    return Assert(subject=subject, predicate="reading", value=f"read {number}", said=Said(valid_from=day))


def _day(number: int) -> str:
    return format_date(*civil_from_days(number))
