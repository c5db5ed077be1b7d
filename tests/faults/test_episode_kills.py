"""A server that records and reads episodes, and a worker beside it, are killed again and again: nothing is lost."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from consolidation.verify import refold
from graph.sqlite_store.store import SqliteStore
from graph.transfer import verify_events
from ontology.ids import OperationId
from ontology.operations import State
from tests.faults.acknowledged import kill, lines_of
from tests.faults.episodes import LINES, SCOPE, is_poison, worker_of
from tests.faults.remainder import work_off
from tests.sizes import scaled

ROOT = Path(__file__).parents[2]
SEED = 20261130

pytestmark = pytest.mark.soak


class Running:
    """One process, and what it acknowledged."""

    def __init__(self, does: str, path: str, *options: str) -> None:
        command = [sys.executable, "-m", "tests.faults.episodes", does, path, *options]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._ready = self._process.stdout.readline()

    def kill(self) -> tuple[dict[int, OperationId], bool]:
        """The operations that were acknowledged, and whether all were. A line that was cut acknowledges nothing."""
        out, err = kill(self._process)
        assert self._ready, err
        lines = lines_of(out)
        told = {int(number): OperationId(id) for line in lines if line != "done" for number, id in line.items()}
        return told, "done" in lines


def test_every_episode_that_was_accepted_ends_as_done_or_failed_and_each_claim_is_made_once(tmp_path: Path) -> None:
    path = str(tmp_path / "episodes.db")
    rng = random.Random(SEED)
    count, kills = scaled(5_000, 200), scaled(500, 20)
    accepted: dict[int, OperationId] = {}
    complete, killed = False, 0
    while killed < kills or not complete:
        first = max(accepted, default=-1) + 1
        running = [Running("serve", path, "--first", str(first), "--count", str(count))]
        if rng.random() < 0.5:
            running.append(Running("work", path))
        time.sleep(rng.uniform(0, 0.5 if killed < kills else 30))
        for each in rng.sample(running, len(running)):
            told, ended = each.kill()
            accepted |= told
            complete |= ended
            killed += 1
    assert sorted(accepted) == list(range(count))
    store = SqliteStore(path, busy_seconds=60)
    work_off(worker_of(store, "last", lease_seconds=60), store, seconds=600)
    for number, id in accepted.items():
        operation = store.queue.operation(SCOPE, id)
        expected = State.FAILED if is_poison(number) else State.DONE
        assert (operation.state, operation.reason is not None) == (expected, is_poison(number)), (number, operation)
    with store.read(SCOPE) as reader:
        entities = reader.entities_by_key([f"thing{number}" for number in range(count)])
        assert sorted(entities) == sorted(f"thing{number}" for number in range(count) if not is_poison(number))
        for entity in entities.values():
            predicates = [t.claim.slot.predicate for t in reader.claims(entity.id, None, limit=1000, after=None)]
            assert sorted(predicates) == sorted(["name", *(f"says{line}" for line in range(LINES))]), "each claim once"
    assert verify_events(store, SCOPE.tenant) == []
    assert refold(store, SCOPE.tenant) == []
    store.close()
