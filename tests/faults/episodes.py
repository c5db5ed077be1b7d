"""A process that records episodes and reads them, or only reads them; the tests start it and kill it.

    python -m tests.faults.episodes serve PATH --first 0 --count 200
    python -m tests.faults.episodes work  PATH

`serve` prints one line of JSON for each request that was acknowledged: the operations, by the number of the episode.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import Final

from api.wiring import SystemClock, SystemRandomness
from consolidation.episodes import NewEpisode, Recorder
from consolidation.extraction.base import (
    ByName,
    Candidate,
    Code,
    EpisodeText,
    Extraction,
    Extractor,
    Note,
    Operation,
    Span,
    Trust,
    Verdict,
)
from consolidation.pipeline import KnownFacts, Pipeline
from consolidation.worker import Pace, Worker
from consolidation.write import Writer
from graph.sqlite_store.store import SqliteStore
from ontology.entries import Stated
from ontology.packs import load_core
from ontology.schema import Schema
from ontology.scope import scope_of

SCOPE: Final = scope_of("faults")
BATCH: Final = 4
SESSIONS: Final = 7
POISON_EVERY: Final = 25
LINES: Final = 40
"""So many claims has an episode: more than one transaction takes."""
WHO: Final = Extractor(name="lines", version="1", trust=Trust.OBSERVED)


class Lines:
    """Reads lines of `SUBJECT PREDICATE VALUE`; makes nothing of poison."""

    def version(self, schema: Schema) -> str:
        return "lines 1"

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        words = text.verbatim(None)
        if words.startswith("poison"):
            note = Note(code=Code.FAILED, detail="poison", span=None)
            return Extraction(candidates=(), notes=(note,))
        return Extraction(candidates=tuple(_candidates(words)), notes=())


def _candidates(words: str) -> Iterator[Candidate]:
    start = 0
    for line in words.splitlines(keepends=True):
        subject, predicate, value = line.split()
        span = Span(turn=None, start=start, end=start + len(line), quote=line)
        start += len(line)
        yield Candidate(
            span=span, subject=ByName(name=subject), predicate=predicate, value=value, operation=Operation.ASSERT,
            stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None), compares_to=None,
            verdict=Verdict.NEW, confidence=None, extractor=WHO, rule=None, unmapped=False, holds=(),
        )  # fmt: skip


def is_poison(number: int) -> bool:
    return number % POISON_EVERY == POISON_EVERY - 1


def episode(number: int) -> NewEpisode:
    lines = "".join(f"thing{number} says{line} {number}\n" for line in range(LINES))
    text = f"poison {number}" if is_poison(number) else lines
    return NewEpisode(text=text, source="faults", session=f"s{number % SESSIONS}")


def recorder_of(store: SqliteStore) -> Recorder:
    return Recorder(store=store, clock=SystemClock(), randomness=SystemRandomness())


def worker_of(store: SqliteStore, name: str, lease_seconds: float = 1.0) -> Worker:
    clock, chance = SystemClock(), SystemRandomness()
    writer = Writer(store=store, clock=clock, randomness=chance, core=load_core())
    pipeline = Pipeline(store=store, writer=writer, clock=clock, reads=Lines())
    pace = Pace(lease_seconds=lease_seconds, at_once=3, attempts_max=10_000)
    return Worker(store=store, runs=pipeline, clock=clock, name=name, pace=pace)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("does", choices=("serve", "work"))
    parser.add_argument("path")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0)
    given = parser.parse_args()
    store = SqliteStore(given.path, busy_seconds=60)
    worker = worker_of(store, given.does)
    worker.start()
    print(json.dumps({}), flush=True)
    if given.does == "serve":
        recorder = recorder_of(store)
        for first in range(given.first, given.count, BATCH):
            numbers = range(first, min(first + BATCH, given.count))
            items = recorder.record(SCOPE, "tester", [episode(number) for number in numbers]).receipt["items"]
            told = zip(numbers, items if isinstance(items, list) else (), strict=True)
            print(json.dumps({number: item["operation"] for number, item in told}), flush=True)
            time.sleep(0.02)
        print(json.dumps("done"), flush=True)
    while worker.alive:
        time.sleep(0.1)
    sys.exit("the worker died")


if __name__ == "__main__":
    main()
