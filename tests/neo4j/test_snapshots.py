"""Do answers at a fixed `known_at`, and those of one snapshot, stay the same while writers change what they are about?

Neo4j gives no snapshot: what a reader may see follows from the data (snapshot.py). Writers on two servers add,
correct, end and withdraw without a pause; readers on these and on a third, which has seen no commit acknowledged, ask
the same again and again. `VIGENCIA_STRESS_MINUTES=10 pytest -m neo4j tests/neo4j/test_snapshots.py` takes that long.
"""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, Final

import pytest

from consolidation.items import Assert, Item, Replace, Retract, Said, Withdraw
from graph.expansion import PathBudget, Step, paths
from graph.neighbourhood import Budget, neighbourhood
from graph.neo4j_store.store import Neo4jStore
from graph.periods import ALWAYS
from graph.ports import Order, Page, Reader
from ontology.errors import Busy, Conflict, Incorrect, NotFound, Unavailable
from ontology.facts import AsOf, Fact
from ontology.ids import EntityId
from ontology.instants import OPEN_END, Instant, parse_instant
from ontology.schema_document import pack_from_document
from ontology.scope import Scope, scope_of
from ontology.values import entity_value, value_key
from tests.contract.world import plain, text_key
from tests.neo4j.callers import LIMITS, Caller, assert_serial, assert_sound, settle
from tests.neo4j.stores import empty_store, server
from tests.sizes import STRESS_SECONDS

pytestmark = pytest.mark.neo4j

ROUND_SECONDS: Final = 60.0
"""After that the tenant has grown enough; the next round begins with an empty one."""
SEED: Final = 20261130
SUBJECTS: Final = tuple(f"s{number}" for number in range(6))
CROWD: Final = tuple(f"c{number}" for number in range(60))
"""They move together, in one commit: wherever one of them is, all are."""
TOWNS: Final = ("Oslo", "Riga", "Lima", "Bern", "Kyiv")
DATES: Final = tuple(f"{year}-{month:02d}-01" for year in range(2010, 2020) for month in (1, 4, 7, 10))
INSTANTS: Final = (parse_instant("2014-05-01"), parse_instant("2030-01-01"))
FAR: Final = Instant(OPEN_END - 1)
PAGE: Final = Page(150)
PACK: Final = {
    "pack": "tests",
    "predicates": {
        "lives_in": {"cardinality": "functional"},
        "visited": {"cardinality": "many"},
        "linked_to": {"cardinality": "many", "datatype": "entity"},
    },
}

Answers = Mapping[str, object]


def told(fact: Fact, known_at: Instant) -> object:
    """A fact as it was known then: that it ended later was not."""
    version = fact.version
    ended = version.recorded_to if version.recorded_to <= known_at else OPEN_END
    return plain(replace(fact, version=replace(version, recorded_to=ended)))


def known(reader: Reader, ids: Mapping[str, EntityId], known_at: Instant) -> Answers:
    """What is answered of the whole world at a `known_at`; one later than the snapshot means the snapshot."""
    at = min(known_at, reader.head.recorded_at)

    def each(facts: Sequence[Fact]) -> list[object]:
        return [told(fact, at) for fact in facts]

    found: dict[str, object] = {}
    pairs = [(id, None) for id in ids.values()]
    for valid_at in INSTANTS:
        as_of = AsOf(valid_at=valid_at, known_at=known_at)
        for certain in (False, True):
            found[f"state at {valid_at}, certain={certain}"] = each(
                reader.state(pairs, as_of, certain=certain, page=PAGE)
            )
        for predicate in PACK["predicates"]:
            found[f"{predicate} at {valid_at}"] = each(reader.of_predicate(predicate, as_of, certain=False, page=PAGE))
        for value in (text_key(TOWNS[0]), text_key(TOWNS[1]), value_key(entity_value(ids["s0"]))):
            found[f"holders of {value.hex()} at {valid_at}"] = each(
                reader.holders(value, None, as_of, certain=False, page=PAGE)
            )
        budget = Budget(hops=2, nodes=100, edges=300, fan_out=50, milliseconds=1000)
        walked = neighbourhood(reader, [ids["s1"]], as_of, budget, lambda: 0.0)
        found[f"expansion at {valid_at}"] = plain(walked.entities), each(walked.facts), walked.cut_by
    for number, (key, id) in enumerate(ids.items()):
        order = list(Order)[number % 3]
        found[f"history of {key}, {order}"] = each(
            reader.history(id, None, known_at, ALWAYS, certain=False, order=order, page=PAGE)
        )
    found["periods of a town"] = each(
        reader.holders_history(
            text_key(TOWNS[0]), None, known_at, ALWAYS, certain=False, order=Order.RECORDED, page=PAGE
        )
    )
    steps = [Step("linked_to", inverse=False), Step("lives_in", inverse=False)]
    walk = paths(reader, ids["s2"], steps, known_at, None, PathBudget(edges=400, paths=200, milliseconds=1000), zero)
    found["paths"] = plain(walk.rows), walk.cut_by
    return found


