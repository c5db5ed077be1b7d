"""Who keeps and ends sessions is killed again and again: no note is lost before it was read, none is left after."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graph.sqlite_store.store import SqliteStore
from graph.transfer import verify_events
from ontology.ids import SessionId
from ontology.operations import State, episode_of
from ontology.sessions import Stage
from tests.faults.acknowledged import kill, lines_of
from tests.faults.remainder import work_off
from tests.faults.sessions import NOTES, SCOPE, words_of, worker_of
from tests.sizes import scaled

ROOT = Path(__file__).parents[2]
SEED = 20261130

pytestmark = pytest.mark.soak


def run(path: str, first: int, count: int, seconds: float) -> list[Any]:
    """What a process acknowledged until it was killed; a line that was cut acknowledges nothing."""
    command = [sys.executable, "-m", "tests.faults.sessions", path, "--first", str(first), "--count", str(count)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = process.stdout.readline()
    time.sleep(seconds)
    out, err = kill(process)
    assert ready, err
    return lines_of(out)


def test_every_note_is_there_until_it_was_read_and_gone_after(tmp_path: Path) -> None:
    path = str(tmp_path / "sessions.db")
    rng = random.Random(SEED)
    count, kills = scaled(1_000, 40), scaled(300, 12)
    noted: dict[SessionId, tuple[int, int]] = {}
    ended: set[SessionId] = set()
    killed = 0
    while killed < kills or len(ended) < count:
        first = len(ended)
        for number, id, notes, over in run(path, first, count, rng.uniform(0, 0.5 if killed < kills else 10)):
            noted[id] = number, notes
            if over:
                ended.add(id)
        killed += 1
        store = SqliteStore(path, busy_seconds=60)
        for id, (number, notes) in noted.items():
            assert_whole(store, id, number, notes)
        store.close()
    store = SqliteStore(path, busy_seconds=60)
    work_off(worker_of(store, "last", lease_seconds=60), store, seconds=300)
    assert len(noted) == count, "a session that is opened again under its key is the same"
    with store.read(SCOPE) as reader:
        entities = reader.entities_by_key([f"thing{number}" for number in range(count)])
        for id, (number, _) in noted.items():
            session = store.sessions.session(SCOPE, id)
            assert (session.stage, session.notes) == (Stage.ENDED, NOTES)
            assert store.sessions.notes(SCOPE, id, limit=100, after=0) == []
            claims = reader.claims(entities[f"thing{number}"].id, None, limit=1_000, after=None)
            said = sorted(told.claim.slot.predicate for told in claims if told.claim.slot.predicate != "name")
            assert said == [f"says{note}" for note in range(NOTES)], "each claim once"
    assert verify_events(store, SCOPE.tenant) == []
    store.close()


def assert_whole(store: SqliteStore, id: SessionId, number: int, notes: int) -> None:
    """Every acknowledged note stands once: not handed over, or in an episode, and as a note until that was read."""
    session = store.sessions.session(SCOPE, id)
    left = store.sessions.notes(SCOPE, id, limit=100, after=0)
    waiting = Counter(note.operation for note in left if note.operation is not None)
    texts = [note.text for note in left if note.operation is None]
    with store.read(SCOPE) as reader:
        for operation in session.operations:
            words = reader.recorded_episode(episode_of(operation)).verbatim
            assert words is not None
            turns = [turn.text for turn in words.body if not isinstance(turn, str)]
            texts += turns
            done = store.queue.operation(SCOPE, operation).state is State.DONE
            assert waiting[operation] == (0 if done else len(turns)), (id, operation)
    assert sorted(texts) == [words_of(number, note) for note in range(session.notes)]
    assert session.notes >= notes, "what was acknowledged is there"
    assert session.stage is not Stage.ENDED or left == []
