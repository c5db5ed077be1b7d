"""The highest offices in the store: who held them, as each commit of the file knew it."""

import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import pytest

from api.wiring import Services
from benchmarks import convert_congress
from benchmarks.conversion import Line
from graph.ports import Page, Reader
from ontology.facts import AsOf
from ontology.ids import EntityId
from ontology.instants import Instant
from ontology.scope import scope_of
from tests.data.loading import load
from tests.sizes import scaled

READS = scaled(2_000)
SEED = 1789
ALL = Page(100)
OFFICES = {"president": "prez", "vice-president": "viceprez"}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Answer = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""Who held an office, the parties of those who did, and their names."""


@dataclass(frozen=True)
class Edit:
    recorded: int
    asserts: bool
    fact: dict[str, str]


class Truth:
    """Replays the edits for every question."""

    def __init__(self, folder: Path) -> None:
        with gzip.open(folder / "executive-history.jsonl.gz", "rt") as stream:
            told = [json.loads(line) for line in stream]
        self.edits = [Edit(micros(edit["time"]), edit["op"] == "assert", edit["fact"]) for edit in told]
        self.commits = sorted({edit.recorded for edit in self.edits})
        self._standing: dict[int, list[dict[str, str]]] = {}

    def standing(self, known_at: int) -> list[dict[str, str]]:
        commit = max((commit for commit in self.commits if commit <= known_at), default=0)
        if commit not in self._standing:
            facts: list[dict[str, str]] = []
            for edit in self.edits:
                if edit.recorded <= commit:
                    if edit.asserts:
                        facts.append(edit.fact)
                    else:
                        facts.remove(edit.fact)
            self._standing[commit] = facts
        return self._standing[commit]

    def answer(self, office: str, valid_at: int, known_at: int) -> Answer:
        facts = self.standing(known_at)
        terms = [f for f in facts if f["kind"] == "term" and micros(f["start"]) <= valid_at < micros(f["end"])]
        people = frozenset(f["id"] for f in terms if f["type"] == OFFICES[office])
        parties = frozenset(f["party"] for f in terms if f["id"] in people)
        return people, parties, frozenset(f["name"] for f in facts if f["kind"] == "name" and f["id"] in people)


def micros(text: str) -> int:
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000


@pytest.fixture(scope="module")
def folder(data_folder: Path) -> Path:
    return data_folder / "congress"


@pytest.fixture(scope="module")
def truth(folder: Path) -> Truth:
    return Truth(folder)


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_commit_is_read_as_the_file_stood(
    folder: Path, truth: Truth, services: Services, tmp_path: Path, shuffled: bool
) -> None:
    tenant = f"congress-{'shuffled' if shuffled else 'in-order'}"
    lines = list(convert_congress.history_lines(folder))
    told = shuffle(lines) if shuffled else lines
    assert not load(services, tenant, told, tmp_path / "congress.jsonl", as_recorded=True)
    with services.store.read(scope_of(tenant)) as reader:
        assert [event.recorded_at for event, _ in reader.events(after=0, limit=100)] == truth.commits
        for office, valid_at, known_at in reads(truth):
            expected = truth.answer(office, valid_at, known_at)
            assert answer(reader, office, valid_at, known_at) == expected, (office, valid_at, known_at)


def test_the_history_ends_in_the_file_as_it_is(folder: Path, truth: Truth, services: Services, tmp_path: Path) -> None:
    assert not load(
        services, "congress-present", convert_congress.present_lines(folder), tmp_path / "now.jsonl", as_recorded=False
    )
    newest = truth.commits[-1]
    terms = [fact for fact in truth.standing(newest) if fact["kind"] == "term"]
    edges = sorted({micros(term[side]) for term in terms for side in ("start", "end")})
    with services.store.read(scope_of("congress-present")) as reader:
        for edge in edges:
            for office in OFFICES:
                for valid_at in (edge - 1, edge):
                    now = answer(reader, office, valid_at, reader.head.recorded_at)
                    assert now == truth.answer(office, valid_at, newest)


def shuffle(lines: list[Line]) -> list[Line]:
    """The lines in another order inside each commit."""
    chance = random.Random(SEED)
    told: list[Line] = []
    for _, group in groupby(lines, key=lambda line: line["tx"]):
        commit = list(group)
        chance.shuffle(commit)
        told += commit
    return told


def answer(reader: Reader, office: str, valid_at: int, known_at: int) -> Answer:
    as_of = AsOf(valid_at=Instant(valid_at), known_at=Instant(known_at))
    id = reader.entities_by_key([office])[office].id
    held = reader.state([(id, "held_by")], as_of, certain=True, page=ALL)
    people = sorted({EntityId(fact.version.value.text) for fact in held})
    if not people:
        return frozenset(), frozenset(), frozenset()
    about = {
        predicate: reader.state([(person, predicate) for person in people], as_of, certain=True, page=ALL)
        for predicate in ("party", "name")
    }
    keys = frozenset(entity.key or "" for entity in reader.entities_by_id(people).values())
    parties, names = (frozenset(fact.version.value.text for fact in about[p]) for p in ("party", "name"))
    return keys, parties, names


def reads(truth: Truth) -> Iterator[tuple[str, int, int]]:
    """Offices with pairs of instants, for half of which the answer is another one than now."""
    chance = random.Random(SEED)
    terms = [edit.fact for edit in truth.edits if edit.fact["kind"] == "term"]
    wanted = {True: READS - READS // 2, False: READS // 2}
    while any(wanted.values()):
        term, office = chance.choice(terms), chance.choice(list(OFFICES))
        start, end = micros(term["start"]), micros(term["end"])
        valid_at = chance.choice([start, start - 1, end - 1, end, chance.randrange(start, end)])
        known_at = chance.choice(truth.commits) + chance.choice([-1, 0, 1, chance.randrange(10**13)])
        changed = truth.answer(office, valid_at, known_at) != truth.answer(office, valid_at, truth.commits[-1])
        if wanted[changed]:
            wanted[changed] -= 1
            yield office, valid_at, known_at
