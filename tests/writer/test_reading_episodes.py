"""What becomes of an episode: candidates of a scripted extractor, through the pipeline and the worker, into facts."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from consolidation.episodes import NewEpisode, NewTurn, Recorder
from consolidation.extraction.base import (
    ByKey,
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Hold,
    Mention,
    Note,
    Operation,
    Span,
    Trust,
    Verdict,
)
from consolidation.items import Assert
from consolidation.pipeline import CLAIMS_MAX, KnownFacts, Pipeline
from consolidation.worker import OVERDUE_SECONDS, Pace, Worker, findings
from consolidation.write import Writer
from graph.journal import decode
from graph.ports import Grade, MemoryStore, Page
from graph.sqlite_store.store import SqliteStore
from ontology.entries import Stated
from ontology.errors import Unavailable
from ontology.facts import AsOf
from ontology.ids import OperationId
from ontology.instants import SECOND, Instant, parse_instant
from ontology.operations import State
from ontology.packs import load_core, read_pack
from ontology.schema import Schema
from ontology.scope import scope_of
from tests.conftest import FrozenClock, SeededRandomness
from tests.naive_store import NaiveStore

SCOPE = scope_of("acme")
WHO = Extractor(name="scripted", version="1", trust=Trust.OBSERVED)
PACK = """
pack: test
predicates:
  lives_in: {cardinality: functional}
  age: {cardinality: functional, datatype: integer, minimum: "0", maximum: "150"}
  friend_of: {cardinality: many, datatype: entity}