def snapshot(reader: Reader, ids: Mapping[str, EntityId]) -> Answers:
    """What only a snapshot keeps the same: what is told with its latest state, not as of an instant."""
    head = reader.head
    id = ids["s3"]
    return {
        "head": plain(head),
        "audit": [plain(f) for f in reader.audit(id, None, valid_at=INSTANTS[0], touched=None, page=PAGE)],
        "claims": plain(reader.claims(id, "lives_in", limit=300, after=None)),
        "slots": plain(reader.slots(None, limit=100, after=None)),
        "entities": plain(
            reader.list_entities(AsOf(valid_at=INSTANTS[0], known_at=FAR), type=None, name=None, limit=50, after=None)
        ),
        "events": plain(reader.events(after=max(0, head.position - 3), limit=10)),
    }


def zero() -> float:
    return 0.0


def different(one: Answers, other: Answers) -> list[str]:
    return [f"{name}: {one[name]} / {other[name]}"[:2000] for name in one if one[name] != other[name]]


class Round:
    """One tenant under writers and readers, and what was served of it: the answers at each `known_at`."""

    def __init__(self, scope: Scope, sources: Sequence[Neo4jStore]) -> None:
        self.scope = scope
        self.sources = sources
        self.served: dict[Instant, Answers] = {}
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []
        self.stop = threading.Event()
        caller = Caller(sources[0])
        caller.writer.put_schema(scope, "tester", pack_from_document(PACK))
        everybody = SUBJECTS + CROWD
        caller.write([_lives(subject, "Oslo", "2010-01-01") for subject in everybody], "first", scope=scope)
        with sources[0].read(scope) as reader:
            found = reader.entities_by_key(everybody)
        self.ids = {key: found[key].id for key in SUBJECTS}
        self.crowd: list[tuple[EntityId, str | None]] = [(found[key].id, "lives_in") for key in CROWD]
        self.seen_together: dict[Instant, list[str]] = {}

    def write(self, number: int, store: Neo4jStore) -> None:
        rng, caller = Random(SEED + number), Caller(store)
        for turn in count():
            if self.stop.is_set():
                break
            kind = "what to write"
            try:
                kind, item = self._item(rng, store)
                caller.write([item], f"{number}-{turn}", scope=self.scope)
                self.counts[kind] += 1
            except (Busy, Unavailable) as exc:
                self.counts[f"{kind}: {exc.message}"] += 1
            except (NotFound, Conflict, Incorrect) as exc:  # another writer was faster
                self.counts[f"{kind} too late: {type(exc).__name__}"] += 1
        self.counts += caller.refused

    def _item(self, rng: Random, store: Neo4jStore) -> tuple[str, Item]:
        kind = rng.choice(("add", "add", "add", "add", "meet", "meet", "end", "correct", "correct", "withdraw"))
        subject, start = rng.choice(SUBJECTS), rng.randrange(len(DATES) - 1)
        end = DATES[rng.randrange(start + 1, len(DATES))] if rng.random() < 0.3 else None
        predicate = rng.choice(("lives_in", "lives_in", "visited"))
        said = Said(valid_from=DATES[start], valid_to=end)
        match kind:
            case "add":
                value: object = rng.choice(TOWNS)
                return kind, Assert(subject={"key": subject}, predicate=predicate, value=value, said=said)
            case "meet":
                other = rng.choice([key for key in SUBJECTS if key != subject])
                return kind, Assert(subject={"key": subject}, predicate="linked_to", value=other, said=said)
            case "end":
                return kind, Retract(subject={"key": subject}, predicate=predicate, said=said)
        as_of = AsOf(valid_at=parse_instant(DATES[start]), known_at=FAR)
        with store.read(self.scope) as reader:
            facts = reader.state([(self.ids[subject], predicate)], as_of, certain=False, page=Page(1))
            shown = [each for f in facts for each in reader.evidence(f.version, FAR, limit=5, after=None)]
        if not shown:
            return "add", _lives(subject, rng.choice(TOWNS), DATES[start])
        if kind == "correct":
            return kind, Replace(fact=facts[0].version.id, value=rng.choice(TOWNS), reason="wrong")
        return kind, Withdraw(claim=rng.choice(shown).claim.id, reason="wrong")

    def move(self, number: int, store: Neo4jStore) -> None:
        """Move the crowd, again and again."""
        caller = Caller(store)
        for turn in count():
            if self.stop.is_set():
                break
            items = [_lives(subject, f"town {turn}", DATES[turn % len(DATES)]) for subject in CROWD]
            caller.write(items, f"crowd {turn}", scope=self.scope)
            self.counts["moves"] += 1
        self.counts += caller.refused

    def watch(self, rng: Random, store: Neo4jStore) -> None:
        """Look where the crowd is: a commit that shows in part would show here."""
        with store.read(self.scope) as reader:
            known_at = reader.head.recorded_at
            if self.seen_together and rng.random() < 0.3:
                known_at = min(known_at, rng.choice(list(self.seen_together)))
            facts = reader.state(self.crowd, AsOf(valid_at=FAR, known_at=known_at), certain=True, page=PAGE)
        where = [fact.version.value.text for fact in facts]
        self.counts["looks"] += 1
        if len(where) != len(CROWD) or len(set(where)) != 1:
            self.errors.append(f"at {known_at} the crowd is at {Counter(where)}")
        if self.seen_together.setdefault(known_at, where) != where:
            self.errors.append(f"at {known_at} the crowd is at {set(where)}, not {set(self.seen_together[known_at])}")

    def ask(self, rng: Random, store: Neo4jStore) -> None:
        if rng.random() < 0.5:
            self._pin(rng, store)
        else:
            self._again(rng, store)

    def _read(self, number: int, store: Neo4jStore, action: Callable[[Random, Neo4jStore], None], pause: float) -> None:
        rng, sees = Random(SEED - number), False
        while not self.stop.wait(pause):
            try:
                sees = sees or self._sees_the_first(store)
                if sees:
                    action(rng, store)
            except (Busy, Unavailable) as exc:
                self.counts[f"{action.__name__}: {exc.message}"] += 1

    def _sees_the_first(self, store: Neo4jStore) -> bool:
        with store.read(self.scope) as reader:
            return len(reader.entities_by_id(list(self.ids.values()))) == len(SUBJECTS)

    def _pin(self, rng: Random, store: Neo4jStore) -> None:
        """One snapshot answers the same throughout, and goes on answering so at its `known_at`."""
        with store.read(self.scope) as reader:
            head = reader.head
            rest = snapshot(reader, self.ids)
            answers = known(reader, self.ids, head.recorded_at)
            time.sleep(rng.uniform(0, 0.05))
            self._compare("a snapshot, asked again", answers, known(reader, self.ids, FAR))
            self._compare("a snapshot, asked again", rest, snapshot(reader, self.ids))
        self._compare("two snapshots of one head", self.served.setdefault(head.recorded_at, answers), answers)

    def _again(self, rng: Random, store: Neo4jStore) -> None:
        """What was served at a `known_at` is served at it later, by any server."""
        if not self.served:
            return
        known_at, answers = rng.choice(list(self.served.items()))
        with store.read(self.scope) as reader:
            if reader.head.recorded_at < known_at:  # a server that has not seen it yet
                return
            self._compare(f"at {known_at}, asked again", answers, known(reader, self.ids, known_at))

    def _compare(self, what: str, one: Answers, other: Answers) -> None:
        self.counts["comparisons"] += 1
        self.errors += [f"{what}: {each}" for each in different(one, other)]

    def run(self, seconds: float) -> None:
        one, two, three = self.sources
        roles: list[tuple[Any, ...]] = [(self.write, 0, one), (self.write, 1, two), (self.move, 2, two)]
        for number, source in enumerate((one, two, three)):
            roles += [(self._read, number, source, self.ask, 0.05), (self._read, number, source, self.watch, 0.005)]
        threads = [threading.Thread(target=self._guarded, args=role) for role in roles]
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.errors:
            time.sleep(0.1)
        self.stop.set()
        for thread in threads:
            thread.join()
        settle()
        with self.sources[2].read(self.scope) as reader:
            for known_at, answers in self.served.items():
                self._compare(f"at {known_at}, when all was quiet", answers, known(reader, self.ids, known_at))

    def _guarded(self, role: Callable[..., None], *given: object) -> None:
        try:
            role(*given)
        except BaseException as exc:
            self.errors.append("".join(traceback.format_exception(exc)))


