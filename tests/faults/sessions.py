"""A process that opens sessions, notes, ends them, and reads what they leave; the tests start it and kill it.

    python -m tests.faults.sessions PATH --first 0 --count 200

It prints one line of JSON for each thing that was acknowledged: `[number of the session, its id, notes so far, ended]`.
Each step goes under an idempotency key of its own, so that a process which begins again at a session finds what the
one before it did.
"""

import argparse
import json
import sys
import time
from typing import Final

from api.wiring import SystemClock, SystemRandomness
from consolidation.episodes import Recorder
from consolidation.extraction.base import (
    ByName,
    Candidate,
    EpisodeText,
    Extraction,
    Extractor,
    Operation,
    Span,
    Trust,
    Verdict,
)
from consolidation.pipeline import KnownFacts, Pipeline
from consolidation.records import Records
from consolidation.sessions import NewNote, NewSession, Sessions, Tempo
from consolidation.worker import Pace, Worker
from consolidation.write import Writer
from graph.sqlite_store.store import SqliteStore
from ontology.entries import Stated
from ontology.ids import SessionId
from ontology.packs import load_core
from ontology.schema import Schema
from ontology.scope import scope_of

SCOPE: Final = scope_of("faults")
NOTES: Final = 5
"""In a session."""
TURNS: Final = 2
"""So many are read while it goes on."""
WHO: Final = Extractor(name="turns", version="1", trust=Trust.OBSERVED)


class Turns:
    """Reads turns of `SUBJECT PREDICATE VALUE`."""

    def version(self, schema: Schema) -> str:
        return "turns 1"

    def read(self, text: EpisodeText, schema: Schema, known: KnownFacts) -> Extraction:
        found = []
        for turn, words in text.passages():
            subject, predicate, value = words.split()
            found.append(
                Candidate(
                    span=Span(turn=turn, start=0, end=len(words), quote=words), subject=ByName(name=subject),
                    predicate=predicate, value=value, operation=Operation.ASSERT, compares_to=None,
                    stated=Stated(valid_from=None, valid_to=None, zone=None, semantics=None), verdict=Verdict.NEW,
                    confidence=None, extractor=WHO, rule=None, unmapped=False, holds=(),
                )
            )  # fmt: skip
        return Extraction(candidates=tuple(found), notes=())


def words_of(session: int, note: int) -> str:
    return f"thing{session} says{note} {session}.{note}"


def sessions_of(store: SqliteStore) -> Sessions:
    clock, chance = SystemClock(), SystemRandomness()
    recorder = Recorder(store=store, clock=clock, randomness=chance)
    tempo = Tempo(turns=TURNS)
    return Sessions(store=store, recorder=recorder, clock=clock, randomness=chance, tempo=tempo)


def worker_of(store: SqliteStore, name: str, lease_seconds: float = 1.0) -> Worker:
    clock, chance = SystemClock(), SystemRandomness()
    writer = Writer(store=store, clock=clock, randomness=chance, core=load_core())
    records = Records(store=store, clock=clock, randomness=chance)
    pipeline = Pipeline(store=store, writer=writer, clock=clock, reads=Turns(), records=records)
    pace = Pace(lease_seconds=lease_seconds, at_once=3, attempts_max=10_000)
    return Worker(store=store, runs=pipeline, clock=clock, name=name, pace=pace)


def told(*acknowledged: object) -> None:
    print(json.dumps(acknowledged), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0)
    given = parser.parse_args()
    store = SqliteStore(given.path, busy_seconds=60)
    worker, sessions = worker_of(store, "serve"), sessions_of(store)
    worker.start()
    print("ready", flush=True)
    for number in range(given.first, given.count):
        id = SessionId(str(sessions.open(SCOPE, "tester", NewSession(), key=f"open {number}").receipt["id"]))
        told(number, id, 0, False)
        for note in range(NOTES):
            new = [NewNote(text=words_of(number, note))]
            sessions.note(SCOPE, "tester", id, new, key=f"note {number} {note}")
            told(number, id, note + 1, False)
        sessions.end(SCOPE, "tester", id)
        told(number, id, NOTES, True)
    while worker.alive:
        time.sleep(0.1)
    sys.exit("the worker died")


if __name__ == "__main__":
    main()
