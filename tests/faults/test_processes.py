"""Eight processes write to one file at once, and one is killed again and again."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from consolidation.items import Assert
from consolidation.verify import refold
from graph.sqlite_store.store import SqliteStore
from graph.transfer import verify_events
from ontology.errors import Busy
from ontology.instants import Instant, parse_instant
from ontology.schema_document import pack_from_document
from tests.faults.acknowledged import kill, lines_of
from tests.faults.process import BUSY_SECONDS, PARTS, SCOPE, counted, open_store, writer_of
from tests.sizes import scaled

ROOT = Path(__file__).parents[2]
PROCESSES = 8
SEED = 20261130
PACK = {"pack": "faults", "predicates": {"p": {"cardinality": "functional"}, "reads": {"cardinality": "functional"}}}

pytestmark = pytest.mark.soak


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file with a schema in it, and nothing else."""
    path = str(tmp_path / "faults.db")
    store = open_store(path)
    writer_of(store, skew=-60_000_000).put_schema(SCOPE, "tester", pack_from_document(PACK))
    store.close()
    return path


@contextmanager
def process(does: str, path: str, name: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """One process, which is gone at the end of the block."""
    command = [sys.executable, "-m", "tests.faults.process", does, path, name, *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def all_done(processes: list[subprocess.Popen[str]]) -> list[list[Any]]:
    """What each of them printed. Fails with the traceback of one that failed."""
    printed = []
    for each in processes:
        out, err = each.communicate(timeout=600)
        assert each.returncode == 0, err
        assert "locked" not in err
        printed.append(lines_of(out))
    return printed


def started_together(does: str, path: str, *options: str, skews: bool = False) -> list[list[Any]]:
    with ExitStack() as stack:
        running = []
        for number in range(PROCESSES):
            skew = ["--skew", str((number - PROCESSES) * 3_000_000)] if skews else []
            running.append(stack.enter_context(process(does, path, f"w{number}", *options, *skew)))
        return all_done(running)


class Stored:
    """What a file holds, as far as these tests care."""

    def __init__(self, store: SqliteStore) -> None:
        self.parts: Counter[str] = Counter()
        """How many of the claims of each transaction are there, by their value."""
        with store.read(SCOPE) as reader:
            events = [event for event, _ in reader.events(after=0, limit=100_000)]
            keys = [f"slot {slot}.{part}" for slot in range(100) for part in range(PARTS)]
            for entity in reader.entities_by_key(keys).values():
                told = reader.claims(entity.id, "p", limit=100_000, after=None)
                self.parts.update(each.claim.value.text for each in told if each.claim.value is not None)
        self.positions = [event.position for event in events]
        self.recorded = [event.recorded_at for event in events]

    def assert_serial(self) -> None:
        assert self.positions == list(range(1, len(self.positions) + 1)), "gap-free"
        assert all(a < b for a, b in pairwise(self.recorded)), "strictly increasing"
        assert set(self.parts.values()) <= {PARTS}, "no half transaction"


def assert_sound(store: SqliteStore) -> None:
    assert verify_events(store, SCOPE.tenant) == []
    assert refold(store, SCOPE.tenant) == []


@pytest.mark.parametrize("slots", [1, 50])
def test_eight_processes_lose_nothing_and_write_one_after_the_other(path: str, slots: int) -> None:
    each = scaled(200)
    acknowledged = started_together("write", path, "--count", str(each), "--slots", str(slots))
    store = open_store(path)
    stored = Stored(store)
    stored.assert_serial()
    assert len(stored.parts) == PROCESSES * each
    told = {(done["position"], parse_instant(done["recorded_at"])) for printed in acknowledged for done in printed}
    assert told == set(zip(stored.positions[1:], stored.recorded[1:], strict=True)), "each receipt names its own commit"
    assert_sound(store)
    store.close()


def test_clocks_that_disagree_leave_recorded_time_strictly_increasing(path: str) -> None:
    each = scaled(100)
    started_together("write", path, "--count", str(each), skews=True)
    store = open_store(path)
    stored = Stored(store)
    stored.assert_serial()
    assert len(stored.parts) == PROCESSES * each
    assert_sound(store)
    store.close()


def test_a_counter_that_eight_processes_count_misses_nothing(path: str) -> None:
    each = scaled(50)
    started_together("count", path, "--count", str(each))
    store = open_store(path)
    assert counted(store)[1] == PROCESSES * each
    store.close()


def test_a_reader_in_another_process_sees_whole_transactions_while_one_writes(path: str) -> None:
    seen: list[dict[str, Any]] = []
    with process("write", path, "w") as writer, process("read", path, "r") as reader:
        assert reader.stdout is not None
        until = time.monotonic() + 120
        for line in reader.stdout:
            seen.append(json.loads(line))
            if len(seen) >= scaled(3000) and (seen[0]["position"] < seen[-1]["position"] or time.monotonic() > until):
                break
        for each in (reader, writer):
            _, err = kill(each)
            assert "Traceback" not in err, err
    positions = [snapshot["position"] for snapshot in seen]
    assert positions == sorted(positions)
    assert all(len({str(values) for values in snapshot["values"]}) <= 1 for snapshot in seen)
    assert len(set(positions)) > 1, "the writer wrote meanwhile"


def test_a_writer_that_is_killed_at_random_loses_nothing_it_acknowledged(path: str) -> None:
    rng = random.Random(SEED)
    acknowledged: set[str] = set()
    for round_number in range(scaled(200)):
        name = f"round{round_number}"
        with process("write", path, name, "--slots", "5") as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()
            time.sleep(rng.uniform(0, 0.08))
            out, err = kill(writer)
        assert "Traceback" not in err, err
        acknowledged |= {f"{name} {done['number']}" for done in lines_of(first + out)}
        store = open_store(path)
        stored = Stored(store)
        stored.assert_serial()
        assert acknowledged <= set(stored.parts), f"seed {SEED}, round {round_number}"
        store.close()
    store = open_store(path)
    assert_sound(store)
    assert len(acknowledged) >= scaled(200)
    store.close()


def test_whoever_waits_for_a_lock_is_told_in_time_and_gets_it_when_the_holder_dies(path: str) -> None:
    item = Assert(subject="slot 0.0", predicate="p", value="after the kill")
    with process("hold", path, "h") as holder:
        assert holder.stdout is not None
        assert json.loads(holder.stdout.readline()) == {"holding": True}
        impatient = open_store(path, busy_seconds=0.2)
        before = time.monotonic()
        with pytest.raises(Busy):
            writer_of(impatient).write(SCOPE, "tester", [item])
        assert time.monotonic() - before < BUSY_SECONDS / 10
        holder.kill()
        holder.wait()
        writer_of(impatient).write(SCOPE, "tester", [item])
        impatient.close()
    store = open_store(path)
    assert Stored(store).parts == {"after the kill": 1}
    store.close()


def test_a_clock_that_runs_backwards_within_a_process_is_survived(path: str) -> None:
    store = open_store(path)
    for skew in (0, -10_000_000, -20_000_000, 5_000_000, 0):
        writer_of(store, skew).write(SCOPE, "tester", [Assert(subject="s", predicate="p", value=skew)])
    with store.read(SCOPE) as reader:
        times: list[Instant] = [event.recorded_at for event, _ in reader.events(after=0, limit=100)]
    assert all(a < b for a, b in pairwise(times))
    store.close()