def _lives(subject: str, town: str, since: str) -> Assert:
    return Assert(subject={"key": subject}, predicate="lives_in", value=town, said=Said(valid_from=since))


@pytest.fixture
def sources() -> Iterator[list[Neo4jStore]]:
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(empty_store(limits=LIMITS)))]
        opened += [stack.enter_context(closing(Neo4jStore(server().uri, limits=LIMITS))) for _ in range(2)]
        yield opened


KINDS = ("add", "meet", "end", "correct", "withdraw", "moves")
PATIENCE_SECONDS = 300.0
"""How much longer it goes on where a busy machine has let too little happen."""


def enough(total: Counter[str]) -> bool:
    """Whether so much happened that it proves something."""
    return min(total["comparisons"], total["looks"]) > 20 and all(total[kind] for kind in KINDS)


def test_answers_stay_the_same_while_writers_run(sources: list[Neo4jStore]) -> None:
    started, total, moments = time.monotonic(), Counter[str](), 0
    for number in count():
        left = started + STRESS_SECONDS - time.monotonic()
        if left <= -PATIENCE_SECONDS or (left <= 0 and enough(total)):
            break
        scope = scope_of(f"round-{number}")
        played = Round(scope, sources)
        played.run(min(left, ROUND_SECONDS) if left > 0 else STRESS_SECONDS)
        total += played.counts
        moments += len(played.served)
        if played.errors:
            pytest.fail("\n".join([f"{len(played.errors)} errors; {dict(played.counts)}", *played.errors[:3]]))
        assert_serial(sources[0], scope)
        assert_sound(sources[0], scope)
    seconds = time.monotonic() - started
    print(f"{seconds:.0f} s in {number} rounds: {moments} moments of recorded time, {dict(total)}, 0 differed")
    assert enough(total)
