"""What a write promises beside belief: one effect, the expected version, dry runs, support, strange names."""

import threading
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consolidation.items import ABSENT, Assert, Item, Retract, Said
from graph.ledger import ledger_hash
from ontology.errors import KeyReused, VersionChanged
from ontology.facts import Version
from ontology.fold import fold
from ontology.instants import DAY, OPEN_END, OPEN_START, Instant, parse_instant
from ontology.intervals import Interval
from ontology.line import Extent, Run
from ontology.scope import Namespace, Purpose
from tests.integration.store_world import StoreWorld
from tests.integration.test_histories import clock_of, examples, long_history
from tests.oracles.embedded import PRINCIPAL, Embedded, EmbeddedMemory
from tests.oracles.engines import sqlite
from tests.oracles.memory import AFTER_ALL, Refusal
from tests.scenarios.world import Row, World
from tests.sizes import scaled


def wet_and_dry(memory: EmbeddedMemory, items: Sequence[Item]) -> tuple[dict[str, Any], dict[str, Any]]:
    writer = memory.engine.writer
    dry = writer.write(memory.scope, PRINCIPAL, items, dry_run=True, key="k").receipt
    return writer.write(memory.scope, PRINCIPAL, items, key="k").receipt, dry


def test_a_dry_run_tells_the_receipt_and_leaves_no_trace(engine: Embedded) -> None:
    memory = engine.fresh()
    world = World(memory, lives_in="functional")
    world.tell("Bo", "lives_in", "Cork", "2020-01-01", at="2020-01-02")
    engine.clock.reading = parse_instant("2024-01-02")
    move = [Assert(subject="Bo", predicate="lives_in", value="Bonn", said=Said(valid_from="2024-01-01"))]
    before = ledger_hash(engine.store, memory.scope.tenant)
    engine.writer.write(memory.scope, PRINCIPAL, move, dry_run=True)
    assert ledger_hash(engine.store, memory.scope.tenant) == before
    wet, dry = wet_and_dry(memory, move)
    assert dry == wet | {"dry_run": True}
    assert world.history("Bo", "lives_in") == ["Cork [2020-01-01, 2024-01-01)", "Bonn [2024-01-01, open)"]


def test_a_stale_version_is_a_conflict_and_the_expected_one_is_not(engine: Embedded) -> None:
    memory = engine.fresh()
    world = World(memory, lives_in="functional")

    def expecting(version: int, value: str, at: str) -> None:
        said = Said(valid_from=at)
        item = Assert(subject="Bo", predicate="lives_in", value=value, said=said, expected_version=Version(version))
        engine.clock.reading = parse_instant(at)
        engine.writer.write(memory.scope, PRINCIPAL, [item])

    expecting(0, "Cork", "2020-01-01")
    with pytest.raises(VersionChanged):
        expecting(0, "Bonn", "2021-01-01")
    first = world.tell("Bo", "lives_in", "Graz", "2022-01-01", at="2022-01-02")["version"]
    with pytest.raises(VersionChanged):
        expecting(first - 1, "Bonn", "2023-01-01")
    expecting(first, "Bonn", "2023-01-01")
    assert world.state("Bo", "lives_in", "2024-01-01") == ["Bonn"]


def test_of_many_writers_that_expect_one_version_one_wins(tmp_path: Path) -> None:
    engine = sqlite(str(tmp_path / "cas.db"))
    memory = engine.fresh()
    World(memory, counter="functional")
    engine.clock.reading = parse_instant("2024-01-01")

    def write(value: int) -> bool:
        item = Assert(subject="s", predicate="counter", value=value, expected_version=Version(0))
        try:
            engine.writer.write(memory.scope, PRINCIPAL, [item])
        except VersionChanged:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(40))) == 1
    engine.close()


def test_a_request_that_is_sent_many_times_at_once_has_one_effect(tmp_path: Path) -> None:
    engine = sqlite(str(tmp_path / "retry.db"))
    memory = engine.fresh()
    World(memory, holds="many")
    engine.clock.reading = parse_instant("2024-01-01")
    items = [Assert(subject="box", predicate="holds", value=f"thing {n}") for n in range(3)]
    start = threading.Barrier(8)

    def send(_: int) -> tuple[bool, str]:
        start.wait()
        written = engine.writer.write(memory.scope, PRINCIPAL, items, key="k1")
        return written.replayed, str(written.receipt)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert sum(replayed for replayed, _ in answers) == 7
    assert len({receipt for _, receipt in answers}) == 1
    assert len(memory.ask({"kind": "recorded"})) == 1
    engine.close()