"""


def reads(text: str, subject: Mention, predicate: str, value: object, **given: Any) -> Candidate:
    """A candidate that quotes all of a text."""
    period = {name: given.pop(name, None) for name in ("valid_from", "valid_to")}
    found: dict[str, Any] = {
        "span": Span(turn=None, start=0, end=len(text), quote=text), "operation": Operation.ASSERT,
        "compares_to": None, "verdict": Verdict.NEW, "confidence": None, "extractor": WHO, "rule": "r",
        "unmapped": False, "holds": (), **given,
    }  # fmt: skip
    stated = Stated(**period, zone=None, semantics=None)
    return Candidate(subject=subject, predicate=predicate, value=value, stated=stated, **found)


class Scripted:
    """Sentences such as `mira lives_in Paris`, one a line; `!` and what follows says what goes wrong."""

    def __init__(self) -> None:
        self.failing: dict[str, Callable[[], Extraction]] = {}
        self.asked: list[EpisodeText] = []

    def version(self, schema: Schema) -> str:
        return "scripted 1"

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        self.asked.append(text)
        words = text.verbatim(None if isinstance(text.body, str) else 0)
        if words in self.failing:
            return self.failing[words]()
        candidates = []
        for line in words.splitlines():
            subject, predicate, value = line.split(maxsplit=2)
            named: object = ByName(name=value) if predicate == "friend_of" else value
            candidates.append(reads(line, ByName(name=subject), predicate, named))
        return Extraction(candidates=tuple(candidates), notes=())


@dataclass
class Room:
    """A store, a worker that is told when to work, and a clock that stands."""

    store: MemoryStore
    clock: FrozenClock = field(default_factory=FrozenClock)
    reads: Scripted = field(default_factory=Scripted)
    attempts_max: int = 3

    def __post_init__(self) -> None:
        chance = SeededRandomness()
        self.writer = Writer(store=self.store, clock=self.clock, randomness=chance, core=load_core())
        self.writer.put_schema(SCOPE, "me", read_pack(PACK))
        self.recorder = Recorder(store=self.store, clock=self.clock, randomness=chance)
        self.pipeline = Pipeline(store=self.store, writer=self.writer, clock=self.clock, reads=self.reads)
        self.worker = self.another("one")

    def another(self, name: str) -> Worker:
        pace = Pace(lease_seconds=60, attempts_max=self.attempts_max)
        return Worker(store=self.store, runs=self.pipeline, clock=self.clock, name=name, pace=pace)

    def say(self, *texts: str, **given: Any) -> list[OperationId]:
        self.clock.advance(SECOND)
        receipt: Any = self.recorder.record(SCOPE, "ann", [NewEpisode(text=text, **given) for text in texts]).receipt
        return [OperationId(item["operation"]) for item in receipt["items"]]

    def work(self) -> int:
        self.clock.advance(SECOND)
        return self.worker.work_off()

    def state(self, id: OperationId) -> State:
        return self.store.queue.operation(SCOPE, id).state

    def reason(self, id: OperationId) -> str:
        return self.store.queue.operation(SCOPE, id).reason or ""

    def receipts(self, id: OperationId) -> dict[str, Any]:
        operation = self.store.queue.operation(SCOPE, id)
        assert operation.state is State.DONE, operation.reason
        document: dict[str, Any] = orjson.loads(operation.receipts or b"")
        return document

    def values(self, key: str, predicate: str) -> list[str]:
        with self.store.read(SCOPE) as reader:
            entity = reader.entities_by_key([key]).get(key)
            if entity is None:
                return []
            as_of = AsOf(valid_at=self.clock.now(), known_at=reader.head.recorded_at)
            facts = reader.state([(entity.id, predicate)], as_of, certain=False, page=Page(50))
            return sorted(fact.version.value.text for fact in facts)

    def claims(self, key: str) -> list[Any]:
        with self.store.read(SCOPE) as reader:
            entity = reader.entities_by_key([key])[key]
            return list(reader.claims(entity.id, None, limit=1000, after=None))


@pytest.fixture(params=["sqlite", "naive"])
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    opened: MemoryStore = SqliteStore(str(tmp_path / "s.db")) if request.param == "sqlite" else NaiveStore()
    yield Room(opened)
    opened.close()


def away() -> Extraction:
    note = Note(code=Code.UNAVAILABLE, detail="the model did not answer", span=None)
    return Extraction(candidates=(), notes=(note,))


def test_what_an_episode_says_becomes_facts_that_cite_it(room: Room) -> None:
    (id,) = room.say("Mira lives_in Paris", source="chat", observed_at="2026-05-01")
    assert room.work() == 1
    receipts = room.receipts(id)
    (claim,) = receipts["claims"]
    assert (claim["result"], claim["predicate"], claim["span"]["quote"]) == (
        "created",
        "lives_in",
        "Mira lives_in Paris",
    )
    assert receipts["entities"] == [{"id": claim["subject"]["id"], "key": "mira"}]
    assert (room.values("mira", "lives_in"), room.values("mira", "name")) == (["Paris"], ["Mira"])
    told = next(t.claim for t in room.claims("mira") if t.claim.id == claim["claim"])
    operation = room.store.queue.operation(SCOPE, id)
    assert (told.episode, told.source, told.principal) == (operation.episode, "chat", "ann")
    assert told.entry.observed_at == parse_instant("2026-05-01")


def test_the_times_and_the_speakers_of_turns_reach_the_extractor(room: Room) -> None:
    turns = [NewTurn(speaker="Mira", text="Mira lives_in Oslo", at="2026-03-01T10:00:00+01:00")]
    room.recorder.record(SCOPE, "ann", [NewEpisode(turns=turns, me_key="mira", zone="Europe/Oslo")])
    room.work()
    (asked,) = room.reads.asked
    at = asked.at(0)
    assert at is not None
    assert (at.instant, at.zone) == (parse_instant("2026-03-01T09:00:00Z"), "Europe/Oslo")
    assert (asked.me, asked.observed_at) == (ByKey(key="mira"), None)


def test_mentions_are_found_by_key_name_and_alias_and_made_once(room: Room) -> None:
    room.writer.write(SCOPE, "me", [
        Assert(subject="p-17", predicate="name", value="Mira Novak"),
        Assert(subject="p-17", predicate="alias", value="Mia"),
        Assert(subject="bo", predicate="age", value=30),
    ])  # fmt: skip
    ids = room.say("Mia age 41", "bo age 31", "BO lives_in Bonn", "Zoë friend_of Mia\nzoë friend_of Bo\nZOË age 9")
    room.work()
    assert [room.state(id) for id in ids] == [State.DONE] * 4
    assert room.values("p-17", "age") == ["41"]
    assert [t.claim.slot.predicate for t in room.claims("bo")] == ["age", "age", "lives_in"]
    assert room.values("bo", "lives_in") == ["Bonn"]
    assert [entity["key"] for entity in room.receipts(ids[3])["entities"]] == ["zoë"]
    assert len(room.values("zoë", "friend_of")) == 2
    assert room.values("zoë", "name") == ["Zoë"]


def test_nobody_is_guessed_where_two_have_the_name(room: Room) -> None:
    for key in ("anna-1", "anna-2"):
        room.writer.write(SCOPE, "me", [Assert(subject=key, predicate="name", value="Anna")])
    (id,) = room.say("Anna age 5\nBo friend_of Anna")
    room.work()
    held = room.receipts(id)["held"]
    assert [each["rule"] for each in held] == ["ambiguous-name", "ambiguous-name"]
    assert room.values("bo", "name") == [], "who is only named by what waits is not named by it"


def test_what_must_not_be_believed_is_kept_and_waits(room: Room) -> None:
    found = [
        reads("x", ByKey(key="a"), "lives_in", "Rome", holds=(Hold.QUOTE_MISSING,)),
        reads("x", ByKey(key="a"), "rides", "a bike", unmapped=True),
        reads("x", ByKey(key="a"), "age", 7),
    ]
    room.reads.failing["x"] = lambda: Extraction(candidates=tuple(found), notes=())
    (id,) = room.say("x")
    room.work()
    receipts = room.receipts(id)
    assert [(each["state"], each["rule"]) for each in receipts["held"]] == [
        ("quarantined", "quote-missing"),
        ("staged", "unmapped"),
    ]
    assert [each["span"]["quote"] for each in receipts["held"]] == ["x", "x"]
    assert receipts["counts"] == {"created": 1, "quarantined": 1, "staged": 1}
    assert (room.values("a", "age"), room.values("a", "lives_in"), len(receipts["claims"])) == (["7"], [], 1)


def test_what_the_schema_refuses_is_told_and_the_rest_is_written(room: Room) -> None:
    (id,) = room.say("Bo age 400\nBo age 40\nBo age old\nMia lives_in Rome")
    room.work()
    receipts = room.receipts(id)
    assert [each["reason"].split(":")[0] for each in receipts["refused"]] == ["out_of_range", "unreadable_value"]
    assert (room.values("bo", "age"), room.values("mia", "lives_in")) == (["40"], ["Rome"])


def test_a_correction_replaces_the_one_fact_that_it_can_mean(room: Room) -> None:
    room.writer.write(SCOPE, "me", [Assert(subject="bo", predicate="age", value=30)])
    found = [
        reads("x", ByKey(key="bo"), "age", 31, operation=Operation.REPLACE),
        reads("x", ByKey(key="bo"), "lives_in", "Rome", operation=Operation.REPLACE),
    ]
    room.reads.failing["x"] = lambda: Extraction(candidates=tuple(found), notes=())
    (id,) = room.say("x")
    room.work()
    receipts = room.receipts(id)
    assert [claim["result"] for claim in receipts["claims"]] == ["replaced"]
    assert [each["rule"] for each in receipts["held"]] == ["nothing-to-correct"]
    assert room.values("bo", "age") == ["31"]


def test_a_long_episode_is_written_in_small_transactions(room: Room) -> None:
    lines = [f"thing{number} age {number % 100}" for number in range(120)]
    (id,) = room.say("\n".join(lines))
    room.work()
    receipts = room.receipts(id)
    assert len(receipts["claims"]) == 120
    with room.store.read(SCOPE) as reader:
        sizes = [len(decode(event, payloads).claims) for event, payloads in reader.events(after=0, limit=100)]
    assert sum(sizes) == 240
    assert max(sizes) <= CLAIMS_MAX
    assert len(receipts["transactions"]) == len([size for size in sizes if size])


# --- failures


def test_an_extractor_that_is_away_is_asked_again_and_delays_nobody_else(room: Room) -> None:
    room.reads.failing["bad"] = away
    bad, later = room.say("bad", "Bo age 5", session="s")
    (good,) = room.say("Mia age 6", session="t")
    room.work()
    assert (room.state(bad), room.state(later), room.state(good)) == (State.QUEUED, State.QUEUED, State.DONE)
    assert "the model did not answer" in room.reason(bad)
    del room.reads.failing["bad"]
    room.reads.failing["bad"] = lambda: Extraction(candidates=(), notes=())
    room.clock.advance(10 * SECOND)
    room.work()
    assert (room.state(bad), room.state(later)) == (State.DONE, State.DONE)


def test_one_that_fails_each_time_ends_as_a_dead_letter_and_can_be_retried(room: Room) -> None:
    def defect() -> Extraction:
        raise RuntimeError("a bug")

    room.reads.failing["bad"] = defect
    bad, later = room.say("bad", "Bo age 5", session="s")
    for _ in range(room.attempts_max):
        room.clock.advance(400 * SECOND)
        room.work()
    assert (room.state(bad), room.state(later)) == (State.FAILED, State.DONE)
    assert "RuntimeError" in room.reason(bad)
    assert "a bug" not in room.reason(bad), "what an exception says may be content"
    room.reads.failing["bad"] = lambda: Extraction(candidates=(), notes=())
    assert room.store.queue.retry(SCOPE, bad, room.clock.now())
    room.work()
    assert room.state(bad) is State.DONE


def test_what_an_extractor_can_never_read_fails_at_once(room: Room) -> None:
    note = Note(code=Code.FAILED, detail="wrong shape", span=None)
    room.reads.failing["bad"] = lambda: Extraction(candidates=(), notes=(note,))
    (bad,) = room.say("bad")
    room.work()
    assert (room.state(bad), room.reason(bad)) == (State.FAILED, "the extractor gave nothing: wrong shape")


def test_one_that_kills_its_workers_ends_as_a_dead_letter(room: Room) -> None:
    (bad,) = room.say("Bo age 5")
    for number in range(room.attempts_max):
        now = room.clock.now()
        until = Instant(now + SECOND)
        assert room.store.queue.lease(f"victim {number}", now, until=until, limit=1)
        room.clock.advance(2 * SECOND)
    room.work()
    assert (room.state(bad), room.reason(bad)) == (State.FAILED, "whoever read it died, 3 times")


def test_a_worker_that_was_killed_behind_its_write_has_one_effect(room: Room) -> None:
    (id,) = room.say("\n".join(f"thing{number} age {number % 100}" for number in range(80)))
    operation = room.store.queue.operation(SCOPE, id)
    first = orjson.loads(room.pipeline.run(operation))
    before = len(room.claims("thing1"))
    room.work()
    receipts = room.receipts(id)
    assert [claim["claim"] for claim in receipts["claims"] if claim["predicate"] == "age"] == [
        claim["claim"] for claim in first["claims"]
    ]
    assert len(room.claims("thing1")) == before == 2


def test_a_second_run_that_reads_otherwise_adds_only_what_is_new(room: Room) -> None:
    lines = [f"thing{number} age {number % 100}" for number in range(40)]
    (id,) = room.say("x")
    room.reads.failing["x"] = lambda: _found(lines[:34])
    operation = room.store.queue.operation(SCOPE, id)
    room.pipeline.run(operation)
    room.reads.failing["x"] = lambda: _found(["other lives_in Rome", *lines])
    room.work()
    assert room.state(id) is State.DONE
    for number in range(34):
        assert len([t for t in room.claims(f"thing{number}") if t.claim.slot.predicate == "age"]) == 1


def _found(lines: Sequence[str]) -> Extraction:
    split = [line.split(maxsplit=2) for line in lines]
    return Extraction(candidates=tuple(reads("x", ByName(name=s), p, v) for s, p, v in split), notes=())


# --- threads


def test_a_worker_in_threads_works_until_it_is_stopped(room: Room) -> None:
    ids = room.say(*(f"thing{number} age 1" for number in range(20)))
    room.worker.start()
    room.worker.wake()
    _until(lambda: all(room.state(id) is State.DONE for id in ids))
    assert room.worker.alive
    assert room.worker.stop(10)
    assert not room.worker.alive


def test_a_worker_that_is_stopped_gives_back_what_it_did_not_begin(room: Room) -> None:
    begun, release = threading.Event(), threading.Event()

    def slow() -> Extraction:
        begun.set()
        release.wait(10)
        return Extraction(candidates=(), notes=())

    room.reads.failing["slow"] = slow
    first, second = room.say("slow", "Bo age 1")
    room.worker.start()
    assert begun.wait(10)
    assert room.state(second) is State.RUNNING
    assert not room.worker.stop(0.1)
    release.set()
    _until(lambda: room.state(second) is State.QUEUED)
    assert room.state(first) is State.DONE
    assert room.store.queue.operation(SCOPE, second).attempts == 0
    assert room.worker.stop(10)


def test_indexing_that_fails_or_hangs_neither_ends_a_worker_nor_keeps_it(room: Room) -> None:
    hangs, goes_on = threading.Event(), threading.Event()

    class Indexing:
        asked = 0

        def warm(self) -> None:
            raise ValueError("a model that is none")

        def work(self, *, stopped: Callable[[], bool]) -> int:
            self.asked += 1
            if self.asked == 1:
                raise Unavailable("the store is away")
            hangs.set()
            goes_on.wait(60)
            return 0

    worker = Worker(
        store=room.store, runs=room.pipeline, clock=room.clock, name="indexing", pace=Pace(), indexes=Indexing(),
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("consolidation.worker.ASIDE_SECONDS", 0.01)
        patch.setattr("consolidation.worker.AWAY_SECONDS", 0.01)
        worker.start()
        assert hangs.wait(60)
        assert worker.alive
        assert worker.stop(0.1)
    goes_on.set()


def test_two_workers_share_the_work_and_each_claim_is_made_once(room: Room) -> None:
    ids = room.say(*(f"thing{number} age 1" for number in range(30)))
    two = room.another("two")
    room.worker.start()
    two.start()
    _until(lambda: all(room.state(id) is State.DONE for id in ids))
    assert room.worker.stop(10)
    assert two.stop(10)
    for number in range(30):
        assert len(room.claims(f"thing{number}")) == 2


def _until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.01)


# --- what it tells


def test_readiness_shows_a_failing_extractor_until_something_succeeds(room: Room) -> None:
    room.reads.failing["bad"] = away
    room.say("bad")
    room.work()
    shown = {f.check: f for f in findings(room.store.queue.backlog(room.clock.now()), room.clock.now(), None)}
    assert shown["extractor"].grade is Grade.FAILED
    assert "the model did not answer" in shown["extractor reason"].finding
    assert shown["extractor reason"].private, "it may hold what was said"
    room.say("Bo age 5")
    room.work()
    shown = {f.check: f for f in findings(room.store.queue.backlog(room.clock.now()), room.clock.now(), None)}
    assert shown["extractor"].grade is Grade.OK


def test_readiness_shows_that_nobody_works(room: Room) -> None:
    room.say("Bo age 5")
    room.clock.advance((OVERDUE_SECONDS + 2) * SECOND)
    now = room.clock.now()
    shown = {f.check: f for f in findings(room.store.queue.backlog(now), now, None)}
    assert (shown["worker"].grade, shown["queue"].finding) == (Grade.FAILED, "1 queued, 0 running, 0 failed")
    dead = {f.check: f for f in findings(room.store.queue.backlog(now), now, room.another("never started"))}
    assert dead["worker"].finding == "the worker of this process is dead"
    room.work()
    now = room.clock.now()
    assert all(f.grade is Grade.OK for f in findings(room.store.queue.backlog(now), now, None))


def test_a_store_that_does_not_answer_stops_no_worker(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [Unavailable("away")] * 2
    lease = room.worker._lease

    def once() -> Any:
        if failing:
            raise failing.pop()
        return lease()

    monkeypatch.setattr(room.worker, "_lease", once)
    monkeypatch.setattr("consolidation.worker.AWAY_SECONDS", 0.01)
    (id,) = room.say("Bo age 5")
    room.worker.start()
    _until(lambda: room.state(id) is State.DONE)
    assert room.worker.stop(10)
