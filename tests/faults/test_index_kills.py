"""Processes that index, or switch the model, are killed again and again, or are two at once: all is there once."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from consolidation.verify import refold
from graph.searching import ToIndex
from graph.transfer import verify_events
from ontology.schema_document import pack_from_document
from tests.faults.acknowledged import kill, lines_of
from tests.faults.indexing import index, reembed, tell
from tests.faults.process import SCOPE, open_store, writer_of
from tests.faults.whole_index import faults
from tests.sizes import scaled

ROOT: Final = Path(__file__).parents[2]
SEED: Final = 20261201
TOLD: Final = scaled(400, 60)
MINUTE: Final = 60_000_000
PACK: Final[dict[str, Any]] = {"pack": "faults", "predicates": {"knows": {"cardinality": "many"}}}
DONE: Final = ToIndex(statements=0, episodes=0, texts=0)

pytestmark = pytest.mark.soak


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "indexed.db")
    store = open_store(path)
    writer_of(store).put_schema(SCOPE, "tester", pack_from_document(PACK))
    store.close()
    return path


@contextmanager
def process(does: str, path: str, name: str, *options: str) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "tests.faults.indexing", does, path, name, *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def killed_amid(does: str, path: str, model: str, seconds: float, *options: str) -> bool:
    """Whether it was done before it was killed so long after it had begun."""
    with process(does, path, model, *options) as running:
        assert running.stdout is not None
        begun = running.stdout.readline()
        time.sleep(seconds)
        out, err = kill(running)
    assert "Traceback" not in err, err
    return "done" in lines_of(begun + out)


def assert_whole(path: str, model: str) -> None:
    store = open_store(path)
    with store.read(SCOPE) as reader:
        models = reader.models()
        assert models.serving is not None
        assert (models.serving.name, models.target) == (model, None)
        assert reader.to_index(model) == DONE
    assert verify_events(store, SCOPE.tenant) == []
    assert refold(store, SCOPE.tenant) == []
    store.close()
    assert faults(path) == []


def test_whoever_is_killed_amid_indexing_or_amid_a_switch_leaves_nothing_twice_and_nothing_out(path: str) -> None:
    rng = random.Random(SEED)
    store = open_store(path)
    tell(store, "first", TOLD // 2)
    kills, amid, switched = scaled(50, 6), 0, 0
    for number in range(kills):
        if number % 3 == 0:
            tell(store, f"more{number}", TOLD // 10)
        does = ("index", "reembed")[number % 2 if switched or number > kills // 5 else 0]
        model = f"model {switched + (does == 'reembed')}"
        done = killed_amid(
            does,
            path,
            model,
            rng.uniform(0, 20 if number % 10 == 9 else 0.5),
            *(["--skew", str(-MINUTE)] if number % 3 else []),
        )
        amid += not done
        switched += done and does == "reembed"
    reembed(store, f"model {switched + 1}")
    index(store, f"model {switched + 1}", -MINUTE)
    store.close()
    print(f"seed {SEED}: {kills} kills, {amid} of them amid, {switched} switches ended")
    assert amid >= kills / 3
    assert_whole(path, f"model {switched + 1}")


def test_two_that_index_beside_two_that_write_leave_nothing_twice_and_nothing_out(path: str) -> None:
    with ExitStack() as stack:
        writers = [stack.enter_context(process("tell", path, f"w{n}", "--count", str(TOLD // 2))) for n in range(2)]
        skews = [["--skew", str(-MINUTE)], []]
        ended = False
        while not ended:
            ended = all(writer.poll() is not None for writer in writers)
            with ExitStack() as round_of:
                indexers = [round_of.enter_context(process("index", path, "one", *skew)) for skew in skews]
                for each in indexers:
                    out, err = each.communicate(timeout=300)
                    assert (each.returncode, lines_of(out)) == (0, ["begun", "done"]), err
        for writer in writers:
            out, err = writer.communicate()
            assert lines_of(out) == ["begun", "done"], err
    assert_whole(path, "one")


def test_one_that_indexes_beside_one_that_switches_the_model_leaves_one_whole_model(path: str) -> None:
    store = open_store(path)
    tell(store, "first", TOLD // 2)
    index(store, "one", 0)
    with process("reembed", path, "two") as switching, process("index", path, "one") as older:
        tell(store, "more", TOLD // 4)
        for each in (switching, older):
            out, err = each.communicate(timeout=300)
            assert (each.returncode, lines_of(out)) == (0, ["begun", "done"]), err
    index(store, "two", 0)
    store.close()
    assert_whole(path, "two")


def test_a_name_that_was_told_by_a_clock_ahead_stands_in_the_sentences_that_one_behind_writes(path: str) -> None:
    store = open_store(path)
    tell(store, "first", 3)
    index(store, "one", -MINUTE)
    with store.read(SCOPE) as reader:
        found = {text for _, text in reader.unembedded("another", limit=1_000)}
    assert any("knows called first 0" in text for text in found), found
    store.close()