def test_a_key_belongs_to_its_principal_and_its_request(engine: Embedded) -> None:
    memory = engine.fresh()
    World(memory, holds="many")
    one = [Assert(subject="box", predicate="holds", value="one")]
    other = [Assert(subject="box", predicate="holds", value="other")]
    first = engine.writer.write(memory.scope, PRINCIPAL, one, key="k")
    with pytest.raises(KeyReused):
        engine.writer.write(memory.scope, PRINCIPAL, other, key="k")
    somebody = engine.writer.write(memory.scope, "somebody else", other, key="k")
    again = engine.writer.write(memory.scope, PRINCIPAL, one, key="k")
    assert (first.replayed, somebody.replayed, again.replayed) == (False, False, True)
    assert again.receipt == first.receipt


def test_a_key_does_not_stand_for_the_same_items_elsewhere_or_as_of_another_time(engine: Embedded) -> None:
    """What was accepted is stored: the answer of one request is never given to another."""
    memory = engine.fresh()
    scope, items = memory.scope, [Assert(subject="box", predicate="holds", value="one")]
    engine.clock.reading = parse_instant("2026-01-02")
    first = Instant(engine.clock.reading - DAY)
    engine.writer.write(scope, PRINCIPAL, items, key="k", recorded_at=first)
    for other in (replace(scope, namespace=Namespace("other")), replace(scope, purpose=Purpose("other"))):
        with pytest.raises(KeyReused):
            engine.writer.write(other, PRINCIPAL, items, key="k", recorded_at=first)
    for recorded_at in (None, Instant(first + 1)):
        with pytest.raises(KeyReused):
            engine.writer.write(scope, PRINCIPAL, items, key="k", recorded_at=recorded_at)


def test_a_key_tells_a_value_that_is_absent_from_one_that_reads_so(engine: Embedded) -> None:
    memory = engine.fresh()
    everything: Item = Retract(subject="box", predicate="holds")
    one: Item = Retract(subject="box", predicate="holds", value=repr(ABSENT))
    engine.writer.write(memory.scope, PRINCIPAL, [everything], key="k")
    with pytest.raises(KeyReused):
        engine.writer.write(memory.scope, PRINCIPAL, [one], key="k")


@examples
@given(data=st.data())
def test_support_counts_roots_and_occasions_however_the_claims_come(engine: Embedded, data: st.DataObject) -> None:
    """P14 without echoes: sources are distinct roots, occurrences distinct episodes, confidence their noisy-or."""
    said = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["inspector", "lab", "owner"]),
                st.sampled_from([None, "e1", "e2", "e3"]),
                st.sampled_from([None, 0.25, 0.5, 0.75]),
            ),
            min_size=1,
            max_size=7,
        )
    )
    memory = engine.fresh()
    world = World(memory, coating="functional")
    rows = [
        Row("Tank-6", "coating", "type-b", "2024-04-01").item(
            source=f"{root} {number}",
            root=root,
            episode=None if episode is None else f"{episode} {root}",
            confidence=sure,
        )
        for number, (root, episode, sure) in enumerate(said)
    ]
    batches = data.draw(st.booleans())
    for batch in [rows] if batches else [[row] for row in rows]:
        world.do(batch, at="2024-05-01")
    assert_support(memory, said)


def test_support_goes_back_when_claims_are_withdrawn(engine: Embedded) -> None:
    memory = engine.fresh()
    world = World(memory, coating="functional")
    said: list[tuple[str, str | None, float | None]] = [
        ("inspector", "e1", 0.5),
        ("lab", "e2", 0.75),
        ("lab", "e3", 0.25),
    ]
    for root, episode, sure in said:
        world.tell(
            "Tank-6", "coating", "type-b", "2024-04-01", at="2024-05-01", source=root, episode=episode, confidence=sure
        )
    assert_support(memory, [(root, episode, sure) for root, episode, sure in said])
    world.do([{"op": "withdraw", "episode": "e2"}], at="2024-06-01")
    assert_support(memory, [said[0], said[2]])
    asked = {"kind": "history", "subject": "Tank-6", "predicate": "coating"}
    assert [row["value"] for row in memory.ask(asked)] == ["type-b"], "support is no part of a version"


def assert_support(memory: EmbeddedMemory, said: list[tuple[str, str | None, float | None]]) -> None:
    best: dict[str, float] = {}
    for root, _, sure in said:
        best[root] = max(best.get(root, 0.0), 0.7 if sure is None else sure)
    doubt = 1.0
    for sure in best.values():
        doubt *= 1 - sure
    alone = sum(episode is None for _, episode, _ in said)
    occasions = alone + len({(episode, root) for root, episode, _ in said if episode is not None})
    asked = {"subject": "Tank-6", "predicate": "coating", "value": "type-b"}
    assert memory.ask({"kind": "support", **asked}) == [len(best), occasions]
    assert memory.ask({"kind": "confidence", **asked}) == pytest.approx(1 - doubt, abs=1e-6)


HOSTILE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    lambda text: bool(text.strip()) and not text.startswith("ent_")
)


@examples
@given(
    key=HOSTILE,
    values=st.lists(HOSTILE | st.sampled_from(["null", "'; --", '{"type":"text"}', "%_", "\\"]), max_size=4),
)
def test_strange_keys_and_values_come_back_as_they_are(engine: Embedded, key: str, values: list[str]) -> None:
    memory = engine.fresh()
    world = World(memory, says="many")
    for value in values:
        world.do([Row(key, "says", {"type": "text", "value": value}, "2024-01-01").item()], at="2024-01-02")
    told = sorted({unicodedata.normalize("NFC", value) for value in values})
    normal = unicodedata.normalize("NFC", key)
    assert world.state(normal, "says", "2024-06-01") == told


@pytest.mark.parametrize(
    ("value", "code"),
    [("nul \x00", "control_character"), ("lone \ud800", "lone_surrogate"), ("x" * 1_000_001, "too_large")],
    ids=["nul", "lone surrogate", "1 MB and a byte"],
)
def test_values_that_cannot_be_kept_are_refused(engine: Embedded, value: str, code: str) -> None:
    memory = engine.fresh()
    world = World(memory, says="many")
    before = ledger_hash(engine.store, memory.scope.tenant)
    with pytest.raises(Refusal, match=code):
        world.do([Row("s", "says", value).item()], at="2024-01-02")
    assert ledger_hash(engine.store, memory.scope.tenant) == before


def test_old_answers_stay_while_writers_run(tmp_path: Path) -> None:
    engine = sqlite(str(tmp_path / "busy.db"))
    memory = engine.fresh()
    world = World(memory, p="functional")
    rng = Random(20261130)
    for number in range(20):
        world.tell("s", "p", rng.choice("xyz"), f"20{rng.randint(10, 20)}-01-01", at=f"2021-01-01T00:00:{number:02d}Z")
    asked = [
        {"kind": "history", "subject": "s", "predicate": "p", "known_at": text}
        for text in memory.ask({"kind": "recorded"})
    ]
    served = [memory.ask(question) for question in asked]
    stop = threading.Event()

    def write(seed: int) -> int:
        mine, count = Random(seed), 0
        while not stop.is_set():
            item = Assert(
                subject="s", predicate="p", value=mine.choice("xyz"), said=Said(valid_from=f"20{mine.randint(10, 20)}")
            )
            engine.writer.write(memory.scope, PRINCIPAL, [item])
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, seed) for seed in range(3)]
        try:
            for _ in range(scaled(50)):
                assert [memory.ask(question) for question in asked] == served
        finally:
            stop.set()
        assert all(writer.result() > 0 for writer in writers)
    engine.close()


@pytest.mark.parametrize("functional", [True, False])
def test_a_slot_with_many_versions_is_written_in_a_window_and_believed_as_a_whole(
    engine: Embedded, functional: bool
) -> None:
    """In-order and late operations into a slot of hundreds of versions give what a fold of everything gives."""
    world = StoreWorld(engine, functional)
    said = long_history(Random(20261130), scaled(2000, 300))
    for number, ops in enumerate(said, 1):
        world.transact(ops, clock_of(ops))
        if number % 50 == 0:
            assert_stored_as_folded(world)


def assert_stored_as_folded(world: StoreWorld) -> None:
    """The versions and extents of the slot now are those of a fold of all its operations."""
    with world.engine.store.write(world.memory.scope) as tx:
        subject = tx.entities_by_key(["s"])["s"].id
        (head,) = tx.slots_of(subject, "p")
        window = tx.window(head.slot, None, Interval(OPEN_START, OPEN_END), None)
        entries = [entry for entry, _ in tx.entries(head.slot)]
    line = fold(entries)
    assert sorted(Run(v.valid_from, v.valid_to, v.value_key, v.certain) for v in window.versions) == line.runs()
    assert {map_extent(e) for e in window.extents} == {map_extent(e) for e in line.extents()}


def map_extent(extent: Extent) -> tuple[Instant, Instant, int, int]:
    return extent.valid_from, extent.valid_to, extent.entry.position, extent.entry.ordinal


def test_the_clock_of_the_far_future_leaves_room_for_the_next_commit(engine: Embedded) -> None:
    """Two writes at one reading differ by a microsecond, whatever the reading is."""
    memory = engine.fresh()
    world = World(memory, p="functional")
    for value in "xy":
        memory.write([Row("s", "p", value, "2020-01-01").item()], clock=AFTER_ALL)
    earlier, later = world.recorded()
    assert later - earlier == 1
